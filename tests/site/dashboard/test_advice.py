"""An owner is told when another estimator is clearly better, changes to it or keeps the one in use."""

import pytest
from django.urls import reverse

from annotate.criteria import Criterion
from annotate.dashboard.fits.advice import MIN_GAIN, estimator_advice
from annotate.models import Evaluation, Project
from models_engine.models import Fit
from tests.conftest import NOW
from tests.site.api_client import Api
from tests.site.factories import spread_fit
from tests.site.pages import page, signed_in

pytestmark = pytest.mark.embedded

TOLD = "CrowdBT predicts your answers clearly better than BradleyTerry, which is in use"


def evaluate(project: Project, gain: float | None, error: float | None = 0.01, name: str = "CrowdBT", **values) -> None:
    """As annotate.fitting.evaluation_job stores it, at the published fit."""
    known = {"accuracy": 0.7, "z": 0.1, "bins": [], "n": 400, "n_pairs": 400, "seconds": 0.2, "failed": ""}
    known["converged"] = True
    figures = [
        {"name": "BradleyTerry", "loss": 0.61, "gain": None, "gain_error": None, **known},
        {"name": name, "loss": 0.61 - (gain or 0), "gain": gain, "gain_error": error, **known},
    ]
    given = {
        "n_labels": 400,
        "fit_number": 1,
        "estimator": "BradleyTerry",
        "figures": figures,
        "made_at": NOW,
        **values,
    }
    Evaluation.objects.update_or_create(project=project, criterion=1, defaults=given)


@pytest.fixture
def ranked(project) -> Project:
    Project.objects.filter(pk=project.pk).update(estimator="BradleyTerry")
    project.refresh_from_db()
    spread_fit(project, list(project.items.all()), estimator="BradleyTerry")
    return project


@pytest.mark.parametrize(
    ("gain", "error", "name", "is_told"),
    [
        (0.05, 0.01, "CrowdBT", True),
        (MIN_GAIN, MIN_GAIN / 2, "CrowdBT", True),
        (0.05, 0.03, "CrowdBT", False),  # not two standard errors
        (0.019, 0.001, "CrowdBT", False),  # certain, and of no use
        (-0.05, 0.01, "CrowdBT", False),
        (0.05, None, "CrowdBT", False),  # a single label has no standard error
        (None, None, "CrowdBT", False),  # evaluated by an earlier version of the site
        (0.05, 0.01, "GPPL", False),  # not offered
    ],
)
def test_who_is_clearly_better(ranked, gain, error, name, is_told):
    evaluate(ranked, gain, error, name)
    assert (estimator_advice(Criterion(ranked)) is not None) == is_told


@pytest.mark.parametrize(
    "values", [{"estimator": "Automatic"}, {"estimator": "PlackettLuce"}, {"state": "closed", "archived_at": NOW}]
)
def test_projects_that_choose_themselves_changed_since_or_rest_are_told_nothing(ranked, values):
    evaluate(ranked, 0.05)
    Project.objects.filter(pk=ranked.pk).update(**values)
    ranked.refresh_from_db()
    assert estimator_advice(Criterion(ranked)) is None


@pytest.mark.slow
def test_told_at_first_sight_and_changed_by_one_press(ranked, alice, manuel, vera):
    evaluate(ranked, 0.05)
    for user in (alice, manuel):
        for name in ("ranking", "engine"):
            html = page(signed_in(user), ranked, name)
            assert TOLD in html
            assert "it gave 5% more probability to what people answered, on 400 answers" in html  # exp(.05) = 1.051
    for name in ("ranking", "engine"):
        assert TOLD not in page(signed_in(vera), ranked, name), "who cannot change it"
    use = reverse("estimator-use", args=[ranked.pk])
    said = signed_in(alice).post(use, {"estimator": "CrowdBT", "next": "ranking"}, follow=True)
    assert said.redirect_chain[-1][0] == reverse("ranking", args=[ranked.pk])
    assert "CrowdBT is now in use" in said.content.decode()
    assert TOLD not in page(signed_in(alice), ranked)
    assert Project.objects.get().estimator == "CrowdBT"


def test_not_told_again_once_dismissed_until_a_newer_evaluation(ranked, alice):
    evaluate(ranked, 0.05)
    owner, use = signed_in(alice), reverse("estimator-use", args=[ranked.pk])
    said = owner.post(use, {"estimator": "BradleyTerry", "next": "ranking"}, follow=True).content.decode()
    assert "BradleyTerry stays in use." in said
    assert Project.objects.get().estimator == "BradleyTerry"
    assert TOLD not in page(owner, ranked)
    assert TOLD not in page(owner, ranked, "engine")
    evaluate(ranked, 0.06, dismissed_at=None)
    assert TOLD in page(owner, ranked)


def test_the_api_tells_and_keeps(ranked, alice, vera):
    evaluate(ranked, 0.05)
    advice = Api(alice, ranked)("get", "models").json()["advice"]
    assert (advice["name"], advice["gain"], advice["error"], advice["n"]) == ("CrowdBT", 0.05, 0.01, 400)
    assert advice["sentence"].startswith(TOLD)
    viewer = Api(vera, ranked)
    assert viewer("get", "models").json()["advice"] is None
    assert viewer("post", "models").status_code == 403
    owner = Api(alice, ranked)
    assert owner("post", "models").json() == {"kept": True}
    assert owner("post", "models").json() == {"kept": False}
    assert owner("get", "models").json()["advice"] is None


def test_the_rows_of_the_table_say_the_gain(ranked, alice):
    evaluate(ranked, 0.05)
    rows = {one["name"]: one for one in Api(alice, ranked)("get", "models").json()["rows"]}
    assert (rows["CrowdBT"]["gain"], rows["CrowdBT"]["gain_error"]) == (0.05, 0.01)
    assert rows["BradleyTerry"]["gain"] is None
    assert "0.0500 ± 0.0100" in page(signed_in(alice), ranked, "engine")
    assert Fit.objects.get().estimator == "BradleyTerry"
