"""Items of every kind in a real browser: closely, side by side, heard and seen, and harmless whatever they hold."""

import io

import pytest
from django.core.files.base import ContentFile
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from annotate.models import Captions, Context, Item, ItemPage
from tests.browser.annotating import PHONE, come_in, look, sideways, snap
from tests.site.recordings import wav


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)


def with_files(project, kind: str, *contents: bytes) -> None:
    project.items.all().delete()
    for n, content in enumerate(contents):
        item = Item(project=project, key=f"{n}", kind=kind, body=f"Words of number {n}")
        item.media.save("file", ContentFile(content), save=True)


def picture(size: tuple[int, int]) -> bytes:
    out = io.BytesIO()
    Image.radial_gradient("L").resize(size).save(out, "PNG")
    return out.getvalue()


def scale(page: Page) -> int:
    return int(page.locator(".zoom-scale").inner_text().removesuffix("%"))


def expect_at(box: Locator, part: float) -> None:
    """How far the box is scrolled, of all it can be."""
    for _ in range(300):
        at = box.evaluate("box => box.scrollTop / (box.scrollHeight - box.clientHeight)")
        if at == pytest.approx(part, abs=0.05):
            return
        box.page.wait_for_timeout(100)
    pytest.fail(f"scrolled to {at}, not {part}")


def test_an_image_is_looked_at_closely_by_keys_buttons_and_taps_or_in_a_tab_of_its_own(
    live_site, page, open_page, project, axe
):
    with_files(project, "image", picture((2400, 1800)), picture((1, 1)))
    come_in(page, live_site, project)
    page.get_by_role("link", name="Full size of").first.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Enlarged image")
    expect(dialog).to_be_visible()
    expect(page.locator(".zoom-scale")).not_to_have_text("")
    axe(page)
    whole = scale(page)
    page.keyboard.press("+")
    page.keyboard.press("+")
    larger = scale(page)
    assert larger > 2 * whole
    snap(page, "zoom")
    page.keyboard.press("0")
    assert scale(page) == whole
    dialog.get_by_role("button", name="Larger").click()
    dialog.get_by_role("button", name="Smaller").click()
    assert scale(page) == whole
    page.keyboard.press("1")  # answers nothing while it is open
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("link", name="Full size of").first).to_be_focused()
    assert not project.labels.exists()

    without = open_page(java_script_enabled=False)
    without.context.add_cookies(page.context.cookies())
    without.goto(page.url)
    with without.expect_popup() as opened:
        without.get_by_role("link", name="Full size of A, in a new tab").click()
    assert opened.value.url.startswith(f"{live_site}/media/items/")

    phone = open_page(**PHONE)
    come_in(phone, live_site, project, "Second Otter")
    phone.get_by_role("link", name="Full size of").first.tap()
    expect(phone.locator(".zoom-scale")).not_to_have_text("")
    before = scale(phone)
    phone.locator(".zoom-view:visible").tap()
    assert scale(phone) > before
    phone.get_by_role("button", name="Close").tap()
    phone.get_by_role("button", name="A is better").tap()
    expect(phone.get_by_role("button", name="Undo")).to_be_visible()


LOOKED_AT = """views => views.map((view) => {
    const image = view.querySelector("img");
    const fits = Math.min(view.clientWidth / image.naturalWidth, view.clientHeight / image.naturalHeight, 1);
    const box = image.getBoundingClientRect(), own = view.getBoundingClientRect();
    return [box.width / (image.naturalWidth * fits), (own.left + view.clientWidth / 2 - box.left) / box.width,
            (own.top + view.clientHeight / 2 - box.top) / box.height];
})"""


def expect_in_step(page: Page, larger: float, x: float = 0.5, y: float = 0.5) -> None:
    """Both images are so many times larger than whole, with this part of each, across and down, in the middle."""
    looked_at = []
    for _ in range(300):
        looked_at = page.locator(".zoom-view:visible").evaluate_all(LOOKED_AT)
        if looked_at == [pytest.approx([larger, x, y], abs=0.02)] * 2:
            return
        page.wait_for_timeout(100)
    pytest.fail(f"looked at {looked_at}, not {(larger, x, y)}")


