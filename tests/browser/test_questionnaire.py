"""The questionnaire in a real browser: the owner makes it, an annotator without JavaScript answers; axe is content."""

from django.test import Client
from django.urls import reverse
from playwright.sync_api import expect

from annotate.access import SESSION_KEY
from annotate.models import QuestionAnswer
from tests.conftest import make_annotator

PHONE = {"width": 390, "height": 844}


def test_the_owner_asks_and_an_annotator_answers(live_site, open_page, page, sign_in, axe, project, alice):
    sign_in(alice)
    page.goto(f"{live_site}{reverse('entry', args=[project.pk])}")
    form = page.locator("#fields")
    form.get_by_text("Add fields").click()
    first, second = form.locator("fieldset.form-section").nth(0), form.locator("fieldset.form-section").nth(1)
    first.get_by_label("Question").fill("Your age")
    first.get_by_label("Kind of answer").select_option("number")
    first.get_by_label("Smallest number").fill("18")
    first.get_by_label("An answer is required").check()
    second.get_by_label("Question").fill("Your hand")
    second.get_by_label("Kind of answer").select_option("choice")
    second.get_by_label("Answers to choose from").fill("left")
    form.get_by_role("button", name="Save the questionnaire").click()
    expect(page.get_by_text("Answers in the list: 1.")).to_be_visible()
    axe(page)
    page.locator("#fields").get_by_label("Answers to choose from").nth(1).fill("left\nright")
    page.get_by_role("button", name="Save the questionnaire").click()
    expect(page.get_by_role("status").filter(has_text="Saved.")).to_be_visible()
    axe(page)

    session = Client().session
    session[SESSION_KEY] = {str(project.pk): str(make_annotator(project, "Otter").key)}
    session.save()
    plain = open_page(viewport=PHONE, color_scheme="dark", java_script_enabled=False)
    plain.context.add_cookies([{"name": "sessionid", "value": session.session_key, "url": live_site}])
    plain.goto(f"{live_site}{reverse('label', args=[project.pk])}")
    expect(plain.get_by_role("heading", level=1)).to_have_text("About you")
    plain.get_by_label("Your age").fill("17")
    plain.get_by_role("radio", name="right").check()
    plain.get_by_role("button", name="Send and continue").click()
    expect(plain.get_by_text("17 is too small; the minimum is 18.")).to_be_visible()
    expect(plain.get_by_role("radio", name="right")).to_be_checked()
    plain.get_by_label("Your age").fill("18")
    plain.get_by_role("button", name="Send and continue").click()
    expect(plain.get_by_role("button", name="A is better")).to_be_visible()
    assert sorted(QuestionAnswer.objects.values_list("value", flat=True)) == ["18", "right"]
