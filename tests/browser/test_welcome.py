"""The first page, help and the tour in a real browser: by keyboard, without scripts, accessible."""

import pytest
from django.core.cache import cache
from django.urls import reverse
from playwright.sync_api import expect

from tests.site.factories import spread_fit

PHONE = {"width": 390, "height": 844}


@pytest.fixture
def landing(project, settings):
    settings.LANDING_PROJECT = project.pk
    spread_fit(project, list(project.items.all()), sd=0.31)
    cache.clear()
    return project


def test_a_duel_by_keyboard_keeps_the_place_on_the_page(live_site, page, axe, landing):
    page.goto(live_site)
    duel = page.get_by_role("region", name=landing.question)
    duel.get_by_role("link").first.focus()
    page.keyboard.press("Enter")
    expect(duel.get_by_text("Your choice")).to_be_visible()
    axe(page, in_dark=True)
    duel.get_by_role("link", name="Another two").click()
    expect(duel.locator(".duel-choice")).to_have_count(2)
    duel.locator(".duel-choice").first.click()
    duel.get_by_role("link", name="Take part").click()
    expect(page).to_have_url(live_site + reverse("join", args=[landing.join_token]))


def test_a_duel_works_without_scripts(live_site, open_page, landing):
    page = open_page(viewport=PHONE, java_script_enabled=False)
    page.goto(live_site)
    page.locator(".duel-choice").last.click()
    expect(page.get_by_text("Your choice")).to_be_visible()


def test_an_old_address_of_a_section_shows_the_line_that_leads_to_it(live_site, page):
    page.goto(f"{live_site}/help/using/#machines")
    line = page.locator("li:target > a")
    expect(line).to_be_in_viewport()
    line.click()
    expect(page).to_have_url(f"{live_site}/help/people/#machines")
    expect(page.get_by_role("heading", name="Machines", exact=True)).to_be_in_viewport()


def test_help_is_found_and_read_on_a_phone(live_site, open_page, axe):
    page = open_page(viewport={"width": 320, "height": 700})
    for path in ("/help/tour/", "/help/statistics/", "/help/using/", "/help/people/", "/help/"):
        page.goto(live_site + path)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), path
        axe(page, in_dark=True)
    page.get_by_label("Search").fill("overlap")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("link", name="Overlap and the plan").click()
    expect(page.get_by_role("heading", name="Overlap and the plan")).to_be_in_viewport()


def test_the_tour_walks_over_a_projects_pages_on_a_phone(live_site, open_page, sign_in, axe, project, alice):
    page = open_page(viewport={"width": 320, "height": 700})
    sign_in(alice, page=page)
    page.goto(f"{live_site}/help/tour/")
    page.get_by_role("link", name="Walk through the pages of").click()
    stop = page.get_by_role("complementary", name="Tour")
    expect(stop).to_contain_text("step 1 of 6")
    axe(page, in_dark=True)
    stop.get_by_role("link", name="Next: People").click()
    expect(stop).to_contain_text("step 2 of 6")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    stop.get_by_role("link", name="End the tour").click()
    expect(stop).to_have_count(0)
