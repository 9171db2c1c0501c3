"""How much better an item is, from labels to the fit: an ordered likelihood where the estimator has one."""

import pytest

from annotate.criteria import Criterion
from annotate.fitting.reading import read_labels
from annotate.models import Label
from annotate.publishing.methods.queries import methods_of
from tests.conftest import make_annotator
from tests.site.factories import make_labels
from tests.site.fitting.test_run import fit_now
from tests.site.task_types import set_task


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


def test_the_methods_page_tells_cut_points_formula_and_papers(graded):
    fit_now(graded)
    found = methods_of(Criterion(graded))
    assert 0 < float({one.name: one.value for one in found.fitted}["cut_1"])
    assert any("c_g-1" in one.text and "<math" in one.mathml for one in found.formulas)
    assert any("Agresti" in line for line in found.references)
    graded.labels.update(grade="")
    assert read_labels(Criterion(graded)).data.grades is None
