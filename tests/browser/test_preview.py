"""The owner's preview in a real browser: on this screen and in the phone's frame, and nothing is stored."""

from playwright.sync_api import expect

from annotate.models import Annotator, Label, Presentation
from tests.browser.annotating import snap


def test_the_owner_answers_as_an_annotator_would_and_nothing_is_stored(live_site, page, sign_in, axe, project, alice):
    project.state, project.cap = "draft", 3
    project.save()
    sign_in(alice)
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.goto(f"{live_site}/projects/{project.pk}/share/")
    page.get_by_role("link", name="First preview the task as annotators see it.").click()
    expect(page.get_by_role("complementary", name="About this preview")).to_contain_text("nothing is stored")
    axe(page)
    snap(page, "preview")
    page.keyboard.press("1")
    expect(page.locator(".progress")).to_contain_text("1 of 3")
    page.keyboard.press("u")
    expect(page.locator(".progress")).to_contain_text("0 of 3")

    page.get_by_role("link", name="Phone").click()
    phone = page.frame_locator("iframe")
    phone.get_by_role("button", name="B is better").click()
    expect(phone.locator(".progress")).to_contain_text("1 of 3")
    expect(phone.get_by_role("button", name="Undo")).to_contain_text("you chose B")
    first, second = (phone.locator(f"#option-{letter}").bounding_box() for letter in "ab")
    assert first["x"] == second["x"]
    axe(page)
    snap(page, "preview-phone")
    assert not any(model.objects.exists() for model in (Annotator, Presentation, Label))
