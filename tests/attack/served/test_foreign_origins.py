"""Other sites' pages in a member's browser: they change nothing, hear nothing and read nothing of a served site."""

import base64

import pytest

pytestmark = [pytest.mark.process, pytest.mark.slow]
FORM = "application/x-www-form-urlencoded"
HANDSHAKE = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
HANDSHAKE += ["Sec-WebSocket-Key: " + base64.b64encode(b"0123456789abcdef").decode()]


def upgrade(site, *headers: str) -> int:
    lines = [f"GET /ws/projects/{site.project}/ HTTP/1.1", f"Host: 127.0.0.1:{site.port}", *HANDSHAKE, *headers]
    return site.send(("\r\n".join(lines) + "\r\n\r\n").encode(), seconds=3).status


def test_a_socket_opens_for_a_members_own_page_alone(site):
    cookie, own = f"Cookie: sessionid={site.session}", f"Origin: http://127.0.0.1:{site.port}"
    assert upgrade(site, cookie, own) == 101
    for origin in (
        "http://evil.example",
        "null",
        "http://127.0.0.1.evil.example",
        "http://evil.example:127",
        "file://",
    ):
        assert upgrade(site, cookie, f"Origin: {origin}") == 403, origin
    assert upgrade(site, cookie) == 403, "a browser always says where a page is from"
    assert upgrade(site, own) in (101, 403), "closed at once, see tests/site/test_access.py"


@pytest.mark.parametrize(
    "headers", [[], ["Origin: http://evil.example"], ["Origin: null"], ["Referer: http://evil.example/"]]
)
def test_nothing_is_changed_without_the_token_against_forgery(site, headers):
    cookie, body = f"Cookie: sessionid={site.session}", b"name=Forged&question=Which"
    for target in ("/projects/new/", f"/projects/{site.project}/settings/", f"/projects/{site.project}/delete/"):
        assert site.post(target, body, FORM, cookie, *headers).status == 403, target
    # Forms can be sent by any site's pages, as these three kinds, and the API is no way around.
    for kind in (FORM, "text/plain", "multipart/form-data; boundary=x", "application/json"):
        answer = site.post("/api/v1/projects/", b'{"name": "Forged", "question": "Which?"}', kind, cookie, *headers)
        assert answer.status in (403, 415), kind
    assert b"Forged" not in site.as_owner("/").body


def test_no_answer_may_be_read_by_another_site(site):
    for target in ("/", "/api/schema/", "/api/v1/projects/", f"/projects/{site.project}/", f"/join/{site.join_token}/"):
        answer = site.get(target, "Origin: http://evil.example", f"Cookie: sessionid={site.session}")
        shared = [name for name in answer.headers if name.lower().startswith("access-control-")]
        assert shared == [], target
