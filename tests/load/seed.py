"""Fills a large project for the load figures: many items and labels, in bulk."""

import random
import uuid

from django.utils import timezone

from annotate.labelling.item_sets import set_key
from annotate.models import Annotator, FitState, Item, ItemSet, Label, Presentation, PresentedItem, Project
from tests.load.database import ALIAS

LABELS_EACH = 200
CHUNK = 2000


def seed_project(n_items: int, n_labels: int) -> str:
    """An open project on the `fire` database with labels on distinct random pairs; its join token."""
    rng, now = random.Random(1), timezone.now()
    project = Project.objects.using(ALIAS).create(
        name="Load",
        question="Which is better?",
        state="open",
        overlap=2,
        outcomes=["tie", "skip"],
        estimator="BradleyTerry",
    )
    items = Item.objects.using(ALIAS).bulk_create(
        (Item(project=project, key=f"i{i}", body=f"Item number {i}", shuffle=rng.random()) for i in range(n_items)),
        batch_size=CHUNK,
    )
    annotators = Annotator.objects.using(ALIAS).bulk_create(
        Annotator(project=project, pseudonym=f"Earlier {i}", source=Annotator.Source.IMPORT)
        for i in range(n_labels // LABELS_EACH + 1)
    )
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < n_labels:
        a, b = rng.sample(range(n_items), 2)
        pairs.add((min(a, b), max(a, b)))
    ordered = sorted(pairs)
    for start in range(0, n_labels, CHUNK):
        chunk = [(items[a], items[b]) for a, b in ordered[start : start + CHUNK]]
        write(project, annotators, chunk, start, rng, now)
    counts = dict.fromkeys(range(n_items), 0)
    for a, b in ordered:
        counts[a] += 1
        counts[b] += 1
    for place, item in enumerate(items):
        item.n_taken = counts[place]
    Item.objects.using(ALIAS).bulk_update(items, ["n_taken"], batch_size=500)
    FitState.objects.using(ALIAS).create(project=project, wanted=n_labels)
    return project.join_token


def write(project: Project, annotators: list[Annotator], pairs: list, start: int, rng: random.Random, now) -> None:
    sets = ItemSet.objects.using(ALIAS).bulk_create(
        ItemSet(project=project, key=set_key([a.pk, b.pk]), n_taken=1, shuffle=rng.random()) for a, b in pairs
    )
    presentations = Presentation.objects.using(ALIAS).bulk_create(
        Presentation(
            token=uuid.uuid4().hex,
            project=project,
            annotator=annotators[(start + place) // LABELS_EACH],
            item_set=item_set,
            state=Presentation.State.ANSWERED,
            created_at=now,
            leased_until=now,
        )
        for place, item_set in enumerate(sets)
    )
    PresentedItem.objects.using(ALIAS).bulk_create(
        PresentedItem(presentation=presentation, item=item, position=position)
        for presentation, pair in zip(presentations, pairs, strict=True)
        for position, item in enumerate(pair)
    )
    Label.objects.using(ALIAS).bulk_create(
        Label(
            project=project,
            presentation=presentation,
            annotator_id=presentation.annotator_id,
            outcome=Label.Outcome.CHOICE,
            chosen=rng.choice(pair),
            created_at=now,
            app_version="load",
        )
        for presentation, pair in zip(presentations, pairs, strict=True)
    )
