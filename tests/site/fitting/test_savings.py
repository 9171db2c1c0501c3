"""What a policy saves on a project's own answers: measured against the control arm, and told once it is known."""

import csv
import json
from collections import Counter
from datetime import timedelta

import numpy as np
import pytest

from annotate.criteria import Criterion
from annotate.dashboard.progress.savings import measured_saving
from annotate.fitting import savings_job, savings_queue
from annotate.fitting.label_checks import check_labels
from annotate.fitting.reading import read_labels
from annotate.models import AskedBy, Label, MeasuredSaving, Policy, Presentation, Project
from annotate.publishing.run_records.job import write_run_record
from models_engine.models import AnnotatorEstimate, Estimate
from tests.conftest import NOW, make_annotator, make_items
from tests.site.api_client import Api
from tests.site.factories import make_labels
from tests.site.fitting.test_run import fit_now, go_on
from tests.site.pages import signed_in


@pytest.fixture
def project(project) -> Project:
    project.items.all().delete()
    make_items(project, 12)
    project.policy, project.top_k, project.estimator = Policy.BEST, 3, "BradleyTerry"
    project.save()
    return project


def collected(project: Project, n: int, share: float) -> None:
    """So many answers, of which so many are the control arm's."""
    make_labels(project, [make_annotator(project, f"Otter {i}") for i in range(4)], n)
    keys = list(project.presentations.order_by("pk").values_list("pk", flat=True))
    control = keys[: round(share * n)]
    Presentation.objects.filter(pk__in=keys).update(asked_by=AskedBy.ADAPTIVE)
    Presentation.objects.filter(pk__in=control).update(asked_by=AskedBy.CONTROL)


def measure(project: Project) -> MeasuredSaving | None:
    row = savings_queue.QUEUE.claim_next(owner="test", now=NOW + timedelta(hours=1))
    if row:
        savings_queue.QUEUE.work(row, progress=go_on)
        row.refresh_from_db()
    return row


def test_the_ratio_and_its_interval_by_hand():
    """Twenty figures of 2 and one of 4 alone: half; and no interval where all are the same."""
    same = savings_job.ratio_of(4.0, np.full(20, 2.0), 0.3)
    assert [same[name] for name in ("ratio", "low", "high")] == pytest.approx([0.5, 0.5, 0.5])
    thinned = np.exp(np.random.default_rng(1).normal(0, 0.1, 20))
    found = savings_job.ratio_of(1.0, thinned, 0.75)
    spread = 2 * np.std(np.log(thinned), ddof=1)  # a quarter of the labels is left to vary
    reach = 1.729133 * spread * np.sqrt(1.05)  # Student's t with 19 degrees, .95
    assert np.log(found["high"] / found["ratio"]) == pytest.approx(reach, rel=1e-5)
    assert np.log(found["ratio"] / found["low"]) == pytest.approx(reach, rel=1e-5)
    assert savings_job.ratio_of(0.0, thinned, 0.3)["ratio"] is None


def test_the_interval_holds_one_where_the_arms_do_not_differ():
    """Ratios of samples of one distribution: nine intervals in ten hold 1, as they say."""
    rng, hits = np.random.default_rng(2), 0
    for _ in range(400):
        pool = rng.exponential(size=1000)
        alone = rng.exponential(size=200).mean()
        thinned = np.array([rng.choice(pool, 200, replace=False).mean() for _ in range(20)])
        found = savings_job.ratio_of(alone, thinned, 0.2)
        hits += found["low"] <= 1 <= found["high"]
    assert 0.84 < hits / 400 < 0.97


def test_the_arms_are_those_of_the_labels_read(project):
    collected(project, 120, 0.3)
    Label.objects.filter(pk=Label.objects.first().pk).update(voided_at=NOW, void_reason="excluded")
    Label.objects.filter(pk=Label.objects.last().pk).update(outcome="skip", chosen=None)
    labels = read_labels(Criterion(project), machines=False)
    control, everything = savings_job.arms_of(labels)
    assert len(everything) == labels.data.n_labels == 118
    assert control.tolist() == list(range(35))


@pytest.mark.slow
def test_it_is_measured_stored_and_told(project, alice):
    collected(project, 300, 0.4)
    fit_now(project, NOW)
    row = measure(project)
    assert (row.n_labels, row.n_control, row.policy, set(row.figures)) == (300, 120, "best", {"width", "loss"})
    assert row.figures["width"]["low"] < row.figures["width"]["ratio"] < row.figures["width"]["high"]
    assert 0.7 < row.figures["width"]["ratio"] < 1.4, "both arms were asked the same"
    assert measure(project) is None, "until there are a third more"
    words = signed_in(alice).get(f"/projects/{project.pk}/progress/").content.decode()
    assert "What choosing questions saves" in words
    assert "which has 120 answers so far" in words
    MeasuredSaving.objects.update(figures={"loss": {"ratio": 0.6, "low": 0.45, "high": 0.8}})
    saving = Api(alice, project)("get", "progress").json()["saving"]
    assert saving["sentence"] == (
        "40% fewer mistakes about the best are expected than after as many balanced answers (90% interval: 20 to 55)."
    )
    assert (saving["n_control"], saving["loss"]["ratio"], saving["width"]) == (120, 0.6, None)


