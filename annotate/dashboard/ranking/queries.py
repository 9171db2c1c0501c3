"""Reads the published ranking: a fit's estimates with their items, by connected part and class."""

from dataclasses import dataclass
from itertools import groupby

from django.core.paginator import Page
from django.db.models import Case, Count, F, Max, Min, OuterRef, Q, QuerySet, Subquery, TextField, When
from django.utils.safestring import SafeString

from annotate.core.charts import Interval, Scale, Span, Tick, place_span
from annotate.core.paging import PAGE_SIZE, page_of
from annotate.dashboard.ranking.classes import RankClass, classes_of, classes_of_places
from annotate.dashboard.ranking.headline import Leader, Totals, headline
from annotate.dashboard.ranking.neighbours import Neighbours, reliability_in
from annotate.dashboard.ranking.tracks import Track, by_place, track_of
from annotate.fitting.estimator_choices import CAUTIONS, SHORT_CAUTIONS
from annotate.fitting.stored_provisional import NewestAnswers
from annotate.labelling.wording import translate_items
from annotate.models import Context, Item, ItemsShownBy, Project
from annotate.models.items import naming_words
from models_engine.models import Estimate, Fit

NextState = Estimate.NextState
SETTLED = (NextState.SEPARATED, NextState.TIED)
AVERAGE_SCORE = 50.0  # an average item's
MIN_COMPARISONS = 5  # comparisons below which an item's place says little
MAX_TEXT_LENGTH = 2_000  # characters of an item's text that the table unfolds
# Every order a client may ask for: the columns it sorts by; rank and item break ties.
SORTS = {
    "rank": ["rank"],
    "item": ["title"],
    "score": ["score"],
    "utility": ["utility"],
    "p_top_k": ["p_top"],
    "n_comparisons": ["n_comparisons"],
    "divisiveness": ["divisiveness"],
}


@dataclass(frozen=True)
class RankingQuery:
    """Order, filter and page of a ranking; values come from an allow-list or are only compared with."""

    sort: str = "rank"
    descending: bool = False
    q: str = ""
    tag: str = ""
    page: int = 1
    language: str = ""  # of the items' texts, one of the project's further ones

    @property
    def by_rank(self) -> bool:
        return self.sort == "rank" and not self.descending

    @property
    def is_filtered(self) -> bool:
        return bool(self.q or self.tag)


@dataclass(frozen=True)
class RankingRow:
    estimate: Estimate
    item: Item
    tags: list[str]
    mark: Interval | None
    places: Span
    # The class that begins (or, on a new page, goes on) with this row.
    rank_class: RankClass | None
    # How it stands to the row below, where that row is its neighbour in rank.
    next_state: str
    shown_by: str = ItemsShownBy.TITLE

    @property
    def title(self) -> str:
        return self.item.shown_as(self.shown_by)

    @property
    def is_long(self) -> bool:
        return not self.title.endswith(" ".join(naming_words(self.item.body, self.item.kind).split()))

    @property
    def full_text(self) -> str:
        words = self.item.words
        return words if len(words) <= MAX_TEXT_LENGTH else words[:MAX_TEXT_LENGTH].rstrip() + "…"


@dataclass(frozen=True)
class Section:
    """The rows of one connected part; `part` is None for items that nobody has compared.

    is_predicted: of these those whose places are predicted from what they look like.
    """

    part: int | None
    n_items: int
    tag: str
    rows: list[RankingRow]
    about: str = ""  # the context that its items share
    shows_top: bool = True  # whether P(top k) says anything: not where k items or fewer are ranked
    is_predicted: bool = False

    @property
    def number(self) -> int:
        return 0 if self.part is None else self.part + 1


@dataclass(frozen=True)
class Ranking:
    fit: Fit
    query: RankingQuery
    sections: list[Section]
    page: Page
    scale: Scale
    k: int
    shows_divisiveness: bool  # in a column
    is_divided: bool  # some items divide people, so that scores may not fall from place to place
    n_not_ranked: int
    n_retired: int
    n_items: int
    n_thin: int
    n_alone: int
    headline: SafeString
    has_scores: bool
    has_contexts: bool  # items are compared within their context only
    neighbours: Neighbours
    track: Track | None = None  # whose places are shown
    n_untracked: int = 0  # items with the tag that have no place in its track

    @property
    def n_optional(self) -> int:
        """Return how many columns the table has that others lack; less one where that of the neighbours is left out."""
        return int(self.shows_divisiveness) + int(self.track is not None) - int(not self.neighbours.are_shown)

    @property
    def ticks(self) -> list[Tick]:
        return self.scale.ticks()

    @property
    def caution(self) -> str:
        """Return where the intervals of the fit's estimator are known to be too narrow; empty where nothing is
        known."""
        return str(CAUTIONS.get(self.fit.estimator, ""))

    @property
    def short_caution(self) -> str:
        return str(SHORT_CAUTIONS.get(self.fit.estimator, ""))

    @property
    def n_parts(self) -> int:
        """Return the number of parts of two items or more, each with its own ranking."""
        return self.fit.n_parts - self.n_alone


