"""Whether a ranking settles: earlier fits held against the new one, by other sums; what the pages and the API say."""

from datetime import timedelta
from itertools import combinations

import numpy as np
import pytest
from django.utils import timezone

from annotate.annotators.exclusion import exclude_annotator
from annotate.criteria import Criterion
from annotate.dashboard.fits.figures import figures_of
from annotate.dashboard.trust.settling import APART, EARLY, MOVING, SETTLED, Point, judge, settling_of
from annotate.fitting.settling import MAX_POINTS, choose_fits, compare_orders
from annotate.models import Project
from models_engine.models import Estimate, Fit
from tests.conftest import NOW, make_annotator
from tests.site.api_client import Api
from tests.site.factories import make_labels, spread_fit
from tests.site.fitting.test_run import fit_now
from tests.site.pages import page, signed_in


@pytest.fixture
def grown(project) -> Project:
    """Six fits, each of thirty answers more than the one before; the last but one by another estimator."""
    project.top_k, project.estimator = 3, "BradleyTerry"
    project.save()
    people = [make_annotator(project, f"Otter {n}") for n in range(3)]
    for n in range(6):
        Project.objects.filter(pk=project.pk).update(estimator="CrowdBT" if n == 4 else "BradleyTerry")
        make_labels(project, people, 30, seed=n, start=NOW + n * timedelta(hours=1))
        fit_now(project, NOW + n * timedelta(hours=1) + timedelta(minutes=30))
    return project


def published(project: Project) -> Fit:
    return Fit.objects.get(project_id=project.pk, published=True)


def tau_by_counting(one: dict[int, float], other: dict[int, float]) -> float:
    """Concordant less discordant pairs of the share of all; no utilities are tied here."""
    signs = [np.sign(one[a] - one[b]) * np.sign(other[a] - other[b]) for a, b in combinations(sorted(one), 2)]
    return sum(signs) / len(signs)


@pytest.mark.slow
def test_points_hold_what_each_fit_said(grown):
    fit = published(grown)
    found, kept = settling_of(fit), list(Fit.objects.filter(project_id=grown.pk).order_by("number"))
    assert [(one.fit, one.n_labels) for one in found.points] == [
        (one.number, 30 * (n + 1)) for n, one in enumerate(kept)
    ]
    last = {item: row.utility for item, row in figures_of(fit).items()}
    for point, one in zip(found.points, kept, strict=True):
        figures = figures_of(one)
        utilities = {item: row.utility for item, row in figures.items()}
        assert point.width == pytest.approx(np.mean([row.score_high - row.score_low for row in figures.values()]))
        assert point.tau == pytest.approx(tau_by_counting(utilities, last))
        first, now = (sorted(order, key=order.get, reverse=True)[:3] for order in (utilities, last))
        assert point.n_changed == sum(a != b for a, b in zip(first, now, strict=True))
    assert [one.changes for one in found.points] == [[], [], [], [], ["estimator"], ["estimator"]]
    rows = Estimate.objects.filter(fit=fit)
    assert found.points[-1].width == pytest.approx(np.mean([row.score_high - row.score_low for row in rows]), rel=1e-5)
    assert found.points[0].width > found.points[-1].width
    owner = Api(grown.memberships.get(role="owner").user, grown)
    told = owner("get", "trust").json()["settling"]
    assert [one["tau"] for one in told["points"]] == [one.tau for one in found.points]
    assert told["sentence"] == found.sentence
    client = signed_in(grown.memberships.get(role="owner").user)
    for name in ("trust", "progress"):
        html = page(client, grown, name)
        assert found.sentence in html
        assert html.count('<tr><th scope="row" class="number">') == 6
        assert html.count('<circle class="mark-dot"') >= 12
        assert "another estimator" in html


