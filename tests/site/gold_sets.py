"""Projects with practice, gold questions and attention checks, and annotators who answer them, for tests."""

from collections import Counter
from datetime import timedelta

from annotate.labelling import item_sets
from annotate.models import Annotator, GoldSet, Item, Presentation, Project, Purpose
from annotate.quality.gold.actions import add_gold_sets
from annotate.quality.gold.table import parse_table
from tests.conftest import NOW, answer_one


def make_known(project: Project, purpose: str, n: int) -> list[GoldSet]:
    """Sets of items that serve for nothing else; the first item is right."""
    items = Item.objects.bulk_create(
        Item(project=project, key=f"{purpose}-{i}", body=f"Text {purpose} {i}", retired_at=NOW) for i in range(2 * n)
    )
    lines = [f"{purpose},{items[2 * i].key},{items[2 * i + 1].key},{items[2 * i].key},because" for i in range(n)]
    keys = dict(project.items.values_list("key", "pk"))
    rows, problems = parse_table(project, "\n".join(["purpose,item_1,item_2,answer,why", *lines]), keys)
    assert not problems
    owner = project.memberships.get(role="owner").user
    add_gold_sets(project=project, actor=owner, rows=rows, only_for_checks=False, now=NOW)
    return list(GoldSet.objects.filter(project=project, purpose=purpose).order_by("pk"))


def answer_all(annotator: Annotator, n: int, chosen=0) -> list[Presentation]:
    """`n` answers in a row, a second apart."""
    for i in range(n):
        answer_one(annotator, chosen=chosen, now=NOW + timedelta(seconds=annotator.labels.count() + i), seed=i)
    return list(annotator.presentations.order_by("pk"))


def true_counts(project: Project) -> None:
    """Overlap and balance count ordinary presentations and no others."""
    taken = Presentation.objects.filter(project=project, state__in=item_sets.TAKEN_STATES, purpose=Purpose.ORDINARY)
    shown = Counter(item for one in taken for item in one.presented.values_list("item", flat=True))
    assert {item.pk: item.n_taken for item in project.items.all()} == {
        pk: shown[pk] for pk in project.items.values_list("pk", flat=True)
    }
    sets = Counter(taken.values_list("item_set", flat=True))
    assert all(one.n_taken == sets[one.pk] for one in project.item_sets.all())
