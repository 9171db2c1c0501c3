"""The leaderboard in a real browser: accessible at every width and in the dark; a pair is chosen and compared."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.annotators.cohorts import queue as cohorts_queue
from annotate.annotators.cohorts.actions import request_comparison
from annotate.criteria import Criterion
from annotate.models import AnnotatorTag
from tests.browser.layout import SIDEWAYS
from tests.conftest import NOW
from tests.site.competitions import make_competition
from tests.site.fitting.test_run import fit_now


@pytest.fixture
def competition(project):
    project.estimator, project.style_features = "BradleyTerry", ["length"]
    project.save()
    names = ["Alpaca", "Llama-2 70b chat", "Orca-70b-instruct-with-a-very-long-name"]
    make_competition(project, names, n_prompts=6, tags=["code", "law"])
    fit_now(project)
    return project


def test_the_page_is_accessible_and_compares_a_pair(live_site, open_page, sign_in, axe, alice, competition):
    address = live_site + reverse("leaderboard", args=[competition.pk]) + "?category=law"
    for width, scheme in ((390, "dark"), (320, "light"), (1280, "light")):
        page = open_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
        sign_in(alice, page)
        page.goto(address)
        expect(page.get_by_role("heading", level=1)).to_have_text("Leaderboard")
        for details in page.locator("main details").all():
            details.evaluate("details => { details.open = true; }")
        assert page.evaluate(SIDEWAYS) == 0, width
        axe(page)
    page.locator(".board-table .main").first.evaluate("cell => { cell.textContent = 'a long name '.repeat(9); }")
    for width in (1000, 1120, 1280):  # with figures of thousands, the widest that the columns hold
        page.set_viewport_size({"width": width, "height": 844})
        page.locator(".board-table td.number").evaluate_all("all => all.forEach(one => one.textContent = '12,345')")
        assert page.evaluate(SIDEWAYS) == 0, width
    page.get_by_label("First", exact=True).select_option("Alpaca")
    page.get_by_label("Second", exact=True).select_option("Llama-2 70b chat")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("#pair")).to_contain_text("Seen: Alpaca preferred")


@pytest.fixture
def boards(project, alice):
    """Four people of two tags, both compared, categories, the length of texts held equal, and a long name."""
    project.estimator, project.style_features = "BradleyTerry", ["length"]
    project.save()
    names = ["Alpaca", "Llama-2 70b chat", "Orca-70b-instruct-with-a-very-long-name"]
    for number, person in enumerate(make_competition(project, names, n_prompts=8, tags=["code", "law"], n_people=4)):
        AnnotatorTag.objects.create(annotator=person, name="teachers" if number % 2 else "pupils")
    fit_now(project)
    asked = {"by": "tag", "first": "teachers", "second": "pupils"}
    request_comparison(criterion=Criterion(project), actor=alice, now=NOW, **asked)
    cohorts_queue.QUEUE.work(cohorts_queue.QUEUE.claim_next(owner="test", now=NOW), progress=lambda *_: True)
    return project


def test_leaderboards_by_cohort_are_accessible(live_site, open_page, sign_in, axe, alice, boards):
    for width, scheme in ((390, "dark"), (320, "light"), (1280, "light")):
        page = open_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
        sign_in(alice, page)
        page.goto(live_site + reverse("cohorts", args=[boards.pk]))
        expect(page.get_by_role("heading", level=3)).to_have_text(["With style held equal", "teachers", "pupils"])
        expect(page.get_by_text("Places and scores as they are, and with style held equal: ")).to_have_count(2)
        expect(page.locator(".board-table")).to_have_count(2)
        assert page.evaluate(SIDEWAYS) == 0, width
        axe(page)
