"""What browser tests stand on: the site served for real, Debian's chromium, pages that fail on violations, axe.

    def test_it(live_site, page, sign_in, axe, alice):
        sign_in(alice)                                  # a session cookie, without the log-in page
        page.goto(f"{live_site}/projects/new/")         # live_site is the address, "http://127.0.0.1:port"
        expect(page.get_by_role("heading", level=1)).to_have_text("What do you want to rank?")
        axe(page)                                       # no violation of WCAG 2.2 A and AA and of good practice
        axe(page, in_dark=True)                         # nor one of its colours in the dark
        axe(page, in_light=False)                       # all but its light colours, which another size has shown
        axe(page, as_drawn=False)                       # of a very long page: nothing about colours and sizes

`page` fails the test on any violation of the content policy and on any uncaught JavaScript error. Pages of another
size, scheme or with touch: `open_page(viewport={"width": 390, "height": 844}, color_scheme="dark", has_touch=True)`
(every option of Playwright's new_context, `java_script_enabled=False` too). The policy forbids eval: use locators and
`expect` rather than `page.wait_for_function`. Data is made in the test through the ORM; the server sees it at once.
"""

import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvicorn
from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from django.conf import settings
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from annotate.asgi import application
from annotate.models import User
from tests.site.pages import signed_in

HERE = Path(__file__).parent
# The headless build opens a page in a quarter of the time, as it draws no window around it.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
# Pages live for a second: what V8 would compile better beside them is thrown away before it pays.
ONE_COMPILER = "--no-opt --no-maglev --single-threaded"
PATIENCE = 30_000  # milliseconds: a busy machine may take its time, which is not what these tests are about
AXE_RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
COLOUR_RULES = {"runOnly": ["color-contrast", "link-in-text-block"]}  # all that light and dark differ in
REPORT_VIOLATIONS = """
    document.addEventListener("securitypolicyviolation", (event) => console.error(
        "Content-Security-Policy: " + event.violatedDirective + " blocked " + (event.blockedURI || event.sample)));
"""
NO_COLOURS = {"rules": {name: {"enabled": False} for name in COLOUR_RULES["runOnly"]}}
# What is found by asking what is drawn at every point: on a page of 27,000 elements it takes twice as long as the rest.
NOT_DRAWN = {"rules": {name: {"enabled": False} for name in ["target-size", *COLOUR_RULES["runOnly"]]}}
# A colour on its way from one to another would be judged half-way.
SETTLE = """async () => {
    const frame = () => new Promise(requestAnimationFrame);
    await frame(); await frame();
    for (const animation of document.getAnimations())
        if (animation.effect.getComputedTiming().endTime !== Infinity) animation.finish();
    await frame(); await frame();
}"""

QUIET = {"resultTypes": ["violations"]}
# What is right stays in the browser: bringing all of it over takes as long as finding it.
LOOK = "(options) => axe.run(options).then(({ violations }) => ({ violations }))"

# Colours take two thirds of axe's time, and pages share a few. So axe is asked of two texts of each look that no page
# before has shown: its colours and size, and the backgrounds, links and opacities around it. What is laid over other
# things is always asked of.
LOOK_AT_COLOURS = """async ([options, seen]) => {
    const known = new Set(seen), counts = new Map(), include = [];
    const around = new Map();
    const surroundings = (element) => {
        if (!element) return {look: matchMedia("(prefers-color-scheme: dark)").matches + "|", laid: false};
        if (around.has(element)) return around.get(element);
        const above = surroundings(element.parentElement), style = getComputedStyle(element);
        const plain = style.backgroundColor === "rgba(0, 0, 0, 0)" && style.backgroundImage === "none"
            && style.opacity === "1" && style.filter === "none" && style.mixBlendMode === "normal";
        const own = plain ? "" : [style.backgroundColor, style.backgroundImage, style.opacity, style.filter,
            style.mixBlendMode].join();
        const link = element.closest("a[href]") === element ? "link" + style.textDecorationLine : "";
        const laid = above.laid || !["static", "relative"].includes(style.position);
        around.set(element, {look: above.look + own + link, laid});
        return around.get(element);
    };
    for (const element of document.querySelectorAll("body *")) {
        const texts = [...element.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
        if (!texts && !element.matches("input, select, textarea") || !element.checkVisibility()) continue;
        const {look, laid} = surroundings(element), style = getComputedStyle(element);
        const {color, fontSize, fontWeight, textShadow} = style;
        const words = [look, color, fontSize, fontWeight, textShadow, element.localName].join("|");
        const n = counts.get(words) ?? 0;
        counts.set(words, n + 1);
        if (laid || !known.has(words) && n < 2) include.push(element);
    }
    const {violations} = include.length ? await axe.run({include}, options) : {violations: []};
    return [{violations}, [...counts.keys()]];
}"""


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)


