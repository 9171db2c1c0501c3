"""Reads the list of annotators: volume, speed, agreement, consistency, taste, checks."""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from django.core.paginator import Page
from django.db.models import Count, F, Max, Q, QuerySet, Window
from django.db.models.functions import RowNumber

from annotate.annotators.tags.queries import tags_of
from annotate.core.caching import cached_if_slow
from annotate.core.charts import Interval, Scale, Tick
from annotate.core.paging import page_of
from annotate.criteria import Criterion
from annotate.fitting.forecast_rows import Return, stored_returns
from annotate.fitting.stored_misfit import Deviation, flagged_deviations
from annotate.fitting.stored_undecided import Times, often_undecided, stored_undecided
from annotate.labelling.asked_tasks import mean_size
from annotate.labelling.targets import answer_target
from annotate.models import Annotator, Label, Project, Purpose
from annotate.quality.flags.queries import (
    AnnotatorChecks,
    Share,
    annotator_checks,
    consistency,
    right_answers,
    share_or_none,
)
from models_engine.models import AnnotatorEstimate, Fit

SORTS = (
    *("labels", "pseudonym", "skips", "time", "last_seen", "agreement", "reliability", "taste"),
    *("cycles", "side", "consistency", "gold", "flags", "returns"),
)
IN_CHUNK = 2_000  # annotators whose flags are computed at once
RELIABILITY = Scale(0.0, 1.0)


@dataclass(frozen=True)
class AnnotatorsQuery:
    sort: str = "labels"
    descending: bool = True
    q: str = ""
    page: int = 1


@dataclass(frozen=True)
class AnnotatorRow:
    annotator: Annotator
    n_labels: int
    n_skips: int
    n_voided: int
    median_ms: float | None
    last_seen: datetime | None
    estimate: AnnotatorEstimate | None
    mark: Interval | None
    checked: AnnotatorChecks
    tags: list[str]
    returns: Return | None = None  # how likely they are to come back, where that is known
    deviation: Deviation | None = None  # where their answers deviate from the order by more than chance
    often_undecided: Times | None = None  # where that is more often than the items explain
    undecided: Times | None = None  # how often in any case; see with_undecided

    @property
    def cycles(self) -> Share | None:
        return share_or_none(self.estimate.n_cycles or 0, self.estimate.n_triads or 0) if self.estimate else None

    @property
    def side(self) -> Share | None:
        """Return the share of answers with one best item that put the item shown first there."""
        return share_or_none(self.estimate.n_first, self.estimate.n_sides) if self.estimate else None

    @property
    def agreement(self) -> Share | None:
        e = self.estimate
        return share_or_none(round(e.agreement * e.n_decided), e.n_decided) if e and e.agreement is not None else None


@dataclass(frozen=True)
class Annotators:
    rows: list[AnnotatorRow]
    page: Page
    ticks: list[Tick]
    n_annotators: int
    n_excluded: int
    n_active: int
    # Columns that hold nothing are left out.
    shows_reliability: bool
    shows_taste: bool
    shows_gold: bool
    shows_consistency: bool
    shows_returns: bool
    chance: float
    target: int | None = None  # answers asked of each
    n_machines: int = 0  # who are none of these


