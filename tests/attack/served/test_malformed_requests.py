"""Requests that no browser sends, to a served site with DEBUG off: refused in a word, and nothing is told or set.

Two requests in one, headers in addresses, bodies that never fit, nested or repeated without end.
"""

import json
import time

import pytest

from tests.attack.served.site import Answer, Served, told
from tests.pace import is_within

pytestmark = [pytest.mark.process, pytest.mark.slow]
REFUSED = (0, 400, 403, 404, 405, 408, 411, 413, 414, 415, 422, 431, 501, 505)
FORM = "application/x-www-form-urlencoded"
LOGIN = "/accounts/login/"


def check(answer: Answer, statuses=REFUSED) -> None:
    assert answer.status in statuses, (answer.status, answer.body[:300])
    assert told(answer) == []
    assert "evil" not in str(answer.headers)


def start(site: Served, line: str = f"GET {LOGIN} HTTP/1.1", *headers: str) -> bytes:
    return "\r\n".join([line, f"Host: 127.0.0.1:{site.port}", "Connection: close", *headers, "", ""]).encode()


BODIES = {
    "two lengths": ["Content-Length: 3", "Content-Length: 40"],
    "a length and chunks": ["Content-Length: 3", "Transfer-Encoding: chunked"],
    "chunks in disguise": ["Transfer-Encoding: xchunked", "Content-Length: 3"],
    "chunks twice": ["Transfer-Encoding: identity, chunked", "Content-Length: 3"],
    "a length below zero": ["Content-Length: -1"],
    "a length that is none": ["Content-Length: three"],
    "a length with a sign": ["Content-Length: +3"],
    "an endless length": ["Content-Length: " + "9" * 40],
}


@pytest.mark.parametrize("how", BODIES)
def test_one_request_is_never_two(site, how):
    """What follows the body, as one side or the other reads it, is answered as no request of its own."""
    hidden = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n\r\n"
    for body in (f"0\r\n\r\n{hidden}", f"abc{hidden}"):
        head = f"POST {LOGIN} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\n" + "\r\n".join(BODIES[how]) + "\r\n\r\n"
        answer = site.send((head + body).encode(), seconds=5)
        check(answer)
        assert b"HTTP/1.1 200" not in answer.rest


@pytest.mark.parametrize("size", ["zz", "-1", "ffffffffffffffffffff", "5;" + "a" * 70_000, "0x5", ""])
def test_chunks_of_no_size_are_refused(site, size):
    head = start(site, f"POST {LOGIN} HTTP/1.1", "Transfer-Encoding: chunked")
    check(site.send(head + f"{size}\r\nhello\r\n0\r\n\r\n".encode(), seconds=5))


LINES = [
    *("TRACE / HTTP/1.1", "CONNECT evil.example:443 HTTP/1.1", "PROPFIND / HTTP/1.1", "X" * 5000 + " / HTTP/1.1"),
    *("GET / HTTP/9.9", "GET /", "GET  / HTTP/1.1", "G\0T / HTTP/1.1", "GET /\x01 HTTP/1.1", "PRI * HTTP/2.0"),
    *("GET /" + "a" * 100_000 + " HTTP/1.1", "OPTIONS * HTTP/1.1", "GET http://evil.example/ HTTP/1.1"),
]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[:20].replace("\0", "0").replace("\x01", "1"))
def test_lines_that_are_no_request(site, line):
    answer = site.send(start(site, line), seconds=5)
    # A host in the line itself is not the site's name: it answers as itself.
    check(answer, (*REFUSED, 200, 302))


@pytest.mark.parametrize(
    "header",
    [
        *("X-Long: " + "a" * 200_000, "X-Zero: a\0b", "X-Bare: a\rSet-Cookie: evil=1", "no colon", ": no name"),
        *("Cookie: " + "a=b; " * 20_000, "Host: evil.example", "Content-Type: " + "a/" * 20_000),
        *(" folded: a\r\n b", "Accept-Language: " + "de;q=0.1," * 20_000, "Range: bytes=" + "0-1," * 20_000),
        *("Cookie: sessionid=" + "a" * 60_000, "If-None-Match: " + '"a",' * 20_000, "Accept: " + "a/b;q=x," * 20_000),
    ],
    ids=lambda header: header[:14].replace("\0", "0").replace("\r", ""),
)
def test_headers_without_end_or_sense(site, header):
    started = time.monotonic()
    check(site.send(start(site, f"GET {LOGIN} HTTP/1.1", header), seconds=20), (*REFUSED, 200))
    assert is_within(time.monotonic() - started, 20, time.monotonic)


@pytest.mark.parametrize(
    "host", ["", "evil.example", "127.0.0.1@evil.example", "127.0.0.1.evil.example", "127.0.0.1:80:evil"]
)
def test_another_host_is_refused(site, host):
    request = f"GET {LOGIN} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    check(site.send(request.encode()), (0, 400))


