"""The probability that one item is above another: against the posterior, in the API, and as a gate of CI."""

import io

import numpy as np
import pytest

from annotate.client import Client
from annotate.client import __main__ as command_line
from annotate.dashboard.ranking.pair import probability_above, superiority
from annotate.fitting.arrays import compress_covariances, drop_covariances, restore_covariances, to_bytes
from annotate.models import FitState
from models_engine.covariance.forms import LowRankCovariance
from models_engine.models import Estimate, Fit
from models_engine.posterior import Diagnostics, GaussianPosterior, SamplePosterior
from tests.conftest import make_token
from tests.site.api_client import Api
from tests.site.dashboard.test_item import compared, fit_now  # noqa: F401
from tests.site.factories import spread_fit

pytestmark = pytest.mark.embedded


def stored(arrays) -> np.lib.npyio.NpzFile:
    return np.load(io.BytesIO(to_bytes(compress_covariances(arrays))), allow_pickle=False)


def test_it_is_the_posteriors_own_probability(compared):  # noqa: F811
    fit = Fit.objects.get(pk=fit_now(compared).pk)
    with np.load(io.BytesIO(bytes(fit.arrays)), allow_pickle=False) as file:
        own = {name: file[name] for name in file.files if not name.startswith("site/")}
        items = file["site/items"].tolist()
    posterior = GaussianPosterior.from_arrays(restore_covariances(own))
    for row, first in enumerate(items):
        for column, second in enumerate(items):
            if row != column:
                expected = float(posterior.superiority(row, column))
                assert probability_above(fit, first, second) == pytest.approx(expected, abs=1e-5)


def test_draws_low_rank_and_variances_alone():
    rng = np.random.default_rng(3)
    diagnostics = Diagnostics(True, 1, (0.0,), 0.0, "")
    spread = LowRankCovariance(rng.normal(size=(5, 2)), rng.random(5))
    gaussian = GaussianPosterior(rng.normal(size=5), spread, diagnostics)
    samples = SamplePosterior.of(rng.normal(size=(40, 5)), diagnostics)
    for posterior in (gaussian, samples):
        found = superiority(stored(posterior.to_arrays()), 1, 3)
        assert found == pytest.approx(float(posterior.superiority(1, 3)), abs=1e-9)
    assert superiority(stored(drop_covariances(gaussian)), 1, 3) is None


def test_what_is_not_known_is_said(project, alice):
    api = Api(alice, project)
    found = api("get", "ranking-pair", above="item-0", below="item-1").json()
    assert (found["probability"], found["fit"], found["reason"]) == (None, None, "There is no fit yet.")
    items = list(project.items.order_by("pk"))
    fit = spread_fit(project, items)
    found = api("get", "ranking-pair", above="item-0", below="item-1").json()
    assert (found["probability"], found["above_rank"], found["below_rank"]) == (None, 1, 2)
    assert "too large" in found["reason"]
    Estimate.objects.filter(fit=fit, item_id=items[1].pk).update(part=1)
    assert "connects" in api("get", "ranking-pair", above="item-0", below="item-1").json()["reason"]
    assert set(api("get", "ranking-pair", above="item-0", below="no").json()["errors"]) == {"below"}
    assert api("get", "ranking-pair", above="item-0", below="item-0").status_code == 422


@pytest.fixture
def run(live_server, alice, monkeypatch):
    monkeypatch.setenv("CROWDRANK_URL", live_server.url)
    monkeypatch.setenv("CROWDRANK_TOKEN", make_token(alice)[1])
    return lambda *arguments: command_line.main([str(one) for one in arguments])


@pytest.mark.slow
def test_a_gate_passes_fails_or_does_not_know(compared, run, capsys):  # noqa: F811
    pk = compared.pk
    assert run("gate", pk, "--above", "item-0", "--below", "item-1") == 2
    assert "no fit yet" in capsys.readouterr().err
    fit = fit_now(compared)
    first, *_between, last = Estimate.objects.filter(fit=fit, part=0).order_by("rank").values_list("item_id", flat=True)
    keys = dict(compared.items.values_list("pk", "key"))
    assert run("gate", pk, "--above", keys[first], "--below", keys[last], "--wait") == 0
    assert f"P({keys[first]} above {keys[last]})" in capsys.readouterr().out
    assert run("gate", pk, "--above", keys[last], "--below", keys[first], "--probability", "0.5") == 1
    assert run("gate", pk, "--above", "nothing", "--below", keys[first]) == 2
    with pytest.raises(SystemExit, match="2"):
        run("gate", pk, "--above", "a", "--below", "b", "--probability", "95")


@pytest.mark.slow
def test_waiting_ends_when_the_fit_holds_the_labels_given_before(project, live_server, alice, run, capsys):
    spread_fit(project, list(project.items.order_by("pk")))
    state, _ = FitState.objects.get_or_create(project=project)
    FitState.objects.filter(pk=state.pk).update(wanted=7, fitted=4)
    assert run("ranking", project.pk, "--wait", "--timeout", "0") == 1
    said = capsys.readouterr()
    assert "3 changes to the labels to come" in said.err
    assert "After 0 seconds" in said.err
    assert not said.out
    looks = []

    def tell(waiting: int) -> None:
        looks.append(waiting)
        FitState.objects.filter(pk=state.pk).update(wanted=9, fitted=7)  # others go on answering meanwhile

    fit = Client(live_server.url, make_token(alice)[1]).wait_for_ranking(str(project.pk), timeout=30, tell=tell)
    assert (looks, fit["published"]) == ([3], True)


def test_an_unknown_table_is_answered_with_those_there_are(project, run, capsys):
    assert run("export", project.pk, "--table", "dpo") == 1
    said = capsys.readouterr().err
    assert "There is no table “dpo”." in said
    assert "preferences" in said
    assert run("export", project.pk, "--table", "preferences", "--form", "chat", "--lines", "majority") == 0
