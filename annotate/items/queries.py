"""The list of a project's items with how often each was labelled; the keys and texts an import must not repeat."""

from dataclasses import dataclass

from django.core.paginator import Page
from django.db.models import Count, Prefetch, Q, QuerySet

from annotate.core.paging import page_of
from annotate.models import Item, Presentation, PresentedItem, Project, Tag


@dataclass(frozen=True)
class ItemLine:
    """n_labels: unvoided labels on presentations that showed the item; was_shown: it can't be deleted any more."""

    item: Item
    tags: list[str]
    n_labels: int
    was_shown: bool


@dataclass(frozen=True)
class ItemsPage:
    page: Page
    lines: list[ItemLine]
    n_active: int
    n_retired: int


def items_page(project: Project, *, search: str, state: str, tag: str, number: str | None) -> ItemsPage:
    """Read a page of items; a number that isn't there becomes the nearest that is."""
    counts = project.items.aggregate(all=Count("pk"), retired=Count("pk", filter=Q(retired_at__isnull=False)))
    found = filtered(project.items.all(), search, state, tag)
    tags = Prefetch("tags", Tag.objects.order_by("name"))
    page = page_of(found.order_by("pk").select_related("context").prefetch_related(tags), number)
    return ItemsPage(page, lines(list(page)), counts["all"] - counts["retired"], counts["retired"])


def filtered(items: QuerySet[Item], search: str, state: str, tag: str) -> QuerySet[Item]:
    if search:
        items = items.filter(Q(key__icontains=search) | Q(name__icontains=search) | Q(body__icontains=search))
    if state:
        items = items.filter(retired_at__isnull=state == "active")
    return items.filter(tags__name=tag) if tag else items


def lines(items: list[Item]) -> list[ItemLine]:
    ids = [item.pk for item in items]
    answered = PresentedItem.objects.filter(item__in=ids, presentation__state=Presentation.State.ANSWERED)
    n_labels = dict(answered.order_by().values_list("item").annotate(n=Count("pk")))
    shown = set(Item.objects.filter(pk__in=ids, presented__isnull=False).distinct().values_list("pk", flat=True))
    return [
        ItemLine(item, [tag.name for tag in item.tags.all()], n_labels.get(item.pk, 0), item.pk in shown)
        for item in items
    ]


def keys(project: Project) -> set[str]:
    return set(project.items.values_list("key", flat=True))


def text_hashes(project: Project) -> set[int]:
    """Return Python's hashes of the items' texts, good within this process; the texts themselves would not fit in
    memory."""
    return {hash(body) for body in project.items.values_list("body", flat=True).iterator(chunk_size=2000)}
