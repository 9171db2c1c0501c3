"""The owner's side of several languages: which there are, what is missing, translating, importing, what stays fixed."""

import random

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotate.files.column_guessing import translation_columns
from annotate.items.actions import import_items
from annotate.items.rows import NewItem
from annotate.labelling.wording import content_language
from annotate.models import (
    Context,
    ContextTranslation,
    Event,
    Item,
    ItemTranslation,
    Label,
    Project,
    ProjectTranslation,
)
from annotate.projects.copies.cloning import clone_project
from annotate.projects.languages.queries import language_states
from annotate.projects.navigation import navigation
from annotate.publishing.exports import items as items_table
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.api_client import Api
from tests.site.labelling.test_labelling import as_annotator
from tests.site.labelling.test_task_types import next_for
from tests.site.pages import signed_in


@pytest.fixture
def french(project) -> Project:
    Project.objects.filter(pk=project.pk).update(language="en", languages=["fr"])
    project.refresh_from_db()
    return project


def words_page(project) -> str:
    return reverse("translation", args=[project.pk, "fr"])


def test_languages_are_added_translated_and_counted(project, alice):
    owner, page = signed_in(alice), reverse("languages", args=[project.pk])
    assert owner.post(page, {"language": "English!", "add": ""}).status_code == 400
    owner.post(page, {"language": "en", "add": "fr"})
    html = " ".join(owner.get(page).content.decode().split())
    assert "6 of 6 items lack French." in html
    assert '<bdi lang="fr">Français</bdi>' in html
    assert "Translate into French" in html
    assert "Traducir a francés" in owner.get(page, headers={"Accept-Language": "es"}).content.decode()
    owner.post(words_page(project), {"question": "Lequel ?", "more_means": "mieux", "name": "", "instructions": ""})
    first = project.items.order_by("pk").first()
    owner.post(words_page(project), {"items": "1", f"item-{first.pk}-body": "Texte 1", f"item-{first.pk}-title": ""})
    project.refresh_from_db()
    (state,) = language_states(project)
    assert (state.n_missing, state.n_items, state.missing) == (5, 6, ["name"])
    html = owner.get(words_page(project) + "?missing=1").content.decode()
    assert "Texte 1" not in html
    assert f"item-{first.pk}-body" not in html
    assert list(Event.objects.order_by("pk").values_list("verb", flat=True)[:9])[-3:] == [
        "languages changed",
        "words translated",
        "items translated",
    ]
    owner.post(page, {"remove": "fr"})
    assert not ItemTranslation.objects.exists()
    assert not ProjectTranslation.objects.exists()


def test_words_and_items_typed_together_are_saved_by_one_press(french, alice):
    owner, item = signed_in(alice), french.items.order_by("pk").first()
    html = owner.get(words_page(french)).content.decode()
    form = html.partition('<form method="post" class="stack">')[2].partition("</form>")[0]
    assert 'name="question"' in form
    assert f'name="item-{item.pk}-body"' in form
    typed = {"words": "1", "items": "1", "question": "Lequel ?", f"item-{item.pk}-body": "Texte"}
    owner.post(words_page(french), {**typed, f"item-{item.pk}-title": ""})
    assert ProjectTranslation.objects.get(project=french).question == "Lequel ?"
    assert ItemTranslation.objects.get(item=item).body == "Texte"


def test_items_that_a_form_does_not_hold_keep_their_text(french, alice):
    a, b = french.items.order_by("pk")[:2]
    ItemTranslation.objects.create(item=a, language="fr", body="Premier")
    signed_in(alice).post(words_page(french), {"items": "1", f"item-{b.pk}-body": "Deux", f"item-{b.pk}-title": ""})
    assert set(ItemTranslation.objects.values_list("body", flat=True)) == {"Premier", "Deux"}


