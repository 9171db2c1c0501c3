"""The owner's own words for both ends, buttons and the line above the items: shown, checked, fixed, exported."""

import json

import pytest
from django.urls import reverse

from annotate.labelling.queries import current_task
from annotate.models import Project
from annotate.projects.actions import change_project
from annotate.projects.forms import ProjectForm
from annotate.publishing.exports.registry import TABLES
from tests.conftest import NOW, make_annotator
from tests.site.labelling.test_labelling import as_annotator
from tests.site.labelling.test_task_types import next_for, send
from tests.site.pages import BACKEND
from tests.site.projects.test_projects import VALID, settings_of
from tests.site.task_types import form_of, set_task

ENDS = {"best_words": "Most intense", "worst_words": "Least intense"}
BEST_WORST = {**VALID, "task_type": "best_worst", "k": "4"}


@pytest.fixture
def annotator(project):
    set_task(project, "best_worst", 4, **ENDS, instruction_line="Think of anger only.")
    return make_annotator(project, "Quiet Otter")


def test_the_task_shows_the_words_and_none_of_the_usual_ones(client, annotator):
    next_for(annotator)
    page = as_annotator(annotator).get(reverse("label", args=[annotator.project_id])).content.decode()
    assert page.count("<bdi>Most intense</bdi>") == page.count("<bdi>Least intense</bdi>") == 4
    assert "Think of anger only." in page
    assert "first “Most intense”, then “Least intense”" in page
    assert "Mark the best" not in page
    assert "<bdi>Best</bdi>" not in page


def test_the_answer_is_told_in_the_words(annotator):
    send(next_for(annotator), form_of(annotator.project, [2, 0]))
    task = current_task(annotator=annotator, now=NOW)
    assert task.last.words == "you marked C as “Most intense”, A as “Least intense”"


@pytest.mark.parametrize(("task_type", "k", "n_buttons"), [("pair", 2, 2), ("best", 4, 4)])
def test_buttons_say_the_words_with_their_letter(client, project, task_type, k, n_buttons):
    set_task(project, task_type, k, choice_words="{letter} sounds <b>angrier</b>")
    annotator = make_annotator(project, "Quiet Otter")
    next_for(annotator)
    page = as_annotator(annotator).get(reverse("label", args=[project.pk])).content.decode()
    for letter in "ABCD"[:n_buttons]:
        assert f"<bdi>{letter} sounds &lt;b&gt;angrier&lt;/b&gt;</bdi>" in page
    assert "Choose A</bdi>" not in page


def test_a_graded_answer_is_told_in_the_words(project):
    set_task(project, "graded", 2, choice_words="{letter} sounds angrier")
    annotator = make_annotator(project, "Quiet Otter")
    send(next_for(annotator), form_of(project, [1, 0], "clearly"))
    assert current_task(annotator=annotator, now=NOW).last.words == "you said “B sounds angrier” (clearly)"


@pytest.mark.parametrize(
    ("task_type", "m", "hint"),
    [
        ("ranking", None, "Put all 4 in order, “Most intense” first."),
        ("top", 2, "Rank 2, “Most intense” first, and leave the others."),
    ],
)
def test_rankings_name_the_end_that_comes_first(project, task_type, m, hint):
    set_task(project, task_type, 4, m, **ENDS)
    annotator = make_annotator(project, "Quiet Otter")
    next_for(annotator)
    assert current_task(annotator=annotator, now=NOW).hint == hint


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"best_words": "Most intense"}, "worst_words", "Enter your own words for both ends"),
        ({"worst_words": "Least intense"}, "best_words", "Enter your own words for both ends"),
        ({"best_words": "Same", "worst_words": "same"}, "worst_words", "Both ends have the same words"),
        ({"choice_words": "is better"}, "choice_words", "Write {letter} once"),
        ({"choice_words": "{letter} beats {letter}"}, "choice_words", "Write {letter} once"),
        ({"choice_words": "{letter} {name}"}, "choice_words", "Write {letter} once"),
        ({"best_words": "x" * 41, "worst_words": "y"}, "best_words", "40"),
    ],
)
def test_words_that_would_mislead_are_refused_with_the_reason(db, changes, field, message):
    form = ProjectForm({**BEST_WORST, **changes})
    assert not form.is_valid()
    assert message in str(form.errors[field])


