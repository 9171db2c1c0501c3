"""What questions are chosen by, of items never compared: predictions where they help, and answers since the fit."""

import numpy as np
import pytest
from scipy.stats import norm

from annotate.criteria import Criterion
from annotate.fitting import suggestions
from annotate.fitting.choosing_posterior import read_choosing_posterior
from annotate.labelling import assignment, choosing
from annotate.labelling.actions import Answer, record_label
from annotate.labelling.item_sets import items_of_key
from annotate.labelling.suggestions import MIN_APPEARANCES
from annotate.models import AskedBy, FitState, Item, Policy, Project, SuggestedSet
from models_engine.models import Estimate, Fit
from tests.conftest import NOW, make_annotator, make_items
from tests.site.factories import make_fit

N_OLD = 40


@pytest.fixture
def project(project) -> Project:
    project.items.all().delete()
    make_items(project, N_OLD)
    project.policy, project.top_k, project.estimator, project.overlap = Policy.BEST, 5, "BradleyTerry", 3
    project.predict_unseen, project.control_percent = True, 1
    project.save()
    project.items.update(n_taken=MIN_APPEARANCES)
    FitState.objects.get_or_create(project=project)
    return project


def newcomers(project: Project) -> list[Item]:
    """One predicted among the best, one far below, and one that nothing is known of."""
    return [Item.objects.create(project=project, key=key, body=key) for key in ("good", "bad", "unknown")]


def fit_with(project: Project, new: list[Item], *, predicted: bool = True, sd: float = 0.5) -> Fit:
    """A published fit of the old items, a quarter of a logit apart; the first two of the new ones are predicted."""
    old = list(project.items.exclude(pk__in=[one.pk for one in new]).order_by("pk"))
    parts = [[(item, (N_OLD - 1) / 8 - place / 4, sd, 10) for place, item in enumerate(old)]]
    parts += [[(item, utility, 0.8, 0)] for item, utility in zip(new, (4.0, -3.0, 0.0), strict=True)]
    fit = make_fit(project, parts, unit=1.0)
    if predicted:
        Estimate.objects.filter(fit=fit, item_id__in=[one.pk for one in new[:2]]).update(predicted_in=0)
        fit.diagnostics = fit.diagnostics | {"predicted": {"n": 2, "explained": 0.5}}
        fit.save()
    return fit


def asked_about(project: Project) -> set[int]:
    keys = SuggestedSet.objects.filter(project=project).values_list("key", flat=True)
    return {item for key in keys for item in items_of_key(key)}


def write(project: Project, fit: Fit) -> None:
    suggestions.write_suggestions(Criterion(Project.objects.get(pk=project.pk)), fit)


def noted(project: Project) -> set[str]:
    return set(project.items.filter(asked_by_prediction=True).values_list("key", flat=True))


def test_a_predicted_item_is_asked_about_by_its_prediction(project):
    good, bad, unknown = newcomers(project)
    write(project, fit_with(project, [good, bad, unknown]))
    found = asked_about(project)
    assert good.pk in found
    assert bad.pk not in found, "it is surely not among the best"
    assert unknown.pk not in found
    assert noted(project) == {"good", "bad"}
    beside = [
        items_of_key(key)
        for key in SuggestedSet.objects.filter(project=project).values_list("key", flat=True)
        if good.pk in items_of_key(key)
    ]
    places = {pk: place for place, pk in enumerate(project.items.order_by("pk").values_list("pk", flat=True))}
    opponents = [places[pk] for one in beside for pk in one if pk != good.pk]
    assert max(opponents) < 20, "it is compared with the upper half"


def test_only_what_nothing_is_known_of_goes_first(project):
    good, bad, unknown = newcomers(project)
    fit = fit_with(project, [good, bad, unknown])
    write(project, fit)
    annotator = make_annotator(project, "Otter")
    shown = choosing.suggested_set(Project.objects.get(pk=project.pk), annotator, "a token")
    assert unknown.pk in shown.items
    unknown.retired_at = NOW
    unknown.save()
    for number in range(8):
        shown = choosing.suggested_set(Project.objects.get(pk=project.pk), annotator, f"token {number}")
        assert shown.asked_by == AskedBy.ADAPTIVE
        assert bad.pk not in shown.items


@pytest.mark.parametrize("values", [{"predict_unseen": False}, {"policy": Policy.WHOLE}, {"policy": Policy.BALANCED}])
def test_nothing_changes_where_predictions_do_not_count(project, values):
    new = newcomers(project)
    fit = fit_with(project, new)
    write(project, fit)
    assert noted(project)
    Project.objects.filter(pk=project.pk).update(**values)
    write(project, fit)
    assert not asked_about(project) & {one.pk for one in new}
    assert noted(project) == set()


def test_a_fit_without_predictions_ends_them(project):
    """Features were found to help no more: the items go first by the balanced rule again."""
    new = newcomers(project)
    write(project, fit_with(project, new))
    assert noted(project) == {"good", "bad"}
    write(project, fit_with(project, new, predicted=False))
    assert noted(project) == set()


def test_an_item_with_few_answers_in_the_fit_does_not_go_first_either(project):
    good, bad, unknown = newcomers(project)
    write(project, fit_with(project, [good, bad, unknown]))
    fit = fit_with(project, [good, bad, unknown])
    Estimate.objects.filter(fit=fit, item_id=good.pk).update(n_comparisons=1, predicted_in=None, part=0)
    write(project, fit)
    assert noted(project) == {"good", "bad"}
    known = read_choosing_posterior(Criterion(project), fit)
    assert not known.predicted[known.items == good.pk].any(), "the fit holds it"


def test_answers_since_the_fit_count(project):
    """The moments of a probit answer against an opponent that stays, by quadrature."""
    good, bad, unknown = newcomers(project)
    fit = fit_with(project, [good, bad, unknown])
    criterion = Criterion(Project.objects.get(pk=project.pk))
    before = read_choosing_posterior(criterion, fit)
    assert before.predicted.sum() == 2
    place = {pk: number for number, pk in enumerate(before.items.tolist())}
    opponent = project.items.order_by("pk").first()
    answer(project, good, opponent, chosen=opponent)
    answer(project, good, unknown, chosen=good)
    after = read_choosing_posterior(criterion, fit)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    grid = before.means[place[good.pk]] + before.deviations[place[good.pk]] * nodes
    spread = np.sqrt(1.702**2 + before.deviations[place[opponent.pk]] ** 2)
    chance = weights * norm.cdf((before.means[place[opponent.pk]] - grid) / spread)
    chance /= chance.sum()
    assert after.means[place[good.pk]] == pytest.approx((chance * grid).sum(), rel=1e-6)
    others = [number for pk, number in place.items() if pk != good.pk]
    assert after.means[others].tolist() == before.means[others].tolist()


def answer(project: Project, one: Item, other: Item, chosen: Item) -> None:
    otter = make_annotator(project, f"{one.key} or {other.key}")
    shown = assignment.reopen_presentation(annotator=otter, items=[one.pk, other.pk], now=NOW)
    places = list(shown.presented.order_by("position").values_list("item_id", flat=True))
    record_label(presentation=shown, answer=Answer("choice", places.index(chosen.pk)), now=NOW)
