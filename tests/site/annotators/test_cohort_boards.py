"""Leaderboards by cohort: asked for on the cohorts page, pooled, kept from small cohorts; page, API and export."""

import re

import pytest
from django.urls import reverse

from annotate.annotators.cohorts import job
from annotate.annotators.cohorts import queue as cohorts_queue
from annotate.annotators.cohorts.actions import request_comparison
from annotate.criteria import Criterion
from annotate.models import AnnotatorTag, CohortComparison, Label
from annotate.publishing.exports.registry import TABLES
from tests.conftest import NOW, make_annotator
from tests.site.api_client import Api
from tests.site.competitions import make_competition
from tests.site.fitting.test_run import fit_now
from tests.site.pages import signed_in

NAMES = ["Ada", "Bert", "Cleo"]
IDS = re.compile(r' id="([^"]+)"')


def go_on(*_progress) -> bool:
    return True


@pytest.fixture
def competition(project):
    """Ten prompts, six people: three prefer the later name, three, who joined as somebody else did, the earlier."""
    people = make_competition(project, NAMES, n_prompts=10, n_people=6)
    for label in Label.objects.filter(annotator__in=people[3:], outcome="choice").select_related("presentation"):
        shown = list(label.presentation.presented.values_list("item", flat=True))
        label.chosen_id = next(pk for pk in shown if pk != label.chosen_id)
        label.save(update_fields=["chosen"])
    for number, person in enumerate(people):
        AnnotatorTag.objects.create(annotator=person, name="later" if number < 3 else "earlier")
    fit_now(project)
    return people


def compared(project, alice, first: str, second: str = "", by: str = "tag") -> CohortComparison:
    row = request_comparison(criterion=Criterion(project), actor=alice, by=by, first=first, second=second, now=NOW)
    cohorts_queue.QUEUE.work(cohorts_queue.QUEUE.claim_next(owner="test", now=NOW), progress=go_on)
    row.refresh_from_db()
    return row


@pytest.mark.embedded
@pytest.mark.slow
def test_each_cohort_has_a_board_of_its_own_on_page_api_and_export(project, alice, competition):
    row = compared(project, alice, "later", "earlier")
    assert row.status == "ready", row.message
    told = Api(alice, project)("get", "cohorts-row", args=[row.pk]).json()
    boards = {one["cohort"]: one for one in told["leaderboards"]}
    assert [one["competitor"] for one in boards["later"]["rows"]] == ["Cleo", "Bert", "Ada"]
    assert [one["competitor"] for one in boards["earlier"]["rows"]] == ["Ada", "Bert", "Cleo"]
    assert (boards["later"]["n_annotators"], boards["later"]["n_labels"]) == (3, 90)
    assert boards["later"]["rows"][0]["effect"] > boards["later"]["rows"][0]["effect_sd"]
    assert told["leaderboards_problem"] == ""
    html = signed_in(alice).get(reverse("cohorts", args=[project.pk])).content.decode()
    assert "Leaderboards by cohort" in html
    assert html.count("cohort-board-") >= 4
    rows = list(TABLES["leaderboard_cohorts"].rows(Criterion(project)))
    assert {(row[1], row[2]) for row in rows} == {(tag, name) for tag in ("later", "earlier") for name in NAMES}
    assert all(len(row) == len(TABLES["leaderboard_cohorts"].names(project)) for row in rows)