def annotators(criterion: Criterion, fit: Fit | None, query: AnnotatorsQuery) -> Annotators:
    """Return one page of the project's annotators, in the same number of queries however many there are."""
    project = criterion.project
    everyone = Annotator.objects.filter(project=project)
    is_machine = Q(source=Annotator.Source.MACHINE)
    totals = Annotator.everyone.filter(project=project).aggregate(
        n=Count("pk", filter=~is_machine),
        excluded=Count("excluded_at", filter=~is_machine),
        machines=Count("pk", filter=is_machine),
    )
    wanted = everyone.filter(pseudonym__icontains=query.q) if query.q else everyone
    active = Label.objects.filter(project=project, voided_at=None)
    page = page_of(sort_annotators(criterion, fit, query, wanted), query.page)
    shown = build_rows(list(page.object_list), fit)
    inferred = AnnotatorEstimate.objects.filter(fit=fit).aggregate(r=Count("reliability"), t=Count("taste_distance"))
    return Annotators(
        rows=shown,
        page=page,
        ticks=RELIABILITY.ticks(4),
        n_annotators=totals["n"],
        n_excluded=totals["excluded"],
        n_active=cached_if_slow(f"n-active-{project.pk}", active.values("annotator").distinct().count),
        shows_reliability=inferred["r"] > 0,
        shows_taste=inferred["t"] > 0,
        shows_returns=any(row.returns for row in shown),
        shows_gold=bool(project.gold_every) or any(row.checked.gold for row in shown),
        chance=1 / mean_size(project),
        target=answer_target(project),
        n_machines=totals["machines"],
        shows_consistency=bool(project.repeat_percent) or any(row.checked.repeats for row in shown),
    )


def sort_annotators(
    criterion: Criterion, fit: Fit | None, query: AnnotatorsQuery, wanted: QuerySet[Annotator]
) -> list[int]:
    """Return the annotators' primary keys in the order asked for; who has no value comes last, equals by pseudonym."""
    names = dict(wanted.values_list("pk", "pseudonym"))
    if query.sort == "pseudonym":
        values: dict[int, Any] = {pk: name.casefold() for pk, name in names.items()}
    else:
        values = cached_if_slow(
            f"by-{query.sort}-{criterion.project.pk}-{criterion.number}",
            partial(sort_values, criterion.project, fit, query.sort),
        )
    known = sorted((pk for pk in names if values.get(pk) is not None), key=lambda pk: names[pk].casefold())
    known.sort(key=lambda pk: values[pk], reverse=query.descending)
    unknown = sorted((pk for pk in names if values.get(pk) is None), key=lambda pk: names[pk].casefold())
    return known + unknown


def sort_values(project: Project, fit: Fit | None, sort: str) -> dict[int, Any]:
    """Return what each annotator is sorted by, from one query."""
    if sort == "time":
        return medians(Label.objects.filter(project=project))
    if sort == "returns":
        return {pk: (not one.has_left, one.within_a_day) for pk, one in stored_returns(project).items()}
    if sort == "labels" and project.ranks_counts:
        return with_estimates(fit, "n_labels")
    if sort in ("agreement", "reliability", "taste", "cycles", "side"):
        return with_estimates(fit, sort)
    if sort in ("consistency", "gold", "flags"):
        return check_results(project, sort)
    labels = Label.objects.filter(project=project).order_by()
    value = {
        "labels": Count("pk", filter=Q(voided_at=None)),
        "skips": Count("pk", filter=Q(voided_at=None, outcome=Label.Outcome.SKIP)),
        "last_seen": Max("created_at"),
    }[sort]
    return dict(labels.values_list("annotator").annotate(value=value))


def with_estimates(fit: Fit | None, sort: str) -> dict[int, float | None]:
    rows = AnnotatorEstimate.objects.filter(fit=fit)
    of_two = {"cycles": ("n_cycles", "n_triads"), "side": ("n_first", "n_sides")}.get(sort)
    if of_two is None:
        column = {"taste": "taste_distance"}.get(sort, sort)
        return dict(rows.values_list("annotator_id", column))
    return {pk: k / n if n else None for pk, k, n in rows.values_list("annotator_id", *of_two)}


def check_results(project: Project, sort: str) -> dict[int, float]:
    if sort == "flags":
        keys = list(Annotator.objects.filter(project=project).values_list("pk", flat=True))
        parts = [annotator_checks(project, keys[start : start + IN_CHUNK]) for start in range(0, len(keys), IN_CHUNK)]
        return {pk: len(one.flags) for part in parts for pk, one in part.items()}
    labels = Label.objects.filter(project=project, voided_at=None)
    if sort == "consistency":
        return {pk: one.k / one.n for pk, one in consistency(labels).items()}
    gold = Purpose.GOLD.value
    return {pk: one.k / one.n for (pk, purpose), one in right_answers(labels).items() if purpose == gold}


