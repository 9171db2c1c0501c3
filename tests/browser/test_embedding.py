"""A player of an allowed site plays inside an item; the page's policy keeps every other frame out."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from annotate.models import Item
from tests.browser.annotating import come_in
from tests.load.database import ROOT


class Elsewhere(BaseHTTPRequestHandler):
    """Another site: a page that says which it is, and can lead its own frame away."""

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Referer")))
        body = b"<!doctype html><title>Player</title><p>I play.</p><button>Top</button><a href=%s>Away</a>"
        body += b"<script>document.querySelector('button').onclick = () => { top.location = '/taken' }</script>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(body % self.server.leads_to.encode())

    def log_message(self, *args) -> None:
        """The test looks at `asked`."""


@pytest.fixture
def sites() -> Iterator[list[ThreadingHTTPServer]]:
    """Two other sites on 127.0.0.1, the first of which links to the second."""
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) for _ in range(2)]
    for server in servers:
        server.asked, server.leads_to = [], f"https://{host(servers[1])}/away"
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield servers
    for server in servers:
        server.shutdown()
        server.server_close()


def host(server: ThreadingHTTPServer) -> str:
    return f"127.0.0.1:{server.server_port}"


def allow(settings, *hosts: str) -> None:
    """As if the site had been started with these, policy and all."""
    code = (
        "import json; from annotate import settings as s; print(json.dumps([s.EMBED_HOSTS, s.CONTENT_SECURITY_POLICY]))"
    )
    env = {**os.environ, "DEBUG": "true", "EMBED_HOSTS": ",".join(hosts)}
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, check=True, capture_output=True, text=True)
    settings.EMBED_HOSTS, settings.CONTENT_SECURITY_POLICY = json.loads(run.stdout)


def open_with_tls(browser: Browser) -> tuple[Page, list[str]]:
    """A page to which those sites speak https, and what its policy blocks."""
    page, blocked = browser.new_context().new_page(), []
    page.on("console", lambda message: blocked.append(message.text) if "Policy" in message.text else None)

    def in_the_clear(route: Route) -> None:
        route.fulfill(response=route.fetch(url=route.request.url.replace("https:", "http:")))

    page.route("https://127.0.0.1:*/**", in_the_clear)
    return page, blocked


def test_an_allowed_player_plays_and_no_other_frame_is_let_in(live_site, browser, project, settings, sites):
    allowed, other = sites
    allow(settings, host(allowed))
    project.items.all().delete()
    for n, server in enumerate(sites):
        link = f"https://{host(server)}/video/{n}"
        Item.objects.create(project=project, key=f"{n}", kind="link", body=f"Video {n}", link=link)
    page, blocked = open_with_tls(browser)
    try:
        come_in(page, live_site, project)
        frames = page.locator("iframe.item-embed")
        expect(frames).to_have_count(1)  # the other one is a link
        expect(page.get_by_role("link", name="Video 1")).to_be_visible()
        player = page.frame_locator("iframe.item-embed")
        expect(player.get_by_text("I play.")).to_be_visible()
        assert allowed.asked == [("/video/0", f"{live_site}/")]  # of us it learns the site, not the task
        assert blocked == []

        task = page.url
        player.get_by_role("button", name="Top").click()  # it can't lead the task away
        player.get_by_role("link", name="Away").click()  # nor itself to a site that is not allowed
        expect(player.get_by_text("I play.")).to_have_count(0)
        assert any("frame-src" in text and host(other) in text for text in blocked)
        assert page.url == task
        page.evaluate(
            """(address) => { const frame = document.createElement("iframe"); frame.src = address;
                frame.id = "forged"; document.body.append(frame); }""",
            f"https://{host(other)}/forged",
        )
        expect(page.frame_locator("#forged").get_by_text("I play.")).to_have_count(0)
        page.wait_for_timeout(300)
        assert other.asked == []
        page.get_by_role("button", name="A is better").click()
        expect(page.get_by_role("button", name="Undo")).to_be_visible()
    finally:
        page.context.close()
