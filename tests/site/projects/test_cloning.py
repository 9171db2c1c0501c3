"""A clone: all settings, rules and items of its source, none of its people, labels or secrets; files outlive either."""

import random
from dataclasses import dataclass

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db.models import ForeignKey
from django.urls import reverse

from annotate.labelling.item_sets import set_key
from annotate.models import Captions, Context, Item, ParticipationRules, Project, QuestionField, Retention, Tag, Webhook
from annotate.participation.actions import change_rules
from annotate.participation.questionnaire.actions import QuestionValues, RequestedQuestion, change_questions
from annotate.projects.actions import delete_project
from annotate.projects.copies.cloning import NOT_COPIED, clone_project
from annotate.quality.gold.actions import add_gold_sets
from annotate.quality.gold.table import NewGoldSet
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.pages import signed_in

# What hangs on a project: copied into a clone, made anew for it, or its own course that a clone starts without.
COPIED = {
    "QuestionField",
    "ProjectTranslation",
    "ParticipationRules",
    "Retention",
    "ConsentText",
    "Tag",
    "Context",
    "Item",
    "GoldSet",
    "FeatureNames",
}
ANEW = {"Membership", "FitState", "ItemSet", "Event"}
LEFT = {
    "Annotator": "annotators",
    "Count": "counts",
    "Label": "labels",
    "Presentation": "presentations",
    "Completion": "completions",
    "RunRecord": "run_records",
    "ImportJob": "imports",
    "ApiToken": "api_tokens",
    "Webhook": "webhooks",
    "BulkExclusion": "bulk_exclusions",
    "MemberInvitation": "invitations",
    "AnswerNotice": "answer_notices",
    "ResultsLink": "results_links",
    "Idea": "ideas",
    "EntryLink": "entry_links",
    "ExpectedPerson": "expected_people",
    "LtiCourse": "courses",
    "Preregistration": None,  # what was frozen is the source's; a clone freezes its own
    "Deviation": "deviations",
    "Evaluation": None,
    "LabelArchive": None,
    "LabelForecast": None,
    "SuggestedSet": "suggested_sets",
    "MeasuredSaving": "measured_savings",
    "PredictionGain": "prediction_gains",
    "ProvisionalRanking": "provisional_rankings",
    "DerivedRanking": "derived_rankings",
    "TasteMap": None,
    "MachineReport": "machine_reports",
    "MachineSet": "machine_sets",
    "CohortComparison": "cohort_comparisons",
    "WorkerProcess": None,  # which process is at it now
}
# What a clone has of its own, though the source says something.
PROJECTS_OWN = {
    "id",
    "name",
    "join_token",
    "join_code",
    "embed_origins",
    "count_machines",
    "state",
    "created_at",
    "archived_at",
    "opens_at",
    "closes_at",
    "notes_answers",
    "simulated",
    "fields_before",
    "fields_imported",
    "fields_after",
    "has_idea_items",
    "has_competitors",
    "given_order",
    "goal_deadline",
    "evidence",
}


@dataclass
class Full:
    """A project with something of everything, and what a clone must have."""

    project: Project
    other: Item
    picture: Item