# Package scope: Playwright keeps an event loop in this thread, which tests elsewhere must not find.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("chromium is not on the PATH; on Debian: apt-get install chromium-headless-shell")
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Django refuses the ORM where a loop runs; this thread's loop only waits for the browser.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        expect.set_options(timeout=PATIENCE)
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", f"--js-flags={ONE_COMPILER}"],
        )
        yield browser
        browser.close()


@pytest.fixture
def live_site(browser, transactional_db) -> Iterator[str]:
    """The whole site, http and websocket, on a port of its own; its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application, lifespan="off", log_level="warning", ws="websockets-sansio"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(timeout=10)
    if thread.is_alive():
        server.force_exit = True
        thread.join(timeout=10)
    listener.close()


@pytest.fixture
def open_page(browser) -> Iterator[Callable[..., Page]]:
    """Opens pages in fresh contexts; afterwards fails the test for whatever went wrong in any of them."""
    problems: list[str] = []
    contexts = []

    def note_console(message: ConsoleMessage) -> None:
        if message.type == "error" and "Content" in message.text and "Policy" in message.text:
            problems.append(message.text)

    def open_one(**options) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        context.add_init_script(REPORT_VIOLATIONS)
        page = context.new_page()
        page.on("console", note_console)
        page.on("pageerror", lambda error: problems.append(str(error)))
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert not problems, "\n".join(problems)


@pytest.fixture
def page(open_page) -> Page:
    return open_page()


@pytest.fixture
def sign_in(page, live_site) -> Callable[..., None]:
    """`sign_in(user)` or, for another page than the fixture's, `sign_in(user, page=other)`."""

    def give_session(user: User, page: Page = page) -> None:
        name = settings.SESSION_COOKIE_NAME
        page.context.add_cookies([{"name": name, "value": signed_in(user).cookies[name].value, "url": live_site}])

    return give_session


@pytest.fixture(scope="session")
def axe() -> Callable[..., None]:
    seen: set[str] = set()

    def check(page: Page, *, in_light: bool = True, in_dark: bool = False, as_drawn: bool = True) -> None:
        page.evaluate(SETTLE)
        if not page.evaluate("'axe' in window"):
            page.evaluate(AXE_SCRIPT)
        report(page.evaluate(LOOK, AXE_RULES | (NO_COLOURS if as_drawn else NOT_DRAWN) | QUIET))
        if in_light and as_drawn:
            look_at_colours(page)
        if in_dark:
            page.emulate_media(color_scheme="dark")
            page.evaluate(SETTLE)
            look_at_colours(page)
            page.emulate_media(color_scheme="light")

    def look_at_colours(page: Page) -> None:
        found, looks = page.evaluate(LOOK_AT_COLOURS, [COLOUR_RULES | QUIET, list(seen)])
        report(found)
        seen.update(looks)

    def report(found: dict) -> None:
        results = AxeResults(found)
        assert not results.violations_count, results.generate_report()

    return check
