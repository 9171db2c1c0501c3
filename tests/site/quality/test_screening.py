"""Rules that screen out after failed checks: the same for all, at once, with or without the answers given so far."""

import random

import pytest
from django.urls import reverse

from annotate.core.errors import ScreenedOut
from annotate.criteria import Criterion
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.models import Event, Label
from annotate.publishing.exports import annotators as table
from annotate.quality.gold.actions import ScreenedOutByRule, admit_annotator
from tests.conftest import NOW, make_annotator
from tests.site.api_client import Api
from tests.site.gold_sets import answer_all, make_known, true_counts
from tests.site.labelling.test_eligibility import set_up
from tests.site.pages import page, signed_in


def wrong_at_checks(annotator, n: int) -> int:
    """Answer up to `n` tasks, every check wrong; how many were answered before a screening out."""
    for i in range(n):
        try:
            presentation = assignment.next_presentation(annotator=annotator, now=NOW, rng=random.Random(i))
        except ScreenedOut:
            return i
        items = list(presentation.presented.values_list("item_id", flat=True))
        wrong = next(
            place for place, item in enumerate(items) if not presentation.known or item not in presentation.known.named
        )
        record_label(presentation=presentation, answer=Answer("choice", wrong), now=NOW)
    return n


@pytest.mark.parametrize("counts", [False, True])
def test_whoever_fails_too_many_checks_is_screened_out_at_once(project, counts):
    set_up(project, overlap=50, attention_every=2, attention_fails=2, count_screened_out=counts)
    make_known(project, "attention", 6)
    careless, careful = make_annotator(project, "Careless"), make_annotator(project, "Careful")
    n = wrong_at_checks(careless, 12)
    assert 3 <= n < 12
    careless.refresh_from_db()
    assert careless.screened_out_by == "attention"
    assert Label.objects.filter(annotator=careless, voided_at=None).exists() is counts
    assert set(Label.objects.filter(annotator=careless).values_list("void_reason", flat=True)) == (
        {""} if counts else {"screened"}
    )
    true_counts(project)
    [event] = Event.objects.filter(verb="annotator screened out")
    assert (event.details["rule"], event.details["limit"], event.details["labels"] > 0) == ("attention", 2, not counts)
    names = [column.name for column in table.columns(project)]
    answer_all(careful, 1)
    rows = {row[0]: dict(zip(names, row, strict=True)) for row in table.rows(Criterion(project))}
    assert (rows["Careless"]["screened_out_by"], rows["Careless"]["screened_out_at"]) == ("attention", NOW)
    assert (rows["Careful"]["screened_out"], rows["Careful"]["screened_out_at"]) == (False, None)


def test_nobody_is_let_in_by_hand_and_the_page_says_why(project, alice):
    set_up(project, overlap=50, gold_every=2, gold_fails=1)
    make_known(project, "gold", 6)
    careless = make_annotator(project, "Careless")
    wrong_at_checks(careless, 12)
    careless.refresh_from_db()
    with pytest.raises(ScreenedOutByRule, match="the same for everybody"):
        admit_annotator(annotator=careless, actor=alice, now=NOW)
    owner = signed_in(alice)
    html = page(owner, project, "annotators")
    assert "Screened out" in html
    assert reverse("annotator-let-in", args=[project.pk, careless.key]) not in html
    assert Api(alice, project)("get", "annotator", args=[careless.key]).json()["screened_out_by"] == "gold"


def test_without_a_rule_checks_only_raise_flags(project):
    set_up(project, overlap=50, attention_every=2)
    make_known(project, "attention", 6)
    careless = make_annotator(project, "Careless")
    assert wrong_at_checks(careless, 10) == 10


def test_the_rules_are_set_on_the_page_and_by_programs(project, alice):
    owner, api = signed_in(alice), Api(alice, project)
    address = reverse("quality", args=[project.pk])
    refused = owner.post(address, {"practice_tries": 2, "min_seconds": 0, "repeat_percent": 0, "attention_fails": 0})
    assert refused.status_code == 400
    assert api("patch", "project", {"attention_fails": 3, "count_screened_out": True}).status_code == 200
    assert api("get", "project").json()["attention_fails"] == 3
