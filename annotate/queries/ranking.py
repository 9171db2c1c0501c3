"""The ranking as the dashboard shows it: the published fit's estimates with their items, by part and tier."""

from dataclasses import dataclass
from itertools import groupby

from django.core.paginator import Page, Paginator
from django.db.models import Count, F, Max, Min, OuterRef, Q, QuerySet, Subquery
from django.utils.safestring import SafeString

from annotate.charts import Interval, Scale, Span, Tick, places
from annotate.estimators import CAUTIONS
from annotate.models import Context, Item, Project
from annotate.queries.tiers import Tier, tiers_of
from annotate.queries.verdict import Leader, verdict
from models_engine.models import Estimate, Fit

PAGE_SIZE = 200
THIN = 5  # comparisons below which an item's place says little
FULL_TEXT = 2_000  # characters of an item's text that the table unfolds
# Every order a client may ask for: the columns it sorts by; rank and item settle what is equal.
SORTS = {
    "rank": ["rank"],
    "item": ["title"],
    "utility": ["utility"],
    "p_top_k": ["p_top"],
    "n_comparisons": ["n_comparisons"],
    "divisiveness": ["divisiveness"],
}


@dataclass(frozen=True)
class Wish:
    """What a visitor asked to see; every value comes from an allow-list or is only ever compared with."""

    sort: str = "rank"
    descending: bool = False
    q: str = ""
    tag: str = ""
    page: int = 1

    @property
    def by_rank(self) -> bool:
        return self.sort == "rank" and not self.descending

    @property
    def is_filtered(self) -> bool:
        return bool(self.q or self.tag)


@dataclass(frozen=True)
class Row:
    estimate: Estimate
    item: Item
    tags: list[str]
    mark: Interval
    places: Span
    # The tier that begins (or, on a new page, goes on) with this row.
    tier: Tier | None
    # How it stands to the row below, where that row is its neighbour in rank.
    next_state: str

    @property
    def is_long(self) -> bool:
        return self.item.title != " ".join(self.item.words.split())

    @property
    def full_text(self) -> str:
        words = self.item.words
        return words if len(words) <= FULL_TEXT else words[:FULL_TEXT].rstrip() + "…"


@dataclass(frozen=True)
class Section:
    """The rows of one connected part; `part` is None for items that nobody has compared."""

    part: int | None
    n_items: int
    tag: str
    rows: list[Row]
    about: str = ""  # the context that its items share

    @property
    def number(self) -> int:
        return 0 if self.part is None else self.part + 1


@dataclass(frozen=True)
class Ranking:
    fit: Fit
    wish: Wish
    sections: list[Section]
    page: Page
    scale: Scale
    k: int
    shows_divisiveness: bool
    n_not_ranked: int
    n_retired: int
    n_items: int
    n_thin: int
    n_alone: int
    verdict: SafeString

    @property
    def ticks(self) -> list[Tick]:
        return self.scale.ticks()

    @property
    def caution(self) -> str:
        """Where the intervals of the fit's estimator are known to be too narrow; empty where nothing is known."""
        return str(CAUTIONS.get(self.fit.estimator, ""))

    @property
    def n_parts(self) -> int:
        """Parts of two items or more, each with its own ranking."""
        return self.fit.n_parts - self.n_alone


def ranking(project: Project, fit: Fit, wish: Wish, size: int = PAGE_SIZE) -> Ranking:
    """One page of the ranking, in the same number of queries however many items there are."""
    estimates = Estimate.objects.filter(fit=fit)
    totals = estimates.aggregate(
        low=Min("low"),
        high=Max("high"),
        n=Count("pk"),
        thin=Count("pk", filter=Q(n_comparisons__lt=THIN)),
        alone=Count("pk", filter=Q(n_comparisons=0)),
        divisive=Count("divisiveness"),
    )
    scale = Scale.around(totals["low"] or 0.0, totals["high"] or 0.0)
    page = Paginator(ordered(project, estimates, wish), size).get_page(wish.page)
    rows = list(page.object_list)
    tiers = tiers_of(fit, parts={0, *(estimate.part for estimate in rows)})
    return Ranking(
        fit=fit,
        wish=wish,
        sections=sections(fit, rows, tiers if wish.by_rank else [], scale, gapless=not wish.is_filtered),
        page=page,
        scale=scale,
        k=fit.settings.get("top_k", project.top_k),
        shows_divisiveness=totals["divisive"] > 0,
        n_not_ranked=not_ranked(project, fit).count(),
        n_retired=project.items.filter(retired_at__isnull=False).count(),
        n_items=totals["n"],
        n_thin=totals["thin"],
        n_alone=totals["alone"],
        verdict=verdict(fit, tiers[:2], leaders(fit), n_items=totals["n"], n_thin=totals["thin"]),
    )