def test_a_ranking_needs_words_for_its_first_end_only(db):
    assert ProjectForm({**VALID, "task_type": "ranking", "k": "4", "best_words": "Most intense"}).is_valid()


def test_words_are_fixed_once_somebody_has_answered(client, annotator, alice):
    project = annotator.project
    send(next_for(annotator), form_of(project, [2, 0]))
    client.force_login(alice, BACKEND)
    client.post(
        reverse("settings-answers", args=[project.pk]), settings_of(project, best_words="Best ever", comments=True)
    )
    project.refresh_from_db()
    assert (project.best_words, project.comments) == ("Most intense", True)


def test_the_preview_and_the_api_give_the_words(client, project, alice):
    set_task(project, "best_worst", 4)
    change_project(project=project, actor=alice, values=ENDS, now=NOW)
    client.force_login(alice, BACKEND)
    assert "<bdi>Most intense</bdi>" in client.get(reverse("preview", args=[project.pk])).content.decode()
    task = client.get(reverse("api-preview", args=[project.pk])).json()["task"]
    assert task["marks"] == {"best": "Most intense", "worst": "Least intense"}
    assert task["instruction"] == "Mark one as “Most intense” and one as “Least intense”."
    details = client.get(reverse("api-project", args=[project.pk])).json()
    assert {name: details[name] for name in ENDS} == ENDS


def test_the_api_sets_the_words_and_names_what_is_wrong(client, project, alice):
    client.force_login(alice, BACKEND)
    url = reverse("api-project", args=[project.pk])

    def patch(**values):
        return client.patch(url, json.dumps(values), content_type="application/json")

    assert patch(choice_words="{letter} sounds angrier").status_code == 200
    assert Project.objects.get(pk=project.pk).choice_words == "{letter} sounds angrier"
    assert "choice_words" in patch(choice_words="no letter").content.decode()


def test_the_export_keeps_its_columns_and_tells_the_words(annotator):
    columns = TABLES["comparisons"].columns(annotator.project)
    assert [column.name for column in columns] == ["annotator", "best", "worst", "set"]
    assert str(columns[1].meaning) == "Key of the item chosen as best. Annotators read “Most intense”."


BUTTONS = {
    "tie_words": "Can't decide",
    "cant_judge_words": "I know the author",
    "skip_words": "Pass",
    "slightly_words": "{letter} a bit more",
    "clearly_words": "{letter} much more",
}


def test_every_other_button_says_the_owners_words_and_the_history_repeats_them(project, alice):
    set_task(project, "graded", 2, outcomes=["tie", "cant_judge", "skip"], **BUTTONS)
    annotator = make_annotator(project, "Quiet Otter")
    next_for(annotator)
    page = as_annotator(annotator).get(reverse("label", args=[project.pk])).content.decode().replace("&#x27;", "'")
    for words in ("Can't decide", "I know the author", "Pass", "A a bit more", "B much more"):
        assert words in page
    assert not [usual for usual in (">Tie<", "A clearly", "Can't judge<", ">Skip<") if usual in page]
    send(next_for(annotator), form_of(project, [1, 0], "clearly"))
    assert current_task(annotator=annotator, now=NOW).last.words == "you said “B much more”"
    send(next_for(annotator), {"answer": "skip"})
    assert current_task(annotator=annotator, now=NOW).last.words == "you said “Pass”"
    [outcome] = [one for one in TABLES["labels"].columns(project) if one.name == "outcome"]
    assert "tie: “Can't decide”" in str(outcome.meaning)


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"tie_words": "Pass", "skip_words": "pass"}, "skip_words", "Two buttons have the same words"),
        ({"slightly_words": "{letter} a bit"}, "clearly_words", "both steps"),
        ({"clearly_words": "much", "slightly_words": "{letter} a bit"}, "clearly_words", "Write {letter} once"),
        ({"tie_words": "x" * 41}, "tie_words", "40"),
    ],
)
def test_words_of_buttons_are_checked(db, changes, field, message):
    form = ProjectForm({**VALID, **changes})
    assert not form.is_valid()
    assert message in str(form.errors[field])