def test_what_people_were_shown_stays_and_gaps_may_be_filled(french, alice):
    label = answer_one(make_annotator(french, "Ada"))
    Label.objects.update(language="fr/en")
    shown, other = label.presentation.presented.first().item, french.items.exclude(presented__isnull=False).first()
    for item in (shown, other):
        ItemTranslation.objects.create(item=item, language="fr", body="Ancien")
    ProjectTranslation.objects.create(project=french, language="fr", question="Ancienne ?")
    api = Api(alice, french)
    new = {"translations": {"fr": {"text": "Nouveau"}}}
    assert api("patch", "item", new, args=[shown.pk]).status_code == 409
    assert api("patch", "item", new, args=[other.pk]).json()["translations"]["fr"]["text"] == "Nouveau"
    assert api("patch", "translation", {"question": "Nouvelle ?"}, args=["fr"]).status_code == 409
    assert api("patch", "translation", {"more_means": "mieux"}, args=["fr"]).status_code == 200
    assert api("patch", "languages", {"languages": []}).status_code == 409
    assert ProjectTranslation.objects.get().question == "Ancienne ?"


def test_columns_of_a_file_are_translations(project, alice):
    names = ["key", "text", "text_fr", "title_fr", "text_pt-BR", "text_old_version", "text_xx"]
    assert [one[1:] for one in translation_columns(names, taken={1})] == [
        ("text", "fr"),
        ("title", "fr"),
        ("text", "pt-BR"),
    ]
    csv = b"key,text,text_fr,title_fr\nt1,Trees,Des arbres,Arbres\nt2,Benches,,\n"
    owner, page = signed_in(alice), reverse("items-import", args=[project.pk])
    Project.objects.filter(pk=project.pk).update(language="en")
    html = owner.post(page, {"way": "file", "file": SimpleUploadedFile("t.csv", csv)}, follow=True).content.decode()
    assert "Translations in the file: français." in html
    fields = dict(
        part.split('" value="') for part in (x.split('">')[0] for x in html.split('<input type="hidden" name="')[1:])
    )
    owner.post(page, {**fields, "action": "all"})
    tree = Item.objects.get(project=project, key="t1")
    assert [(one.language, one.body, one.name) for one in tree.translations.all()] == [("fr", "Des arbres", "Arbres")]
    assert Project.objects.get(pk=project.pk).languages == ["fr"]
    assert not ItemTranslation.objects.filter(item__key="t2").exists()


def test_programs_set_read_and_translate(project, alice):
    api = Api(alice, project)
    assert api("patch", "languages", {"languages": ["fr"]}).status_code == 409
    assert api("patch", "languages", {"language": "e n"}).status_code == 400
    assert api("patch", "languages", {"language": "en", "languages": ["fr", "ar"]}).status_code == 200
    assert api("patch", "translation", {"question": "?"}, args=["it"]).status_code == 404
    told = api("patch", "translation", {"question": "Lequel ?"}, args=["fr"]).json()
    assert told["languages"][0]["words"]["question"] == "Lequel ?"
    assert told["languages"][1]["n_items_missing"] == 6
    made = {"items": [{"key": "n", "text": "New", "translations": {"fr": {"text": "Neuf"}}}]}
    assert api("post", "items", made).status_code == 201
    item = Item.objects.get(key="n")
    assert api("get", "item", args=[item.pk]).json()["translations"] == {"fr": {"text": "Neuf", "title": ""}}
    wrong = {"items": [{"key": "m", "text": "New", "translations": {"<b>": {"text": "Neuf"}}}]}
    assert api("post", "items", wrong).status_code == 400


def test_a_duplicate_has_the_translations(french, alice):
    ProjectTranslation.objects.create(project=french, language="fr", question="Lequel ?")
    ItemTranslation.objects.create(item=french.items.first(), language="fr", body="Texte")
    clone = clone_project(source=french, actor=alice, name="Two", with_items=True, now=NOW, rng=random.Random(1))
    assert (clone.language, clone.languages) == ("en", ["fr"])
    assert clone.translations.get().question == "Lequel ?"
    assert ItemTranslation.objects.get(item__project=clone).body == "Texte"


def test_without_an_own_language_no_translation_is_shown(french, rf):
    request = rf.get("/", {"lang": "fr"})
    assert content_language(request, french) == "fr"
    french.language = ""
    assert content_language(request, french) == ""
    assert any(page.address.endswith("/languages/") for page in navigation(french, "owner", "languages").pages)


