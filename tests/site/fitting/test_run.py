"""One fit of one project: the rows it reads, the rows it writes, and what stays when it fails."""

from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest
from django.db import connection
from django.db.models import F
from scipy.special import log_expit

from annotate.core.stored_messages import render_message
from annotate.criteria import Criterion
from annotate.dashboard.fits.figures import figures_of
from annotate.fitting import arrays as fitting_arrays
from annotate.fitting import run as fitting_run
from annotate.fitting import scheduling
from annotate.fitting import storage as fitting_storage
from annotate.fitting.arrays import from_bytes, pack, warm_start
from annotate.fitting.estimates import beta_interval
from annotate.fitting.reading import read_labels
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.models import Annotator, FitState, Item, Label, Project
from annotate.models.leased_jobs import LeaseLost
from models_engine.data import Comparisons
from models_engine.errors import Cancelled, NotConverged
from models_engine.estimators.base import EstimatorEntry
from models_engine.estimators.bradley_terry import BradleyTerry
from models_engine.estimators.collaborative.gp import CollaborativeGP
from models_engine.estimators.table import ESTIMATORS
from models_engine.inference.davidson.learned_scale import LOWEST_SD
from models_engine.models import AnnotatorEstimate, Estimate, Fit
from models_engine.posterior import GaussianPosterior
from tests.conftest import NOW, make_annotator, make_items
from tests.site.factories import make_labels
from tests.site.pages import page, signed_in

LATER = NOW + timedelta(hours=1)


def go_on(step: int, total: int, objective: float) -> bool:
    return True


def claim(project: Project, now=LATER):
    if not FitState.objects.filter(project=project).update(wanted=F("wanted") + 1, not_before=None):
        FitState.objects.create(project=project, wanted=1)
    taken = scheduling.claim_next(owner="test", now=now, pause=timedelta(0))
    assert taken.project_id == project.pk
    return taken


def fit_now(project: Project, now=LATER, progress=go_on) -> Fit:
    return fitting_run.run(claim(project, now), progress=progress, clock=lambda: now)


@pytest.fixture
def project(project) -> Project:
    project.estimator = "BradleyTerry"
    project.top_k = 2
    project.save()
    return project


@pytest.fixture
def crowd(project) -> list[Annotator]:
    return [make_annotator(project, f"Otter {i}") for i in range(4)]


def slow_comparisons(project: Project) -> tuple[Comparisons, list[int]]:
    """The same labels, read the obvious way: one by one, through the ORM's relations."""
    items = sorted(item.pk for item in project.items.all())
    left, right, outcome, who = [], [], [], []
    annotators: list[int] = []
    for label in Label.objects.filter(project=project).order_by("pk"):
        if label.voided_at or label.outcome in ("skip", "cant_judge"):
            continue
        a, b = (shown.item_id for shown in label.presentation.presented.order_by("position"))
        left.append(items.index(a))
        right.append(items.index(b))
        outcome.append(0.5 if label.outcome != "choice" else float(label.chosen_id == a))
        if label.annotator_id not in annotators:
            annotators.append(label.annotator_id)
        who.append(annotators.index(label.annotator_id))
    return Comparisons.from_pairs(left, right, outcome, who, n_items=len(items)), items


def rows_of(fit: Fit) -> dict[int, Estimate]:
    return {row.item_id: row for row in Estimate.objects.filter(fit=fit)}


def test_it_works(project, crowd):
    make_labels(project, crowd, 60)
    fit = fit_now(project)
    fit.refresh_from_db()
    assert (fit.number, fit.status, fit.published, fit.converged) == (1, Fit.Status.DONE, True, True)
    assert (fit.n_labels, fit.n_items, fit.n_annotators, fit.n_parts) == (60, 6, 4, 1)
    assert fit.settings["top_k"] == 2
    assert fit.settings["prior_sd"] == BradleyTerry().prior_sd
    assert len(rows_of(fit)) == 6
    state = FitState.objects.get(project=project)
    assert (state.fitted, state.published_fit, state.owner) == (state.wanted, 1, "")


