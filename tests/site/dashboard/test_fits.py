"""The engine's page compares estimators and fits: figures against others' arithmetic, choosing one, bad addresses."""

import numpy as np
import pytest
from django.urls import reverse

from annotate.criteria import Criterion
from annotate.dashboard.fits.changes import HEAD, LINE
from annotate.dashboard.fits.comparison import compare_two_fits, fits_to_compare
from annotate.fitting.arrays import to_bytes
from annotate.models import Evaluation, Event, FitState, Item, Project, Tag, User
from models_engine.models import Fit
from tests.conftest import NOW, make_annotator
from tests.site.factories import make_labels, spread_fit
from tests.site.pages import page, signed_in

pytestmark = pytest.mark.embedded


def arrays(items: list[Item], utility: list[float], sd: float, score: list[float] | None = None) -> bytes:
    ids = np.array([item.pk for item in items], dtype=np.int64)
    values = {"items": ids, "utility": np.array(utility), "sd": np.full(len(ids), sd)}
    if score:
        values |= {"score": np.array(score), "score_low": np.array(score) - 1, "score_high": np.array(score) + 1}
    return to_bytes({f"site/{name}": value for name, value in values.items()})


@pytest.fixture
def two_fits(project) -> list[Fit]:
    """Item 0 falls from the first to the last place, far beyond its interval; item 5 is in the second only."""
    items = list(project.items.order_by("pk"))
    first = spread_fit(project, items[:5], arrays=arrays(items[:5], [2.0, 1.0, 0.0, -1.0, -2.0], 0.3))
    second = spread_fit(project, items, arrays=arrays(items, [-3.0, 1.2, 0.2, -0.9, -1.8, 0.5], 0.3), estimator="GPPL")
    return [first, second]


def test_two_fits_item_by_item(project, two_fits, alice):
    found = compare_two_fits(Criterion(project), (1, 2), None)
    assert (found.n_common, found.n_only_first, found.n_only_second, found.n_far) == (5, 0, 1, 1)
    widest = found.rows[0]
    assert (widest.item.key, widest.first_place, widest.second_place) == ("item-0", 1, 5)
    assert [row.change for row in found.rows] == pytest.approx([-5.2, -0.1, 0, 0, 0])  # 0.2 is the middle of what moved
    assert [row.is_far for row in found.rows] == [True, False, False, False, False]
    expected = np.corrcoef([2, 1, 0, -1, -2], [-3.0, 1.2, 0.2, -0.9, -1.8])[0, 1]
    assert found.correlation == pytest.approx(expected)
    html = page(signed_in(alice), project, "compare")  # the two latest, without being asked
    assert "1 of 5 items moved by more than the margin of error" in html
    assert "fit 2, GPPL" in html
    assert "−5.20" not in html
    User.objects.update(is_expert=True)
    assert "−5.20" in page(signed_in(alice), project, "compare")
    assert "fit 2 is shifted so that the median change is 0" in html
    assert html.index("Text number 0") < html.index("Text number 1")


def test_what_moved_most_is_drawn_and_told_by_tag(project, alice):
    """Item 0 loses 40 points, its tag 18 on average; words stand a line apart and inside the picture."""
    items = list(project.items.order_by("pk"))
    before, after = [60.0, 50.0, 50.0, 49.9, 50.1, 40.0], [20.0, 54.0, 50.0, 50.0, 50.2, 40.1]
    for scores in (before, after):
        utility = [(value - 50) / 10 for value in scores]
        spread_fit(project, items, arrays=arrays(items, utility, 0.1, score=scores))
    tag = Tag.objects.create(project=project, name="orca-70b")
    tag.items.set(items[:2])
    found = compare_two_fits(Criterion(project), (1, 2), None)
    assert [(one.name, one.n_items, one.points) for one in found.tags] == [("orca-70b", 2, "−18.0")]
    slopes = {one.name: one for one in found.slopes.slopes}
    fallen, kept = slopes["Text number 0"], slopes["Text number 2"]
    assert (fallen.first, fallen.second, fallen.is_far, kept.is_far) == ("60.0", "20.0", True, False)
    assert fallen.y_second > fallen.y_first
    heights = sorted(one.label_second for one in slopes.values())
    assert min(np.diff(heights)) >= LINE - 0.11
    assert HEAD <= heights[0] <= heights[-1] <= found.slopes.bottom
    html = page(signed_in(alice), project, "compare")
    assert html.count('class="mark-line"') == 1 + (slopes["Text number 1"].is_far)
    assert "−18.0 points on average (2 items)" in html


