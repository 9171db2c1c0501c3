"""Content in several languages: which is chosen, what falls back, what labels say of it, and how often the database is
asked."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.criteria import Criterion
from annotate.labelling.wording import is_shown_language, missing_words, wording_of
from annotate.models import ItemTranslation, Label, Project, ProjectTranslation, ResultsLink
from annotate.publishing.exports.labels import COLUMNS, rows
from tests.conftest import NOW, make_annotator
from tests.site.api_client import Api
from tests.site.factories import spread_fit
from tests.site.labelling.test_api import post
from tests.site.labelling.test_labelling import as_annotator
from tests.site.labelling.test_task_types import next_for

FRENCH = {"question": "Quel argument convainc ?", "choice_words": "", "more_means": "plus convaincant"}


@pytest.fixture
def annotator(project):
    """Of a project in English, all of whose items are in French, none in Arabic; its question is in both."""
    Project.objects.filter(pk=project.pk).update(language="en", languages=["fr", "ar", "de"])
    project.refresh_from_db()
    ProjectTranslation.objects.create(project=project, language="fr", **FRENCH)
    ProjectTranslation.objects.create(project=project, language="ar", question="أي حجة أقوى؟", more_means="أقوى")
    ItemTranslation.objects.bulk_create(
        ItemTranslation(item=item, language="fr", body=f"Texte {item.key}", name="")
        for item in project.items.order_by("pk")
    )
    annotator = make_annotator(project, "Quiet Otter")
    next_for(annotator)
    return annotator


def task_of(client: Client, annotator, query: str = "", **headers) -> str:
    response = client.get(reverse("label", args=[annotator.project_id]) + query, headers=headers)
    return " ".join(response.content.decode().split())


def send_form(client: Client, annotator, html: str) -> Label:
    language = html.partition('name="language" value="')[2].partition('"')[0]
    token = annotator.presentations.get(state="open", ahead=False).token
    client.post(reverse("submit", args=[token]), {"answer": "a", "language": language})
    return Label.objects.latest("pk")


def test_the_address_chooses_and_a_cookie_remembers(annotator):
    client = as_annotator(annotator)
    html = task_of(client, annotator, "?lang=fr")
    assert '<h1 class="pair-question" lang="fr" dir="ltr">Quel argument convainc ?</h1>' in html
    assert 'lang="fr" dir="ltr">Texte item-' in html
    assert "Text number" not in html
    assert 'hreflang="fr" aria-current="true">Français</a>' in html
    assert "Quel argument" in task_of(client, annotator)
    assert send_form(client, annotator, html).language == "fr"


def test_what_lacks_a_translation_is_in_the_own_language_and_the_label_says_so(annotator):
    client = as_annotator(annotator)
    html = task_of(client, annotator, "?lang=ar")
    assert '<h1 class="pair-question" lang="ar" dir="rtl">' in html
    assert 'lang="en" dir="ltr">Text number' in html
    assert send_form(client, annotator, html).language == "ar/en"
    html = task_of(client, annotator, "?lang=de")
    assert '<html lang="de"' in html
    assert "Which argument is more convincing?" in html
    assert send_form(client, annotator, html).language == "de/en"


@pytest.mark.parametrize(
    ("language", "button"),
    [
        ("en", "A is better"),
        ("fr", "A est plus convaincant"),
        ("de", "A wählen"),  # a language of the site; the owner has not said what "better" is in it
        ("ar", "Choose A"),  # the owner has, but the site does not speak it
    ],
)
def test_a_button_is_never_half_in_one_language_and_half_in_another(annotator, language, button):
    html = task_of(as_annotator(annotator), annotator, f"?lang={language}")
    assert button in html
    halves = [half for half in ("A is ", "A est ", "A ist ") if half in html]
    assert halves == [half for half in ("A is ", "A est ") if button.startswith(half)]


def test_the_browsers_wish_counts_where_nothing_is_chosen(annotator):
    assert "Quel argument" in task_of(as_annotator(annotator), annotator, **{"Accept-Language": "fr-CH, en;q=0.5"})
    assert "Which argument" in task_of(as_annotator(annotator), annotator, **{"Accept-Language": "it, en;q=0.5"})


@pytest.mark.parametrize("query", ["?lang=xx", "?lang=%3Cscript%3E", "?lang=", "?lang=" + "a" * 500])
def test_what_is_no_language_of_the_project_is_ignored(annotator, query):
    assert "Which argument" in task_of(as_annotator(annotator), annotator, query)


def test_a_language_made_up_in_the_form_is_not_stored(annotator):
    client = as_annotator(annotator)
    assert send_form(client, annotator, 'name="language" value="xx"').language == ""
    assert [is_shown_language(text, annotator.project) for text in ("en", "fr", "fr/en", "fr/xx", "")] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_joining_and_results_are_in_it_too(annotator):
    project = annotator.project
    assert "Quel argument" in Client().get(reverse("join", args=[project.join_token]) + "?lang=fr").content.decode()
    spread_fit(project, list(project.items.order_by("pk")))
    link = ResultsLink.objects.create(project=project, made_at=NOW)
    response = Client().get(reverse("results", args=[link.token]) + "?lang=fr")
    html = response.content.decode()
    assert "Quel argument" in html
    assert "«\xa0Texte item-0\xa0»" in html
    assert "plus convaincant" in html
    assert "card.png?lang=fr" in html
    assert not response.cookies


def test_ones_own_answers_are_in_it_question_words_and_items(annotator):
    ProjectTranslation.objects.filter(language="fr").update(choice_words="{letter} convainc plus")
    Project.objects.update(choice_words="{letter} is stronger")
    client = as_annotator(annotator)
    label = send_form(client, annotator, task_of(client, annotator, "?lang=fr"))
    shown = [item.key for item in label.presentation.items.all()]
    address = reverse("own-answers", args=[annotator.project_id])
    french = client.get(address).content.decode()
    assert "Quel argument convainc" in french
    assert all(f"Texte {key}" in french for key in shown)
    assert "Text number" not in french
    with CaptureQueriesContext(connection) as two:
        client.get(address)
    english = client.get(address + "?lang=en").content.decode()
    assert english.count("Text number") == 2
    assert "Texte" not in english
    for _ in range(3):
        send_form(client, annotator, task_of(client, annotator, "?lang=fr"))
    client.get(address)
    with CaptureQueriesContext(connection) as many:
        client.get(address)
    assert len(many) <= len(two), "one query brings the texts of all items"


def test_exports_tell_the_language(annotator):
    client = as_annotator(annotator)
    send_form(client, annotator, task_of(client, annotator, "?lang=fr"))
    (row,) = rows(Criterion(annotator.project))
    assert dict(zip([column.name for column in COLUMNS], row, strict=True))["language"] == "fr"


def test_programs_ask_and_answer_in_it(annotator, alice):
    project, api = annotator.project, Api(alice, annotator.project)
    secret = post(reverse("api-join", args=[project.join_token]), {"pseudonym": "Robot"}).json()["secret"]
    following = reverse("api-next", args=[project.pk])
    assert post(f"{following}?language=it", secret=secret).status_code == 422
    task = post(f"{following}?language=fr", secret=secret).json()["task"]
    assert (task["question"], task["language"]) == (FRENCH["question"], "fr")
    assert task["items"][0]["text"].startswith("Texte")
    said = {"outcome": "choice", "chosen": 0, "language": task["language"]}
    after = post(reverse("api-answer", args=[task["token"]]), said, secret).json()["next"]["task"]
    assert Label.objects.get(project=project).language == "fr"
    assert after["language"] == "fr"
    assert api("get", "preview", language="fr").json()["task"]["question"] == FRENCH["question"]


def test_two_queries_bring_a_translation_however_many_items(annotator):
    def n_queries(query: str) -> int:
        client = as_annotator(annotator)
        with CaptureQueriesContext(connection) as queries:
            task_of(client, annotator, query)
        return len(queries)

    assert n_queries("?lang=fr") == n_queries("?lang=en") + 2


def test_criteria_fall_back_one_by_one(annotator):
    project = annotator.project
    project.criteria = [{"name": "Clarity", "question": "Clearer?"}, {"name": "Truth", "question": "Truer?"}]
    french = ProjectTranslation.objects.get(project=project, language="fr")
    french.criteria = [{"name": "Clarté", "question": "Plus clair ?"}]
    french.save()
    words = wording_of(project, "fr")
    assert [one["name"] for one in words.project.criteria] == ["Clarté", "Truth"]
    assert words.is_partial
    assert project.criteria[0]["name"] == "Clarity"
    assert missing_words(project, french) == ["name", "criterion 2"]