def ranking(
    project: Project, fit: Fit, query: RankingQuery, size: int = PAGE_SIZE, newest: NewestAnswers | None = None
) -> Ranking:
    """Return one page of the ranking, in the same number of queries however many items there are.

    newest: what the newest answers change; only of all items in order of their places.
    """
    estimates = Estimate.objects.filter(fit=fit)
    kept = Q() if newest is None else ~Q(part__in=newest.parts)
    totals = estimates.aggregate(
        low=Min("low"),
        high=Max("high"),
        score_low=Min("score_low"),
        score_high=Max("score_high"),
        n=Count("pk"),
        ranked=Count("pk", filter=Q(part=0, n_comparisons__gt=0)),
        thin=Count("pk", filter=Q(n_comparisons__lt=MIN_COMPARISONS)),
        alone=Count("pk", filter=Q(n_comparisons=0)),
        divisive=Count("divisiveness"),
        settled=Count("pk", filter=Q(next_state__in=SETTLED) & kept),
        open=Count("pk", filter=Q(next_state=NextState.NOT_ENOUGH) & kept),
    )
    if newest:
        totals = newest.add_to(totals, SETTLED, (NextState.NOT_ENOUGH,))
    k = fit.settings.get("top_k", project.top_k)
    has_scores = totals["score_low"] is not None
    low, high = (totals["score_low"], totals["score_high"]) if has_scores else (totals["low"], totals["high"])
    scale = Scale.around(low or 0.0, high or 0.0, reference=AVERAGE_SCORE if has_scores else 0.0)
    track = track_of(project, fit, query.tag, query.q)
    shown = sort_estimates(project, estimates, by_place(query) if track else query)
    n_tagged = shown.count() if track else 0
    page = page_of(track.restrict(shown) if track else shown, query.page, size)
    rows = list(page.object_list)
    rows = newest.replace(fit, rows) if newest else rows
    if track:
        track.replace_places(rows)
    classes = (
        classes_of_places(track.places)
        if track
        else classes_of(fit, parts={0, *(estimate.part for estimate in rows)}, newest=newest)
    )
    return Ranking(
        fit=fit,
        query=query,
        sections=build_sections(
            fit,
            rows,
            classes if query.by_rank else [],
            scale,
            by_rank=query.by_rank,
            gapless=track is not None or not query.is_filtered,
            k=k,
            size=len(track.places) if track else None,
            shown_by=project.items_shown_by,
            language=query.language,
        ),
        page=page,
        scale=scale,
        k=k,
        shows_divisiveness=totals["divisive"] > 0,
        is_divided=totals["divisive"] > 0,
        n_not_ranked=items_not_ranked(project, fit).count(),
        n_retired=project.items.filter(retired_at__isnull=False).count(),
        n_items=totals["n"],
        n_thin=0 if project.ranks_counts else totals["thin"],
        n_alone=totals["alone"],
        track=track,
        n_untracked=n_tagged - len(track.places) if track else 0,
        headline=track.headline(project.items_shown_by)
        if track
        else headline(
            fit,
            [one for one in classes if one.part == 0][:2],
            first_two(project, fit, query.language, newest),
            Totals(totals["n"], totals["ranked"], totals["thin"]),
        ),
        has_scores=has_scores,
        neighbours=neighbours_in(track)
        if track
        else Neighbours(totals["settled"], totals["open"], reliability_in(fit.diagnostics)),
        has_contexts=fit.n_parts > 1 and project.items.filter(context__isnull=False).exists(),
    )


def neighbours_in(track: Track) -> Neighbours:
    states = [place.next_state for place in track.places]
    return Neighbours(sum(state in SETTLED for state in states), states.count(NextState.NOT_ENOUGH))


def first_two(project: Project, fit: Fit, language: str = "", newest: NewestAnswers | None = None) -> list[Leader]:
    """Return the first two items of the largest part."""
    first = list(Estimate.objects.filter(fit=fit, part=0, n_comparisons__gt=0).order_by("rank")[:2])
    first = newest.replace(fit, first) if newest else first
    items = Item.objects.in_bulk([estimate.item_id for estimate in first])
    translate_items(items.values(), language)
    names = {pk: item.shown_as(project.items_shown_by) for pk, item in items.items()}
    return [Leader(names.get(e.item_id, "-"), e.rank_low, e.rank_high) for e in first]


def items_not_ranked(project: Project, fit: Fit) -> QuerySet[Item]:
    """Return items that were added after the fit."""
    ranked = Estimate.objects.filter(fit=fit).values("item_id")
    return project.items.filter(retired_at=None).exclude(pk__in=ranked)


