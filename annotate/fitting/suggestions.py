"""Writes the sets that a project's policy asks about next, by the fit just published: in the engine's process."""

import logging
from collections.abc import Sequence

import numpy as np

from annotate.core.transactions import write_transaction
from annotate.criteria import Criterion
from annotate.fitting.answers import Ints
from annotate.fitting.choosing_posterior import Bools, read_choosing_posterior
from annotate.fitting.grades import cuts_of, cuts_of_shares
from annotate.fitting.predicted_start import predicts_anywhere, uses_predictions
from annotate.fitting.reading import Floats
from annotate.labelling.asked_tasks import of_size
from annotate.labelling.item_sets import items_of_key, set_key
from annotate.locks import lock_project
from annotate.models import MAX_SUGGESTED_SETS, Item, ItemSet, Policy, Project, SuggestedSet
from models_engine.acquisition import Aim, Candidates, candidate_sets, settled
from models_engine.errors import InvalidAim
from models_engine.models import Estimate, Fit

logger = logging.getLogger("annotate.worker")
BATCH = 1000
# Fewer suggestions would be used up before the next fit: each is then asked again, of others and after all of them, so
# often at most.
FEW, MAX_TIMES = 128, 4
# What decides which sets are worth asking: a table made by other values is not written, or deleted.
DECISIVE = ("policy", "class_shares", "top_k", "grades", "grades_by", "tie_margin", "k", "task_type")


def write_suggestions(criterion: Criterion, fit: Fit) -> int:
    """Replace the suggested sets of the criterion by those of its published fit; return how many there are.

    Where the policy is balanced or a plan decides, there are none. A failure leaves none, too: the balanced rule goes
    on then, and the fit stands.
    """
    try:
        with_values = Project.objects.get(pk=criterion.project.pk)
        chosen = with_values.is_adaptive and not with_values.ranks_counts
        keys = suggested_keys(Criterion(with_values, criterion.number), fit) if chosen else []
        n_written = replace_suggestions(with_values, fit, keys)
        mark_predicted_items(with_values, fit)
        return n_written
    except InvalidAim:  # the best are all items that can be compared: nothing is left to find
        return replace_suggestions(criterion.project, fit, [])
    except Exception:
        logger.exception("No sets could be suggested for project %s.", criterion.project.pk)
        replace_suggestions(criterion.project, fit, [])
        return 0


def replace_suggestions(project: Project, fit: Fit, keys: Sequence[str]) -> int:
    """Write these sets in the place of the former ones, in one transaction; none where a newer fit is published, or
    where the policy is no longer the one that they were chosen by."""
    same = {name: getattr(project, name) for name in DECISIVE}
    with write_transaction():
        rows = SuggestedSet.objects.filter(project=project, criterion=fit.criterion)
        if not Fit.objects.select_for_update(no_key=True).filter(pk=fit.pk, published=True).values("pk"):
            return 0
        rows._raw_delete(rows.db)
        now = Project.objects.filter(pk=project.pk).values(*DECISIVE).first()
        if now != same:
            return 0
        SuggestedSet.objects.bulk_create(
            (
                SuggestedSet(
                    project=project,
                    criterion=fit.criterion,
                    place=place,
                    key=key,
                    fit=fit.number,
                    version=fit.data_version,
                )
                for place, key in enumerate(keys)
            ),
            batch_size=BATCH,
        )
    return len(keys)


def mark_predicted_items(project: Project, fit: Fit) -> None:
    """Note at each item whether it is asked about by its prediction, so that the balanced rule does not go first.

    Once so it stays so while answers come, until no criterion's fit predicts anything or the policy goes without.
    """
    if uses_predictions(project, fit):
        predicted = Estimate.objects.filter(fit=fit, predicted_in__isnull=False).values("item_id")
        rows, value = Item.objects.filter(project=project, asked_by_prediction=False, pk__in=predicted), True
    elif predicts_anywhere(project):
        return
    else:
        rows, value = Item.objects.filter(project=project, asked_by_prediction=True), False
    if rows.exists():
        with write_transaction():
            lock_project(project.pk)
            rows.update(asked_by_prediction=value)


def suggested_keys(criterion: Criterion, fit: Fit) -> list[str]:
    """Return the keys of the sets worth asking about, best round first, random within a round; none that is full.

    Where there are FEW of them the whole list comes several times.
    """
    project, known = criterion.project, read_choosing_posterior(criterion, fit)
    items, means, deviations = known.items, known.means, known.deviations
    aim = aim_of(project, means[known.largest])
    if aim is None or len(items) < project.k:
        return []
    contexts = contexts_of(project, items)
    eligible = unsettled(means, deviations, aim, contexts, project)
    if not eligible.any():
        return []
    rng = np.random.default_rng()
    found = candidate_sets(
        means,
        deviations,
        aim,
        set_size=project.k,
        parts=contexts,
        covariance=known.covariance(criterion, fit),
        margin=project.tie_margin,
        eligible=eligible,
        limit=MAX_SUGGESTED_SETS,
        asked=full_sets(project, items),
        rng=rng,
    )
    keys = [set_key(items[one].tolist()) for one in found.sets[order_of(found, rng)]]
    return keys * (min(MAX_TIMES, project.overlap) if len(keys) < FEW else 1)


def aim_of(project: Project, means: Floats) -> Aim | None:
    """Return what the project wants to know; None where that cannot be said of items with these means.

    means: (n_items,) of the largest part, in logits.
    """
    if project.policy == Policy.WHOLE:
        return Aim("whole")
    if project.policy == Policy.BEST:
        return Aim("best", k=project.top_k) if project.top_k < len(means) else None
    falling = np.sort(means)[::-1]
    if len(falling) < 2:
        return None
    if project.grades:
        centre = float(falling.mean())  # grades begin at a score, which is the chance against an average item
        boundaries = cuts_of(project, falling - centre) + centre
    elif project.class_shares:
        boundaries = np.sort(cuts_of_shares(project.class_shares[:-1], falling))
    else:
        return None
    return Aim("classes", boundaries=tuple(float(one) for one in boundaries))


def unsettled(means: Floats, deviations: Floats, aim: Aim, contexts: Ints, project: Project) -> Bools:
    """Return (n_items,) which are to be asked about: those not settled; all where these are too few for a set."""
    open_still = ~settled(means, deviations, aim, margin=project.tie_margin, parts=contexts)
    if 0 < open_still.sum() < project.k:
        return np.ones(len(means), dtype=bool)
    return np.asarray(open_still)


def contexts_of(project: Project, items: Ints) -> Ints:
    """Return (n_items,) the number of each item's context: only items of one are shown together."""
    known = dict(Item.objects.filter(project=project).values_list("pk", "context_id"))
    return np.array([known.get(item) or 0 for item in items.tolist()], dtype=np.int64)


def order_of(found: Candidates, rng: np.random.Generator) -> Ints:
    """Return the order of the rounds, random within each."""
    return np.lexsort((rng.random(len(found.rounds)), found.rounds))


def full_sets(project: Project, items: Ints) -> Ints | None:
    """Return (n, k) places among the items, which ascend, of the sets of k that have all their annotators; other kinds
    of task leave sets of other sizes."""
    full = of_size(ItemSet.objects.filter(project=project, n_taken__gte=project.overlap), project.k)
    keys = full.values_list("key", flat=True)
    sets: Ints = np.array([items_of_key(key) for key in keys.iterator(20_000)], dtype=np.int64)
    sets = sets.reshape(-1, project.k)
    known = np.isin(sets, items).all(axis=1)
    return np.searchsorted(items, sets[known]) if known.any() else None
