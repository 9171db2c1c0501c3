"""Rows that the engine would write, made by simulation, for tests of the pages that read them."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from itertools import combinations

import numpy as np
from django.utils import timezone

from annotate.dashboard.overall.places import Place
from annotate.labelling import item_sets
from annotate.models import (
    OVERALL,
    Annotator,
    DerivedRanking,
    FitState,
    Item,
    ItemSet,
    Label,
    LabelForecast,
    Presentation,
    PresentedItem,
    Project,
    WorkerProcess,
)
from models_engine.constants import Z90
from models_engine.models import AnnotatorEstimate, Estimate, Fit
from tests.conftest import NOW


def make_fit(
    project: Project,
    parts: Sequence[Sequence[tuple[Item, float, float, int]]],
    *,
    now: datetime = NOW,
    **values,
) -> Fit:
    """A published fit. `parts`: for each connected part its items as (item, utility, sd, comparisons), the largest
    first. Ranks, tiers and states follow PRODUCT.md's definitions, from draws of independent normals."""
    last = Fit.objects.filter(project_id=project.pk).order_by("-number").first()
    if last:
        Fit.objects.filter(project_id=project.pk).update(published=False)
        Estimate.objects.filter(fit__project_id=project.pk).delete()
    fit = Fit.objects.create(
        **{
            "project_id": project.pk,
            "number": last.number + 1 if last else 1,
            "estimator": "CrowdBT",
            "data_version": 1,
            "n_labels": sum(n for part in parts for *_, n in part) // 2,
            "n_items": sum(map(len, parts)),
            "n_annotators": project.annotators.count(),
            "n_parts": len(parts),
            "status": Fit.Status.DONE,
            "published": True,
            "converged": True,
            "diagnostics": {"objective": [-40.0, -21.5, -20.25, -20.2], "n_iterations": 4},
            "started_at": now - timedelta(seconds=1),
            "finished_at": now,
            "seconds": 0.42,
            **values,
        }
    )
    rng = np.random.default_rng(1)
    for number, part in enumerate(parts):
        Estimate.objects.bulk_create(estimates_of_part(fit, number, part, project, rng))
    state, _ = FitState.objects.get_or_create(project=project)
    state.published_fit, state.last_fit_at = fit.number, now
    state.wanted = state.fitted = max(state.wanted, state.fitted + 1)
    state.save()
    return fit


def estimates_of_part(fit, number, part, project, rng) -> list[Estimate]:
    part = sorted(part, key=lambda row: -row[1])
    utility, sd = np.array([row[1] for row in part]), np.array([row[2] for row in part])
    draws = utility + sd * rng.standard_normal((2000, len(part)))
    ranks = (-draws).argsort(axis=1).argsort(axis=1) + 1
    low, high = np.percentile(ranks, 5, axis=0), np.percentile(ranks, 95, axis=0)
    superior = (draws[:, :, None] > draws[:, None, :]).mean(axis=0) if len(part) <= 60 else None
    tier, rows = 0, []
    chance = 100 / (1 + np.exp(-(draws - utility.mean())))
    classes = classes_of_draws(draws, low)
    for i, (item, *_, n) in enumerate(part):
        above = superior is not None and i > 0 and superior[:i, i:].min() >= 0.95
        tier += above
        rows.append(
            Estimate(
                fit=fit,
                item_id=item.pk,
                part=number,
                utility=utility[i],
                sd=sd[i],
                low=utility[i] - Z90 * sd[i],
                high=utility[i] + Z90 * sd[i],
                score=float(chance[:, i].mean()),
                score_low=float(np.percentile(chance[:, i], 5)),
                score_high=float(np.percentile(chance[:, i], 95)),
                rank_class=classes[i],
                highest_class=classes[i],
                rank=i + 1,
                rank_low=int(np.floor(low[i])),
                rank_high=int(np.ceil(high[i])),
                p_top=float((ranks[:, i] <= project.top_k).mean()),
                tier=tier,
                next_state=state_to_next(utility, sd, i, project.tie_margin),
                n_comparisons=n,
            )
        )
    return rows


def classes_of_draws(draws, low) -> list[int]:
    """A class ends before the first item whose rank interval and draws do not reach the class's first item."""
    found, first, number = [], 0, 1
    for i in range(draws.shape[1]):
        reaches = np.floor(low[i]) <= first + 1 or (draws[:, first] > draws[:, i]).mean() < 0.95
        if not reaches:
            first, number = i, number + 1
        found.append(number)
    return found


def state_to_next(utility, sd, i, margin) -> str:
    if i == len(utility) - 1:
        return Estimate.NextState.LAST
    difference, spread = utility[i] - utility[i + 1], float(np.hypot(sd[i], sd[i + 1]))
    if difference > Z90 * spread:
        return Estimate.NextState.SEPARATED
    if abs(difference) + Z90 * spread < margin:
        return Estimate.NextState.TIED
    return Estimate.NextState.NOT_ENOUGH


def spread_fit(project: Project, items: Sequence[Item], *, sd: float = 0.3, n: int = 20, now=NOW, **values) -> Fit:
    """A fit of one part with the items in order, utilities evenly from +2 to -2."""
    utilities = np.linspace(2, -2, len(items))
    rows = [(item, float(u), sd, n) for item, u in zip(items, utilities, strict=True)]
    return make_fit(project, [rows], now=now, **values)