@pytest.fixture
def prompted(french) -> Project:
    """All but two items answer one prompt."""
    context = Context.objects.create(project=french, body="Explain rain.", kind="text", digest="d" * 64)
    french.items.filter(pk__gt=french.items.order_by("pk")[1].pk).update(context=context)
    return french


def test_a_context_is_translated_with_the_items_that_answer_it_and_shown(prompted, alice):
    owner, context = signed_in(alice), prompted.contexts.get()
    html = owner.get(words_page(prompted)).content.decode()
    assert html.count("Explain rain.") == 1
    assert "1 context is not translated." in owner.get(reverse("languages", args=[prompted.pk])).content.decode()
    owner.post(words_page(prompted), {"items": "1", f"context-{context.pk}-body": "Expliquez la pluie."})
    assert context.translations.get().body == "Expliquez la pluie."
    (state,) = language_states(prompted)
    assert (state.n_contexts_missing, state.n_contexts) == (0, 1)
    prompted.items.filter(context=None).update(retired_at=NOW)
    annotator = make_annotator(prompted, "Ada")
    next_for(annotator)
    api = Api(alice, prompted)
    assert api("get", "preview", language="fr").json()["task"]["context"] == "Expliquez la pluie."
    page = as_annotator(annotator).get(reverse("label", args=[prompted.pk]) + "?lang=fr").content.decode()
    assert 'lang="fr" dir="ltr">Expliquez la pluie.' in page
    assert "Explain rain." not in page


def test_a_missing_context_makes_the_label_mixed_and_a_shown_one_stays(prompted, alice):
    prompted.items.filter(context=None).update(retired_at=NOW)
    for item in prompted.items.all():
        ItemTranslation.objects.create(item=item, language="fr", body="Texte")
    ProjectTranslation.objects.create(project=prompted, language="fr", question="?", more_means="mieux")
    annotator = make_annotator(prompted, "Ada")
    next_for(annotator)
    assert 'name="language" value="fr/en"' in task_page(annotator)
    api, item = Api(alice, prompted), prompted.items.filter(retired_at=None).first()
    new = {"translations": {"fr": {"context": "Expliquez la pluie."}}}
    told = api("patch", "item", new, args=[item.pk]).json()["translations"]["fr"]
    assert told == {"text": "Texte", "title": "", "context": "Expliquez la pluie."}
    assert 'name="language" value="fr"' in task_page(annotator)
    answer_one(annotator)
    Label.objects.update(language="fr")
    assert api("patch", "item", {"translations": {"fr": {"context": "?"}}}, args=[item.pk]).status_code == 409


def task_page(annotator) -> str:
    return as_annotator(annotator).get(reverse("label", args=[annotator.project_id]) + "?lang=fr").content.decode()


def test_columns_bring_contexts_in_and_the_export_takes_them_out(project, alice):
    Project.objects.filter(pk=project.pk).update(language="en")
    names = ["key", "text", "prompt", "text_fr", "prompt_fr"]
    assert translation_columns(names, taken={1}) == ((3, "text", "fr"), (4, "context", "fr"))
    rows = [
        NewItem(n, f"n-{n}", f"New {n}", "text", context="Why?", translations=(("fr", f"Neuf {n}", "", "Pourquoi ?"),))
        for n in range(2)
    ]
    import_items(project=project, actor=alice, rows=rows, upload="u", source="test", now=NOW, rng=random.Random(1))
    assert ContextTranslation.objects.get().body == "Pourquoi ?"
    column = [one.name for one in items_table.COLUMNS].index("translations")
    found = {row[0]: row[column] for row in items_table.rows(project)}
    assert found["n-1"] == {"fr": {"text": "Neuf 1", "context": "Pourquoi ?"}}
    clone = clone_project(source=project, actor=alice, name="Two", with_items=True, now=NOW, rng=random.Random(1))
    assert ContextTranslation.objects.get(context__project=clone).body == "Pourquoi ?"
