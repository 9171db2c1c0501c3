"""The dashboard in a real browser: it follows the project by itself, works without JavaScript, and axe is content."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotate.jobs.fit_requests import request_fit
from annotate.models import FitState, Item, Membership, Project, Tag
from tests.browser.layout import SIDEWAYS
from tests.conftest import answer_one, make_annotator
from tests.site.factories import engine_is_up, estimate_annotator, make_fit, make_labels, spread_fit

NO_WEBSOCKETS = """
    window.WebSocket = class { constructor() { setTimeout(() => this.onclose(), 10); } close() {} };
"""


@pytest.fixture
def items(project) -> list[Item]:
    engine_is_up(timezone.now() + timedelta(hours=1))
    return list(project.items.order_by("pk"))


def address(live_site: str, project: Project, name: str = "ranking", query: str = "") -> str:
    return f"{live_site}{reverse(name, args=[project.pk])}{query}"


def titles(page: Page) -> list[str]:
    return page.locator(".rank-row .clamp").all_inner_texts()


def watch(page: Page, url: str) -> None:
    """Opens the page, waits until it follows, and marks the window: a reload would lose the mark."""
    page.goto(url)
    expect(page.locator("#live")).to_have_text("Live")
    page.evaluate("window.neverReloaded = true")


def test_a_label_and_its_fit_appear_without_a_reload(live_site, page, sign_in, alice, project, items):
    spread_fit(project, items)
    sign_in(alice)
    watch(page, address(live_site, project))
    assert titles(page)[0] == "Text number 0"
    answer_one(make_annotator(project, "Quiet Otter"), now=timezone.now())
    expect(page.locator("#status")).to_contain_text("1 answer")
    expect(page.locator("#status")).to_contain_text("1 answering now")
    expect(page.locator("#status")).to_contain_text("1 newer answer or change on its way")
    spread_fit(project, items[::-1])
    expect(page.locator(".rank-row .c-item").first).to_have_text("Text number 5")
    expect(page.locator("#status[data-fit='2']")).to_be_attached()
    expect(page.locator(".headline-lead")).to_contain_text("“Text number 5” leads.")
    assert page.evaluate("window.neverReloaded")


def test_what_moved_carries_a_mark_since_the_page_was_opened(live_site, page, sign_in, alice, project, items):
    spread_fit(project, items)
    sign_in(alice)
    watch(page, address(live_site, project))
    expect(page.locator(".moved")).to_have_count(0)
    order = [items[1], items[0], *items[2:]]
    spread_fit(project, order)
    first = page.locator(".rank-row").first
    expect(first.locator(".move")).to_have_text("↑1")
    expect(first.locator(".move")).to_have_attribute("aria-label", "up 1 since you opened this page")
    expect(page.locator(".moved")).to_have_count(2)
    spread_fit(project, items)
    expect(page.locator(".moved")).to_have_count(0)
    assert titles(page)[0] == "Text number 0"


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_rows_glide_unless_motion_is_unwelcome(live_site, open_page, sign_in, alice, project, items, motion):
    spread_fit(project, items)
    page = open_page(reduced_motion=motion)
    page.add_init_script(
        "window.glided = 0; const animate = Element.prototype.animate;"
        "Element.prototype.animate = function (...a) { window.glided += 1; return animate.apply(this, a); };"
    )
    sign_in(alice, page=page)
    watch(page, address(live_site, project))
    spread_fit(project, items[::-1])
    expect(page.locator(".rank-row .c-item").first).to_have_text("Text number 5")
    assert page.evaluate("window.glided") == (6 if motion == "no-preference" else 0)


def test_a_refresh_takes_nothing_out_of_a_persons_hands(live_site, page, sign_in, alice, project, items):
    Item.objects.filter(pk=items[0].pk).update(body="A long text. " * 30)
    spread_fit(project, items)
    sign_in(alice)
    watch(page, address(live_site, project))
    page.locator(".unfold summary").click()
    search = page.get_by_label("Find an item")
    search.press_sequentially("numb")
    spread_fit(project, items[::-1])
    expect(page.locator("#status[data-fit='2']")).to_be_attached()
    expect(search).to_have_value("numb")
    expect(search).to_be_focused()
    search.fill("")
    expect(page.locator(".rank-row .c-item").first).to_have_text("Text number 5")
    expect(search).to_be_focused()
    expect(page.locator(".unfold")).to_have_attribute("open", "")


def test_a_refresh_keeps_the_focus_and_the_place_on_the_page(live_site, page, sign_in, alice, project, items):
    spread_fit(project, items)
    sign_in(alice)
    page.set_viewport_size({"width": 1000, "height": 400})
    watch(page, address(live_site, project))
    second = page.locator(f".rank-row[data-item='{items[1].pk}'] a").first
    second.focus()
    scrolled = page.evaluate("scrollY")
    assert scrolled > 0
    spread_fit(project, items[::-1])
    expect(page.locator(".rank-row .c-item").first).to_have_text("Text number 5")
    expect(page.locator(f".rank-row[data-item='{items[1].pk}'] a").first).to_be_focused()
    assert page.evaluate("scrollY") == scrolled
    page.get_by_text("How to read this").focus()
    spread_fit(project, items)
    expect(page.locator(".rank-row .c-item").first).to_have_text("Text number 0")
    expect(page.get_by_text("How to read this")).to_be_focused()
    page.get_by_label("Find an item").focus()
    page.evaluate("scrollBy(0, 40)")
    scrolled = page.evaluate("scrollY")
    spread_fit(project, items[::-1])
    expect(page.locator(".rank-row .c-item").first).to_have_text("Text number 5")
    expect(page.get_by_label("Find an item")).to_be_focused()
    assert page.evaluate("scrollY") == scrolled


def test_without_websockets_the_page_asks_by_itself(live_site, page, sign_in, alice, project, items):
    spread_fit(project, items)
    page.add_init_script(NO_WEBSOCKETS)
    sign_in(alice)
    page.goto(address(live_site, project))
    expect(page.locator("#live")).to_have_text("Checking every 5 s")
    spread_fit(project, items[::-1])
    expect(page.locator(".rank-row .c-item").first).to_have_text("Text number 5")


def test_who_loses_access_is_told(live_site, page, sign_in, vera, project, items, monkeypatch):
    monkeypatch.setattr("annotate.live.consumers.ACCESS_SECONDS", 0.1)
    spread_fit(project, items)
    sign_in(vera)
    watch(page, address(live_site, project))
    Membership.objects.filter(user=vera).delete()
    expect(page.locator("#live")).to_have_text("Reconnecting…")
    expect(page.locator("#live")).to_have_text("Not live: reload the page")


def test_progress_and_engine_follow_too(live_site, page, sign_in, alice, project, items):
    annotator = make_annotator(project, "Quiet Otter")
    make_labels(project, [annotator], 3, start=timezone.now())
    sign_in(alice)
    watch(page, address(live_site, project, "progress"))
    expect(page.locator("#progress .lead")).to_contain_text("3 answers count")
    make_labels(project, [annotator], 1, start=timezone.now())
    request_fit(project)
    expect(page.locator("#progress .lead")).to_contain_text("4 answers count")
    watch(page, address(live_site, project, "engine"))
    expect(page.locator("#engine .lead")).to_have_text("The first fit is being computed.")
    spread_fit(project, items)
    expect(page.locator("#engine .lead")).to_have_text("Fit 1 includes every answer so far.")
    FitState.objects.update(error="LinAlgError: singular", error_at=timezone.now(), attempts=1)
    expect(page.locator("#status")).to_contain_text("The last fit failed.")
    assert page.evaluate("window.neverReloaded")


def test_times_count_on(live_site, page, sign_in, alice, project, items):
    spread_fit(project, items, now=timezone.now() - timedelta(seconds=15))
    sign_in(alice)
    page.clock.install()
    page.goto(address(live_site, project))
    time = page.locator("#status time").first
    expect(time).to_have_text(re.compile(r"^[1-5]\d\ss ago$"))
    page.clock.fast_forward(45_000)
    expect(time).to_have_text(re.compile(r"^1\smin ago$"))


def test_sorting_is_shareable_and_the_back_button_works(live_site, page, sign_in, alice, project, items):
    spread_fit(project, items)
    sign_in(alice)
    watch(page, address(live_site, project))
    page.get_by_role("link", name="Score", exact=True).click()
    page.wait_for_url("**/?sort=-score")
    page.get_by_role("link", name="Score", exact=True).click()
    page.wait_for_url("**/?sort=score")
    expect(page.locator(".rank-row .c-item").first).to_have_text("Text number 5")
    expect(page.get_by_role("columnheader", name="Score", exact=True).first).to_have_attribute("aria-sort", "ascending")
    assert page.evaluate("window.neverReloaded")
    page.go_back()
    expect(page.locator(".rank-row .c-item").first).to_have_text("Text number 0")
    expect(page).to_have_url(re.compile(r"/\?sort=-score$"))
    expect(page.locator("#live")).to_have_text("Live")
    page.get_by_label("Find an item").fill("number 3")
    page.get_by_label("Find an item").press("Enter")
    expect(page.locator(".rank-row")).to_have_count(1)
    expect(page).to_have_url(re.compile(r"\?q=number%203&sort=-score$"))


def test_everything_works_without_javascript(live_site, open_page, sign_in, alice, project, items):
    Tag.objects.create(project=project, name="even").items.add(*items[::2])
    annotator = make_annotator(project, "Quiet Otter")
    make_labels(project, [annotator], 5)
    spread_fit(project, items)
    page = open_page(java_script_enabled=False)
    sign_in(alice, page=page)
    page.goto(address(live_site, project))
    expect(page.locator("#live")).to_be_hidden()
    page.get_by_label("Tag").select_option("even")
    page.get_by_role("button", name="Show", exact=True).click()
    assert titles(page) == ["Text number 0", "Text number 2", "Text number 4"]
    page.get_by_role("link", name="Place").click()
    assert titles(page) == ["Text number 4", "Text number 2", "Text number 0"]
    page.get_by_role("link", name="Plot").click()
    expect(page.locator("svg.forest-wide circle")).to_have_count(3)
    page.goto(address(live_site, project, "annotators"))
    page.get_by_role("link", name="Exclude Quiet Otter").click()
    page.get_by_label("Reason").fill("clicked at random")
    page.get_by_role("button", name="Exclude").click()
    expect(page.get_by_text("Quiet Otter is excluded").first).to_be_visible()
    page.get_by_role("button", name="Readmit Quiet Otter").click()
    expect(page.get_by_text("Quiet Otter is readmitted").first).to_be_visible()


def test_a_download_starts(live_site, page, sign_in, alice, project, items):
    spread_fit(project, items)
    sign_in(alice)
    page.goto(address(live_site, project, "exports"))
    with page.expect_download() as download:
        page.get_by_role("link", name="Ranking: CSV").click()
    assert download.value.suggested_filename == "convincing-arguments-ranking.csv"


# --- How it looks ----------------------------------------------------------------------------------------------------


def fill(project: Project, items: list[Item], state: str) -> None:
    if state == "nothing":
        return
    people = [make_annotator(project, name) for name in ("Quiet Otter", "Amber Heron")]
    people[1].excluded_at = timezone.now()
    people[1].save()
    make_labels(project, people, 30, start=timezone.now() - timedelta(hours=5), every=timedelta(minutes=9))
    make_labels(project, people, 2, voided_at=timezone.now(), void_reason="undone")
    Item.objects.filter(pk=items[0].pk).update(body="التعليم المجاني حق لكل طفل " * 20)
    Item.objects.filter(pk=items[1].pk).update(body="x" * 200)
    Tag.objects.create(project=project, name="a long tag " * 9).items.add(items[0])
    if state == "parts":
        rows = [(item, 1.0 - i, 0.4, 20) for i, item in enumerate(items)]
        fit = make_fit(project, [rows[:3], rows[3:5], [(items[5], 0.0, 2.0, 0)]])
    else:
        fit = spread_fit(project, items, sd=0.7, converged=False, message="stopped after 100 iterations")
        FitState.objects.update(wanted=90, error="LinAlgError: singular " * 9, error_at=timezone.now())
        Project.objects.update(simulated=True)
    estimate_annotator(fit, people[0])


@pytest.mark.parametrize("state", ["nothing", "parts", "trouble"])
def test_axe_finds_nothing_and_nothing_runs_off_the_page(
    live_site, open_page, sign_in, axe, alice, project, items, state
):
    fill(project, items, state)
    width = {"nothing": 820, "parts": 1440, "trouble": 390}[state]
    page = open_page(viewport={"width": width, "height": 900})
    sign_in(alice, page=page)
    for name, query in [("ranking", ""), ("ranking", "?view=plot&sort=nonsense"), ("annotators", ""), ("progress", ""),
                        ("engine", ""), ("exports", "")]:  # fmt: skip
        page.goto(address(live_site, project, name, query))
        expect(page.locator("#live")).to_have_text("Live")
        page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
        assert page.evaluate(SIDEWAYS) <= 0, f"{name} is wider than {width} px"
        axe(page, in_dark=True)


@pytest.mark.parametrize("width", [390, 1440])
def test_a_thousand_items_stay_quick_and_inside_the_page(live_site, open_page, sign_in, alice, project, items, width):
    many = Item.objects.bulk_create(Item(project=project, key=f"m{i}", body=f"Text {i} " * 9) for i in range(1000))
    spread_fit(project, many)
    page = open_page(viewport={"width": width, "height": 900})
    sign_in(alice, page=page)
    watch(page, address(live_site, project))
    assert page.evaluate(SIDEWAYS) <= 0
    expect(page.locator(".rank-row")).to_have_count(20)
    spread_fit(project, many[::-1])
    expect(page.locator(".rank-row .c-item").first).to_contain_text("Text 999")
    page.get_by_role("link", name="Next", exact=True).click()
    expect(page.locator(".rank-row .rank").first).to_have_text("21")
    assert page.evaluate("window.neverReloaded")
