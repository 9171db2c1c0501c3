"""Reads what one annotator may see of the result: everybody's places, their own beside them, the group they are in."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from django.core.paginator import Page, Paginator

from annotate.annotators.page.queries import PAGE_SIZE, OwnRankingQuery, no_ranking_reason, own_ranking
from annotate.annotators.tastes.queries import extremes
from annotate.core.errors import AnnotatorExcluded, ProjectNotOpen, ScreenedOut, UserError
from annotate.criteria import Criterion
from annotate.fitting.published import published_fit
from annotate.labelling.eligibility import check_open, n_counted_labels
from annotate.labelling.refusals import refusal_of_next_task
from annotate.labelling.requirements import check_requirements
from annotate.labelling.stop_pages import is_end
from annotate.labelling.wording import translate_items
from annotate.models import Annotator, AnnotatorTaste, Item, Presentation, Project, ShowResult, TasteMap
from models_engine.models import AnnotatorEstimate, Estimate, Fit

MIN_GROUP = 5  # people; a smaller group would tell its members of each other
SURE = 0.9  # probability from which somebody is said to be in a group, not to seem so


@dataclass(frozen=True)
class ResultRow:
    """low, high: the 90% interval of everybody's place, where it is told. own_place: None without an own ranking."""

    text: str
    place: int
    low: int | None
    high: int | None
    own_place: int | None


@dataclass(frozen=True)
class OwnGroup:
    """number: from 1, of n_groups. n: people in it. likes, dislikes: texts of items that it likes more, or less."""

    number: int
    n_groups: int
    n: int
    is_sure: bool
    likes: list[str]
    dislikes: list[str]


@dataclass(frozen=True)
class OwnResult:
    """shown: whether the project shows its result to this annotator now. n_missing: answers until it does, where that
    is what it takes. no_own: why there is no own ranking, as on the annotator's page; "" where there is one."""

    n_done: int
    shown: bool
    n_missing: int
    fit: Fit | None
    rows: list[ResultRow]
    page: Page | None
    no_own: str
    group: OwnGroup | None
    can_go_on: bool


def check_may_view(annotator: Annotator, now: datetime) -> None:
    """Raise what keeps this annotator from the page; a project that is paused or closed does not."""
    if annotator.excluded_at:
        raise AnnotatorExcluded
    if annotator.screened_out_at:
        raise ScreenedOut
    try:
        check_open(annotator.project, now)
    except ProjectNotOpen as refusal:
        if refusal.state in ("draft", "early"):
            raise
    check_requirements(annotator.project, annotator)


def own_result(
    criterion: Criterion, annotator: Annotator, now: datetime, page: int = 1, language: str = ""
) -> OwnResult:
    """Read the page of an annotator who may look. language: one of the project's further ones, for the items."""
    project, n_done = annotator.project, n_counted_labels(annotator)
    refusal = next_task_refusal(annotator, n_done, now)
    over = bool(annotator.ended) or is_end(refusal)
    shown = n_done > 0 and shows_result(project, n_done, over)
    fit = published_fit(criterion) if shown else None
    rows, found, no_own, group = read_result(criterion, annotator, fit, page, language) if fit else ([], None, "", None)
    after = project.show_result == ShowResult.AFTER and not shown
    return OwnResult(
        n_done=n_done,
        shown=shown,
        n_missing=max(project.show_result_after - n_done, 0) if after else 0,
        fit=fit,
        rows=rows,
        page=found,
        no_own=no_own,
        group=group,
        can_go_on=refusal is None and not annotator.ended,
    )


def next_task_refusal(annotator: Annotator, n_done: int, now: datetime) -> UserError | None:
    """Return why there is no next task."""
    try:
        check_open(annotator.project, now)
    except ProjectNotOpen as refusal:
        return refusal
    if annotator.presentations.filter(state=Presentation.State.OPEN).exists():
        return None
    return refusal_of_next_task(annotator, n_done, now)


def shows_result(project: Project, n_done: int, over: bool) -> bool:
    """Return whether the owner lets somebody with so many answers see the result. over: their part has ended."""
    if project.show_result == ShowResult.AFTER:
        return over or n_done >= project.show_result_after
    return project.show_result == ShowResult.END and over


def read_result(
    criterion: Criterion, annotator: Annotator, fit: Fit, page: int, language: str
) -> tuple[list[ResultRow], Page, str, OwnGroup | None]:
    """Return rows, their page, why there is no own ranking, and the group; by one criterion."""
    project = criterion.project
    taste_map = TasteMap.objects.filter(project=project, criterion=criterion.number).first()
    taste = None
    if taste_map and taste_map.fit_number is not None:
        taste = annotator.tastes.filter(fit_number=taste_map.fit_number).first()
    n_counted = AnnotatorEstimate.objects.filter(fit=fit, annotator_id=annotator.pk).values_list("n_labels", flat=True)
    has_tastes = (fit.components or {}).get("kind") == "tastes"
    no_own = no_ranking_reason(fit, taste_map, taste, n_counted.first() or 0) if has_tastes else "estimator"
    group = own_group(project, taste_map, taste, language) if taste_map and taste else None
    if taste_map and taste and not no_own:
        ranking = own_ranking(project, taste_map, taste, OwnRankingQuery("crowd", descending=False, page=page))
        if ranking:
            translate_items([row.item for row in ranking.rows], language)
            rows = [
                ResultRow(row.item.first_words, row.crowd_place, None, None, row.place)
                for row in ranking.rows
                if row.item.retired_at is None
            ]
            return rows, ranking.page, "", group
    return *everybodys(project, fit, page, language), no_own or "soon", group


def everybodys(project: Project, fit: Fit, page: int, language: str) -> tuple[list[ResultRow], Page]:
    """Return the places in the largest part of the published ranking."""
    estimates = Estimate.objects.filter(fit=fit, part=0, n_comparisons__gt=0).order_by("rank", "item_id")
    found = Paginator(estimates, PAGE_SIZE).get_page(page)
    items = Item.objects.filter(project=project, retired_at=None).in_bulk([one.item_id for one in found])
    translate_items(items.values(), language)
    rows = [
        ResultRow(items[one.item_id].first_words, one.rank, one.rank_low, one.rank_high, None)
        for one in found
        if one.item_id in items
    ]
    return rows, found


def own_group(project: Project, taste_map: TasteMap, taste: AnnotatorTaste, language: str) -> OwnGroup | None:
    """Return the group where the owner shows groups, some stand out, and it has MIN_GROUP members."""
    if not project.show_groups or taste_map.n_groups < 2 or taste.group is None:
        return None
    fellows = AnnotatorTaste.objects.filter(annotator__project=project, fit_number=taste.fit_number)
    n = fellows.filter(group=taste.group).count()
    if n < MIN_GROUP:
        return None
    with np.load(io.BytesIO(bytes(taste_map.arrays or b"")), allow_pickle=False) as file:
        keys, likes = file["items"], file["likes"]
    if taste.group >= len(likes):
        return None
    ends = [[int(keys[i]) for i in extremes(likes[taste.group], sign)] for sign in (1, -1)]
    known = Item.objects.filter(project=project, retired_at=None).in_bulk([*ends[0], *ends[1]])
    translate_items(known.values(), language)
    return OwnGroup(
        number=taste.group + 1,
        n_groups=taste_map.n_groups,
        n=n,
        is_sure=(taste.certainty or 0.0) >= SURE,
        likes=texts_of(ends[0], known),
        dislikes=texts_of(ends[1], known),
    )


def texts_of(keys: Sequence[int], known: dict[int, Item]) -> list[str]:
    return [known[pk].first_words for pk in keys if pk in known]