def test_items_that_came_move_no_others(project):
    """Two weak items came: they lower the mean, and every utility is told around that."""
    items = list(project.items.order_by("pk"))
    spread_fit(project, items[:4], arrays=arrays(items[:4], [1.5, 0.5, -0.5, -1.5], 0.1))
    spread_fit(project, items, arrays=arrays(items, [3.5, 2.5, 1.5, 0.5, -4.0, -4.0], 0.1))
    found = compare_two_fits(Criterion(project), (1, 2), None)
    assert [row.change for row in found.rows] == [0] * 4
    assert (found.n_common, found.n_only_second, found.n_far) == (4, 2, 0)


def test_of_several_parts_no_places_are_told(project, two_fits, alice):
    Fit.objects.filter(pk=two_fits[0].pk).update(n_parts=2)
    html = page(signed_in(alice), project, "compare", "?a=1&b=2")
    assert "places are not shown" in html
    assert "1 → 5" not in html


@pytest.mark.parametrize("query", ["?a=1&b=99", "?a=x&b=2", "?a=1&b=", "?a=1&b=2&page=x", "?page=" + "9" * 5000])
def test_an_address_that_names_no_fit_says_so(project, two_fits, alice, query):
    html = page(signed_in(alice), project, "compare", query)
    assert ("no longer kept" in html) == ("page" not in query)


def test_one_fit_has_nothing_to_be_compared_with(project, alice):
    spread_fit(project, list(project.items.all()), arrays=b"")
    Fit.objects.update(arrays=None)
    assert fits_to_compare(Criterion(project)) == []
    assert "There is nothing to compare yet" in page(signed_in(alice), project, "compare")


def evaluated(project: Project) -> None:
    known = {"z": 0.1, "bins": [], "n": 400, "n_pairs": 400, "seconds": 0.25, "failed": "", "converged": True}
    figures = [
        {"name": "BradleyTerry", "loss": 0.61, "accuracy": 0.66, **known},
        {"name": "CrowdBT", "loss": 0.58, "accuracy": 0.7, **known, "converged": False},
        {"name": "GPPL", "loss": None, "accuracy": None, **known, "failed": "too <many> items"},
    ]
    Evaluation.objects.create(
        project=project, n_labels=400, fit_number=1, estimator="BradleyTerry", figures=figures, made_at=NOW
    )


def test_estimators_side_by_side_and_another_one_published(project, alice, vera):
    make_labels(project, [make_annotator(project, "Otter")], 5)
    Project.objects.filter(pk=project.pk).update(estimator="BradleyTerry")
    spread_fit(project, list(project.items.all()), estimator="BradleyTerry")
    owner = signed_in(alice)
    assert "Not compared yet" in page(owner, project, "engine")
    evaluated(project)
    html = page(owner, project, "engine")
    assert "CrowdBT is best at predicting answers that it has not seen" in html
    assert html.index("0.5800") < html.index("0.6100") < html.index("too &lt;many&gt; items")
    use = reverse("estimator-use", args=[project.pk])
    assert html.count(use) == 1  # neither the published one nor one that failed
    assert use not in page(signed_in(vera), project, "engine")
    wanted = FitState.objects.get(project=project).wanted
    told = owner.post(use, {"estimator": "CrowdBT"}, follow=True).content.decode()
    assert "CrowdBT is now in use" in told
    project.refresh_from_db()
    assert project.estimator == "CrowdBT"
    assert FitState.objects.get(project=project).wanted == wanted + 1
    assert Event.objects.get(verb="settings changed").details == {"estimator": ["BradleyTerry", "CrowdBT"]}
    assert "already in use" in owner.post(use, {"estimator": "CrowdBT"}, follow=True).content.decode()
    assert (
        "This site does not offer that estimator"
        in owner.post(use, {"estimator": "GPPL"}, follow=True).content.decode()
    )
