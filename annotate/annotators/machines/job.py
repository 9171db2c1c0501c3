"""Computes the report on machines: each held against people, and the rankings of people, machines and both.

Figures, as JSON: {"machines": [one for each, by annotator], "boards": {"items", "people", "machines", "both"}, ...}.
"""

import warnings
from dataclasses import asdict
from typing import Any

import numpy as np
from django.utils import timezone
from django.utils.html import strip_tags
from django.utils.translation import gettext_noop
from numpy.typing import NDArray

from annotate.core.stored_messages import NotEnoughData
from annotate.criteria import Criterion
from annotate.fitting.published import published_fit
from annotate.fitting.reading import Labels
from annotate.fitting.stored_posterior import fit_posterior, require_labels
from annotate.jobs.queues import Progress
from annotate.models import Item, MachineReport
from models_engine.analysis.judged_sets import ImpliedAnswers, JudgedSets, implied_answers, number_sets
from models_engine.analysis.judges import best_places, judge
from models_engine.data import Comparisons
from models_engine.errors import Cancelled
from models_engine.estimators.table import ESTIMATORS
from models_engine.posterior import BasePosterior

Status = MachineReport.Status
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MAX_TAGS = 12  # those that most sets have
MIN_TAG_SETS = 5
MAX_ITEMS_KEPT = 2_000
NO_FIT = gettext_noop("There is no ranking yet. Try again once there is one.")
NO_MACHINES = gettext_noop("No machine has answered yet. Try again once one has.")


class NothingToReport(NotEnoughData):
    pass


