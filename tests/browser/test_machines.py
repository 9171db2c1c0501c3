"""The page of machines with its report, on a phone and wide: by axe, light and dark."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotate.annotators.machines import queue as machines_queue
from tests.browser.annotating import sideways
from tests.conftest import NOW
from tests.site.annotators.test_machines import by_number, go_on, people
from tests.site.api_client import Api
from tests.site.fitting.test_run import fit_now
from tests.site.machines import let_judge, make_machine


@pytest.fixture
def reported(project, alice) -> None:
    people(project, 60)
    fit_now(project)
    let_judge(make_machine(project, "Contrary"), by_number)
    let_judge(make_machine(project, "First"), lambda a, b: a)
    Api(alice, project)("post", "machines-report", {})
    machines_queue.QUEUE.work(machines_queue.QUEUE.claim_next(owner="test", now=NOW), progress=go_on)


def test_machines_and_their_report_are_accessible(live_site, open_page, sign_in, axe, project, alice, reported):
    page = open_page(viewport={"width": 320, "height": 700})
    sign_in(alice, page)
    page.goto(live_site + reverse("machines", args=[project.pk]))
    expect(page.get_by_role("heading", level=1)).to_have_text("Machines")
    figures = page.get_by_role("table", name="Contrary")
    expect(figures).to_be_visible()
    first = figures.locator("td").first.bounding_box()
    assert first["x"] + first["width"] <= 320  # seen without scrolling sideways
    assert not sideways(page)
    axe(page, in_dark=True)
    page.set_viewport_size({"width": 1280, "height": 900})
    assert not sideways(page)
    axe(page)
