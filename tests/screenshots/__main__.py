"""Takes the pictures of docs/images/ from a demo of its own: `make screenshots`, or `python -m tests.screenshots`."""

import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Page, sync_playwright

from annotate.client import ApiError, Client
from tests.load.servers import Process, free_port, wait_until_it_answers
from tests.screenshots.square import N_ANSWERS, N_PEOPLE, PROPOSALS, QUESTION, key_of, write_answers

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
MAX_BYTES = 300_000
OWNER = "owner@example.org"
IDEAS = "Ideas for our town"
SQUARE = "The empty square (simulated)"
DESKTOP: dict[str, Any] = {"viewport": {"width": 1400, "height": 860}}
NARROW: dict[str, Any] = {"viewport": {"width": 680, "height": 860}}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "has_touch": True,
    "is_mobile": True,
}
SCHEMES: list[Literal["light", "dark"]] = ["light", "dark"]
PATIENCE = 600.0  # seconds until the demo answers, and until fits and the taste map are there, on a busy machine


def main() -> int:
    """Returns 1 where a picture is larger than allowed."""
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if chromium is None:
        print("No chromium on the PATH. On Debian: apt-get install chromium-headless-shell", file=sys.stderr)
        return 1
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, running_demo(Path(folder)) as (url, password), sync_playwright() as p:
        browser = p.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        state = sign_in(browser, url, password)
        client = Client(url, make_token(browser, url, state))
        ideas = next(project["id"] for project in client.projects() if project["name"] == IDEAS)
        for project in list(client.projects()):  # the map is drawn only while no fit waits
            client.set_state(project["id"], "paused")
        square = make_square(client, Path(folder))
        wait_for(lambda: has_taste_map(client, square), "the taste map")
        with opened(browser, f"{url}/projects/{square}/", storage_state=state, **DESKTOP) as page:
            take_pictures(page, "ranking")
        with opened(browser, f"{url}/projects/{square}/tastes/", storage_state=state, **NARROW) as page:
            page.locator("section:has(svg.taste-map)").evaluate("map => scrollTo(0, map.offsetTop - 16)")
            take_pictures(page, "tastes")
        client.set_state(ideas, "open")
        with opened(browser, client.entry(ideas)["join_link"], **PHONE) as page:
            start_answering(page)
            take_pictures(page, "task-phone")
        browser.close()
    return check_sizes()


@contextmanager
def running_demo(folder: Path) -> Iterator[tuple[str, str]]:
    """The demo in a folder of its own, with its address and the owner's password."""
    port, password = free_port(), secrets.token_urlsafe(16)
    env = {**os.environ, "DEMO_FOLDER": str(folder), "DEMO_PASSWORD": password}
    demo = Process([sys.executable, "manage.py", "demo", "--port", str(port)], env, folder / "demo.log").start()
    try:
        wait_until_it_answers(port, PATIENCE)
        yield f"http://127.0.0.1:{port}", password
    finally:
        demo.stop()


def sign_in(browser: Browser, url: str, password: str) -> Any:
    """Signs the owner in and returns the cookies."""
    with opened(browser, f"{url}/accounts/login/") as page:
        page.locator("[name=login]").fill(OWNER)
        page.locator("[name=password]").fill(password)
        page.locator("main form button").first.click()
        page.wait_for_url(f"{url}/")
        return page.context.storage_state()


def make_token(browser: Browser, url: str, state: Any) -> str:
    with opened(browser, f"{url}/account/tokens/", storage_state=state) as page:
        page.locator("[name=name]").fill("screenshots")
        page.locator("[name=scopes][value=write]").check()
        page.locator("form button.button-primary").click()
        return page.locator("#new-token").input_value()


def make_square(client: Client, folder: Path) -> str:
    """Makes a project whose annotators fall into two camps, and returns its id."""
    project: str = client.create_project(SQUARE, QUESTION, estimator="CollaborativeGP")["id"]
    client.add_items(project, [{"key": key_of(n), "text": text} for n, (text, _, _) in enumerate(PROPOSALS)])
    write_answers(folder / "answers.csv")
    with (folder / "answers.csv").open("rb") as file:
        started = client.start_import(project, "comparisons", file, at_once=True)
    done = client.wait_for_import(project, started["id"])
    if done["state"] != "done":
        raise RuntimeError(f"The import ended as {done['state']}: {done['problems']}")
    client.set_state(project, "open")
    return project


def has_taste_map(client: Client, project: str) -> bool:
    """Whether there is a map that counts every answer."""
    try:
        rows = client.tastes(project)["results"]
    except ApiError as error:
        if error.status == 404:
            return False
        raise
    return sum(row["n_labels"] for row in rows) == N_PEOPLE * N_ANSWERS


def start_answering(page: Page) -> None:
    """From the join page to the first task."""
    page.locator("[name=pseudonym]").fill("Robin")
    page.locator("main form button.button-primary").first.click()
    page.locator("#answer").wait_for()


def wait_for(found: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not found():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come within {PATIENCE:.0f} seconds.")
        time.sleep(1.0)


@contextmanager
def opened(browser: Browser, address: str, **options: Any) -> Iterator[Page]:
    context = browser.new_context(**options)
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.goto(address)
    try:
        yield page
    finally:
        context.close()


def take_pictures(page: Page, name: str) -> None:
    """Takes one picture by day and one by night."""
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        file = IMAGES / f"{name}-{scheme}.png"
        page.screenshot(path=file, animations="disabled")
        print(f"{file.relative_to(ROOT)}: {file.stat().st_size // 1000} kB", flush=True)


def check_sizes() -> int:
    large = [file.name for file in IMAGES.glob("*.png") if file.stat().st_size > MAX_BYTES]
    for name in large:
        print(f"docs/images/{name} is larger than {MAX_BYTES // 1000} kB.", file=sys.stderr)
    return int(bool(large))


if __name__ == "__main__":
    sys.exit(main())