def work(row: MachineReport, progress: Progress) -> None:
    """Raise Cancelled, LeaseLost and NothingToReport."""
    criterion = Criterion(row.project, row.criterion)
    fit = published_fit(criterion)
    estimator = fit.estimator if fit and fit.estimator in ESTIMATORS else "BradleyTerry"
    labels = require_labels(criterion, machines=True)
    if not labels.n_machine_labels:
        raise NothingToReport(NO_MACHINES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figures = {
            "machines": machine_figures(criterion, labels, progress),
            "boards": boards(labels, estimator, fit.seed if fit else 0, progress),
            "n_people_answers": labels.of_people.n_labels,
            "n_machine_answers": labels.n_machine_labels,
            "n_people": labels.n_people,
        }
    row.complete(
        status=Status.READY,
        fit_number=fit.number if fit else None,
        estimator=estimator,
        figures=finite_json(figures),
        finished_at=timezone.now(),
        message="",
    )


def machine_figures(criterion: Criterion, labels: Labels, progress: Progress) -> list[dict[str, Any]]:
    """Raise Cancelled and LeaseLost."""
    data = informative_labels(labels)
    answers, sets = implied_answers(data)
    people = answers.subset(answers.who < labels.n_people)
    lengths, tags = lengths_of(labels, sets), tags_of_cells(criterion, labels, sets, answers)
    found = []
    for number, share in enumerate(labels.machine_shares.tolist()):
        if progress(number, len(labels.machine_shares), 0.0) is False:
            raise Cancelled
        who = labels.n_people + number
        own = answers.subset(answers.who == who)
        all_answers = labels.of_people.n_labels
        report = judge(people, own, sets, n_people_answers=all_answers, lengths=lengths, tags=tags)
        places = [asdict(one) for one in best_places(data.subset(data.annotators == who))]
        found.append({"annotator": int(labels.annotator_ids[who]), "share": share, **asdict(report), "places": places})
    return found


def informative_labels(labels: Labels) -> Comparisons:
    """Return the labels about sets that a machine or several people answered: others say nothing of agreement."""
    data = labels.data
    number, _sets = number_sets(data)
    people = data.annotators < labels.n_people
    several = np.bincount(
        np.unique(np.stack([number, data.annotators]), axis=1)[0], minlength=number.max(initial=0) + 1
    )
    judged = np.bincount(number[~people], minlength=len(several)) > 0
    return data.subset((judged | (several > 1))[number])


def lengths_of(labels: Labels, sets: JudgedSets) -> Floats:
    """Return (n_cells,) how many characters the first item of each cell has more; nan where one is no text."""
    rows = Item.objects.filter(pk__in=labels.item_ids.tolist()).values_list("pk", "kind", "body").iterator(2000)
    known = {pk: len(strip_tags(body)) for pk, kind, body in rows if kind in ("text", "markdown", "html")}
    each = np.array([known.get(pk, np.nan) for pk in labels.item_ids.tolist()], dtype=float)
    return each[sets.items[:, 0]] - each[sets.items[:, 1]]


def tags_of_cells(
    criterion: Criterion, labels: Labels, sets: JudgedSets, answers: ImpliedAnswers
) -> dict[str, NDArray[np.bool_]]:
    """Return which cells each tag is about: those of which an item has it. Only tags of several shared sets."""
    place = {pk: at for at, pk in enumerate(labels.item_ids.tolist())}
    has: dict[str, NDArray[np.bool_]] = {}
    through = Item.tags.through.objects.filter(item__project=criterion.project).values_list("item_id", "tag__name")
    for pk, name in through.iterator(5000):
        if pk in place:
            has.setdefault(name, np.zeros(len(place), dtype=bool))[place[pk]] = True
    machine = np.bincount(answers.cell[answers.who >= labels.n_people], minlength=sets.n_cells) > 0
    shared = machine & (np.bincount(answers.cell[answers.who < labels.n_people], minlength=sets.n_cells) > 0)
    masks: dict[str, NDArray[np.bool_]] = {name: np.asarray(mask[sets.items].any(axis=1)) for name, mask in has.items()}
    counts = {name: len(np.unique(sets.set_of[mask & shared])) for name, mask in masks.items()}
    names = sorted((name for name in masks if counts[name] >= MIN_TAG_SETS), key=lambda name: (-counts[name], name))
    return {name: masks[name] for name in names[:MAX_TAGS]}


def boards(labels: Labels, estimator: str, seed: int, progress: Progress) -> dict[str, Any] | None:
    """Return the rankings of people, of machines and of both, of the items that people and machines compared."""
    by_machines = labels.data.subset(np.flatnonzero(labels.data.annotators >= labels.n_people)).with_weights(None)
    parts = {"people": labels.of_people, "machines": by_machines}
    kept = labels.ranked & np.all([in_largest_part(data, labels) for data in parts.values()], axis=0)
    at = np.flatnonzero(kept)
    if len(at) < 2 or len(at) > MAX_ITEMS_KEPT:
        return None
    entry = ESTIMATORS[estimator]
    found: dict[str, Any] = {"items": labels.item_ids[at].tolist()}
    posteriors: dict[str, BasePosterior] = {}
    for name, data in {**parts, "both": labels.data}.items():
        posterior = fit_posterior(entry, data, seed, progress).restrict(at)
        posteriors[name] = posterior
        found[name] = {"utility": posterior.utilities().tolist(), "sd": posterior.standard_deviations().tolist()}
    people, machines, both = (posteriors[name].utilities() for name in ("people", "machines", "both"))
    found["correlation"] = correlation(people, machines)
    found["correlation_both"] = correlation(people, both)
    return found


def correlation(one: Floats, other: Floats) -> float:
    return float(np.corrcoef(one, other)[0, 1]) if one.std() > 0 and other.std() > 0 else float("nan")


def in_largest_part(data: Comparisons, labels: Labels) -> NDArray[np.bool_]:
    compared: NDArray[np.bool_] = data.n_comparisons() > 0
    return compared & (data.connected_parts(labels.ranked) == 0)


def finite_json(value: Any) -> Any:
    """Return JSON with None for what is not known, and "inf" for what has no bound."""
    if isinstance(value, dict):
        return {name: finite_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite_json(one) for one in value]
    if isinstance(value, float) and not np.isfinite(value):
        return "inf" if value > 0 else None
    return value
