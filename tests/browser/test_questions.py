"""The pages of given questions on a phone: by axe, light and dark, and never wider than the screen."""

from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.annotating import sideways
from tests.site.questions.test_questions import questions  # noqa: F401  (a fixture)


def test_given_questions_are_accessible_on_a_phone(live_site, open_page, sign_in, axe, project, alice, questions):  # noqa: F811
    page = open_page(viewport={"width": 320, "height": 700})
    sign_in(alice, page)
    for name in ("questions", "questions-import"):
        page.goto(live_site + reverse(name, args=[project.pk]))
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert not sideways(page), name
        axe(page, in_dark=True)
