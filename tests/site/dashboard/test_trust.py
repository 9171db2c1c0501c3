"""Can I trust this?: each check passes and fails on what it is about, and what is not known is never told as tied."""

import math
from datetime import timedelta

import numpy as np
import pytest
from django.utils import timezone

from annotate.annotators.tastes import queue as tastes_queue
from annotate.core.stored_messages import render_message
from annotate.criteria import Criterion
from annotate.dashboard.trust.queries import trust
from annotate.fitting import evaluation_job, evaluation_queue, scheduling
from annotate.fitting import run as fitting_run
from annotate.fitting.job_runner import Task
from annotate.jobs import idle
from annotate.management.commands.worker import create_worker
from annotate.models import Context, Evaluation, FitState, Item, Label, Project, TasteMap
from models_engine.models import Estimate, Fit
from tests.conftest import NOW, make_annotator
from tests.site.factories import forecast_made, make_fit, make_labels, spread_fit
from tests.site.pages import page, signed_in

pytestmark = pytest.mark.embedded

GOOD_CHECKS = {
    "agreement": {"alpha": 0.43, "low": 0.38, "high": 0.48, "n_units": 300, "n_values": 700},
    "first_place": {"share": 0.502, "low": 0.49, "high": 0.51, "n": 1200, "chance": 0.5},
    "balance": {"fewest": 18, "quarter": 20, "median": 22, "most": 30},
}
SEPARATION = {"value": 0.91, "low": 0.88, "high": 0.94, "separation": 3.2, "strata": 4.6, "level": 0.9, "n_items": 6}
DIAGNOSTICS = {"objective": [-40.0, -20.2], "n_iterations": 4, "checks": GOOD_CHECKS, "reliability": SEPARATION}


def a_bin(low: float, n: int, predicted: float, came_true: float) -> dict:
    reach = 1.64 * math.sqrt(came_true * (1 - came_true) / n)
    ends = {"came_low": came_true - reach, "came_high": came_true + reach}
    return {"low": low, "high": low + 0.1, "n": n, "predicted": predicted, "came_true": came_true, **ends}


def evaluated(project: Project, z: float, bins: list[dict], **values) -> Evaluation:
    n = sum(one["n"] for one in bins)
    one = {"name": "CrowdBT", "loss": 0.5, "accuracy": 0.74, "z": z, "bins": bins, "n": n, "n_pairs": n, "failed": ""}
    return Evaluation.objects.create(
        project=project, n_labels=5 * n, fit_number=1, estimator="CrowdBT", figures=[one], made_at=NOW, **values
    )


def states(project: Project) -> dict[str, str]:
    fit = Fit.objects.get(project_id=project.pk, published=True)
    return {check.key: check.state for check in trust(Criterion(project), fit).checks}


def sentence(project: Project, key: str) -> str:
    fit = Fit.objects.get(project_id=project.pk, published=True)
    return next(check.sentence for check in trust(Criterion(project), fit).checks if check.key == key)


def test_a_sound_ranking_passes_everything(project, alice):
    spread_fit(project, list(project.items.all()), sd=0.05, diagnostics=DIAGNOSTICS)
    evaluated(project, 0.4, [a_bin(0.6, 300, 0.65, 0.66), a_bin(0.7, 1204, 0.75, 0.74)])
    assert set(states(project).values()) == {"good"}
    html = page(signed_in(alice), project, "trust")
    assert "Yes: all checks passed." in html
    assert "of 1,204 answers predicted with 70% to 80%, 74% came true" in html
    assert "alpha is 0.43 (90% interval 0.38 to 0.48)" in html
    assert 'class="calibration-plot"' in html


def test_without_a_fit_there_is_nothing_to_trust(project, alice):
    assert 'class="checks"' not in page(signed_in(alice), project, "trust")


def test_little_data_is_not_yet_known_and_nothing_is_told_as_tied(project, alice):
    items = list(project.items.all())
    make_fit(project, [[(item, 0.01 * i, 0.8, 2) for i, item in enumerate(items)]], diagnostics={})
    found = states(project)
    assert found["enough"] == "warn"
    assert (
        found["told-apart"]
        == found["agreement"]
        == found["side"]
        == found["calibrated"]
        == found["reliable"]
        == "unknown"
    )
    assert found["balanced"] == "unknown"
    assert "can't be told apart yet: there is not enough data" in sentence(project, "told-apart")
    html = page(signed_in(alice), project, "trust")
    assert 'Tied with it</dt><dd class="break-anywhere">0<' in html