def test_estimates_are_the_engines_own_figures(project, crowd):
    make_labels(project, crowd, 40)
    make_labels(project, crowd, 6, outcome="tie", start=NOW + timedelta(minutes=20))
    make_labels(project, crowd, 5, outcome="skip", start=NOW + timedelta(minutes=30))
    fit = fit_now(project)
    data, items = slow_comparisons(project)
    assert fit.data_hash == data.data_hash()
    posterior = BradleyTerry().fit(data)
    ranks = posterior.rank_summary(0.9, 2, rng=np.random.default_rng(fitting_run.SEED))
    rows = rows_of(fit)
    for place, pk in enumerate(items):
        row = rows[pk]
        assert row.utility == pytest.approx(posterior.utilities()[place], abs=1e-7)
        assert row.sd == pytest.approx(posterior.standard_deviations()[place], abs=1e-7)
        assert (row.low + row.high) / 2 == pytest.approx(row.utility)
        assert (row.high - row.low) / 2 == pytest.approx(1.6448536 * row.sd)
        assert (row.rank, row.rank_low, row.rank_high) == (ranks.rank[place], ranks.low[place], ranks.high[place])
        assert row.p_top == ranks.p_top_k[place]
        assert row.n_comparisons == data.n_comparisons()[place]
        assert row.divisiveness is None


@pytest.mark.slow
@pytest.mark.embedded
def test_states_and_tiers_follow_their_definitions(project, crowd):
    """Separated: P(better) >= .95, tied: interval of the difference inside the margin; a tier parts all from all."""
    project.tie_margin = 0.5
    project.save()
    make_labels(project, crowd, 150, seed=3)
    rows = sorted(rows_of(fit_now(project)).values(), key=lambda row: row.rank)
    data, items = slow_comparisons(project)
    draws = BradleyTerry().fit(data).sample(200_000, rng=np.random.default_rng(5))
    order = [items.index(row.item_id) for row in rows]
    seen = set()
    for above, below, row in zip(order, order[1:], rows, strict=False):
        difference = draws[:, above] - draws[:, below]
        low, high = np.quantile(difference, [0.05, 0.95])
        expected = (
            "separated" if (difference > 0).mean() >= 0.95 else "tied" if max(-low, high) <= 0.5 else "not_enough"
        )
        assert row.next_state == expected
        seen.add(expected)
    assert rows[-1].next_state == "last"
    assert len(seen) > 1, "the case should show more than one state"
    for place in range(1, len(order)):
        apart = all((draws[:, a] > draws[:, b]).mean() >= 0.95 for a in order[:place] for b in order[place:])
        assert (rows[place].tier > rows[place - 1].tier) == apart


@pytest.mark.embedded
def test_scores_and_classes_follow_their_definitions(project, crowd):
    """Score: the chance to beat an item at the mean, over draws. Class: who may be as good as its first item."""
    make_labels(project, crowd, 150, seed=3)
    fit = fit_now(project)
    rows = sorted(rows_of(fit).values(), key=lambda row: row.rank)
    data, items = slow_comparisons(project)
    draws = BradleyTerry().fit(data).sample(200_000, rng=np.random.default_rng(5))
    order = [items.index(row.item_id) for row in rows]
    draws = draws[:, order] - draws.mean(axis=1, keepdims=True)
    chance = 100 / (1 + np.exp(-draws))
    assert [row.score for row in rows] == pytest.approx(chance.mean(axis=0), abs=0.3)
    assert [row.score_low for row in rows] == pytest.approx(np.quantile(chance, 0.05, axis=0), abs=0.6)
    assert [row.score_high for row in rows] == pytest.approx(np.quantile(chance, 0.95, axis=0), abs=0.6)
    first = 0
    for place, row in enumerate(rows):
        if row.rank_low > first + 1 and (draws[:, first] > draws[:, place]).mean() >= 0.95:
            first = place
        assert row.rank_class == rows[first].rank_class
        assert row.highest_class <= row.rank_class
    assert rows[0].rank_class == 1
    assert fit.unit == pytest.approx(1, abs=1e-6), "utilities of Bradley-Terry are logits already"