@pytest.mark.embedded
@pytest.mark.slow
def test_style_is_held_equal_in_each_cohort_and_categories_are_said_to_be_left_out(project, alice):
    people = make_competition(project, NAMES, n_prompts=10, n_people=6, tags=("maths", "history"))
    for number, person in enumerate(people):
        AnnotatorTag.objects.create(annotator=person, name="later" if number < 3 else "earlier")
    project.style_features = ["length"]
    project.save()
    fit_now(project)
    row = compared(project, alice, "later", "earlier")
    assert row.status == "ready", row.message
    told = Api(alice, project)("get", "cohorts-row", args=[row.pk]).json()
    [style] = told["leaderboards_style"]
    assert style["feature"] == "length"
    assert style["low"] < style["worth"] < style["high"]
    for board in told["leaderboards"]:
        plain, equal = ({one["competitor"]: one for one in board[name]} for name in ("rows", "equal"))
        assert plain.keys() == equal.keys() == set(NAMES)
        assert plain["Ada"]["utility"] != equal["Ada"]["utility"]
        assert plain["Ada"]["n_labels"] == equal["Ada"]["n_labels"]
    html = signed_in(alice).get(reverse("cohorts", args=[project.pk])).content.decode()
    assert "These boards go over all categories" in html
    assert html.count("Places and scores as they are, and with style held equal") == 2
    assert len(set(IDS.findall(html))) == len(IDS.findall(html))
    rows = [row[-1] for row in TABLES["leaderboard_cohorts"].rows(Criterion(project))]
    assert (rows.count("all"), rows.count("style")) == (6, 6)


@pytest.mark.embedded
@pytest.mark.slow
def test_boards_of_an_earlier_version_are_shown_without_style(project, alice, competition):
    row = compared(project, alice, "later", "earlier")
    assert (row.boards["style"], row.boards["has_categories"]) == (None, False)
    boards = {name: value for name, value in row.boards.items() if name not in ("style", "has_categories")}
    boards["cohorts"] = [{k: v for k, v in one.items() if k != "equal"} for one in boards["cohorts"]]
    CohortComparison.objects.update(boards=boards)
    html = signed_in(alice).get(reverse("cohorts", args=[project.pk])).content.decode()
    assert "Leaderboards by cohort" in html
    assert "style held equal" not in html
    told = Api(alice, project)("get", "cohorts-row", args=[row.pk]).json()
    assert told["leaderboards_style"] == []
    assert len(list(TABLES["leaderboard_cohorts"].rows(Criterion(project)))) == 6


@pytest.mark.embedded
@pytest.mark.slow
def test_a_small_cohort_has_no_board_and_everybody_else_has_one(project, alice, competition):
    lonely = competition[0]
    AnnotatorTag.objects.filter(annotator=lonely).update(name="lonely")
    row = compared(project, alice, "later", "earlier")
    assert row.boards["cohorts"][0]["n_annotators"] == 2
    row = compared(project, alice, "earlier")
    assert [one["key"] for one in row.boards["cohorts"]] == ["earlier", ""]
    AnnotatorTag.objects.filter(annotator=competition[1]).update(name="lonely too")
    with pytest.raises(job.NotComparable, match="too few answers"):
        compared(project, alice, "later", "earlier")


@pytest.mark.embedded
@pytest.mark.slow
def test_who_joined_how_gives_a_board_for_each_and_none_where_there_is_too_little(project, alice, competition):
    for person, source in zip(competition[3:], ("account", "account", "platform"), strict=True):
        person.source = source
        person.save(update_fields=["source"])
    make_annotator(project, "Newcomer", source="platform")
    row = compared(project, alice, "link", "account", by="source")
    sizes = {one["key"]: (one["n_annotators"], len(one["rows"])) for one in row.boards["cohorts"]}
    assert sizes == {"link": (3, 3), "account": (2, 3), "platform": (1, 0)}
    html = signed_in(alice).get(reverse("cohorts", args=[project.pk])).content.decode()
    assert "Not enough data: a leaderboard of its own needs 20 answers about competitors from 2 annotators." in html


@pytest.mark.embedded
@pytest.mark.slow
def test_who_is_in_both_cohorts_counts_for_neither(project, alice, competition):
    for person in competition[2:4]:
        AnnotatorTag.objects.filter(annotator=person).delete()
        AnnotatorTag.objects.bulk_create(AnnotatorTag(annotator=person, name=name) for name in ("later", "earlier"))
    row = compared(project, alice, "later", "earlier")
    assert [one["n_annotators"] for one in row.boards["cohorts"]] == [2, 2]


def test_without_competitors_there_are_no_boards(project, alice):
    row = CohortComparison(project=project, by="tag", first="a", asked_at=NOW)
    assert row.boards == {}
    assert list(TABLES["leaderboard_cohorts"].rows(Criterion(project))) == []