def medians(labels: Any) -> dict[int, float]:
    """Median response time in ms of each annotator's unvoided labels, computed where the labels are: the database
    numbers each annotator's times and hands back only the middle one or two."""
    times = (
        labels.filter(voided_at=None, response_ms__isnull=False)
        .annotate(
            place=Window(RowNumber(), partition_by="annotator", order_by=["response_ms", "pk"]),
            n=Window(Count("pk"), partition_by="annotator"),
        )
        .annotate(twice=F("place") * 2)
        .filter(twice__gte=F("n"), twice__lte=F("n") + 2)
        .values_list("annotator", "response_ms")
    )
    middle: dict[int, list[int]] = {}
    for annotator, ms in times:
        middle.setdefault(annotator, []).append(ms)
    return {annotator: sum(values) / len(values) for annotator, values in middle.items()}


def build_rows(keys: list[int], fit: Fit | None) -> list[AnnotatorRow]:
    people = Annotator.objects.select_related("project").in_bulk(keys)
    labels = Label.objects.filter(annotator__in=keys).order_by()
    counts: dict[int, Any] = {
        row["annotator"]: row
        for row in labels.values("annotator").annotate(
            n=Count("pk", filter=Q(voided_at=None)),
            skips=Count("pk", filter=Q(voided_at=None, outcome=Label.Outcome.SKIP)),
            voided=Count("voided_at"),
            last=Max("created_at"),
        )
    }
    times = medians(labels)
    estimates = {row.annotator_id: row for row in AnnotatorEstimate.objects.filter(fit=fit, annotator_id__in=keys)}
    tags = tags_of(keys)
    found = annotator_checks(people[keys[0]].project, keys) if keys and keys[0] in people else {}
    deviations = flagged_deviations(fit, "annotators")
    rows = [
        build_row(people[pk], counts.get(pk), times.get(pk), estimates.get(pk), found[pk], tags.get(pk, []))
        for pk in keys
        if pk in people and pk in found
    ]
    often = often_undecided(fit, "annotators")
    returns = stored_returns(people[keys[0]].project) if rows else {}
    return [
        replace(
            row,
            deviation=deviations.get(row.annotator.pk),
            often_undecided=often.get(row.annotator.pk),
            returns=returns.get(row.annotator.pk) if may_return(row) else None,
        )
        for row in rows
    ]


def may_return(row: AnnotatorRow) -> bool:
    """Whether more answers are wanted of them."""
    person, target = row.annotator, answer_target(row.annotator.project)
    is_out = person.excluded_at is not None or person.screened_out_at is not None
    return not is_out and (target is None or row.n_labels < target)


def with_undecided(rows: list[AnnotatorRow], fit: Fit | None) -> list[AnnotatorRow]:
    """Add how often each is undecided; reads the fit's arrays, which a page of the list is not worth."""
    found = stored_undecided(fit, "annotators")
    return [replace(row, undecided=found.get(row.annotator.pk)) for row in rows]


def build_row(
    annotator: Annotator,
    counts: Any,
    median: float | None,
    estimate: AnnotatorEstimate | None,
    checks: AnnotatorChecks,
    tags: list[str],
) -> AnnotatorRow:
    counts = counts or {"n": 0, "skips": 0, "voided": 0, "last": None}
    return AnnotatorRow(
        annotator=annotator,
        n_labels=counts["n"],
        n_skips=counts["skips"],
        n_voided=counts["voided"],
        median_ms=median,
        last_seen=counts["last"],
        estimate=estimate,
        mark=reliability_mark(estimate),
        checked=checks,
        tags=tags,
    )


def reliability_mark(estimate: AnnotatorEstimate | None) -> Interval | None:
    if estimate is None or estimate.reliability is None:
        return None
    low, high = estimate.reliability_low, estimate.reliability_high
    if low is None or high is None:
        return None
    return RELIABILITY.interval(low, estimate.reliability, high)