def test_two_images_are_looked_at_in_step_by_mouse_keys_and_taps_if_wanted(live_site, page, open_page, project, axe):
    with_files(project, "image", picture((2400, 1800)), picture((1600, 1200)))
    come_in(page, live_site, project)
    page.get_by_role("link", name="Full size of B").click()
    expect(page.locator(".zoom-name:visible")).to_have_text("Option B")
    both = page.get_by_role("button", name="Both together", exact=True)
    both.click()
    expect(both).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".zoom-name:visible")).to_have_text(["Option A", "Option B"])
    expect_in_step(page, 1)
    views = page.locator(".zoom-view:visible")
    box = views.nth(1).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.wheel(0, -100)
    expect_in_step(page, 1.5)
    page.mouse.wheel(0, -100)
    expect_in_step(page, 1.5**2)
    width = 1.5**2 * views.nth(1).evaluate("view => Math.min(view.clientWidth, view.clientHeight * 4 / 3)")
    page.mouse.down()
    page.mouse.move(x - width / 10, y, steps=4)
    page.mouse.up()
    expect_in_step(page, 1.5**2, 0.6)
    axe(page)
    snap(page, "zoom-both")

    views.first.focus()
    page.keyboard.press("+")
    expect_in_step(page, 1.5**3, 0.6)
    for _ in range(30):
        page.keyboard.press("ArrowLeft")
    half = views.nth(1).evaluate("view => view.clientWidth / view.querySelector('img').clientWidth / 2")
    expect_in_step(page, 1.5**3, half)
    page.keyboard.press("0")
    expect_in_step(page, 1)
    page.keyboard.press("Escape")
    page.reload()
    page.get_by_role("link", name="Full size of A").click()
    expect_in_step(page, 1)  # as it was left
    both.click()
    expect(page.locator(".zoom-name:visible")).to_have_text("Option A")
    expect(views).to_have_count(1)

    phone = open_page(**PHONE, color_scheme="dark")
    come_in(phone, live_site, project, "Second Otter")
    phone.get_by_role("link", name="Full size of A").tap()
    phone.get_by_role("button", name="Both together").tap()
    expect_in_step(phone, 1)
    tapped = phone.locator(".zoom-view:visible").nth(1)
    tapped.tap()  # to its own size
    expect_in_step(phone, tapped.locator("img").evaluate("image => image.naturalWidth") / 390)
    axe(phone)
    snap(phone, "zoom-both-phone")
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_long_texts_scroll_together_if_wanted_and_that_is_remembered(live_site, page, project, axe):
    project.items.all().delete()
    context = Context.objects.create(project=project, kind="markdown", body="**Explain** " + "rain. " * 200, digest="x")
    for n, length in enumerate((3000, 900, 2000)):
        Item.objects.create(project=project, key=f"{n}", body="Some words " * length, context=context)
    come_in(page, live_site, project)
    expect(page.get_by_role("region", name="What they are about")).to_contain_text("Explain rain.")
    switch = page.get_by_role("button", name="Scroll the texts together")
    switch.click()
    expect(switch).to_have_attribute("aria-pressed", "true")
    axe(page)
    first, second = (page.locator(f"#option-{letter} > .item-body") for letter in "ab")
    first.evaluate("box => box.scrollTo(0, (box.scrollHeight - box.clientHeight) / 2)")
    expect_at(second, 0.5)
    page.keyboard.press("End")
    expect_at(first, 1)
    expect_at(second, 1)
    snap(page, "scrolling")
    page.keyboard.press("1")
    expect(page.get_by_role("button", name="Undo")).to_be_visible()
    expect(page.locator("#answer .is-scrolling")).to_be_visible()
    page.get_by_role("button", name="Scroll the texts together").click()
    expect(page.locator("#answer .is-scrolling")).to_have_count(0)