def test_voided_labels_leave_with_the_next_fit(project, crowd):
    labels = make_labels(project, crowd, 60)
    before = rows_of(fit_now(project))
    gone = [label.pk for label in labels if label.annotator_id == crowd[0].pk]
    Label.objects.filter(pk__in=gone).update(voided_at=NOW, void_reason="excluded")
    fit = fit_now(project)
    assert (fit.n_labels, fit.n_annotators) == (45, 3)
    after = rows_of(fit)
    assert {pk: row.utility for pk, row in before.items()} != {pk: row.utility for pk, row in after.items()}
    assert not AnnotatorEstimate.objects.filter(fit=fit, annotator_id=crowd[0].pk).exists()
    data, items = slow_comparisons(project)
    assert [after[pk].utility for pk in items] == pytest.approx(BradleyTerry().fit(data).utilities(), abs=1e-7)


def answer_pairs(annotators, pairs, wins) -> None:
    """Each annotator compares each pair once; wins(a, b) says how often of len(annotators) the first is chosen."""
    for a, b in pairs:
        for number, annotator in enumerate(annotators):
            presentation = assignment.reopen_presentation(annotator=annotator, items=[a.pk, b.pk], now=NOW)
            chosen = 0 if number < wins(a, b) else 1
            record_label(presentation=presentation, answer=Answer("choice", chosen=chosen), now=NOW)


def test_parts_that_nothing_connects_are_ranked_apart(project, crowd):
    """Four items that nothing joins to the other two: no rank, place among the top or tier reaches across."""
    items = list(project.items.order_by("pk"))
    large, small = items[:4], items[4:]
    answer_pairs(crowd, list(pairwise(large)), lambda a, b: 3)
    answer_pairs(crowd, [small], lambda a, b: 4)
    fit = fit_now(project)
    rows = rows_of(fit)
    assert fit.n_parts == 2
    assert [rows[item.pk].part for item in items] == [0, 0, 0, 0, 1, 1]
    assert [rows[item.pk].rank for item in items] == [1, 2, 3, 4, 1, 2]
    assert max(rows[item.pk].rank_high for item in small) <= 2
    assert sum(rows[item.pk].p_top for item in large) == pytest.approx(2)
    assert [rows[item.pk].p_top for item in small] == [1, 1], "both of two are among the best two"
    kept = figures_of(fit)
    for group in (large, small):
        assert sum(rows[item.pk].utility for item in group) == pytest.approx(0, abs=1e-9)
        for item in group:  # an item's history ends with what the ranking says of it
            row = rows[item.pk]
            assert kept[item.pk][:2] == pytest.approx((row.utility, row.sd), rel=1e-9)
            assert kept[item.pk][2:] == pytest.approx((row.score, row.score_low, row.score_high), rel=1e-6)
        assert [rows[item.pk].next_state for item in group][-1] == "last"


def test_an_item_never_compared_keeps_the_prior_and_stands_alone(project, crowd):
    items = list(project.items.order_by("pk"))
    answer_pairs(crowd, [items[:2], items[1:3]], lambda a, b: 3)
    fit = fit_now(project)
    rows = rows_of(fit)
    assert fit.n_parts == 4
    rng = np.random.default_rng(0)  # the scale's posterior by its prior's draws, weighted by the 3 of 4 answers each
    sds = 1.5 * np.exp(rng.standard_normal(400_000))
    sds = sds[sds >= LOWEST_SD]
    utilities = sds * rng.standard_normal((6, len(sds)))
    margins, alone = np.diff(utilities[:3], axis=0), utilities[-1] - utilities.mean(axis=0)
    likelihood = np.exp((3 * log_expit(-margins) + log_expit(margins)).sum(axis=0))
    expected = np.sqrt(np.average(alone**2, weights=likelihood))
    for item in items[3:]:
        row = rows[item.pk]
        assert (row.n_comparisons, row.rank, row.rank_low, row.rank_high, row.next_state) == (0, 1, 1, 1, "last")
        assert row.utility == pytest.approx(0, abs=1e-9)
        assert row.sd == pytest.approx(expected, rel=0.06)
        assert (row.score, row.score_low, row.score_high, row.rank_class, row.highest_class) == (None,) * 5
    assert len({rows[item.pk].part for item in items}) == 4


