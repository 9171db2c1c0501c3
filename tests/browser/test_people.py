"""The pages about people in a real browser: axe is content, nothing scrolls sideways."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotate.annotators.cohorts import queue as cohorts_queue
from annotate.annotators.cohorts.actions import request_comparison
from annotate.criteria import Criterion
from annotate.models import Annotator, Project
from tests.browser.layout import SIDEWAYS
from tests.site.annotators.test_by_criterion import crossed, fitted, mapped  # noqa: F401  (fixtures)
from tests.site.annotators.test_pages import draw_taste_map, go_on
from tests.site.fitting.test_tastes import divided  # noqa: F401  (a fixture)


@pytest.fixture
def known(alice, divided) -> Project:  # noqa: F811
    draw_taste_map(divided)
    people = list(divided.annotators.order_by("pk").values_list("pk", flat=True))
    Annotator.objects.filter(pk__in=people[:4]).update(source="platform")
    compare_those_who_came(alice, Criterion(divided))
    return divided


@pytest.fixture
def by_correctness(alice, crossed, mapped) -> Criterion:  # noqa: F811
    """The second of a project's two criteria."""
    criterion = Criterion(crossed, 2)
    compare_those_who_came(alice, criterion)
    return criterion


def compare_those_who_came(alice, criterion: Criterion) -> None:
    request_comparison(
        criterion=criterion, actor=alice, by="source", first="platform", second="link", now=timezone.now()
    )
    cohorts_queue.QUEUE.work(cohorts_queue.QUEUE.claim_next(owner="test", now=timezone.now()), progress=go_on)


def look_at_all(page, axe, live_site: str, criterion: Criterion) -> None:
    project = criterion.project
    person = project.annotators.order_by("pk").first()
    paths = [
        (reverse("annotator", args=[project.pk, person.key]), "Annotator"),
        (reverse("tastes", args=[project.pk]), "Groups and taste map"),
        (reverse("cohorts", args=[project.pk]), "Cohorts side by side"),
        (reverse("annotators", args=[project.pk]), "Annotators"),
    ]
    for path, title in paths:
        page.goto(live_site + path + criterion.query)
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        for details in page.locator("main details:not(.menu)").all():
            details.evaluate("details => { details.open = true; }")
        assert page.evaluate(SIDEWAYS) == 0, path
        axe(page)


def test_pages_about_people_are_accessible(live_site, open_page, sign_in, axe, alice, known):
    page = open_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    sign_in(alice, page)
    look_at_all(page, axe, live_site, Criterion(known))


def test_pages_about_people_stay_with_the_criterion_chosen(live_site, open_page, sign_in, axe, alice, by_correctness):
    page = open_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    sign_in(alice, page)
    look_at_all(page, axe, live_site, by_correctness)
    chosen, second = page.locator(".chip[aria-current=true]"), by_correctness.project.annotators.order_by("pk")[1]
    titles = page.locator("#annotator .own-table tbody th")
    keys = [item.title for item in by_correctness.project.items.order_by("pk")]
    page.set_viewport_size({"width": 1280, "height": 900})
    # From the table to a person, by the criterion chosen there; then by the other.
    page.get_by_role("link", name=second.pseudonym, exact=True).click()
    expect(chosen).to_have_text("Correctness")
    page.get_by_role("link", name="Own place").click()
    expect(titles).to_have_text(keys[::-1])
    expect(chosen).to_have_text("Correctness")
    page.get_by_role("link", name="Clarity", exact=True).click()
    expect(chosen).to_have_text("Clarity")
    page.get_by_role("link", name="Own place").click()
    expect(titles).to_have_text(keys)
    page.get_by_role("link", name="Correctness", exact=True).click()
    expect(chosen).to_have_text("Correctness")
    # Through the tabs to the map and the cohorts, and a comparison asked for there.
    page.get_by_role("navigation", name="Project").get_by_role("link", name="Results").click()
    page.get_by_role("navigation", name="Pages of this group").get_by_role("link", name="Groups").click()
    expect(chosen).to_have_text("Correctness")
    expect(page.get_by_text("From fit 2 by CollaborativeGP.")).to_be_visible()
    page.get_by_role("list", name="View").get_by_role("link", name="Cohorts side by side").click()
    page.get_by_label("Second cohort").select_option("")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("Requested. It waits for the engine")).to_be_visible()
    expect(chosen).to_have_text("Correctness")
    cohorts_queue.QUEUE.work(cohorts_queue.QUEUE.claim_next(owner="test", now=timezone.now()), progress=go_on)
    expect(page.get_by_text("No clear difference on any of 6 items")).to_be_visible()
    page.get_by_role("link", name="Clarity", exact=True).click()
    expect(page.locator("#cohorts table")).to_have_count(0)
