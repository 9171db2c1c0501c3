"""How much better an item is, from labels to the fit: an ordered likelihood where the estimator has one."""

import pytest

from annotate.criteria import Criterion
from annotate.fitting.reading import read_labels
from annotate.models import Label
from annotate.publishing.methods.queries import methods_of
from tests.conftest import make_annotator
from tests.site.factories import make_labels
from tests.site.fitting.test_run import fit_now
from tests.site.pages import page, signed_in
from tests.site.task_types import set_task

COUNTING = ["BradleyTerry", "CrowdBT"]


@pytest.fixture
def graded(project):
    set_task(project, "graded", 2, estimator="BradleyTerry")
    labels = make_labels(project, [make_annotator(project, name) for name in ("Otter", "Heron")], 40)
    clear = [one.pk for one in labels[::3] if one.outcome == "choice"]
    Label.objects.filter(project=project, outcome="choice").update(grade="slightly")
    Label.objects.filter(pk__in=clear).update(grade="clearly")
    return project


def test_grades_reach_the_engine_and_only_where_they_were_asked(graded):
    expected = {"": 0, "slightly": 1, "clearly": 2}
    stored = [expected[one] for one in graded.labels.order_by("pk").values_list("grade", flat=True)]
    assert read_labels(Criterion(graded)).data.grades.tolist() == stored
    assert sum(stored) > 40
    set_task(graded, "pair", 2)
    assert read_labels(Criterion(graded)).data.grades is None


@pytest.mark.parametrize("estimator", COUNTING)
def test_the_methods_page_tells_cut_points_formula_and_papers(graded, estimator):
    set_task(graded, "graded", 2, estimator=estimator)
    fit_now(graded)
    found = methods_of(Criterion(graded))
    assert 0 < float({one.name: one.value for one in found.fitted}["cut_1"])
    assert any("c_g-1" in one.text and "<math" in one.mathml for one in found.formulas)
    assert any("Agresti" in line for line in found.references)
    graded.labels.update(grade="")
    assert read_labels(Criterion(graded)).data.grades is None


@pytest.mark.embedded
@pytest.mark.parametrize(("estimator", "says"), [("PlackettLuce", True), ("CrowdBT", False)])
def test_pages_say_where_how_much_better_does_not_count(graded, alice, estimator, says):
    set_task(graded, "graded", 2, estimator=estimator)
    fit_now(graded)
    reader = signed_in(alice)
    assert (
        "counts who wins and not by how much; BradleyTerry, CrowdBT and CollaborativeGP"
        in page(reader, graded, "engine")
    ) == says
    assert ("was left aside: PlackettLuce counts who wins." in page(reader, graded, "report")) == says
    set_task(graded, "pair", 2, estimator="PlackettLuce")
    assert "leaves-grades" not in page(reader, graded, "engine")