def test_a_retired_item_leaves_the_ranking_but_its_labels_still_tell_of_others(project, crowd):
    """Beating a strong item proves strength, whether or not that item is still in the running."""
    a, strong, b = list(project.items.order_by("pk"))[:3]
    answer_pairs(crowd, [(a, strong)], lambda *_: 4)
    answer_pairs(crowd, [(strong, b)], lambda *_: 2)
    before = figures_of(fit_now(project))
    Item.objects.filter(pk=strong.pk).update(retired_at=NOW)
    fit = fit_now(project)
    rows = rows_of(fit)
    assert strong.pk not in rows
    assert rows[a.pk].utility > 0 > rows[b.pk].utility
    kept = figures_of(fit)
    assert kept[a.pk][:2] == pytest.approx((rows[a.pk].utility, rows[a.pk].sd), rel=1e-9)
    assert kept[a.pk][0] - kept[strong.pk][0] == pytest.approx(before[a.pk][0] - before[strong.pk][0], rel=1e-5)
    assert (rows[a.pk].rank, rows[b.pk].rank) == (1, 2)


def test_a_part_of_retired_items_is_no_part_of_the_ranking(project, crowd, alice):
    """Were it counted, it would be the largest, and the ranking without a first part."""
    items = list(project.items.order_by("pk"))
    old, new = items[:4], items[4:]
    answer_pairs(crowd, list(pairwise(old)), lambda *_: 3)
    answer_pairs([make_annotator(project, f"Mink {i}") for i in range(30)], [new], lambda *_: 28)
    Item.objects.filter(pk__in=[item.pk for item in old]).update(retired_at=NOW)
    fit = fit_now(project)
    rows = rows_of(fit)
    assert (fit.n_parts, {row.part for row in rows.values()}) == (1, {0})
    assert [rows[item.pk].rank for item in new] == [1, 2]
    assert "is behind it" in page(signed_in(alice), project, "ranking")
    assert "Every item can be compared with every other" in page(signed_in(alice), project, "trust")


def test_projects_with_hardly_anything_in_them(project, crowd):
    fit = fit_now(project)
    assert (fit.n_labels, fit.published) == (0, True)
    assert {row.n_comparisons for row in rows_of(fit).values()} == {0}
    one = Project.objects.create(name="One item", estimator="BradleyTerry")
    make_items(one, 1)
    assert len(rows_of(fit_now(one))) == 1
    empty = Project.objects.create(name="No item", estimator="BradleyTerry")
    fit = fit_now(empty)
    assert (fit.published, rows_of(fit)) == (True, {})
    assert "no items" in fit.message


def test_annotators_figures(project, crowd):
    items = list(project.items.order_by("pk"))[:2]
    for number, annotator in enumerate(crowd):
        presentation = assignment.reopen_presentation(annotator=annotator, items=[item.pk for item in items], now=NOW)
        answer = Answer("tie") if number == 3 else Answer("choice", chosen=0 if number < 2 else 1)
        record_label(presentation=presentation, answer=answer, now=NOW)
    fit = fit_now(project)
    rows = AnnotatorEstimate.objects.filter(fit=fit).order_by("annotator_id")
    assert [row.n_labels for row in rows] == [1, 1, 1, 1]
    assert [row.agreement for row in rows] == [1, 1, 0, None], "a tie neither agrees nor disagrees"
    assert {row.reliability for row in rows} == {None}


@dataclass(frozen=True)
class Broken(BradleyTerry):
    def fit(self, data, start=None, rng=None, progress=None):
        raise FloatingPointError("the matrix is singular at item 3")


@dataclass(frozen=True)
class Nan(BradleyTerry):
    def fit(self, data, start=None, rng=None, progress=None):
        fitted = super().fit(data)
        return GaussianPosterior(fitted.mean * np.nan, fitted.spread, fitted.diagnostics)


@dataclass(frozen=True)
class Hasty(BradleyTerry):
    max_iterations: int = 1


@pytest.fixture
def estimators(monkeypatch) -> None:
    for estimator in (Broken, Nan, Hasty):
        entry = EstimatorEntry(estimator, GaussianPosterior, "For tests.")
        monkeypatch.setitem(ESTIMATORS, estimator.__name__, entry)


