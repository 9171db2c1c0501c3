"""Annotators in a browser, for tests: coming in, what the page shows next, what is stored then."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from django.urls import reverse
from playwright.sync_api import Locator, Page, expect

from annotate.labelling.outcomes import decode_ranks
from annotate.models import Annotator, Project
from tests.browser.layout import SIDEWAYS, layout_faults
from tests.site.task_types import LETTERS

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
N_UNSENT = """() => {
  try {
    return Object.keys(localStorage).filter((name) => name.startsWith("crowdrank-unsent-")).length;
  } catch {
    return 0; // storage is refused
  }
}"""
WITHOUT = {"java_script_enabled": False}


def long_enough(project: Project, **values) -> Project:
    """The project with tasks for all who come, and a cap of 40 to count up to."""
    Project.objects.filter(pk=project.pk).update(overlap=9, cap=40, **values)
    project.refresh_from_db()
    return project


def stop_at_will(page: Page) -> None:
    """For tests that hold requests up: those made while the first route of a page is set up can pass unseen."""
    page.route("**/nothing-is-here", lambda route: route.abort())


def come_in(page: Page, live_site: str, project, name: str = "Quiet Otter") -> Annotator:
    """Joins by the link; the first task shows."""
    page.goto(live_site + reverse("join", args=[project.join_token]))
    page.get_by_label("Your name here").fill(name)
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#answer")).to_be_visible()
    page.wait_for_load_state()  # the scripts have run
    return Annotator.objects.get(project=project, pseudonym=name)


def come_in_prepared(page: Page, live_site: str, project) -> Annotator:
    """The same; the question ahead is there, too, and with it the last cookie that the page's own requests bring."""
    with page.expect_response("**/label/ahead/"):
        annotator = come_in(page, live_site, project)
    page.wait_for_timeout(50)
    return annotator


def expect_done(page: Page, n: int) -> None:
    """The page is at the task after `n` answers, ready for the next, and the server has them all."""
    expect(page.locator(".progress")).to_contain_text(f"{n} of 40")
    expect(page.locator(".is-chosen")).to_have_count(0)
    expect_sent(page)


def expect_sent(page: Page, within_s: float = 30) -> None:
    """The server has confirmed every answer given on this page; the next task may show before."""
    until = time.monotonic() + within_s
    while page.evaluate(N_UNSENT):
        assert time.monotonic() < until, f"an answer is still unsent after {within_s} s"
        page.wait_for_timeout(20)


def labels(annotator: Annotator) -> list[tuple[str, int | None]]:
    """Outcome and place of the chosen item of every unvoided label, in order."""
    return [
        (label.outcome, label.chosen_id and label.presentation.presented.get(item=label.chosen_id).position)
        for label in annotator.labels.filter(voided_at=None).order_by("pk")
    ]


def expect_label(annotator: Annotator, order: list[int]) -> None:
    """One unvoided label, and it says this."""
    label = annotator.labels.get(voided_at=None)
    places = list(label.presentation.presented.order_by("position").values_list("item", flat=True))
    said = [places.index(label.chosen_id)] if label.outcome == "choice" else decode_ranks(label.outcome, label.ranks)
    assert said == order


def option(page: Page, place: int) -> Locator:
    return page.locator(f"#option-{LETTERS[place]}")


def sideways(page: Page) -> bool:
    page.wait_for_load_state()  # a page that has just come has no element yet
    return page.evaluate(SIDEWAYS) > 0


def snap(page: Page, name: str) -> None:
    """A picture for people to look at, where SCREENSHOTS names a folder."""
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def look(page: Page, axe: Callable[[Page], None], name: str = "") -> None:
    """Clean by axe and without faults of layout, on a dark desk and on a light phone."""
    for scheme, size in (("dark", {"width": 1280, "height": 800}), ("light", PHONE["viewport"])):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        assert layout_faults(page) == []
        axe(page)
        if name:
            snap(page, f"{name}-{scheme}")