def estimate_annotator(fit: Fit, annotator: Annotator, **values) -> AnnotatorEstimate:
    known = {"n_labels": 12, "agreement": 0.8, "reliability": 0.9, "reliability_low": 0.7, "reliability_high": 0.97}
    return AnnotatorEstimate.objects.create(fit=fit, annotator_id=annotator.pk, **{**known, **values})


def make_labels(
    project: Project,
    annotators: Sequence[Annotator],
    n: int,
    *,
    start=NOW,
    every=timedelta(seconds=7),
    seed=0,
    size=2,
    **values,
) -> list[Label]:
    """`n` labels of random pairs, or sets of another size, by the annotators in turn, `every` so long; in bulk."""
    rng = random.Random(seed)
    items = list(project.items.order_by("pk"))
    pairs = list(combinations(items, 2)) if len(items) < 60 and size == 2 else None
    shown = [rng.choice(pairs) if pairs else rng.sample(items, size) for _ in range(n)]
    keys = {set_key(pair) for pair in shown}
    ItemSet.objects.bulk_create([ItemSet(project=project, key=key) for key in sorted(keys)], ignore_conflicts=True)
    sets = {item_set.key: item_set for item_set in project.item_sets.all()}
    seen = Counter(Presentation.objects.filter(project=project).values_list("annotator_id", "item_set_id"))
    presentations = []
    for i, pair in enumerate(shown):
        annotator, item_set = annotators[i % len(annotators)], sets[set_key(pair)]
        presentations.append(
            Presentation(
                project=project,
                annotator=annotator,
                item_set=item_set,
                state=Presentation.State.VOIDED if values.get("void_reason") else Presentation.State.ANSWERED,
                repeat=seen[annotator.pk, item_set.pk],
                created_at=start + i * every,
                leased_until=start + i * every,
            )
        )
        seen[annotator.pk, item_set.pk] += 1
    Presentation.objects.bulk_create(presentations, batch_size=2000)
    PresentedItem.objects.bulk_create(
        [
            PresentedItem(presentation=presentation, item=item, position=place)
            for presentation, pair in zip(presentations, shown, strict=True)
            for place, item in enumerate(pair)
        ],
        batch_size=5000,
    )
    labels = [
        Label(
            project=project,
            presentation=presentation,
            annotator=presentation.annotator,
            **{
                "outcome": Label.Outcome.CHOICE,
                "chosen": pair[rng.random() < 0.5] if values.get("outcome", "choice") == "choice" else None,
                "created_at": presentation.created_at + timedelta(seconds=3),
                "response_ms": rng.randint(900, 9000),
                "app_version": "0.1.0",
                **values,
            },
        )
        for presentation, pair in zip(presentations, shown, strict=True)
    ]
    if not values.get("void_reason"):
        count_taken(items, sets, shown)
    return Label.objects.bulk_create(labels, batch_size=2000)


def count_taken(items: Sequence[Item], sets: dict[str, ItemSet], shown: Sequence[Sequence[Item]]) -> None:
    """Keeps the counters that assigning goes by."""
    of_items = Counter(item.pk for pair in shown for item in pair)
    of_sets = Counter(map(set_key, shown))
    for item in items:
        item.n_taken += of_items[item.pk]
    for key in of_sets:
        sets[key].n_taken += of_sets[key]
    store_counts(Item, items)
    store_counts(ItemSet, [sets[key] for key in of_sets])


def store_counts(model: type[Item] | type[ItemSet], rows: Iterable[Item | ItemSet]) -> None:
    """As bulk_update would, by a statement for each number, which many rows share."""
    by_number = defaultdict(list)
    for row in rows:
        by_number[row.n_taken].append(row.pk)
    for number, pks in by_number.items():
        model.objects.filter(pk__in=pks).update(n_taken=number)


def set_key(pair: Sequence[Item]) -> str:
    return item_sets.set_key([item.pk for item in pair])


def engine_is_up(now: datetime = NOW) -> WorkerProcess:
    return WorkerProcess.objects.create(name="engine-1", started_at=now, seen_at=now)


def forecast_made(project: Project) -> LabelForecast:
    """A forecast just made, so that a worker's next idle job is another."""
    return LabelForecast.objects.update_or_create(project=project, defaults={"as_of": timezone.now()})[0]


def make_overall(project: Project, fit: Fit, *, criterion: int = OVERALL, track: str = "", **details) -> DerivedRanking:
    """The weighted total, or a track, as the worker would store it, with the places of the fit."""
    rows = list(Estimate.objects.filter(fit=fit).order_by("rank"))
    names = [field.name for field in fields(Place) if field.name != "p_first"]
    columns = {name: [getattr(row, name) for row in rows] for name in names}
    columns["p_first"] = [0.6, 0.3, 0.1, *[0.0] * len(rows)][: len(rows)]
    told = [
        {"number": n, "fit": fit.number, "data_version": 1, "share": share}
        for n, share in zip((1, 2), (0.7, 0.3), strict=True)
    ]
    values = {"weights": [0.6, 0.4], "top_k": 2, "criteria": told, "n_left_out": 1, **details}
    made = {"fit_number": fit.number, "made_at": NOW, "columns": columns, "details": values}
    return DerivedRanking.objects.create(project=project, criterion=criterion, track=track, **made)