@pytest.mark.parametrize(
    ("estimator", "error", "words"),
    [
        ("Broken", FloatingPointError, "singular at item 3"),
        ("Nan", ArithmeticError, "nan"),
        ("Tarot", Exception, "Tarot"),
    ],
)
def test_a_failed_fit_keeps_the_one_before(project, crowd, estimators, estimator, error, words):
    make_labels(project, crowd, 30)
    good = fit_now(project)
    rows = set(rows_of(good))
    Project.objects.update(estimator=estimator)
    with pytest.raises(error, match=words):
        fit_now(project)
    failed = Fit.objects.latest("pk")
    assert (failed.status, failed.published, failed.number) == (Fit.Status.FAILED, False, 2)
    assert words in failed.message
    assert Fit.objects.get(published=True).pk == good.pk
    assert set(rows_of(good)) == rows
    assert FitState.objects.get(project=project).published_fit == 1


def test_not_converging_is_published_and_said(project, crowd, estimators):
    make_labels(project, crowd, 60)
    Project.objects.update(estimator="Hasty")
    fit = fit_now(project)
    assert (fit.published, fit.converged) == (True, False)
    with pytest.warns(NotConverged):
        assert render_message(fit.message) == Hasty().fit(slow_comparisons(project)[0]).diagnostics.message


def test_a_fit_that_lost_its_project_publishes_nothing(project, crowd):
    make_labels(project, crowd, 30)
    good = fit_now(project)
    taken = claim(project)
    FitState.objects.filter(project=project).update(owner="another")
    with pytest.raises(LeaseLost):
        fitting_run.run(taken, progress=go_on, clock=lambda: LATER)
    assert list(Fit.objects.values_list("pk", flat=True)) == [good.pk]
    assert set(Estimate.objects.values_list("fit", flat=True)) == {good.pk}


def test_a_fit_that_is_asked_to_stop_leaves_nothing_behind(project, crowd):
    """Wherever it is asked: at each step of the estimator and between the stages after it."""
    make_labels(project, crowd, 30)
    heard = []
    fit_now(project, progress=lambda step, total, objective: heard.append(total) or True)
    assert 0 in heard[-2:], "also after the estimator has ended"
    Fit.objects.all().delete()
    for last in range(len(heard)):
        calls = iter(range(len(heard)))
        with pytest.raises(Cancelled):
            fit_now(project, progress=lambda *_, calls=calls, last=last: next(calls) < last)
        assert not Fit.objects.exists()
        assert not Estimate.objects.exists()
        FitState.objects.update(owner="", attempts=0, not_before=None)


def test_a_deleted_project_is_not_fitted(project):
    taken = claim(project)
    Project.objects.all().delete()
    with pytest.raises(LeaseLost):
        fitting_run.run(taken, progress=go_on)
    assert not Fit.objects.exists()


def test_the_next_fit_starts_from_the_last_and_ends_where_a_cold_one_does(project, crowd):
    """Also when items and annotators have been added, or an item has gone, since."""
    make_labels(project, crowd, 60)
    assert not fit_now(project).warm
    make_items_more(project, 2)
    make_labels(project, [*crowd, make_annotator(project, "New Otter")], 40, start=NOW + timedelta(minutes=30), seed=4)
    fit = fit_now(project)
    assert fit.warm
    data, items = slow_comparisons(project)
    rows = rows_of(fit)
    assert [rows[pk].utility for pk in items] == pytest.approx(BradleyTerry().fit(data).utilities(), abs=1e-6)


def make_items_more(project, n) -> None:
    Item.objects.bulk_create(Item(project=project, key=f"more-{i}", body=f"Added {i}") for i in range(n))


def test_a_warm_start_needs_the_same_people_first(project, crowd):
    labels = make_labels(project, crowd, 60)
    fit_now(project)
    first = [label.pk for label in labels if label.annotator_id == crowd[0].pk]
    Label.objects.filter(pk__in=first).update(voided_at=NOW, void_reason="excluded")
    assert not fit_now(project).warm
    assert fit_now(project).warm


