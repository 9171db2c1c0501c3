"""The vote in a frame on another site's page, in a real browser that blocks other sites' cookies."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

from annotate.models import Label, Project


@pytest.fixture
def other_site() -> Iterator[tuple[str, dict[str, str]]]:
    """A page of another origin, its address and what stands in it."""
    held = {"html": ""}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f"<!doctype html><title>Town</title><h1>Our town</h1>{held['html']}".encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://localhost:{server.server_port}", held
    server.shutdown()
    server.server_close()


def test_people_answer_in_a_frame_and_only_where_allowed(live_site, open_page, other_site, project):
    address, held = other_site
    held["html"] = f'<iframe src="{live_site}/embed/new/join/{project.join_token}/" title="Vote" height="800"></iframe>'
    Project.objects.filter(pk=project.pk).update(embed_origins=[address])
    page = open_page()
    page.goto(address)
    frame = page.frame_locator("iframe")
    frame.locator("form.card button.button-primary").click()
    expect(frame.locator(".pair-question")).to_have_text("Which argument is more convincing?")
    frame.locator("button[name=answer][value=a]").click()
    expect(frame.locator(".pair-progress")).to_contain_text("1 answered")
    assert Label.objects.filter(project=project, voided_at=None).count() == 1
    assert not page.context.cookies()
    Project.objects.filter(pk=project.pk).update(embed_origins=["https://www.example.org"])
    refused = page.context.new_page()
    refused.goto(address)
    expect(refused.frame_locator("iframe").locator("form.card")).to_have_count(0)
