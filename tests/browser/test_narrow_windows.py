"""Every page of an owner's in a window of 320 pixels, in two languages; the forest plot on a phone."""

from itertools import pairwise

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.layout import SIDEWAYS, layout_faults
from tests.browser.test_people import known  # noqa: F401  (a fixture)
from tests.conftest import make_annotator
from tests.site.factories import spread_fit
from tests.site.fitting.test_tastes import divided  # noqa: F401  (a fixture)
from tests.site.test_access import RULES, address, arguments  # noqa: F401

# Boxes that scroll sideways and that no key reaches.
UNREACHABLE = """() => [...document.querySelectorAll("main *")].filter((one) =>
    one.scrollWidth > one.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(one).overflowX)
    && one.clientWidth && one.tabIndex < 0 && !one.querySelector("a[href], button, input, select, summary, [tabindex]"))
    .map((one) => one.className)"""
# Files, frames and what leads elsewhere.
NO_PAGES = {"export", "qr-code", "item-media", "item-page", "item-captions", "participants-csv", "expected-links"}
NO_PAGES |= {"record", "log-export", "account-export", "own-export", "import-left-out", "scale-export", "healthz"}
NO_PAGES |= {
    "machines-report",
    "preregistration-document",
    "entry-links",
    "results-media",
    "results-card",
    "short-join",
    "oidc-begin",
}


@pytest.mark.parametrize("language", ["en-GB", "de-DE"])
def test_no_page_runs_off_a_window_of_320_pixels(
    live_site,
    open_page,
    sign_in,
    alice,
    project,
    arguments,  # noqa: F811
    settings,
    tmp_path,
    language,
):
    page = open_page(viewport={"width": 320, "height": 700}, locale=language)
    sign_in(alice, page)
    wrong, n = [], 0
    for name, (get, _) in RULES.items():
        if not get or "owner" not in get or name in NO_PAGES:
            continue
        answer = page.goto(live_site + address(name, arguments), wait_until="domcontentloaded")
        if answer.request.redirected_from or answer.status != 200 or "html" not in answer.headers["content-type"]:
            continue
        page.evaluate("document.querySelectorAll('main details:not(.menu)').forEach((one) => { one.open = true; })")
        n += 1
        wrong += [f"{name}: {fault}" for fault in layout_faults(page)]
        wrong += [f"{name}: no key scrolls “{box}”" for box in page.evaluate(UNREACHABLE)]
    assert wrong == []
    assert n > 60


@pytest.mark.parametrize("language", ["en-GB", "de-DE"])
def test_cohorts_with_figures_stay_within_320_pixels(live_site, open_page, sign_in, alice, known, language):  # noqa: F811
    page = open_page(viewport={"width": 320, "height": 700}, locale=language)
    sign_in(alice, page)
    page.goto(live_site + reverse("cohorts", args=[known.pk]))
    expect(page.locator("#cohorts table").first).to_be_visible()
    page.evaluate("document.querySelectorAll('main details:not(.menu)').forEach((one) => { one.open = true; })")
    assert page.evaluate(SIDEWAYS) == 0


def test_the_forest_plot_shows_names_and_intervals_on_a_phone(live_site, open_page, sign_in, axe, alice, project):
    spread_fit(project, list(project.items.order_by("pk")))
    page = open_page(viewport={"width": 390, "height": 844})
    sign_in(alice, page)
    for path in (reverse("ranking", args=[project.pk]) + "?view=plot", reverse("report", args=[project.pk])):
        page.goto(live_site + path)
        names, dots = page.locator(".forest-label:visible"), page.locator(".forest .mark-dot:visible")
        expect(names).to_have_count(project.items.count())
        for name, dot in zip(names.all(), dots.all(), strict=True):
            above, below = name.bounding_box(), dot.bounding_box()
            assert 0 <= above["x"] < above["x"] + above["width"] <= 390
            assert 0 <= below["x"] < below["x"] + below["width"] <= 390
            assert above["y"] + above["height"] <= below["y"] + below["height"]
        assert page.evaluate("document.querySelector('.chart-plot').scrollWidth <= innerWidth")
        axe(page)


@pytest.mark.parametrize("name", ["quality", "known-sets", "export", "engine", "results-links"])
def test_the_tab_of_the_page_is_in_sight_on_a_phone(live_site, open_page, sign_in, alice, project, name):
    page = open_page(viewport={"width": 390, "height": 844}, locale="de-DE")
    sign_in(alice, page)
    page.goto(live_site + reverse({"export": "exports"}.get(name, name), args=[project.pk]))
    tabs = page.locator(".tabs [aria-current]")
    expect(tabs).to_have_count(2)
    for tab in tabs.all():
        row = tab.locator("xpath=ancestor::ul").bounding_box()
        box = tab.bounding_box()
        assert row["x"] - 1 <= box["x"], tab.inner_text()
        assert box["x"] + box["width"] <= row["x"] + row["width"] + 1, tab.inner_text()
    assert page.evaluate("scrollY") == 0


def test_buttons_that_wrap_do_not_touch(live_site, open_page, sign_in, alice, project):
    make_annotator(project, "Otter")
    page = open_page(viewport={"width": 390, "height": 844}, locale="de-DE")
    sign_in(alice, page)
    page.goto(live_site + reverse("annotators", args=[project.pk]))
    boxes = [one.bounding_box() for one in page.locator("#annotators p .button-small").all()]
    assert len(boxes) == 3
    rows = sorted({round(box["y"]) for box in boxes})
    assert all(after - before >= boxes[0]["height"] + 4 for before, after in pairwise(rows))
