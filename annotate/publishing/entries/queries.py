"""Reads comments on items for those who moderate them, and what an entry link shows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotate.criteria import Criterion
from annotate.dashboard.overall.places import Place, stored_places
from annotate.dashboard.overall.queries import overall_ranking
from annotate.fitting.published import published_fit
from annotate.models import EntryLink, Item, ItemComment, Project, Purpose
from models_engine.models import Estimate

SHOWN = Q(released_at__isnull=False, hidden_at=None)


@dataclass(frozen=True)
class CommentedItem:
    """link: the one in use, if there is one."""

    item: Item
    comments: list[ItemComment]
    link: EntryLink | None


@dataclass(frozen=True)
class CommentCounts:
    n: int
    n_shown: int
    n_hidden: int

    @property
    def n_waiting(self) -> int:
        return self.n - self.n_shown - self.n_hidden


@dataclass(frozen=True)
class Entry:
    """What the page behind an entry link shows.   place: None where it is unknown or the owner does not show it."""

    title: str
    comments: list[str]
    place: Place | None
    n_items: int


def items_of(project: Project, tag: str = "") -> QuerySet[Item]:
    return project.items.filter(tags__name=tag) if tag else project.items.all()


def comments_of(project: Project, tag: str = "") -> QuerySet[ItemComment]:
    """Return the comments of answers that count as given: neither void nor practice."""
    counting = ItemComment.objects.filter(label__voided_at=None).exclude(label__presentation__purpose=Purpose.PRACTICE)
    return counting.filter(item__in=items_of(project, tag))


def counts_of(project: Project, tag: str = "") -> CommentCounts:
    hidden = Q(hidden_at__isnull=False)
    found = comments_of(project, tag).aggregate(
        n=Count("pk"), n_shown=Count("pk", filter=SHOWN), n_hidden=Count("pk", filter=hidden)
    )
    return CommentCounts(**found)


def listed_items(project: Project, tag: str = "") -> QuerySet[Item]:
    """Return the items that have a comment or a link in use, by key."""
    commented = comments_of(project).filter(item=OuterRef("pk"))
    linked = EntryLink.objects.filter(item=OuterRef("pk"), revoked_at=None)
    return items_of(project, tag).filter(Exists(commented) | Exists(linked)).order_by("key", "pk")


def with_comments(project: Project, items: Sequence[Item]) -> list[CommentedItem]:
    """Return the items with their comments, oldest first; two queries."""
    links = {link.item_id: link for link in project.entry_links.filter(item__in=items, revoked_at=None)}
    comments: dict[int, list[ItemComment]] = {}
    found = comments_of(project).filter(item__in=items).select_related("label__annotator").order_by("pk")
    for comment in found:
        comments.setdefault(comment.item_id, []).append(comment)
    return [CommentedItem(item, comments.get(item.pk, []), links.get(item.pk)) for item in items]


def entry_of(link: EntryLink) -> Entry:
    """Return what the link shows: comments in an order that says nothing about who wrote which, without names."""
    project, item = link.project, link.item
    shown = comments_of(project).filter(SHOWN, item=item)
    place, n_items = place_of(project, item) if project.entry_places else (None, 0)
    return Entry(title=item.title, comments=sorted(shown.values_list("text", flat=True)), place=place, n_items=n_items)


def place_of(project: Project, item: Item) -> tuple[Place | None, int]:
    """Return the item's place, by the weighted total where there are several criteria, and among how many items.

    None where the item has not been compared, or not with most of the others.
    """
    if project.criteria:
        places = stored_places(overall_ranking(project))
        return next((one for one in places if one.item_id == item.pk), None), len(places)
    ranked = Estimate.objects.filter(fit=published_fit(Criterion(project)), part=0, n_comparisons__gt=0)
    estimate = ranked.filter(item_id=item.pk).first()
    return (Place.of_estimate(estimate) if estimate else None), ranked.count()


LINK_COLUMNS = ["key", "title", "tags", "link", "made_at", "comments"]


def link_rows(project: Project, address_of: Callable[[EntryLink], str]) -> Iterator[list[object]]:
    """Yield the rows of LINK_COLUMNS; comments: how many the entry's page shows."""
    n_shown: dict[int, int] = dict(
        comments_of(project).filter(SHOWN).order_by().values_list("item").annotate(n=Count("pk"))
    )
    links = project.entry_links.filter(revoked_at=None).select_related("item").prefetch_related("item__tags")
    for link in links.order_by("item__key"):
        item = link.item
        tags = ";".join(sorted(tag.name for tag in item.tags.all()))
        yield [item.key, item.title, tags, address_of(link), link.made_at, n_shown.get(item.pk, 0)]
