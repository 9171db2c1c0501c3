"""Looking on as an annotator in a real browser: the keys and buttons are theirs, and nothing is stored."""

import random

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotate.labelling import assignment
from annotate.models import Label
from tests.conftest import answer_one, make_annotator


@pytest.mark.parametrize("options", [{}, {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}])
def test_the_owner_looks_and_goes_back(live_site, open_page, sign_in, axe, project, alice, options):
    ada = make_annotator(project, "Ada")
    answer_one(ada, now=timezone.now())
    assignment.next_presentation(annotator=ada, now=timezone.now(), rng=random.Random(1))
    page = open_page(**options)
    sign_in(alice, page=page)
    page.goto(live_site + reverse("annotator", args=[project.pk, ada.key]))
    page.get_by_role("link", name="View as this annotator").click()
    expect(page.get_by_role("complementary", name="About this page")).to_contain_text("As Ada sees it now.")
    axe(page)
    page.keyboard.press("1")
    expect(page.get_by_role("alert")).to_have_text("You are only viewing: nothing was saved.")
    page.get_by_role("link", name="Own answers").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your answers")
    axe(page)
    page.get_by_role("button", name="Undo, and answer again").click()
    expect(page.get_by_role("alert")).to_have_text("You are only viewing: nothing was saved.")
    assert Label.objects.filter(voided_at=None).count() == 1
    page.get_by_role("link", name="Back to the project").click()
    expect(page).to_have_url(live_site + reverse("annotator", args=[project.pk, ada.key]))