@pytest.fixture
def full(project, alice, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    for field in Project._meta.concrete_fields:  # no setting stands at its default
        if field.name not in PROJECTS_OWN | {"consent_version", "has_ending", "task_type", "m", "k", "n_sets"}:
            setattr(project, field.name, unusual(field, getattr(project, field.name)))
    project.task_type, project.k, project.m = "top", 4, 2
    project.save()
    change_rules(project=project, actor=alice, values={"consent": "Agreed?", "thanks": "Ta", "places": 7}, now=NOW)
    asked = QuestionValues(at_end=False, kind="text", label="Your town", choices=[], least=None, most=None)
    change_questions(project=project, actor=alice, wanted=[RequestedQuestion(None, asked, True)], removed=[], now=NOW)
    context = Context.objects.create(project=project, body="A prompt", digest="d" * 64)
    picture = Item(project=project, key="picture", kind="image", body="Teal", context=context, n_taken=9)
    picture.media.save("picture.png", ContentFile(b"not really"), save=True)
    picture.tags.add(Tag.objects.create(project=project, name="school"))
    Captions.objects.create(item=picture, language="en", text="WEBVTT")
    other = project.items.get(key="item-3")
    Item.objects.filter(pk=other.pk).update(retired_at=NOW)
    items = [project.items.get(key=f"item-{i}").pk for i in (0, 1, 2, 4)]
    row = NewGoldSet(
        line=2, purpose="gold", items=tuple(items), outcome="top", named=(items[1], items[0]), why="Plainly"
    )
    add_gold_sets(project=project, actor=alice, rows=[row], only_for_checks=False, now=NOW)
    Retention.objects.create(project=project, days=90, drops="labels", done_for=NOW)
    Webhook.objects.create(project=project, url="https://example.org/", created_at=NOW)
    make_annotator(project, "Ada")
    project.refresh_from_db()
    return Full(project, other, picture)


def unusual(field, value):
    kind = field.get_internal_type()
    if kind == "BooleanField":
        return not value
    if kind in ("PositiveIntegerField", "PositiveSmallIntegerField", "PositiveBigIntegerField"):
        return (value or 0) + 3
    if kind in ("FloatField", "DecimalField"):
        return (value or 0) + 1
    if field.choices:
        return next(choice for choice, _ in field.choices if choice not in (value, ""))
    if field.name == "further_tasks":
        return [{"task_type": "best", "k": 4, "m": None, "shared_places": False, "percent": 5}]
    if field.name == "earlier_tasks":
        return ["pair:2"]
    if kind == "JSONField":
        return ["skip"] if field.name == "outcomes" else ["Too long"]
    if field.name == "estimator":
        return "BradleyTerry"
    if field.name == "currency":
        return "USD"
    return f"{value} of its own" if kind in ("CharField", "TextField") else value


def clone_of(full, alice, **values):
    given = {"name": "Round two", "with_items": True, "now": NOW, "rng": random.Random(1), **values}
    return Project.objects.get(pk=clone_project(source=full.project, actor=alice, **given).pk)


def test_every_column_is_copied_or_named():
    """A column that somebody adds later is copied by itself; one that must not be has to be named here and there."""
    assert NOT_COPIED[Project] == PROJECTS_OWN
    for model, left in NOT_COPIED.items():
        names = {field.name for field in model._meta.concrete_fields}
        assert left <= names
        foreign = {field.name for field in model._meta.concrete_fields if isinstance(field, ForeignKey)}
        assert foreign <= left | {"entry"}, f"{model.__name__} would point into the source by {foreign - left}"


def test_every_table_of_a_project_is_decided_about():
    relations = [one for one in Project._meta.get_fields(include_hidden=True) if one.auto_created and not one.concrete]
    assert {one.related_model.__name__ for one in relations} == COPIED | ANEW | LEFT.keys()


def test_settings_and_rules_come_along(full, alice):
    clone = clone_of(full, alice)
    for field in Project._meta.concrete_fields:
        same = getattr(clone, field.name) == getattr(full.project, field.name)
        assert same or field.name in PROJECTS_OWN, field.name
    assert (clone.state, clone.archived_at, clone.name) == ("draft", None, "Round two")
    assert clone.join_token != full.project.join_token
    entry = ParticipationRules.objects.get(project=clone)
    assert (entry.consent, entry.thanks, entry.places) == ("Agreed?", "Ta", 7)
    assert entry.platform_token != full.project.entry.platform_token
    assert clone.consent_texts.get().version == clone.consent_version
    kept = Retention.objects.get(project=clone)
    assert (kept.days, kept.drops, kept.done_for) == (90, "labels", None)
    field = QuestionField.objects.get(project=clone)
    assert (field.label, field.required, clone.fields_before) == ("Your town", True, field.pk)


def test_items_come_along_and_nobody_else(full, alice):
    answered = full.project.events.count()
    clone = clone_of(full, alice)
    assert clone.items.count() == full.project.items.count() == 7
    picture = clone.items.get(key="picture")
    assert (picture.n_taken, picture.media.name) == (0, full.picture.media.name)
    assert (picture.context.body, picture.context.project) == ("A prompt", clone)
    assert [tag.project for tag in picture.tags.all()] == [clone]
    assert (picture.captions.language, picture.captions.text) == ("en", "WEBVTT")
    assert clone.items.get(key="item-3").retired_at
    known = clone.known_sets.get()
    assert [clone.items.get(pk=pk).key for pk in known.named] == ["item-1", "item-0"]
    assert set(known.items.values_list("project", flat=True)) == {clone.pk}
    assert known.item_set.key == set_key(known.items.values_list("pk", flat=True))
    for name in filter(None, LEFT.values()):
        assert not getattr(clone, name).exists(), name
    assert list(clone.memberships.values_list("user", "role")) == [(alice.pk, "owner")]
    assert full.project.events.count() == answered + 1
    assert clone.events.get().details["items"] == 7


def test_a_clone_without_items_has_none(full, alice):
    clone = clone_of(full, alice, with_items=False)
    assert not clone.items.exists()
    assert not clone.known_sets.exists()
    assert clone.question == full.project.question


@pytest.mark.parametrize("first", ["source", "clone"])
def test_files_live_as_long_as_an_item_has_them(full, alice, first, django_capture_on_commit_callbacks):
    clone, name = clone_of(full, alice), full.picture.media.name
    one, other = (full.project, clone) if first == "source" else (clone, full.project)
    with django_capture_on_commit_callbacks(execute=True):
        delete_project(project=one)
    assert default_storage.exists(name)
    with django_capture_on_commit_callbacks(execute=True):
        delete_project(project=other)
    assert not default_storage.exists(name)


def test_a_manager_clones_on_the_page_and_owns_the_clone(project, manuel):
    answer_one(make_annotator(project, "Ada"))
    client = signed_in(manuel)
    url = reverse("project-clone", args=[project.pk])
    assert "Convincing arguments (copy)" in client.get(url).content.decode()
    assert client.post(url, {"name": ""}).status_code == 400
    client.post(url, {"name": "Mine", "with_items": "on"})
    clone = Project.objects.get(name="Mine")
    assert list(clone.memberships.values_list("user", "role")) == [(manuel.pk, "owner")]
    assert clone.items.count() == 6
    assert not clone.labels.exists()
