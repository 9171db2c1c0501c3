"""Titles and texts under images and recordings: only where the owner wants them, told once, translated, in the plan."""

import json
import random

import pytest
from django.urls import reverse

from annotate.labelling.queries import current_task
from annotate.models import Deviation, Event, Item, ItemTranslation, Label, Preregistration, Project
from annotate.projects.copies.cloning import clone_project
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.api_client import Api
from tests.site.items.test_media import image_item, picture
from tests.site.labelling.test_labelling import as_annotator
from tests.site.labelling.test_task_types import next_for
from tests.site.pages import signed_in
from tests.site.projects.test_projects import settings_of

PITCH = "A kite that makes power."


@pytest.fixture
def entries(project, settings, tmp_path):
    """A project of two images: one with title and pitch, one whose title is its text."""
    settings.MEDIA_ROOT = tmp_path
    project.items.update(retired_at=NOW)
    for key, title, text in (("kite", "Team <Kite>", PITCH), ("tide", "Team Tide", "Team Tide")):
        image_item(project, picture("PNG"), f"{key}.png", key)
        project.items.filter(key=key).update(name=title, body=text)
    return project


def shown(project, captions: str, query: str = "") -> str:
    Project.objects.filter(pk=project.pk).update(media_captions=captions)
    annotator = make_annotator(Project.objects.get(pk=project.pk), f"Otter {captions}{query}")
    next_for(annotator)
    return as_annotator(annotator).get(reverse("label", args=[project.pk]) + query).content.decode()


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("captions", "titles", "text_below", "alternatives"),
    [
        ("none", False, False, {PITCH, "Team Tide"}),
        ("title", True, False, {PITCH, ""}),  # the second's title says all that its text says
        ("text", False, True, {""}),
        ("both", True, True, {""}),
    ],
)
def test_each_choice_shows_what_it_says_and_nothing_twice(entries, captions, titles, text_below, alternatives):
    html = shown(entries, captions)
    assert ("Team &lt;Kite&gt;</p>" in html) == titles
    assert (f">{PITCH}</div>" in html) == text_below
    assert {part.partition('"')[0] for part in html.split(' alt="')[1:]} - {""} == alternatives - {""}
    task = html.partition('id="task"')[2]
    assert task.count(PITCH) == 2, "below the image or in place of it, and for the enlarged image"
    assert task.count("Team Tide") == 2


def test_texts_and_links_have_no_caption(project):
    project.items.update(name="Secret name")
    assert "Secret name" not in shown(project, "both")


def test_a_recording_has_its_title_and_keeps_its_transcript_folded(entries):
    entries.items.filter(key="kite").update(kind=Item.Kind.AUDIO)
    html = shown(entries, "both")
    assert "Team &lt;Kite&gt;</p>" in html
    assert html.count(PITCH) == 1
    assert html.index('<details class="transcript">') < html.index(PITCH) < html.index("Team &lt;Kite&gt;</p>")


def test_titles_are_translated_and_the_label_says_where_one_was_not(entries):
    Project.objects.filter(pk=entries.pk).update(language="en", languages=["fr"], question="", more_means="")
    kite, tide = entries.items.filter(retired_at=None).order_by("key")
    ItemTranslation.objects.create(item=kite, language="fr", body="Un cerf-volant.", name="Équipe <Vent>")
    ItemTranslation.objects.create(item=tide, language="fr", body="Une marée.", name="")
    html = shown(entries, "both", "?lang=fr")
    assert 'lang="fr" dir="ltr">Équipe &lt;Vent&gt;</p>' in html
    assert 'lang="en" dir="ltr">Team Tide</p>' in html
    assert 'name="language" value="fr/en"' in html


def test_a_translated_title_that_people_saw_stays(entries, alice):
    Project.objects.filter(pk=entries.pk).update(language="en", languages=["fr"], media_captions="title")
    label = answer_one(make_annotator(entries, "Ada"))
    Label.objects.update(language="fr")
    item = label.presentation.presented.first().item
    ItemTranslation.objects.create(item=item, language="fr", body="Texte", name="Ancien")
    api, new = Api(alice, entries), {"translations": {"fr": {"text": "Texte", "title": "Nouveau"}}}
    assert api("patch", "item", new, args=[item.pk]).status_code == 409
    Project.objects.filter(pk=entries.pk).update(media_captions="text")
    assert api("patch", "item", new, args=[item.pk]).status_code == 200


def test_the_owner_sets_it_the_preview_shows_it_and_the_log_says_so(entries, alice):
    owner = signed_in(alice)
    preview = reverse("preview", args=[entries.pk])
    assert "Team Tide</p>" not in owner.get(preview).content.decode()
    form = settings_of(entries) | {"media_captions": "title"}
    assert owner.post(reverse("settings-answers", args=[entries.pk]), form).status_code == 302
    entries.refresh_from_db()
    assert entries.media_captions == "title"
    assert Event.objects.get(verb="settings changed").details == {"media_captions": ["none", "title"]}
    log = owner.get(reverse("log", args=[entries.pk])).content.decode()
    assert "under images and recordings" in log
    form.pop("media_captions")
    owner.post(reverse("settings-answers", args=[entries.pk]), form)
    entries.refresh_from_db()
    assert entries.media_captions == "title", "kept where nothing is sent"
    assert owner.post(reverse("settings-answers", args=[entries.pk]), form | {"media_captions": "x"}).status_code == 400
    copy = clone_project(source=entries, actor=alice, name="Next year", with_items=True, now=NOW, rng=random.Random(1))
    assert copy.media_captions == "title"


def test_a_frozen_plan_holds_titles_once_they_are_shown(entries, alice):
    Project.objects.filter(pk=entries.pk).update(media_captions="title")
    owner = signed_in(alice)
    owner.post(reverse("preregistration", args=[entries.pk]), {"stopping_rule": "600 answers."})
    plan = json.loads(Preregistration.objects.get().document)["plan"]
    assert plan["media_captions"] == "title"
    item = entries.items.get(key="kite")
    owner.post(reverse("items", args=[entries.pk]), {"item": item.pk, "action": "title", "title": "Team Wind"})
    assert list(Deviation.objects.values_list("field", flat=True)) == ["items"]


def test_programs_read_and_set_it(entries, alice):
    api = Api(alice, entries)
    assert api("patch", "project", {"media_captions": "both"}).json()["media_captions"] == "both"
    assert api("patch", "project", {"media_captions": "all"}).status_code == 400
    entries.refresh_from_db()
    annotator = make_annotator(entries, "Ada")
    next_for(annotator)
    task = current_task(annotator=annotator, now=NOW)
    by_title = {option.caption.title: option.caption.shows_text for option in task.options}
    assert by_title == {"Team <Kite>": True, "Team Tide": False}