def test_forwarding_headers_change_nothing_without_a_proxy(site):
    told_so = [
        "X-Forwarded-Host: evil.example",
        "X-Forwarded-Proto: https",
        "X-Forwarded-Port: 1",
        "X-Host: evil.example",
    ]
    told_so += [
        "Forwarded: host=evil.example;proto=https;for=1.2.3.4",
        "X-Original-URL: /admin/",
        "X-Rewrite-URL: /admin/",
    ]
    answer = site.get(
        "/projects/new/", *told_so, "X-HTTP-Method-Override: DELETE", "X-Script-Name: /evil", "SCRIPT_NAME: /evil"
    )
    assert b"evil" not in answer.body
    assert "evil" not in str(answer.headers)
    assert answer.status in (301, 302, 404)


@pytest.mark.parametrize("mark", ["%0d%0a", "%0a", "%0d", "%E5%98%8A%E5%98%8D", "\\r\\n", "%00%0a"])
def test_no_header_is_written_by_an_address(site, mark):
    for target in (
        f"{LOGIN}?next=/{mark}Set-Cookie:%20evil=1",
        f"/{mark}Set-Cookie:%20evil=1",
        f"/join/{site.join_token}{mark}Location:%20evil",
        f"/projects/{site.project}?x={mark}Set-Cookie:evil=1",
        f"/accounts/logout{mark}evil=1",
    ):
        answer = site.as_owner(target)
        assert "evil" not in [name.lower() for name in answer.headers]
        assert "evil=1" not in " ".join(answer.headers.get_all("Set-Cookie") or [])
        assert answer.status < 500


def parts(n: int, name: str, boundary: str = "x") -> bytes:
    one = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\na\r\n'
    return (one * n + f"--{boundary}--\r\n").encode()


MULTIPART = {
    "a boundary of a megabyte": ("x" * 2**20, b"--x--"),
    "no boundary": ("", parts(1, "login")),
    "a boundary that never ends": ("x", b"--x\r\n" + b"--x-" * 200_000),
    "dashes without end": ("x", b"-" * 2**20),
    "parts without end": ("x", parts(20_000, "a")),
    "a name of a megabyte": ("x", parts(1, "a" * 2**20)),
    "a file name of a megabyte": (
        "x",
        b'--x\r\nContent-Disposition: form-data; name="f"; filename="' + b"a" * 2**20 + b'"\r\n\r\na\r\n--x--\r\n',
    ),
    "headers without end": ("x", b"--x\r\n" + b"A: b\r\n" * 100_000 + b"\r\na\r\n--x--\r\n"),
    "coded twice over": (
        "x",
        b'--x\r\nContent-Disposition: form-data; name="f"\r\nContent-Transfer-Encoding: base64\r\n\r\n'
        + b"=" * 2**20
        + b"\r\n--x--\r\n",
    ),
}


@pytest.mark.parametrize("how", MULTIPART)
def test_forms_in_parts_without_end(site, how):
    boundary, body = MULTIPART[how]
    started = time.monotonic()
    answer = site.post(LOGIN, body, f"multipart/form-data; boundary={boundary}")
    check(answer)
    assert is_within(time.monotonic() - started, 20, time.monotonic)
    assert site.get("/healthz").status in (200, 503), "it goes on"


JSON = {
    "nested": b"[" * 200_000,
    "nested objects": b'{"a":' * 100_000,
    "a number of many digits": b'{"name": ' + b"9" * 200_000 + b"}",
    "not a number": b'{"overlap": NaN, "name": Infinity}',
    "half a character": b'{"name": "\\ud800", "question": "\\udc00"}',
    "a zero": b'{"name": "a\\u0000b", "question": "q"}',
    "other bytes": b'{"name": "\xff\xfe"}',
    "the same key again": b'{"name": "a", "name": {"a": 1}}',
    "nothing": b"",
    "a list": b"[1, 2]",
    "a text": b'"a"',
    "two": b"{}{}",
    "a mark of the order of bytes": b"\xef\xbb\xbf{}",
    "many keys": json.dumps({f"k{n}": n for n in range(100_000)}).encode(),
}


@pytest.mark.parametrize("how", JSON)
def test_json_that_is_none_or_never_ends(site, how):
    for target in ("/api/v1/projects/", f"/api/v1/projects/{site.project}/items/"):
        answer = site.post(target, JSON[how], "application/json", f"Authorization: Bearer {site.secret}")
        check(answer, (400, 413, 422))
        assert len(answer.body) < 20_000
    assert site.post("/api/v1/projects/", b"{}", "text/plain").status in (401, 415)


def test_a_page_that_is_not_there_says_nothing_of_the_site(site):
    for target in ("/nothing/", "/api/v1/nothing/", "/admin/nothing/", "/static/nothing.css", "/projects/x/"):
        answer = site.get(target)
        assert answer.status in (302, 404)
        for word in (b"DEBUG", b"urlpatterns", b"URLconf", b"Django", b"uvicorn", b"Python"):
            assert word not in answer.body, target
        assert "uvicorn" not in str(answer.headers).lower()


def test_every_page_forbids_frames_guessing_and_foreign_code(site):
    for target in (LOGIN, "/nothing/", "/", f"/projects/{site.project}/", f"/join/{site.join_token}/", "/api/docs/"):
        headers = site.as_owner(target).headers
        assert headers["X-Content-Type-Options"] == "nosniff", target
        assert headers["Content-Security-Policy"], target
        assert "'unsafe-inline'" not in headers["Content-Security-Policy"], target
        assert headers["X-Frame-Options"] == "DENY", target
        assert headers["Referrer-Policy"], target