def sort_estimates(project: Project, estimates: QuerySet[Estimate], query: RankingQuery) -> QuerySet[Estimate]:
    """Return the estimates asked for, in the order asked for inside each part: across parts there is no order."""
    if query.is_filtered:
        items = project.items.all()
        if query.q:
            items = items.filter(Q(name__icontains=query.q) | Q(body__icontains=query.q) | Q(key__icontains=query.q))
        if query.tag:
            items = items.filter(tags__name=query.tag)
        estimates = estimates.filter(item_id__in=items.values("pk"))
    if query.sort == "item":
        items = Item.objects.filter(pk=OuterRef("item_id"))
        title = Case(When(name="", then=F("body")), default=F("name"), output_field=TextField())
        shown = F("body") if project.items_shown_by == ItemsShownBy.TEXT else title
        estimates = estimates.alias(title=Subquery(items.values(shown=shown)[:1]))
    columns = [
        F(name).desc(nulls_last=True) if query.descending else F(name).asc(nulls_last=True)
        for name in SORTS[query.sort]
    ]
    return estimates.order_by("part", *columns, "rank", "item_id")


def build_sections(
    fit: Fit,
    estimates: list[Estimate],
    classes: list[RankClass],
    scale: Scale,
    *,
    by_rank: bool,
    gapless: bool,
    k: int,
    size: int | None = None,
    shown_by: str,
    language: str = "",
) -> list[Section]:
    """Return the rows of each part; size: of the one part that a track is of."""
    items = Item.objects.prefetch_related("tags").in_bulk([estimate.item_id for estimate in estimates])
    translate_items(items.values(), language)
    # An item erased since the fit has nothing left to show; the next fit leaves it out.
    estimates = [estimate for estimate in estimates if estimate.item_id in items]
    contexts = Context.objects.in_bulk({item.context_id for item in items.values() if item.context_id})
    parts = sorted({estimate.part for estimate in estimates})
    sizes = dict(
        Estimate.objects.filter(fit=fit, part__in=parts).order_by().values_list("part").annotate(n=Count("pk"))
    )
    if size is not None:
        sizes = dict.fromkeys(sizes, size)
    tags = shared_tags(fit, sizes) if fit.n_parts > 1 and size is None else {}
    found = []
    for (part, predicted), group in groupby(estimates, key=section_of):
        rows = list(group)
        if part is None:
            section = Section(None, len(rows), "", [], is_predicted=predicted)
        else:
            shared = {items[row.item_id].context_id for row in rows}
            about = contexts.get(shared.pop() or 0) if len(shared) == 1 else None
            section = Section(part, sizes[part], tags.get(part, ""), [], str(about or ""), sizes[part] > k)
        own = {one.number: one for one in classes if one.part == part}
        drawing = Drawing(section, scale, own, by_rank, gapless, shown_by)
        for above, estimate, below in zip([None, *rows], rows, [*rows[1:], None], strict=False):
            section.rows.append(drawing.row(estimate, items[estimate.item_id], above, below))
        found.append(section)
    return found


def section_of(estimate: Estimate) -> tuple[int | None, bool]:
    """Return the part that the estimate is listed in, None where never compared, and whether its place is predicted."""
    return estimate.part if estimate.n_comparisons else None, estimate.is_predicted


def interval_on(scale: Scale, estimate: Estimate) -> Interval | None:
    """Return the interval of the score, or of the utility where the scale is one of utilities; None without either."""
    if scale.reference != AVERAGE_SCORE:
        return scale.interval(estimate.low, estimate.utility, estimate.high)
    if estimate.score is None or estimate.score_low is None or estimate.score_high is None:
        return None
    return scale.interval(estimate.score_low, estimate.score, estimate.score_high)


@dataclass(frozen=True)
class Drawing:
    """What the rows of one section share. `classes`: the part's, none where the order is not by rank.   `gapless`: no
    item is left out, so what follows the page's last row is its neighbour."""

    section: Section
    scale: Scale
    classes: dict[int, RankClass]
    by_rank: bool
    gapless: bool
    shown_by: str

    def row(self, estimate: Estimate, item: Item, above: Estimate | None, below: Estimate | None) -> RankingRow:
        begins = above is None or above.rank_class != estimate.rank_class
        adjacent = self.by_rank and (below.rank == estimate.rank + 1 if below else self.gapless)
        return RankingRow(
            estimate=estimate,
            item=item,
            tags=[tag.name for tag in item.tags.all() if tag.name != self.section.tag],
            mark=interval_on(self.scale, estimate),
            places=place_span(estimate.rank, estimate.rank_low, estimate.rank_high, self.section.n_items),
            rank_class=self.classes.get(estimate.rank_class or 0) if begins else None,
            next_state=estimate.next_state if adjacent else "",
            shown_by=self.shown_by,
        )


def shared_tags(fit: Fit, sizes: dict[int, int]) -> dict[int, str]:
    """Return for each part the first tag that all of its items carry: parts are often topics."""
    part = Subquery(Estimate.objects.filter(fit=fit, item_id=OuterRef("item_id")).values("part")[:1])
    items = Estimate.objects.filter(fit=fit, part__in=sizes).values("item_id")
    tagged = Item.tags.through.objects.filter(item_id__in=items).annotate(in_part=part)
    counts = tagged.values_list("in_part", "tag__name").annotate(n=Count("pk")).order_by("tag__name")  # type: ignore[misc]
    shared: dict[int, str] = {}
    for number, name, n in counts:
        if n == sizes.get(number):
            shared.setdefault(number, name)
    return shared
