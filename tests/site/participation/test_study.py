"""A study of participants who come by platform links, a third of whom leave half-way: everything ends exactly."""

import random
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.db.models import Count
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.models import Annotator, Completion, Item, Label, Presentation, PresentedItem, Project
from annotate.participation.completion.actions import use_code
from annotate.participation.queries import answer_budget
from annotate.projects.actions import set_state
from tests.conftest import NOW, make_items
from tests.site.participation_steps import answer_open, arrive, open_to_platform, open_token

pytestmark = pytest.mark.embedded

OVERLAP, CAP, HALF = 7, 4, 2
AT_ONCE = 12  # participants who answer in turns


@dataclass(frozen=True)
class Size:
    """How large the study is, and what its own pages state of it."""

    n_items: int
    n_sets: int
    participants: int
    needed: str
    given: str

    @property
    def leaving(self) -> int:
        return self.participants // 3

    def has_reserve(self) -> bool:
        """What the sets need must be less than what comes though a third leaves half-way; and the last participants
        can only answer sets that they have not seen, so a reserve of one in six is wise."""
        expected = (self.participants - self.leaving) * CAP + self.leaving * HALF
        return self.n_sets * OVERLAP * 7 <= expected * 6


SMALL = Size(
    8,
    16,
    40,
    "16 sets × 7 annotators each = 112 answers needed.",
    "40 participants × at most 4 answers = 160 answers at most.",
)
LARGE = Size(
    20,
    40,
    100,
    "40 sets × 7 annotators each = 280 answers needed.",
    "100 participants × at most 4 answers = 400 answers at most.",
)


class Participant:
    """One person's browser, from the platform's link to the code."""

    def __init__(self, project, entry, number: int, rng: random.Random, site) -> None:
        self.project, self.name = project, f"pid-{number}"
        self.patience = HALF if number % 3 == 2 else CAP
        self.client, self.rng, self.n = Client(REMOTE_ADDR=f"203.0.113.{number}"), rng, 0
        self.client.handler = site  # one for all: each would look through all static files when it starts
        arrive(self.client, entry, self.name, f"session-of-number-{number}")

    def step(self) -> bool:
        """Answers once, or ends; whether there is more to do. Who leaves just closes the page, a task open."""
        token = open_token(self.name)
        if token and self.n == self.patience and self.patience < CAP:
            return False
        if token is None:
            self.client.post(reverse("done", args=[self.project.pk]))
            return False
        assert answer_open(self.client, token, self.rng.choice(["a", "b"])).status_code == 303
        self.n += 1
        return True


def leases_run_out(active: list[Participant]) -> None:
    """Time passes for those who left."""
    here = [person.name for person in active]
    left = Presentation.objects.filter(state=Presentation.State.OPEN).exclude(annotator__platform_id__in=here)
    left.update(leased_until=timezone.now() - timedelta(minutes=1))


@pytest.mark.slow
@pytest.mark.parametrize("size", [SMALL, pytest.param(LARGE, marks=pytest.mark.large)], ids=["40", "100"])
def test_a_study_ends_with_every_set_met_every_item_shown_alike_and_every_code_valid_once(project, alice, size):
    rng = random.Random(4)
    project.items.all().delete()
    make_items(project, size.n_items)
    Project.objects.filter(pk=project.pk).update(n_sets=size.n_sets, overlap=OVERLAP, cap=CAP, state="draft")
    entry = open_to_platform(project, alice, codes="individual", places=size.participants)
    set_state(project=project, actor=alice, state="open", now=NOW)

    stated = answer_budget(project, entry)
    assert stated.needed == size.needed
    assert stated.given == size.given
    assert stated.enough
    assert size.has_reserve()

    site = Client().handler
    active: list[Participant] = []
    for number in range(size.participants):
        active.append(Participant(project, entry, number, rng, site))
        while len(active) >= AT_ONCE:
            active = [person for person in active if person.step()]
            leases_run_out(active)
    while active:
        active = [person for person in active if person.step()]

    people = Annotator.objects.filter(project=project)
    assert people.count() == size.participants
    # Overlap is met exactly, on every set of the plan and on no other.
    counting = Label.objects.filter(project=project, voided_at=None)
    of_set = counting.values("presentation__item_set").annotate(n=Count("annotator", distinct=True))
    assert Counter(of_set.values_list("n", flat=True)) == {OVERLAP: size.n_sets}
    assert project.item_sets.count() == size.n_sets
    assert counting.count() == size.n_sets * OVERLAP
    # Items' exposure: how many sets each is in, and how often it was judged.
    in_sets = [key for one in project.item_sets.all() for key in one.key.split("-")]
    assert set(Counter(in_sets).values()) == {size.n_sets * 2 // size.n_items}
    judged = PresentedItem.objects.filter(presentation__label__in=counting).values("item").annotate(n=Count("pk"))
    exposure = list(judged.values_list("n", flat=True))
    assert len(exposure) == size.n_items
    assert max(exposure) - min(exposure) <= 1
    assert set(Item.objects.values_list("n_taken", flat=True)) == set(exposure)
    # A third left without a code; every code is one person's, genuine, and counts once.
    given = list(Completion.objects.all())
    left = people.filter(ended="")
    assert size.leaving * 0.7 <= left.count() <= size.leaving  # the last ones found nothing left before half-way
    assert len(given) == size.participants - left.count() == len({one.code for one in given})
    for one in given:
        n_labels = counting.filter(annotator=one.annotator).count()
        assert one.kind == ("complete" if n_labels else "quota_full")
        first, second = (use_code(project=project, actor=alice, code=one.code, now=NOW) for _ in range(2))
        assert first.completion == one
        assert first.used_before is None
        assert second.used_before == NOW