@pytest.mark.parametrize("n", [0, 1, 7])
def test_too_few_pairs_that_two_people_compared_are_told_in_words_for_any_number(project, n):
    kept = {"alpha": None, "low": None, "high": None, "n_units": n, "n_values": 2 * n}
    checks = GOOD_CHECKS | {"agreement": kept}
    items = [*project.items.all(), Item.objects.create(project=project, key="seventh", body="Seventh")]
    spread_fit(project, items, sd=0.05, diagnostics=DIAGNOSTICS | {"checks": checks})
    told = f"Too early to say. Pairs of items that two or more people compared: {n}; needed: 20."
    assert sentence(project, "agreement") == told


def test_items_that_make_too_few_pairs_are_not_told_to_wait(project):
    kept = {"alpha": 0.5, "low": 0.2, "high": 0.8, "n_units": 15, "n_values": 200}
    checks = GOOD_CHECKS | {"agreement": kept}
    spread_fit(project, list(project.items.all()), sd=0.05, diagnostics=DIAGNOSTICS | {"checks": checks})
    assert states(project)["agreement"] == "unknown"
    assert sentence(project, "agreement") == (
        "Too few items to say. Pairs that they make: 15; needed, compared by two or more people: 20."
    )


def test_items_known_to_be_tied_are_settled(project):
    items = list(project.items.all())
    make_fit(project, [[(item, 0.001 * i, 0.005, 900) for i, item in enumerate(items)]], diagnostics=DIAGNOSTICS)
    assert set(Estimate.objects.values_list("next_state", flat=True)) == {"tied", "last"}
    assert states(project)["told-apart"] == "good"


def test_each_check_fails_on_its_own(project):
    items = list(project.items.all())
    bad = {
        "agreement": GOOD_CHECKS["agreement"] | {"alpha": 0.02, "low": -0.05, "high": 0.09},
        "first_place": GOOD_CHECKS["first_place"] | {"share": 0.57, "low": 0.54, "high": 0.6},
        "balance": GOOD_CHECKS["balance"] | {"fewest": 6},
    }
    parts = [
        [(item, 1.0 - i, 0.05, 20) for i, item in enumerate(items[:4])],
        [(item, 0.0, 0.4, 20) for item in items[4:]],
    ]
    make_fit(project, parts, converged=False, diagnostics=DIAGNOSTICS | {"checks": bad})
    evaluated(project, 4.2, [a_bin(0.7, 500, 0.75, 0.66), a_bin(0.8, 500, 0.85, 0.7)])
    found = states(project)
    assert {key for key, state in found.items() if state == "warn"} == {
        "connected", "converged", "agreement", "side", "calibrated", "balanced",
    }  # fmt: skip
    assert "overconfident: of 500 answers predicted with 80% to 90%, only 70% came true" in sentence(
        project, "calibrated"
    )
    assert "2 groups that no answer connects" in sentence(project, "connected")
    assert "won 57.0% of the time; 50.0% is expected by chance" in sentence(project, "side")


def test_contexts_are_not_connected_by_design(project):
    """Two prompts of two items and three: passed, until one prompt's own items fall apart."""
    items = list(project.items.all())
    for number, members in enumerate((items[:2], items[2:])):
        context = Context.objects.create(project=project, body=f"Prompt {number}", digest=str(number))
        Item.objects.filter(pk__in=[item.pk for item in members]).update(context=context)
    rows = [(item, 1.0 - i, 0.05, 20) for i, item in enumerate(items)]
    make_fit(project, [rows[2:], rows[:2]], diagnostics=DIAGNOSTICS)
    assert states(project)["connected"] == "good"
    assert "Within each of 2 prompts or contexts" in sentence(project, "connected")
    assert "by design: one ranking per prompt" in sentence(project, "connected")
    make_fit(project, [rows[4:], rows[2:4], rows[:2]], diagnostics=DIAGNOSTICS)
    assert states(project)["connected"] == "warn"


