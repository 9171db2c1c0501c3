"""The pages of people's own data in a real browser: accessible, and a guest erases themself by keyboard."""

from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Annotator
from annotate.privacy.retention.actions import change_retention
from tests.conftest import NOW, answer_one, make_annotator

PHONE = {"width": 390, "height": 844}


def test_every_page_is_accessible_and_a_guest_erases_themself(live_site, open_page, sign_in, axe, project, alice):
    guest = make_annotator(project, "Guest")
    answer_one(guest)
    change_retention(project=project, actor=alice, days=30, drops="personal", now=NOW)
    page = open_page(viewport=PHONE, color_scheme="dark")
    sign_in(alice, page=page)
    pages = {"account-data": [], "account-erase": [], "annotator-erase": [project.pk, guest.key]}
    for name, arguments in (pages | {"retention": [project.pk]}).items():
        page.goto(live_site + reverse(name, args=arguments))
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        axe(page)
    visitor = open_page()
    visitor.goto(live_site + reverse("own-data", args=[guest.resume_token]))
    expect(visitor.get_by_text("30 days after this project has closed")).to_be_visible()
    axe(visitor)
    visitor.get_by_label("Yes, erase it permanently").focus()
    visitor.keyboard.press("Space")
    visitor.keyboard.press("Tab")
    visitor.keyboard.press("Enter")
    expect(visitor.get_by_role("heading", level=1)).to_have_text("Erased")
    axe(visitor)
    assert not Annotator.objects.filter(pk=guest.pk).exists()
