"""The pages about people in a real browser: axe is content, nothing scrolls sideways."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotate import cohort_runs
from annotate.actions.cohorts import ask_for_comparison
from annotate.models import Annotator, Project
from tests.site.test_fitting_tastes import divided  # noqa: F401  (a fixture)
from tests.site.test_people_pages import go_on, portrayed

SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def known(alice, divided) -> Project:  # noqa: F811
    portrayed(divided)
    people = list(divided.annotators.order_by("pk").values_list("pk", flat=True))
    Annotator.objects.filter(pk__in=people[:4]).update(source="platform")
    ask_for_comparison(project=divided, actor=alice, by="source", first="platform", second="link", now=timezone.now())
    cohort_runs.make(cohort_runs.claim_next(owner="test", now=timezone.now()), progress=go_on)
    return divided


def test_pages_about_people_are_accessible(live_site, open_page, sign_in, axe, alice, known):
    person = known.annotators.order_by("pk").first()
    paths = [
        (reverse("annotator", args=[known.pk, person.key]), "Annotator"),
        (reverse("tastes", args=[known.pk]), "Taste map"),
        (reverse("cohorts", args=[known.pk]), "Cohorts side by side"),
        (reverse("annotators", args=[known.pk]), "Annotators"),
    ]
    page = open_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    sign_in(alice, page)
    for path, title in paths:
        page.goto(live_site + path)
        expect(page.get_by_role("heading", level=1)).to_have_text(title)
        for details in page.locator("main details:not(.menu)").all():
            details.evaluate("details => { details.open = true; }")
        assert page.evaluate(SIDEWAYS) == 0, path
        axe(page)
