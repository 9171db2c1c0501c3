"""Between two long fits the ranking adds the newest answers in a quick step; everything else keeps to full fits."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.criteria import Criterion
from annotate.fitting import provisional_queue
from annotate.fitting import storage as fitting_storage
from annotate.fitting.published import published_fit
from annotate.fitting.reading import read_labels
from annotate.fitting.stored_provisional import newest_answers
from annotate.jobs.fit_requests import request_fit
from annotate.live.queries import revisions
from annotate.models import FitState, Item, Label, PresentedItem, Project, ProvisionalRanking
from annotate.models.leased_jobs import LeaseLost
from annotate.privacy.erasure.actions import delete_fits_since
from models_engine.models import Estimate
from tests.conftest import NOW, make_annotator, make_items
from tests.site.factories import make_labels
from tests.site.fitting.test_run import fit_now, go_on
from tests.site.pages import page, rows_shown, signed_in

SAID = "newest answers in a quick step; the full fit follows"


@pytest.fixture(autouse=True)
def every_fit_is_long(monkeypatch):
    monkeypatch.setattr(fitting_storage, "SLOW_SECONDS", 0.0)


@pytest.fixture
def project(project) -> Project:
    project.items.all().delete()
    make_items(project, 6)
    project.estimator = "BradleyTerry"
    project.save()
    return project


def answer(project: Project, better: Item, worse: Item, n: int, name: str) -> list[Label]:
    """Give `n` answers that prefer one item to another."""
    labels = make_labels(project, [make_annotator(project, name)], n, start=timezone.now())
    for label in labels:
        PresentedItem.objects.filter(presentation=label.presentation_id).delete()
        for position, item in enumerate([better, worse]):
            PresentedItem.objects.create(presentation_id=label.presentation_id, position=position, item=item)
        Label.objects.filter(pk=label.pk).update(chosen=better, outcome=Label.Outcome.CHOICE)
    request_fit(project)
    return labels


def step(project: Project) -> ProvisionalRanking | None:
    row = provisional_queue.QUEUE.claim_next(owner="test", now=timezone.now() + timedelta(hours=1))
    if row:
        provisional_queue.QUEUE.work(row, progress=go_on)
        row.refresh_from_db()
    return row


@pytest.fixture
def fitted(project) -> Project:
    make_labels(project, [make_annotator(project, f"Otter {i}") for i in range(3)], 60)
    fit_now(project, NOW)
    return project


def order(fit) -> list[int]:
    rows = Estimate.objects.filter(fit=fit, n_comparisons__gt=0).order_by("part", "rank")
    return list(rows.values_list("item_id", flat=True))


def last_above_all(project: Project, n: int = 30) -> Item:
    """Give answers by which the last item beats the first; return it."""
    places = order(published_fit(Criterion(project)))
    items = {item.pk: item for item in project.items.all()}
    answer(project, items[places[-1]], items[places[0]], n, f"Newcomer {n}")
    return items[places[-1]]


@pytest.mark.slow
def test_a_page_shows_the_newest_answers_before_the_full_fit(fitted, alice):
    client, fit = signed_in(alice), published_fit(Criterion(fitted))
    before = rows_shown(page(client, fitted))
    assert step(fitted) is None, "nothing is newer"
    item = last_above_all(fitted)
    row = step(fitted)
    assert (row.n_newest, row.version, row.owner) == (30, FitState.objects.get(pk=fitted.pk).wanted, "")
    html = page(client, fitted)
    assert f"Updated with the 30 {SAID}" in html
    assert set(rows_shown(html)) == set(before)
    assert rows_shown(html) != before
    newest = newest_answers(Criterion(fitted), fit)
    places = dict(zip(newest.columns["item_id"], newest.columns["rank"], strict=True))
    assert places[item.pk] < order(fit).index(item.pk) + 1
    assert "In this order you see the last full fit, without the 30 newest answers" in page(
        client, fitted, query="?sort=score"
    )
    assert step(fitted) is None

    fit_now(fitted, timezone.now() + timedelta(hours=1))
    after = page(client, fitted)
    assert "quick step" not in after
    assert newest_answers(Criterion(fitted), published_fit(Criterion(fitted))) is None


def test_the_step_is_near_the_full_fit_that_follows(fitted):
    last_above_all(fitted, 5)
    step(fitted)
    newest = newest_answers(Criterion(fitted), published_fit(Criterion(fitted)))
    fit = fit_now(fitted, timezone.now() + timedelta(hours=1))
    full = {row.item_id: row for row in Estimate.objects.filter(fit=fit)}
    for item, utility, sd, n in zip(
        *(newest.columns[c] for c in ("item_id", "utility", "sd", "n_comparisons")), strict=True
    ):
        assert utility == pytest.approx(full[item].utility, abs=0.15 * full[item].sd)
        assert sd == pytest.approx(full[item].sd, rel=0.15)
        assert n == full[item].n_comparisons


def test_exports_goals_and_the_fit_stay_those_of_the_full_fit(fitted, alice):
    client, fit = signed_in(alice), published_fit(Criterion(fitted))
    table = reverse("export", args=[fitted.pk, "ranking", "csv"])
    kept = order(fit), b"".join(client.get(table).streaming_content), fit.diagnostics
    last_above_all(fitted)
    step(fitted)
    again = published_fit(Criterion(fitted))
    assert again.pk == fit.pk
    assert (order(again), b"".join(client.get(table).streaming_content), again.diagnostics) == kept


def test_pages_that_watch_are_told(fitted):
    before = revisions([fitted.pk])[fitted.pk]
    last_above_all(fitted)
    step(fitted)
    now = revisions([fitted.pk])[fitted.pk]
    assert before["newest"] is None
    assert (now["newest"] is None, now["fit"]) == (False, before["fit"])
    fit_now(fitted, timezone.now() + timedelta(hours=1))
    assert revisions([fitted.pk])[fitted.pk]["newest"] is None


def test_a_new_item_waits_for_the_full_fit(fitted):
    places = order(published_fit(Criterion(fitted)))
    new = Item.objects.create(project=fitted, key="new", body="new")
    answer(fitted, new, fitted.items.get(pk=places[0]), 3, "Newcomer")
    row = step(fitted)
    assert (row.n_newest, row.rows, row.made_at) == (0, None, None)
    answer(fitted, fitted.items.get(pk=places[-1]), fitted.items.get(pk=places[0]), 2, "Another")
    assert step(fitted).n_newest == 2


def test_a_label_is_either_in_the_fit_or_newer(fitted):
    """What a fit reads ends at the label from which steps begin."""
    row = ProvisionalRanking.objects.get(project=fitted)
    last_above_all(fitted, 4)
    held = read_labels(Criterion(fitted), up_to=row.last_label).data.n_labels
    assert (held, read_labels(Criterion(fitted)).data.n_labels) == (published_fit(Criterion(fitted)).n_labels, held + 4)
    assert step(fitted).n_newest == 4


def test_a_quick_fit_needs_no_step(fitted, monkeypatch):
    monkeypatch.setattr(fitting_storage, "SLOW_SECONDS", 1e6)
    request_fit(fitted)
    fit_now(fitted, timezone.now() + timedelta(hours=1))
    assert not ProvisionalRanking.objects.exists()


def test_a_step_that_a_fit_overtakes_or_an_erasure_forgets_is_not_kept(fitted):
    last_above_all(fitted)
    row = provisional_queue.QUEUE.claim_next(owner="test", now=timezone.now() + timedelta(hours=1))
    fit_now(fitted, timezone.now() + timedelta(hours=1))
    provisional_queue.QUEUE.work(row, progress=go_on)
    kept = ProvisionalRanking.objects.get(project=fitted)
    assert (kept.fit_number, kept.n_newest, kept.rows) == (published_fit(Criterion(fitted)).number, 0, None)
    delete_fits_since(fitted, NOW - timedelta(days=1))
    assert not ProvisionalRanking.objects.exists()


def test_a_step_that_another_worker_took_over_is_not_kept(fitted):
    last_above_all(fitted)
    now = timezone.now() + timedelta(hours=1)
    row = provisional_queue.QUEUE.claim_next(owner="slow", now=now)
    assert provisional_queue.QUEUE.claim_next(owner="other", now=now + timedelta(days=1)) == row
    with pytest.raises(LeaseLost):
        provisional_queue.QUEUE.work(row, progress=go_on)
    assert ProvisionalRanking.objects.get(project=fitted).rows is None


@pytest.mark.parametrize("name", ["CrowdBT", "CrowdBTOnline", "PlackettLuce", "GPPL", "CollaborativeGP", "CrowdGPPL"])
def test_every_kind_of_posterior_takes_the_step(fitted, name):
    fitted.estimator = name
    fitted.save()
    request_fit(fitted)
    fit_now(fitted, timezone.now() + timedelta(hours=1))
    item = last_above_all(fitted, 12)
    fit = published_fit(Criterion(fitted))
    assert step(fitted).n_newest == 12
    newest = newest_answers(Criterion(fitted), fit)
    now = dict(zip(newest.columns["item_id"], newest.columns["utility"], strict=True))
    before = {row.item_id: row.utility for row in Estimate.objects.filter(fit=fit)}
    assert now[item.pk] > before[item.pk]