def test_texts_below_each_other_are_not_offered_to_scroll_together(live_site, open_page, project):
    project.items.all().delete()
    for n, length in enumerate((3000, 900, 2000)):
        Item.objects.create(project=project, key=f"{n}", body="Some words " * length)
    phone = open_page(**PHONE)
    come_in(phone, live_site, project)
    switch = phone.locator(".scroll-switch")
    expect(switch).to_be_hidden()
    phone.set_viewport_size({"width": 1280, "height": 844})
    expect(switch).to_be_visible()
    switch.get_by_role("button").click()
    expect(phone.locator("#answer .is-scrolling")).to_be_visible()
    phone.set_viewport_size({"width": 390, "height": 844})
    expect(phone.locator("#answer .is-scrolling")).to_have_count(0)
    expect(switch).to_be_hidden()
    snap(phone, "scrolling-phone")


def test_sound_is_played_by_the_browsers_own_controls_with_its_words(live_site, page, project, axe):
    with_files(project, "audio", wav(1.0), wav(2.0))
    captions = "WEBVTT\n\n00:00.000 --> 00:01.500\nA long tone.\n"
    Captions.objects.create(item=project.items.get(key="1"), language="en", text=captions)
    come_in(page, live_site, project)
    expect(page.locator("video track")).to_have_js_property("readyState", 2)
    told = page.locator("video").evaluate("video => [...video.textTracks].map((track) => [track.label, track.mode])")
    assert told == [["English", "showing"]]
    player = page.locator("audio").first
    expect(player).to_have_js_property("readyState", 4)
    assert player.evaluate("player => player.error") is None
    page.get_by_text("Transcript").first.click()
    expect(page.locator("#option-a .item-body")).to_contain_text("Words of number")
    axe(page)
    snap(page, "sound")


def test_hostile_items_stay_in_their_boxes(live_site, page, project, axe):
    project.items.all().delete()
    bodies = [
        ("html", "<script>alert(1)</script><style>*{display:none}</style><h1>Big</h1><p onclick=x()>\u202eevil</p>"),
        ("html", "<form action=/x/><input name=answer><button>A is better</button></form>" + "<b>" * 5000 + "deep"),
    ]
    for n, (kind, body) in enumerate(bodies):
        Item.objects.create(project=project, key=f"{n}", kind=kind, body=body)
    page.on("dialog", lambda dialog: pytest.fail(dialog.message))
    come_in(page, live_site, project)
    expect(page.get_by_role("heading", level=3, name="Big")).to_be_visible()
    expect(page.locator("#answer .item-body :is(form, input, button, script, style)")).to_have_count(0)
    expect(page.get_by_role("button", name="A is better")).to_have_count(1)
    button = page.get_by_role("button", name="A is better")
    assert button.evaluate("button => getComputedStyle(button).direction") == "ltr"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    axe(page)


def test_pages_of_a_document_stand_below_each_other_and_each_is_seen_closely(live_site, page, open_page, project, axe):
    with_files(project, "image", picture((700, 1000)), picture((700, 1000)))
    for item in project.items.all():
        for number in (1, 2, 3):
            ItemPage.objects.create(item=item, number=number, media=item.media.name)
    project.items.update(n_pages=3)
    come_in(page, live_site, project)
    pages = page.locator("#option-a .item-page img")
    expect(pages).to_have_count(3)
    tops = [box["y"] for box in (one.bounding_box() for one in pages.all()) if box]
    assert tops == sorted(tops)
    expect(pages.nth(1)).to_have_attribute("alt", "Page 2 of 3")
    look(page, axe, "document")
    page.get_by_role("link", name="Page 2 of 3: Full size of A").click()
    expect(page.get_by_role("dialog", name="Enlarged image").get_by_role("img").first).to_have_attribute(
        "alt", "Page 2 of 3"
    )
    phone = open_page(**PHONE)
    come_in(phone, live_site, project, "Second Otter")
    assert not sideways(phone)
    look(phone, axe)
