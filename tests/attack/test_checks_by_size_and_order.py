"""Gold questions, attention checks and repeats: neither bytes nor headers nor places in the order tell them apart.

By content and by program: test_checks_leak.py. By statements, so by time: tests/site/labelling/test_special_tasks.py.
"""

import random
import re
from collections import Counter
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.labelling import assignment, special_tasks
from annotate.models import Annotator, Item, Presentation, Project, Purpose
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.gold_sets import make_known
from tests.site.labelling.test_eligibility import set_up
from tests.site.labelling.test_labelling import as_annotator

pytestmark = pytest.mark.slow
CHECKS = {Purpose.GOLD, Purpose.ATTENTION, Purpose.REPEAT}
TASKS = 22


@pytest.fixture
def alike(project) -> Project:
    """A project with checks whose items differ in nothing that has a length."""
    set_up(project, gold_every=4, attention_every=5, repeat_percent=50, overlap=50)
    Item.objects.bulk_create(Item(project=project, key=f"more-{i}", body="x") for i in range(10))
    make_known(project, "gold", 10)
    make_known(project, "attention", 10)
    for item in Item.objects.filter(project=project):
        item.key, item.body = f"k{item.pk:06d}", f"Words {item.pk:06d}"
        item.save()
    return project


def seen(page: Client, project: Project, annotator: Annotator) -> tuple[str, tuple[int, tuple[str, ...]]]:
    """The purpose of the open task, and what its page shows to whoever only measures: bytes and names of headers."""
    response = page.get(reverse("label", args=[project.pk]))
    assert response.status_code == 200
    # How much is done is shown with as many digits as it has, and grows whatever is asked.
    html = re.sub(r"\b\d{1,3}\b", "N", response.content.decode())
    shown = annotator.presentations.order_by("pk").last()
    return shown.purpose, (len(html), tuple(sorted(response.headers)))


@pytest.mark.embedded
def test_pages_are_as_long_and_have_the_same_headers(alike):
    otter = make_annotator(alike, "Quiet Otter")
    page, sizes = as_annotator(otter), {}
    for n in range(TASKS):
        assignment.next_presentation(annotator=otter, now=timezone.now(), rng=random.Random(n))
        purpose, size = seen(page, alike, otter)
        if n > 2:  # on the first pages there is nothing to undo
            sizes.setdefault(purpose, set()).add(size)
        answer_one(otter, now=timezone.now(), seed=n)
    assert set(sizes) >= CHECKS
    ordinary = sizes[Purpose.ORDINARY]
    assert {purpose: found - ordinary for purpose, found in sizes.items() if found - ordinary} == {}


def test_the_right_answer_has_no_place(alike):
    """Known sets have the right item on either side, about as often."""
    sides = Counter()
    for number in range(4):
        otter = make_annotator(alike, f"Otter {number}")
        for n in range(14):
            answer_one(otter, now=NOW + timedelta(minutes=n), seed=100 * number + n)
        for shown in otter.presentations.filter(purpose__in=[Purpose.GOLD, Purpose.ATTENTION]).select_related("known"):
            places = list(shown.presented.order_by("position").values_list("item", flat=True))
            sides[places.index(shown.known.named[0])] += 1
    assert sum(sides.values()) > 15
    assert min(sides[0], sides[1]) > 0.1 * sum(sides.values())


def test_two_annotators_meet_checks_at_other_places(alike):
    """Who compares notes, or has been here before under another name, does not know what comes when."""
    orders = set()
    for number in range(5):
        otter = make_annotator(alike, f"Otter {number}")
        for n in range(12):
            answer_one(otter, now=NOW + timedelta(minutes=n), seed=n)
        purposes = Presentation.objects.filter(annotator=otter).order_by("pk").values_list("purpose", flat=True)
        orders.add(tuple(purpose != Purpose.ORDINARY for purpose in purposes))
    assert len(orders) > 2


def test_without_the_secret_key_nobody_computes_the_places(alike, settings):
    otter = make_annotator(alike, "Quiet Otter")

    def slots() -> list[int]:
        return [special_tasks.slot_in_block(otter, Purpose.GOLD, 50, block) for block in range(20)]

    own = slots()
    settings.SECRET_KEY = "another"
    assert slots() != own
