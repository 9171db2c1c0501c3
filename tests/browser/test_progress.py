"""The Progress page and that of its goal in a real browser: axe is content, nothing runs over the edge."""

from datetime import UTC, timedelta
from decimal import Decimal

from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotate.models import LabelForecast, Project
from tests.browser.test_trust import SIDEWAYS
from tests.conftest import make_annotator
from tests.site.factories import engine_is_up, make_labels, spread_fit


def foresee(project: Project) -> None:
    """A forecast as the worker would store it, with the columns of two minutes ahead."""
    now = timezone.now()
    starts = [(now + timedelta(minutes=k)).astimezone(UTC).replace(second=0, microsecond=0) for k in (1, 2)]
    goal = {"kind": "width", "value": 1.0, "hours": [1.2, 3.2, None], "by": [[0, 0.0], [6, 0.8]]}
    figures = {"basis": "labels", "history": 0.5, "horizon": 6, "left": None, "goals": {"1": goal}}
    figures |= {"within": {"1": [20, 60, 90], "6": [90, 300, 600]}}
    figures |= {"unit": 16, "columns": [[start.isoformat(), 0, 2, 5] for start in starts]}
    LabelForecast.objects.create(project=project, as_of=now, figures=figures)


def test_progress_with_a_goal_is_accessible(live_site, open_page, sign_in, axe, alice, project):
    engine_is_up(timezone.now() + timedelta(hours=1))
    people = [make_annotator(project, name) for name in ("Quiet Otter", "Grey Heron", "Red Squirrel")]
    make_labels(project, people, 90, start=timezone.now() - timedelta(minutes=30))
    project.goal, project.goal_width, project.price = "width", 1.0, Decimal("0.1")
    project.save()
    pairs = [[(3 * row + column) % 7 for column in range(row + 1)] for row in range(6)]
    kept = {"kind": "width", "value": 1.0, "met": False, "state": 1.32, "needed": [40, 110, 260], "why": ""}
    compared = {"sizes": [1] * 6, "pairs": pairs}
    known = {"n_labels": 90, "diagnostics": {"goal": kept, "compared": compared}}
    spread_fit(project, list(project.items.all()), now=timezone.now(), **known)
    foresee(project)
    page = open_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    sign_in(alice, page)
    for name, title in (("progress", "Progress"), ("goal", "Goal and cost")):
        page.goto(live_site + reverse(name, args=[project.pk]))
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        for details in page.locator("main details").all():
            details.evaluate("details => { details.open = true; }")
        assert page.evaluate(SIDEWAYS) == 0, name
        axe(page)
    page.goto(live_site + reverse("progress", args=[project.pk]))
    expect(page.get_by_text("About 110 more answers are needed.")).to_be_visible()
    expect(page.get_by_text("Likely time until then: about 3 hours (1 hour to more than 6 hours).")).to_be_visible()
    assert page.locator("rect.mark-ahead").count() == 2