@pytest.mark.embedded
@pytest.mark.slow
def test_an_exclusion_between_two_fits_is_marked(grown, alice):
    someone = grown.annotators.order_by("pk").first()
    exclude_annotator(annotator=someone, actor=alice, reason="", now=timezone.now())
    fit_now(grown, NOW + timedelta(days=1))
    assert settling_of(published(grown)).points[-1].changes == ["exclusion"]


def test_items_that_came_or_went_do_not_count_as_disorder():
    then, now = {1: 3.0, 2: 2.0, 3: 1.0, 4: 0.0}, {1: 3.0, 3: 1.0, 4: 0.5, 5: 0.2}
    assert compare_orders(then, now, 3) == {"tau": 1.0, "n_changed": 0}, "2 is gone, 5 is new and no leader"
    assert compare_orders(then, now | {5: 9.0}, 3) == {"tau": 1.0, "n_changed": 3}, "5 leads now"
    assert compare_orders({1: 1.0, 2: 2.0}, now, 3)["tau"] is None


def points(*rows: tuple[int, int | None]) -> list[Point]:
    return [
        Point(fit, n_labels, 10, 50.0 - fit, None if changed is None else 0.9, changed, [])
        for fit, (n_labels, changed) in enumerate(rows, start=1)
    ]


@pytest.mark.parametrize(
    ("rows", "n_parts", "state", "since", "said"),
    [
        ([(100, 2), (200, 1), (400, 0), (800, 0), (1000, 0)], 1, SETTLED, 400, "Since answer 400 none of the first 3"),
        ([(100, 2), (400, 0), (800, 0), (900, 1), (1000, 0)], 1, MOVING, None, "since answer 800, 1 of the first 3"),
        ([(100, 0), (400, 2), (800, 2), (900, 0), (1000, 0)], 1, MOVING, 900, "since answer 800, 2 of the first 3"),
        ([(850, 0), (900, 0), (950, 0), (980, 0), (1000, 0)], 1, EARLY, 850, "Too early to say"),
        ([(100, 0), (400, 0), (800, 0), (1000, 0)], 1, EARLY, 100, "Too early to say"),
        ([(100, None), (400, None), (800, None), (900, 0), (1000, 0)], 1, EARLY, 900, "Too early to say"),
        ([(100, None), (400, None), (800, None), (900, None), (1000, None)], 2, APART, None, "no one order"),
    ],
)
def test_what_is_called_settled(rows, n_parts, state, since, said):
    found = judge(points(*rows), 3, n_parts)
    assert (found.state, found.since) == (state, since)
    assert said in found.sentence


def test_a_project_of_many_fits_has_few_points_over_all_its_answers(project):
    for n in range(1, 200):
        Fit.objects.create(
            project_id=project.pk,
            number=n,
            estimator="CrowdBT",
            data_version=n,
            n_labels=10 * n,
            n_items=6,
            n_parts=1,
            status=Fit.Status.DONE,
            arrays=b"x",
            started_at=NOW,
        )
    rows = choose_fits(Criterion(project), Fit(project_id=project.pk, number=500), 2_000)
    assert len(rows) == MAX_POINTS
    assert (rows[0]["n_labels"], rows[-1]["n_labels"]) == (10, 1_990)
    assert np.diff([row["n_labels"] for row in rows]).max() <= 2 * 2_000 / MAX_POINTS


def test_pages_before_the_first_such_fit_say_so(alice, project):
    spread_fit(project, list(project.items.all()))
    assert "Not known yet: it is found out with the next update" in page(signed_in(alice), project, "trust")


def test_one_point_is_too_early(alice, project):
    one = {"number": 1, "n_labels": 40, "n_items": 6, "width": 40.0, "tau": 1.0, "n_changed": 0, "changes": []}
    fit = spread_fit(project, list(project.items.all()))
    Fit.objects.filter(pk=fit.pk).update(diagnostics={"settling": {"k": 3, "n_parts": 1, "points": [one]}})
    assert "Too early to say: that takes at least 5 fits" in page(signed_in(alice), project, "trust")