def test_too_few_answers_of_either_arm_are_not_compared(project):
    collected(project, 120, 0.1)
    fit_now(project, NOW)
    assert measure(project).figures == {}
    assert measured_saving(Criterion(project)).is_early


@pytest.mark.parametrize(
    ("figure", "n_control", "known"),
    [
        ({"ratio": 0.8, "low": 0.7, "high": 0.9}, 60, True),
        ({"ratio": 1.3, "low": 1.1, "high": 1.5}, 60, True),
        ({"ratio": 0.9, "low": 0.7, "high": 1.1}, 499, False),
        ({"ratio": 0.9, "low": 0.7, "high": 1.1}, 500, True),
    ],
)
def test_it_is_told_once_one_is_excluded_or_500_answers_are_there(project, figure, n_control, known):
    MeasuredSaving.objects.create(project=project, policy="best", figures={"loss": figure}, n_control=n_control)
    assert measured_saving(Criterion(project)).is_early != known
    project.policy = Policy.BALANCED
    assert measured_saving(Criterion(project)) is None


def test_agreement_and_sides_are_those_of_questions_not_chosen_by_the_ranking(project, alice):
    """The same as of a project without the adaptive answers; the page says that they are left out."""
    collected(project, 160, 0.5)
    figures = check_labels(read_labels(Criterion(project)))
    Label.objects.filter(presentation__asked_by=AskedBy.ADAPTIVE).update(voided_at=NOW, void_reason="excluded")
    alone = check_labels(read_labels(Criterion(project)))
    assert (figures["n_adaptive"], alone["n_adaptive"]) == (80, 0)
    assert (figures["agreement"], figures["first_place"]) == (alone["agreement"], alone["first_place"])
    Label.objects.update(voided_at=None, void_reason="")
    fit_now(project, NOW)
    words = signed_in(alice).get(f"/projects/{project.pk}/trust/").content.decode()
    assert words.count("80 answers are left out here") == 2
    assert "compared more often on purpose" in words


@pytest.mark.slow
def test_each_annotators_own_figures_leave_out_what_the_ranking_chose(project, alice):
    """Agreement and first place of each person, counted by hand over the control arm; the pages say it."""
    collected(project, 160, 0.5)
    fit = fit_now(project, NOW)
    utility = dict(Estimate.objects.filter(fit=fit).values_list("item_id", "utility"))
    rows = {row.annotator_id: row for row in AnnotatorEstimate.objects.filter(fit=fit)}
    follows, n = Counter(), Counter()
    for label in Label.objects.filter(presentation__asked_by=AskedBy.CONTROL).select_related("presentation"):
        items = label.presentation.presented.values_list("item", flat=True)
        other = next(item for item in items if item != label.chosen_id)
        n[label.annotator_id] += 1
        follows[label.annotator_id] += utility[label.chosen_id] > utility[other]
    assert (len(rows), sum(n.values())) == (4, 80)
    for pk, row in rows.items():
        assert (row.n_labels, row.n_sides, row.n_decided) == (40, n[pk], n[pk])
        assert row.agreement == pytest.approx(follows[pk] / n[pk])
    person = project.annotators.first()
    for page in ("", f"{person.key}/"):
        words = signed_in(alice).get(f"/projects/{project.pk}/annotators/{page}").content.decode()
        assert "the ranking so far chose, 80 in this project" in words
    Presentation.objects.update(asked_by=AskedBy.CONTROL)
    again = fit_now(project, NOW + timedelta(days=1))
    assert {row.n_sides for row in AnnotatorEstimate.objects.filter(fit=again)} == {40}
    assert (
        "Agreement, circles and first place leave out"
        not in signed_in(alice).get(f"/projects/{project.pk}/annotators/").content.decode()
    )


@pytest.mark.slow
def test_the_run_record_says_how_many_questions_were_chosen_by_the_ranking(project, tmp_path):
    collected(project, 120, 0.5)
    fit_now(project, NOW)
    record = write_run_record(Criterion(project), tmp_path / "record", progress=go_on, now=NOW)
    told = json.loads((tmp_path / "record" / "record.json").read_text())
    assert record == told
    assert (told["about"]["policy"], told["about"]["n_adaptive"]) == ("best", 60)
    with (tmp_path / "record" / "answers.csv").open(encoding="utf-8-sig") as file:
        assert Counter(row["asked_by"] for row in csv.DictReader(file)) == {"control": 60, "adaptive": 60}
