"""A study of 200 participants who come by platform links, a third of whom leave half-way: everything ends exactly."""

import random
from collections import Counter
from datetime import timedelta

import pytest
from django.db.models import Count
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.actions.endings import use_code
from annotate.actions.projects import set_state
from annotate.models import Annotator, Completion, Item, Label, Presentation, PresentedItem, Project
from annotate.queries.entry import arithmetic
from tests.conftest import NOW, make_items
from tests.site.entrance import answer_open, arrive, open_to_platform, open_token

pytestmark = pytest.mark.embedded

N_ITEMS, N_SETS, OVERLAP = 20, 40, 14
PARTICIPANTS, CAP, HALF = 200, 4, 2
AT_ONCE = 12  # participants who answer in turns
# What the sets need must be less than what comes though a third leaves half-way; and the last participants can only
# answer sets that they have not seen, so a reserve of one in six is wise.
NEEDED = N_SETS * OVERLAP
LEAVING = PARTICIPANTS // 3
EXPECTED = (PARTICIPANTS - LEAVING) * CAP + LEAVING * HALF


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


def test_a_study_ends_with_every_set_met_every_item_shown_alike_and_every_code_valid_once(project, alice):
    rng = random.Random(4)
    project.items.all().delete()
    make_items(project, N_ITEMS)
    Project.objects.filter(pk=project.pk).update(n_sets=N_SETS, overlap=OVERLAP, cap=CAP, state="draft")
    entry = open_to_platform(project, alice, codes="individual", places=PARTICIPANTS)
    set_state(project=project, actor=alice, state="open", now=NOW)

    stated = arithmetic(project, entry)
    assert stated.needed == "40 sets × 14 annotators each = 560 answers needed."
    assert stated.given == "200 participants × at most 4 answers = 800 answers at most."
    assert stated.enough
    assert EXPECTED == 668
    assert NEEDED * 7 <= EXPECTED * 6

    site = Client().handler
    active: list[Participant] = []
    for number in range(PARTICIPANTS):
        active.append(Participant(project, entry, number, rng, site))
        while len(active) >= AT_ONCE:
            active = [person for person in active if person.step()]
            leases_run_out(active)
    while active:
        active = [person for person in active if person.step()]

    people = Annotator.objects.filter(project=project)
    assert people.count() == PARTICIPANTS
    # Overlap is met exactly, on every set of the plan and on no other.
    counting = Label.objects.filter(project=project, voided_at=None)
    of_set = counting.values("presentation__item_set").annotate(n=Count("annotator", distinct=True))
    assert Counter(of_set.values_list("n", flat=True)) == {OVERLAP: N_SETS}
    assert project.item_sets.count() == N_SETS
    assert counting.count() == NEEDED
    # Items' exposure: how many sets each is in, and how often it was judged.
    in_sets = [key for one in project.item_sets.all() for key in one.key.split("-")]
    assert set(Counter(in_sets).values()) == {N_SETS * 2 // N_ITEMS}
    judged = PresentedItem.objects.filter(presentation__label__in=counting).values("item").annotate(n=Count("pk"))
    exposure = list(judged.values_list("n", flat=True))
    assert len(exposure) == N_ITEMS
    assert max(exposure) - min(exposure) <= 1
    assert set(Item.objects.values_list("n_taken", flat=True)) == set(exposure)
    # A third left without a code; every code is one person's, genuine, and counts once.
    given = list(Completion.objects.all())
    left = people.filter(ended="")
    assert LEAVING * 0.7 <= left.count() <= LEAVING  # the last ones found nothing left before half-way
    assert len(given) == PARTICIPANTS - left.count() == len({one.code for one in given})
    for one in given:
        n_labels = counting.filter(annotator=one.annotator).count()
        assert one.kind == ("complete" if n_labels else "quota_full")
        first, second = (use_code(project=project, actor=alice, code=one.code, now=NOW) for _ in range(2))
        assert first.completion == one
        assert first.used_before is None
        assert second.used_before == NOW