def test_the_example_shows_what_the_sentence_says(project):
    """The bin furthest off may be off the other way: more came true there than predicted."""
    spread_fit(project, list(project.items.all()), diagnostics=DIAGNOSTICS)
    evaluated(project, 4.0, [a_bin(0.5, 900, 0.55, 0.65), a_bin(0.9, 800, 0.96, 0.88)])
    assert "overconfident: of 800 answers predicted with 90% to 100%, only 88%" in sentence(project, "calibrated")


def test_a_small_gap_is_right_however_many_labels_show_it(project):
    spread_fit(project, list(project.items.all()), diagnostics=DIAGNOSTICS)
    evaluated(project, 5.0, [a_bin(0.7, 90_000, 0.75, 0.735)])
    assert states(project)["calibrated"] == "good"


def fitted(project: Project, n_labels: int = 120) -> Fit:
    """Labels by a crowd that mostly agrees, and a fit of them."""
    project.estimator = "BradleyTerry"
    project.save()
    rng = np.random.default_rng(1)
    labels = make_labels(project, [make_annotator(project, f"Otter {i}") for i in range(5)], n_labels)
    for label in labels:
        shown = sorted(one.item_id for one in label.presentation.presented.all())
        label.chosen_id = shown[int(rng.random() < 0.2)]
    Label.objects.bulk_update(labels, ["chosen_id"])
    FitState.objects.create(project=project, wanted=1)
    claim = scheduling.claim_next(owner="test", now=timezone.now(), pause=timedelta(0))
    fit = fitting_run.run(claim, progress=lambda *_: True)
    forecast_made(project)
    return fit


@pytest.mark.slow
def test_the_engine_finds_out_when_it_is_idle(project, alice):
    fit = fitted(project)
    kept = Fit.objects.get(pk=fit.pk).diagnostics["checks"]
    assert kept["agreement"]["alpha"] > 0.2
    assert kept["first_place"]["n"] == 120
    assert kept["balance"]["fewest"] <= kept["balance"]["median"] <= kept["balance"]["most"]
    assert states(project)["calibrated"] == "unknown"
    assert create_worker("test").run_idle_job() is True
    row = Evaluation.objects.get()
    assert (row.n_labels, row.fit_number, row.estimator, row.owner) == (120, 1, "BradleyTerry", "")
    by_name = {one["name"]: one for one in row.figures}
    assert by_name.keys() >= {"BradleyTerry", "CrowdBT", "CollaborativeGP"}
    assert 0 < by_name["BradleyTerry"]["loss"] < math.log(2)
    assert by_name["BradleyTerry"]["n"] == 120
    assert states(project)["calibrated"] in ("good", "warn")
    assert "Answers predicted" in page(signed_in(alice), project, "trust")
    assert create_worker("test").run_idle_job() is False  # nothing has changed since


@pytest.mark.slow
def test_of_too_many_labels_a_drawn_part_is_tested_and_the_pages_say_so(project, alice, monkeypatch):
    fitted(project)
    monkeypatch.setattr(evaluation_job, "MAX_LABELS", 100)
    assert create_worker("test").run_idle_job()
    row = Evaluation.objects.get()
    assert (row.n_labels, row.n_drawn) == (120, 100)
    assert {one["n"] for one in row.figures} == {100}
    assert "100 of them, from randomly chosen annotators" in page(signed_in(alice), project, "trust")
    assert "on 100 of them, from randomly chosen annotators" in page(signed_in(alice), project, "engine")
    assert not evaluation_queue.outdated_fits().exists()


def test_it_is_found_out_anew_when_labels_have_grown_or_the_estimator_changed(project):
    fit = spread_fit(project, list(project.items.all()), n_labels=300)
    row = evaluated(project, 0.1, [a_bin(0.7, 50, 0.75, 0.7)])
    for n_labels, estimator, is_owed in (
        (250, "CrowdBT", False),
        (190, "CrowdBT", True),
        (400, "CrowdBT", False),
        (460, "CrowdBT", True),
        (300, "GPPL", True),
    ):
        Evaluation.objects.filter(pk=row.pk).update(n_labels=n_labels, estimator=estimator)
        assert evaluation_queue.outdated_fits().filter(pk=fit.pk).exists() == is_owed
    Evaluation.objects.all().delete()
    for n_labels, is_owed in ((49, False), (50, True), (1_000_000, True)):
        Fit.objects.filter(pk=fit.pk).update(n_labels=n_labels)
        assert evaluation_queue.outdated_fits().exists() == is_owed