def test_the_same_labels_give_the_same_rows(project, crowd):
    make_labels(project, crowd, 60)
    names = [field.name for field in Estimate._meta.fields if field.name not in ("id", "fit")]
    found = []
    for _ in range(2):
        fit = fit_now(project)
        found.append((fit.data_hash, list(Estimate.objects.filter(fit=fit).order_by("item_id").values_list(*names))))
        Fit.objects.all().delete()
    assert found[0] == found[1]


def test_only_the_last_two_fits_keep_estimates_and_only_the_last_its_covariance(project, crowd):
    make_labels(project, crowd, 30)
    fits = [fit_now(project) for _ in range(4)]
    assert set(Estimate.objects.values_list("fit", flat=True)) == {fits[2].pk, fits[3].pk}
    assert set(AnnotatorEstimate.objects.values_list("fit", flat=True)) == {fits[2].pk, fits[3].pk}
    stored = [from_bytes(bytes(fit.arrays)) for fit in Fit.objects.order_by("number")]
    assert ["mean" in arrays for arrays in stored] == [False, False, False, True]
    for arrays in stored:
        assert list(arrays["site/items"]) == sorted(item.pk for item in project.items.all())
        assert arrays["site/utility"] == pytest.approx(stored[-1]["site/utility"], abs=1e-6)


def test_fits_are_thinned_to_the_last_fifty_and_one_an_hour(project, crowd):
    make_labels(project, crowd, 10)
    Fit.objects.bulk_create(
        Fit(
            project_id=project.pk,
            number=number,
            estimator="BradleyTerry",
            data_version=0,
            status=Fit.Status.DONE,
            started_at=NOW + timedelta(minutes=10 * number),
        )
        for number in range(1, 81)
    )
    newest = fit_now(project, now=NOW + timedelta(days=1))
    numbers = list(Fit.objects.order_by("number").values_list("number", flat=True))
    assert newest.number == 81
    assert numbers[-50:] == list(range(32, 82))
    # Fit n began 10 n minutes after noon: the last of each hour before fit 32 is 5, 11, 17, 23, 29, and 31 of its own.
    assert numbers[:-50] == [5, 11, 17, 23, 29, 31]


def test_labels_are_read_in_as_many_queries_however_many(project, crowd, django_assert_num_queries):
    make_labels(project, crowd, 10)
    with django_assert_num_queries(3):  # items, labels, names of features
        read_labels(Criterion(project))
    make_labels(project, crowd, 200, start=NOW + timedelta(hours=2))
    with django_assert_num_queries(3):
        assert read_labels(Criterion(project)).data.n_labels == 210


def test_rows_are_written_a_few_at_a_time(project, crowd):
    """A vote waits for one chunk, not for the whole fit (SQLite has one write lock)."""
    make_items_more(project, 450)
    make_labels(project, crowd, 5)
    sizes = []

    def watch(execute, sql, params, many, context):
        if sql.startswith("INSERT INTO") and "estimate" in sql:
            sizes.append(sql.count("(%s") or sql.count("(?"))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(watch):
        fit = fit_now(project)
    assert Estimate.objects.filter(fit=fit).count() == 456
    assert len(sizes) >= 3
    assert max(sizes) <= fitting_storage.CHUNK


def test_the_stored_posterior_answers_as_the_fitted_one_did(project, crowd):
    make_labels(project, crowd, 60)
    data, _ = slow_comparisons(project)
    posterior = BradleyTerry().fit(data)
    labels = read_labels(Criterion(project))
    again = warm_start(Fit(arrays=pack(posterior, labels)), ESTIMATORS["BradleyTerry"], labels)
    assert again.superiority(0, [1, 2, 3]) == pytest.approx(posterior.superiority(0, [1, 2, 3]), abs=1e-6)
    assert again.utilities() == pytest.approx(posterior.utilities())


def test_a_posterior_too_large_to_store_still_starts_the_next_fit(project, crowd, monkeypatch):
    monkeypatch.setattr(fitting_arrays, "MAX_BYTES", 100)
    make_labels(project, crowd, 60)
    first = fit_now(project)
    arrays = from_bytes(bytes(first.arrays))
    assert str(arrays["spread/kind"]) == "LowRankCovariance"
    second = fit_now(project)
    assert second.warm
    first_rows, second_rows = rows_of(first), rows_of(second)
    for pk, row in first_rows.items():
        assert second_rows[pk].sd == pytest.approx(row.sd, abs=1e-6)