def leaders(fit: Fit) -> list[Leader]:
    """The first two items of the largest part."""
    first = list(Estimate.objects.filter(fit=fit, part=0).order_by("rank")[:2])
    items = Item.objects.in_bulk([estimate.item_id for estimate in first])
    return [Leader(items[e.item_id].title if e.item_id in items else "-", e.rank_high) for e in first]


def not_ranked(project: Project, fit: Fit) -> QuerySet[Item]:
    """Items that were added after the fit."""
    ranked = Estimate.objects.filter(fit=fit).values("item_id")
    return project.items.filter(retired_at=None).exclude(pk__in=ranked)


def ordered(project: Project, estimates: QuerySet[Estimate], wish: Wish) -> QuerySet[Estimate]:
    """The estimates asked for, in the order asked for inside each part: across parts there is no order."""
    if wish.is_filtered:
        items = project.items.all()
        if wish.q:
            items = items.filter(Q(body__icontains=wish.q) | Q(key__icontains=wish.q))
        if wish.tag:
            items = items.filter(tags__name=wish.tag)
        estimates = estimates.filter(item_id__in=items.values("pk"))
    if wish.sort == "item":
        estimates = estimates.alias(title=Subquery(Item.objects.filter(pk=OuterRef("item_id")).values("body")[:1]))
    columns = [
        F(name).desc(nulls_last=True) if wish.descending else F(name).asc(nulls_last=True) for name in SORTS[wish.sort]
    ]
    return estimates.order_by("part", *columns, "rank", "item_id")


def sections(fit: Fit, estimates: list[Estimate], tiers: list[Tier], scale: Scale, *, gapless: bool) -> list[Section]:
    items = Item.objects.prefetch_related("tags").in_bulk([estimate.item_id for estimate in estimates])
    # An item erased since the fit has nothing left to show; the next fit leaves it out.
    estimates = [estimate for estimate in estimates if estimate.item_id in items]
    contexts = Context.objects.in_bulk({item.context_id for item in items.values() if item.context_id})
    parts = sorted({estimate.part for estimate in estimates})
    sizes = dict(
        Estimate.objects.filter(fit=fit, part__in=parts).order_by().values_list("part").annotate(n=Count("pk"))
    )
    tags = shared_tags(fit, sizes) if fit.n_parts > 1 else {}
    found = []
    for part, group in groupby(estimates, key=lambda estimate: estimate.part if estimate.n_comparisons else None):
        rows = list(group)
        if part is None:
            section = Section(None, len(rows), "", [])
        else:
            shared = {items[row.item_id].context_id for row in rows}
            about = contexts.get(shared.pop() or 0) if len(shared) == 1 else None
            section = Section(part, sizes[part], tags.get(part, ""), [], str(about or ""))
        drawing = Drawing(section, scale, {tier.number: tier for tier in tiers if tier.part == part}, gapless)
        for above, estimate, below in zip([None, *rows], rows, [*rows[1:], None], strict=False):
            section.rows.append(drawing.row(estimate, items[estimate.item_id], above, below))
        found.append(section)
    return found


@dataclass(frozen=True)
class Drawing:
    """What the rows of one section share. `tiers`: the part's, none where the order is not by rank.   `gapless`: no
    item is left out, so what follows the page's last row is its neighbour."""

    section: Section
    scale: Scale
    tiers: dict[int, Tier]
    gapless: bool

    def row(self, estimate: Estimate, item: Item, above: Estimate | None, below: Estimate | None) -> Row:
        begins = above is None or above.tier != estimate.tier
        adjacent = bool(self.tiers) and (below.rank == estimate.rank + 1 if below else self.gapless)
        return Row(
            estimate=estimate,
            item=item,
            tags=[tag.name for tag in item.tags.all() if tag.name != self.section.tag],
            mark=self.scale.interval(estimate.low, estimate.utility, estimate.high),
            places=places(estimate.rank, estimate.rank_low, estimate.rank_high, self.section.n_items),
            tier=self.tiers.get(estimate.tier) if begins else None,
            next_state=estimate.next_state if adjacent else "",
        )


def shared_tags(fit: Fit, sizes: dict[int, int]) -> dict[int, str]:
    """For each part, the first tag that all of its items carry: parts are often topics."""
    part = Subquery(Estimate.objects.filter(fit=fit, item_id=OuterRef("item_id")).values("part")[:1])
    items = Estimate.objects.filter(fit=fit, part__in=sizes).values("item_id")
    tagged = Item.tags.through.objects.filter(item_id__in=items).annotate(in_part=part)
    counts = tagged.values_list("in_part", "tag__name").annotate(n=Count("pk")).order_by("tag__name")  # type: ignore[misc]
    shared: dict[int, str] = {}
    for number, name, n in counts:
        if n == sizes.get(number):
            shared.setdefault(number, name)
    return shared