def test_a_fit_that_waits_goes_first_until_it_has_waited_often(project):
    fitted(project)
    worker = create_worker("test")
    queue = worker.jobs.queues.index(evaluation_queue.QUEUE)
    FitState.objects.filter(project=project).update(wanted=5, not_before=None, last_fit_at=NOW)
    for n in range(1, idle.MAX_YIELDS + 1):
        row = evaluation_queue.QUEUE.claim_next(owner="test", now=timezone.now())
        assert evaluation_queue.QUEUE.claim_next(owner="other", now=timezone.now()) is None
        worker.runner.task, worker.runner._renewed_at = Task(queue=queue, row=row), -10.0
        assert worker.runner.report_job(1, 2, 0.0) is False
        evaluation_queue.QUEUE.release(row)
        assert Evaluation.objects.get().gave_way == n
    row = evaluation_queue.QUEUE.claim_next(owner="test", now=timezone.now())
    worker.runner.task, worker.runner._renewed_at = Task(queue=queue, row=row), -10.0
    assert worker.runner.report_job(1, 2, 0.0) is True
    Fit.objects.update(n_labels=idle.MAX_SHORT_LABELS + 1)
    worker.runner._renewed_at = -10.0
    assert worker.runner.report_job(1, 2, 0.0) is False  # a long one gives way however often it did
    Fit.objects.update(n_labels=idle.MAX_SHORT_LABELS)
    worker.runner._renewed_at = -10.0
    assert worker.runner.report_job(1, 2, 0.0) is True
    worker.stopping.set()
    assert worker.runner.report_job(1, 2, 0.0) is False


def test_a_failure_waits_before_it_is_tried_again(project, monkeypatch):
    fitted(project)

    def broken(*arguments, **options):
        raise ArithmeticError("no")

    monkeypatch.setattr(evaluation_job, "evaluate_estimators", broken)
    assert create_worker("test").run_idle_job()
    assert render_message(Evaluation.objects.get().message).endswith("ArithmeticError: no")
    assert not create_worker("test").run_idle_job()
    assert evaluation_queue.QUEUE.claim_next(owner="a", now=timezone.now() + idle.RETRY_PAUSE) is not None


@pytest.mark.parametrize(("queue", "kind"), [(evaluation_queue.QUEUE, Evaluation), (tastes_queue.QUEUE, TasteMap)])
def test_what_rests_or_is_being_made_keeps_no_other_waiting(project, queue, kind):
    """Five criteria of one project rest after a failure and one is being made; then comes a project that waits."""
    other = Project.objects.create(name="Other", question="Which?")
    last = make_fit(other, [], n_labels=300, components={"kind": "tastes"}, now=NOW + timedelta(hours=1))
    for number in range(1, 7):
        last.pk, last.project_id, last.number, last.criterion = None, project.pk, number, number
        last.finished_at = NOW + timedelta(minutes=number)
        last.save()
    now = timezone.now()
    for _criterion in range(1, 6):
        queue.record_failure(queue.claim_next(owner="test", now=now), message="no", now=now)
    assert queue.claim_next(owner="test", now=now).criterion == 6
    assert queue.claim_next(owner="test", now=now).project_id == other.pk
    assert queue.claim_next(owner="test", now=now) is None
    assert kind.objects.count() == 7
    assert queue.claim_next(owner="test", now=now + idle.RETRY_PAUSE) is not None


@pytest.mark.parametrize("estimator", ["CrowdBT", "GPPL"])
def test_an_estimator_without_figures_is_not_yet_known(project, estimator):
    spread_fit(project, list(project.items.all()), estimator=estimator, diagnostics=DIAGNOSTICS)
    failed = {"name": estimator, "loss": None, "accuracy": None, "z": None, "bins": [], "n": 0, "n_pairs": 0}
    Evaluation.objects.create(project=project, estimator=estimator, figures=[failed | {"failed": "too large"}])
    assert states(project)["calibrated"] == "unknown"