@pytest.mark.slow
def test_covariances_of_tastes_take_a_quarter_and_what_is_too_large_starts_cold(project, crowd, monkeypatch):
    make_labels(project, crowd, 60)
    data, _ = slow_comparisons(project)
    posterior, labels = CollaborativeGP().fit(data), read_labels(Criterion(project))
    packed = from_bytes(pack(posterior, labels))
    assert {"tastes/taste/triangle", "tastes/covariance/triangle", "tastes/learned/triangle"} <= set(packed)
    again = warm_start(Fit(arrays=pack(posterior, labels)), ESTIMATORS["CollaborativeGP"], labels)
    assert again.tastes.covariance == pytest.approx(posterior.tastes.covariance, rel=1e-6, abs=1e-6)
    monkeypatch.setattr(fitting_arrays, "MAX_BYTES", 100)
    monkeypatch.setattr(fitting_arrays, "MAX_START_BYTES", 100)
    too_large = pack(posterior, labels)
    assert all(name.startswith("site/") for name in from_bytes(too_large))
    assert warm_start(Fit(arrays=too_large), ESTIMATORS["CollaborativeGP"], labels) is None


def test_the_beta_interval_holds_ninety_percent():
    mean, sd = np.array([0.9, 0.5, 0.99]), np.array([0.05, 0.1, 0.02])
    low, high = beta_interval(mean, sd)
    strength = mean * (1 - mean) / sd**2 - 1
    rng = np.random.default_rng(0)
    for place in range(3):
        draws = rng.beta(mean[place] * strength[place], (1 - mean[place]) * strength[place], 200_000)
        assert np.std(draws) == pytest.approx(sd[place], rel=0.02)
        assert np.quantile(draws, [0.05, 0.95]) == pytest.approx([low[place], high[place]], abs=0.002)


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_fits_and_starts_again_from_what_was_stored(project, crowd, name):
    Project.objects.update(estimator=name)
    make_labels(project, crowd, 60)
    make_labels(project, crowd, 5, outcome="tie", start=NOW + timedelta(minutes=20))
    first, second = fit_now(project), fit_now(project)
    assert (first.warm, second.warm) == (False, True)
    assert (first.converged, second.converged) == (True, True)
    before, after = rows_of(first), rows_of(second)
    assert len(before) == 6
    for pk, row in before.items():
        assert after[pk].utility == pytest.approx(row.utility, abs=0.05 * row.sd)
        assert after[pk].sd == pytest.approx(row.sd, rel=0.05)


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.usefixtures("quick_draws")
@pytest.mark.parametrize("name", ["CrowdBT", "CollaborativeGP"])
def test_a_fit_tells_who_answers_upside_down(project, name):
    """Nine answer by the items' order, one by its opposite; the figures of CrowdBT are the posterior's own."""
    Project.objects.update(estimator=name)
    people = [make_annotator(project, f"Badger {number}") for number in range(10)]
    items = list(project.items.order_by("pk"))
    pairs = [(a, b) for place, a in enumerate(items) for b in items[place + 1 :]]
    for person in people:
        answer_pairs([person], pairs, lambda a, b, person=person: int(person is not people[3]))
    fit = fit_now(project)
    rows = {row.annotator_id: row for row in AnnotatorEstimate.objects.filter(fit=fit)}
    data, _ = slow_comparisons(project)
    summary = ESTIMATORS[name].estimator().fit(data).annotator_summary()
    for place, person in enumerate(people):
        row = rows[person.pk]
        exact = 1e-6 if name == "CrowdBT" else 0.1  # CollaborativeGP draws
        assert row.reliability == pytest.approx(summary.reliability[place], abs=exact)
        assert 0 <= row.reliability_low <= row.reliability <= row.reliability_high <= 1
        assert row.agreement == (0 if place == 3 else 1)
    assert rows[people[3].pk].reliability_high < 0.5
    assert min(row.reliability_low for pk, row in rows.items() if pk != people[3].pk) > 0.5
