"""Trust, items, models, export and report in a real browser: live, without JavaScript, and axe is content."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotate.models import Evaluation, Project, RunRecord
from tests.browser.layout import SIDEWAYS
from tests.conftest import NOW, make_annotator
from tests.site.dashboard.test_fits import arrays, evaluated
from tests.site.dashboard.test_trust import DIAGNOSTICS, a_bin
from tests.site.factories import engine_is_up, estimate_annotator, make_labels, spread_fit

PATIENCE = 30_000


@pytest.fixture
def watched(project) -> Project:
    """Two fits with figures, of which one names who judges unlike the order, grades, labels, an evaluation with a
    calibration, a run record that can be had."""
    engine_is_up(timezone.now() + timedelta(hours=1))
    items = list(project.items.order_by("pk"))
    otter, heron = (make_annotator(project, name) for name in ("Otter", "Heron"))
    make_labels(project, [otter, heron], 40)
    Project.objects.filter(pk=project.pk).update(grades=[{"name": "A", "limit": 60.0}, {"name": "B", "limit": None}])
    utilities = [2.0, 1.2, 0.4, -0.4, -1.2, -2.0]
    unlike = {"items": items[1].pk, "annotators": otter.pk}
    misfit = {side: {"n": 6, "n_flagged": 1, "worst": [[key, 1.62, 3.1, 24]]} for side, key in unlike.items()}
    for sd in (0.5, 0.2):
        diagnostics = DIAGNOSTICS | {"misfit": misfit}
        fit = spread_fit(project, items, sd=sd, arrays=arrays(items, utilities, sd), diagnostics=diagnostics)
    estimate_annotator(fit, otter)
    evaluated(project)
    evaluation = project.evaluations.get()
    evaluation.figures[1]["bins"] = [a_bin(0.6, 200, 0.65, 0.64), a_bin(0.8, 200, 0.85, 0.86)]
    evaluation.save()
    RunRecord.objects.create(project=project, status="ready", asked_at=NOW, finished_at=NOW, n_labels=40, fit_number=2)
    return project


def test_every_new_page_is_accessible(live_site, open_page, sign_in, axe, alice, watched):
    item = watched.items.order_by("pk")[1]
    paths = [
        (reverse("trust", args=[watched.pk]), "Can I trust this?"),
        (reverse("item", args=[watched.pk, item.pk]), "Item"),
        (reverse("compare", args=[watched.pk]), "Compare two fits"),
        (reverse("engine", args=[watched.pk]), "Engine"),
        (reverse("exports", args=[watched.pk]), "Export"),
        (reverse("report", args=[watched.pk]), "Ranking report"),
        (reverse("methods", args=[watched.pk]), "Methods"),
    ]
    page = open_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    sign_in(alice, page)
    for path, title in paths:
        page.goto(live_site + path)
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        for details in page.locator("main details").all():
            details.evaluate("details => { details.open = true; }")
        assert page.evaluate(SIDEWAYS) == 0, path
        axe(page)


def test_trust_follows_the_fits_and_keeps_what_was_opened(live_site, page, sign_in, alice, watched):
    sign_in(alice)
    page.goto(live_site + reverse("trust", args=[watched.pk]))
    expect(page.locator("#live")).to_have_text("Live", timeout=PATIENCE)
    page.get_by_text("The figures: Agreement").click()
    expect(page.get_by_text("Krippendorff's alpha")).to_be_visible()
    kept = {**DIAGNOSTICS["checks"], "agreement": {**DIAGNOSTICS["checks"]["agreement"], "alpha": 0.61}}
    items = list(watched.items.order_by("pk"))
    spread_fit(watched, items, converged=False, diagnostics={**DIAGNOSTICS, "checks": kept})
    expect(page.locator("#trust")).to_contain_text("Fit 3 did not converge", timeout=PATIENCE)
    expect(page.get_by_text("0.61 (0.38 to 0.48)")).to_be_visible()
    figures = watched.evaluations.get().figures
    figures[1] |= {"bins": [a_bin(0.8, 900, 0.85, 0.62)], "z": 9.0, "n_pairs": 900}
    Evaluation.objects.filter(project=watched).update(figures=figures, made_at=NOW + timedelta(hours=1))
    expect(page.locator("#trust")).to_contain_text("of 900 answers predicted", timeout=PATIENCE)
    expect(page.get_by_text("0.61 (0.38 to 0.48)")).to_be_visible()


def test_a_run_record_is_asked_for_without_javascript_and_fetched(live_site, open_page, sign_in, alice, watched):
    page = open_page(java_script_enabled=False)
    sign_in(alice, page)
    page.goto(live_site + reverse("exports", args=[watched.pk]))
    page.get_by_role("button", name="Create a new one").click()
    expect(page.locator("#run-record")).to_contain_text("Being created. You can leave this page.")
    expect(page.get_by_role("button", name="Create a new one")).to_have_count(0)
    assert RunRecord.objects.filter(project=watched, status="asked").count() == 1
