"""Grades in a real browser: boundaries moved by keys and pointer, saved; without JavaScript; axe is content."""

from urllib.parse import urlencode

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Project
from tests.browser.layout import SIDEWAYS
from tests.site.factories import spread_fit

GRADES = [{"name": "A", "limit": 80.0}, {"name": "B", "limit": 40.0}, {"name": "C", "limit": None}]


@pytest.fixture
def graded(project) -> Project:
    Project.objects.filter(pk=project.pk).update(grades=GRADES)
    spread_fit(project, list(project.items.order_by("pk")), sd=0.3)
    return project


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (320, "light"), (1280, "light")])
def test_the_pages_are_accessible(live_site, open_page, sign_in, axe, alice, graded, width, scheme):
    page = open_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    sign_in(alice, page)
    anchors = "\n".join(f"{key}; {value}" for key, value in (("item-0", 90), ("item-5", 10)))
    for path, title in (
        (reverse("grades", args=[graded.pk]), "Grades"),
        (reverse("scale", args=[graded.pk]), "Scaled scores"),
        (f"{reverse('scale', args=[graded.pk])}?{urlencode({'kind': 'anchors', 'anchors': anchors})}", "Scaled scores"),
    ):
        page.goto(live_site + path)
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        for details in page.locator("main details").all():
            details.evaluate("details => { details.open = true; }")
        assert page.evaluate(SIDEWAYS) == 0, path
        axe(page)
        if title == "Grades":
            assert page.get_by_label("Grade 1", exact=True).bounding_box()["width"] > 140


def test_boundaries_are_moved_by_keys_and_pointer_and_saved(live_site, page, sign_in, alice, graded):
    sign_in(alice)
    page.goto(live_site + reverse("grades", args=[graded.pk]))
    slider = page.get_by_role("slider", name="Score where “A” begins")
    expect(page.get_by_text("choose it with Tab and move it with the arrow keys")).to_be_visible()
    page.get_by_role("region", name="Plot of the grades").focus()
    page.keyboard.press("Tab")
    expect(slider).to_be_focused()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("PageDown")
    expect(page.get_by_label("Number of grade 1")).to_have_value("74")
    expect(slider).to_have_attribute("aria-valuenow", "74")
    expect(page.get_by_text("Boundaries are moved and not saved yet.")).to_be_visible()
    page.keyboard.press("Home")
    expect(page.get_by_label("Number of grade 1")).to_have_value("40.5")
    page.keyboard.press("End")
    lower = page.get_by_role("slider", name="Score where “B” begins")
    lower.scroll_into_view_if_needed()
    box = lower.locator("rect").bounding_box()
    plot = page.locator(".grades-plot").bounding_box()
    start, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(start, y)
    page.mouse.down()
    page.mouse.move(start + plot["width"] * 616 / 960 * 0.2, y, steps=4)
    page.mouse.up()
    moved = float(page.get_by_label("Number of grade 2").input_value())
    assert moved == pytest.approx(60, abs=1)
    page.get_by_role("button", name="Save the grades").click()
    expect(page.get_by_text("The grades are saved.")).to_be_visible()
    graded.refresh_from_db()
    assert [grade["limit"] for grade in graded.grades] == [99.5, moved, None]


def test_without_javascript_the_form_does_it_all(live_site, open_page, sign_in, alice, graded):
    page = open_page(java_script_enabled=False)
    sign_in(alice, page)
    page.goto(live_site + reverse("grades", args=[graded.pk]))
    expect(page.get_by_role("slider")).to_have_count(0)
    page.get_by_label("Number of grade 2").fill("90")
    page.get_by_role("button", name="Save the grades").click()
    expect(page.get_by_text("“B” begins at 90, but “A” above it at 80.")).to_be_visible()
    page.get_by_label("Number of grade 2").fill("30")
    page.get_by_role("button", name="Save the grades").click()
    expect(page.get_by_text("The grades are saved.")).to_be_visible()
