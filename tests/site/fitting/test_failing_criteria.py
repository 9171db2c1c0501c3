"""One of several criteria whose fit fails: the others go on, its own pages say so, and it is tried again by itself."""

from datetime import timedelta

import pytest
from django.urls import reverse

from annotate.core.stored_messages import render_message
from annotate.criteria import Criterion, list_criteria
from annotate.dashboard.heading import engine_status
from annotate.fitting import run as fitting_run
from annotate.fitting import scheduling
from annotate.fitting.published import published_fit
from annotate.fitting.reading import read_labels
from annotate.models import FitState, Project
from models_engine.errors import EngineError
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.models import Fit
from tests.site.factories import engine_is_up
from tests.site.fitting.test_criteria import LATER, answer_all, otter, project  # noqa: F401  (fixtures)
from tests.site.pages import page, signed_in


def fit_at(now) -> Fit | None:
    """What is due then, fitted; None where nothing is."""
    claim = scheduling.claim_next(owner="test", now=now, pause=timedelta(0))
    return fitting_run.run(claim, progress=lambda *_: True, clock=lambda: now) if claim else None


def answer_again(project) -> None:  # noqa: F811
    """As a further label would."""
    state = FitState.objects.get(project=project)
    FitState.objects.update(wanted=state.wanted + 1, not_before=None)


def numbers(project) -> list[int | None]:  # noqa: F811
    return [fit.number if (fit := published_fit(one)) else None for one in list_criteria(project)]


@pytest.fixture
def clarity_fails(project, otter, monkeypatch) -> Project:  # noqa: F811
    """The first of two criteria can't be fitted, the second was."""
    answer_all(project, otter, 8)
    fit, first = BradleyTerry.fit, read_labels(Criterion(project)).data.data_hash()

    def fit_but_the_first(self, data, **values):
        if data.data_hash() == first:
            raise ArithmeticError("no")
        return fit(self, data, **values)

    monkeypatch.setattr(BradleyTerry, "fit", fit_but_the_first)
    with pytest.raises(EngineError, match=r"“Clarity”: .*ArithmeticError: no"):
        fit_at(LATER)
    return project


def test_the_others_are_fitted_and_it_alone_waits(clarity_fails):
    state = FitState.objects.get()
    assert (state.published_fit, state.fitted, state.error, state.attempts) == (2, state.wanted, "", 0)
    assert state.failing.keys() == {"1"}
    assert render_message(state.failing["1"]["error"]).endswith("ArithmeticError: no")
    assert state.retry_at == LATER + timedelta(seconds=2)
    assert numbers(clarity_fails) == [None, 2]
    answer_again(clarity_fails)
    assert fit_at(LATER + timedelta(seconds=1)).criterion == 2
    assert numbers(clarity_fails) == [None, 3]
    assert FitState.objects.get().retry_at == LATER + timedelta(seconds=2), "it still waits for its own time"


def test_it_is_tried_again_alone_with_longer_pauses(clarity_fails):
    FitState.objects.update(not_before=None)
    assert fit_at(LATER + timedelta(seconds=1)) is None
    with pytest.raises(EngineError, match="Clarity"):
        fit_at(LATER + timedelta(seconds=2))
    state = FitState.objects.get()
    assert (state.failing["1"]["attempts"], state.retry_at) == (2, LATER + timedelta(seconds=6))
    assert numbers(clarity_fails) == [None, 2], "the others are not repeated"
    assert set(Fit.objects.filter(criterion=2).values_list("number", flat=True)) == {2}


def test_once_it_works_all_is_as_if_it_never_failed(clarity_fails, monkeypatch):
    monkeypatch.undo()
    FitState.objects.update(not_before=None)
    fit_at(LATER + timedelta(seconds=2))
    state = FitState.objects.get()
    assert (state.failing, state.retry_at, state.fitted) == ({}, None, state.wanted)
    assert numbers(clarity_fails) == [3, 2]
    assert fit_at(LATER + timedelta(minutes=9)) is None


@pytest.mark.slow
@pytest.mark.embedded
def test_another_estimator_is_tried_at_once(clarity_fails, monkeypatch):
    Project.objects.update(estimator="CrowdBT")
    answer_again(clarity_fails)
    fit_at(LATER + timedelta(seconds=1))
    assert FitState.objects.get().failing == {}
    assert numbers(clarity_fails) == [3, 4]


def test_where_all_that_is_owed_rests_nothing_is_fitted(clarity_fails):
    state = FitState.objects.get()
    rests = {"2": state.failing["1"], "1": state.failing["1"]}
    FitState.objects.update(failing=rests, wanted=state.wanted + 1, not_before=None)
    with pytest.raises(fitting_run.NothingDue):
        fit_at(LATER + timedelta(seconds=1))
    assert fit_at(LATER + timedelta(seconds=1)) is None, "no engine turns in a circle"
    state = FitState.objects.get()
    assert (state.fitted, state.owner, state.retry_at) == (state.wanted, "", LATER + timedelta(seconds=2))


@pytest.mark.embedded
@pytest.mark.slow
def test_only_its_own_pages_say_so(clarity_fails, alice):
    engine_is_up(LATER)
    first, second = (engine_status(one, LATER) for one in list_criteria(clarity_fails))
    assert first.error.endswith("ArithmeticError: no")
    assert (first.n_waiting > 0, second.error, second.n_waiting) == (True, "", 0)
    client = signed_in(alice)
    for name in ("ranking", "engine", "trust"):
        told = ["The last fit failed." in page(client, clarity_fails, name, query) for query in ("", "?criterion=2")]
        assert told == [True, False], name
    api = client.get(reverse("api-ranking", args=[clarity_fails.pk]), {"criterion": 2}).json()
    assert (api["fit"]["number"], api["n_waiting"]) == (2, 0)
