"""Practice, reading time, skipping with a reason, breaks and the owner's pages of checks, in a real browser."""

from django.core.files.base import ContentFile
from django.urls import reverse
from playwright.sync_api import expect

from annotate.models import Annotator, Captions, GoldSet, Item, Label
from tests.browser.annotating import PHONE, come_in, sideways, snap
from tests.site.gold_sets import make_known
from tests.site.labelling.test_eligibility import set_up
from tests.site.recordings import wav

SLOW = 30_000  # milliseconds within which a busy machine shows what it should


def test_practice_reading_skipping_and_a_break_by_keyboard(live_site, page, axe, project):
    set_up(project, practice_pass=1, overlap=9, cap=40, break_every=1, ask_why_skipped=True, skip_reasons=["Broken"])
    make_known(project, "practice", 1)
    come_in(page, live_site, project)
    expect(page.locator(".pair-head")).to_contain_text("Practice 1 of 1")
    right = page.locator(".option").filter(has_text="Text practice 0").locator(".option-name").inner_text()
    page.keyboard.press({"A": "1", "B": "2"}[right.strip()[-1]])
    expect(page.locator(".labelling-stop")).to_contain_text("you have passed the practice", timeout=SLOW)
    expect(page.locator(".labelling-stop")).to_contain_text("because")
    axe(page)

    set_up(project, min_seconds=4)
    page.get_by_role("button", name="Start the real tasks").click()
    first = page.locator("#answer button[name=answer]").first
    expect(page.locator("#answer")).to_be_visible(timeout=SLOW)
    page.wait_for_load_state()  # before it the scripts neither hold back nor listen
    expect(first).to_be_enabled(timeout=SLOW)  # the wait is over
    expect(page.locator("[data-waiting]")).to_be_hidden()
    page.keyboard.press("s")
    expect(page.get_by_label("Broken")).to_be_focused(timeout=SLOW)
    axe(page)
    page.get_by_label("The reason in your words").fill("It is mine")
    expect(page.get_by_label("Something else:")).to_be_checked()
    page.get_by_role("button", name="Skip", exact=True).click()
    expect(page.locator(".labelling-stop")).to_contain_text("Time for a short break", timeout=SLOW)
    axe(page)
    label = Label.objects.get(outcome="skip")
    assert label.reason == "It is mine"
    assert 0 < label.active_ms <= label.response_ms
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("#answer")).to_be_visible(timeout=SLOW)
    assert "data-wait" in page.content()


def test_without_javascript_on_a_phone(live_site, open_page, project):
    set_up(project, practice_pass=1, practice_tries=1, ask_why_skipped=True, skip_reasons=["Broken"], overlap=9)
    make_known(project, "practice", 1)
    page = open_page(**PHONE, java_script_enabled=False)
    come_in(page, live_site, project)
    wrong = page.locator(".option").filter(has_text="Text practice 1").locator(".option-name").inner_text()
    page.locator(f"#answer button[value={wrong.strip()[-1].lower()}]").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you for trying")
    Annotator.objects.update(screened_out_at=None, practice_over_at=project.created_at)
    page.goto(live_site + reverse("label", args=[project.pk]))
    page.locator(".labelling-stop button").first.click()
    page.locator(".answer-skip summary").click()
    page.get_by_label("Broken").check()
    assert not sideways(page)
    page.get_by_role("button", name="Skip", exact=True).click()
    expect(page.locator("#answer")).to_be_visible()
    assert Label.objects.get(outcome="skip").reason == "Broken"


def test_the_owners_pages(live_site, page, sign_in, axe, project, alice):
    make_known(project, "gold", 2)
    sign_in(alice)
    for name in ("quality", "known-sets", "never-shown"):
        for size in ({"width": 390, "height": 844}, {"width": 1440, "height": 900}):
            page.set_viewport_size(size)
            page.goto(live_site + reverse(name, args=[project.pk]))
            assert not sideways(page), f"{name} at {size}"
        axe(page)


def test_the_right_answer_of_chosen_items_is_said_on_a_page(
    live_site, open_page, sign_in, axe, project, alice, settings, tmp_path
):
    """Without JavaScript on a phone, clean by axe with it, in the dark."""
    settings.MEDIA_ROOT = str(tmp_path)
    phone = open_page(viewport={"width": 390, "height": 844}, java_script_enabled=False)
    sign_in(alice, page=phone)
    phone.goto(live_site + reverse("items", args=[project.pk]))
    for key in ("item-1", "item-3"):
        phone.get_by_label(f"Choose {key}").check()
    phone.get_by_role("button", name="Set the right answer").click()
    assert not sideways(phone)
    phone.get_by_label("Right answer").select_option("Item 2")
    phone.get_by_label("Why this is right").fill("It names its source.")
    phone.get_by_role("button", name="Save").click()
    expect(phone.get_by_text("The right answer is saved.")).to_be_visible()
    known = GoldSet.objects.get()
    assert known.named == [project.items.get(key="item-3").pk]

    page = open_page(color_scheme="dark", viewport={"width": 1280, "height": 800})
    sign_in(alice, page=page)
    sound = Item(project=project, key="sound", kind="audio", body="A tone")
    sound.media.save("tone.wav", ContentFile(wav()), save=True)
    Captions.objects.create(item=sound, language="en", text="WEBVTT\n\n00:00.000 --> 00:01.000\nA tone.\n")
    for name, row in (("known-set-change", known), ("captions", sound), ("items", None)):
        page.goto(live_site + reverse(name, args=[project.pk, *([row.pk] if row else [])]))
        page.wait_for_load_state()
        axe(page)
        snap(page, f"{name}-dark")
        assert not sideways(page)
