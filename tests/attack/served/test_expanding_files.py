"""Small files that unfold without end, sent to every page and operation that takes a file, on a served site.

Each is refused in words, or waits for the engine, whose jobs have limits of their own (tests/attack/test_bombs.py);
the web process neither computes for long nor holds more memory than an honest file takes.
"""

import gzip
import html
import json
import time
from collections.abc import Callable
from functools import cache

import pytest

from tests.attack import bombs
from tests.attack.served.site import Answer, Served, told
from tests.pace import is_within
from tests.site.documents import docx
from tests.site.imports.test_workbooks import OTHERS, xlsx

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.embedded]
MEGABYTES, SECONDS = 150, 8  # more than before one request, with room for a busy machine
BOOK = xlsx(A=OTHERS)
DEEP = 200_000

PICTURES: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "a PNG of a billion pixels": ("a.png", lambda: bombs.png(30_000, 30_000), "the limit of 25 megapixels"),
    "a PNG of 30 million": ("a.png", lambda: bombs.png(6_000, 5_000), "the limit is 25 megapixels"),
    "a PNG with a long text": ("a.png", lambda: bombs.png(9, 9, bombs.long_text()), "damaged"),
    "a PNG with a long profile": ("a.png", lambda: bombs.png(9, 9, bombs.long_profile()), ""),
    "a JPEG of 100,000 scans": ("a.jpg", lambda: bombs.jpeg(100_000), "scans; the limit is 100"),
    "a WebP of 268 million pixels": ("a.webp", lambda: bombs.webp(16_383, 16_383), ""),
    "a GIF of 4 billion pixels": ("a.gif", lambda: bombs.gif(65_535, 65_535, 1), "megapixels"),
    "a GIF of 200,000 frames": ("a.gif", lambda: bombs.gif(10, 10, 200_000), "animated"),
}


def held(site: Served, target: str, secret: str = "", *, statuses=(200, 302, 400, 422), **fields) -> str:
    """The words of the answer, which came in time and cost no memory, and of the page that it leads to."""
    before, started = site.memory(), time.monotonic()
    answer = site.upload(target, secret, **fields)
    assert answer.status in statuses, (answer.status, answer.body[:500])
    if answer.status == 302:
        answer = site.as_owner(answer.location)
        assert answer.status == 200
    return checked(site, answer, before, started)


def checked(site: Served, answer: Answer, before: int, started: float) -> str:
    assert is_within(time.monotonic() - started, SECONDS, time.monotonic)
    assert site.memory() - before < MEGABYTES
    assert told(answer) == []
    return html.unescape(answer.body.decode())


def hand_in(site: Served, kind: str, name: str, content: bytes) -> str:
    """What the API says of a file to import; where it takes it, the import is stopped at once."""
    target = f"/api/v1/projects/{site.project}/imports/"
    said = held(site, target, site.secret, statuses=(201, 202, 400, 422), kind=kind, file=(name, content))
    if number := json.loads(said).get("id"):
        assert site.upload(f"{target}{number}/stop/", site.secret).status == 200
    return json.dumps(json.loads(said), ensure_ascii=False)


@pytest.fixture(scope="module", autouse=True)
def warm(site):
    """What an honest file takes is taken before: modules, arenas."""
    target = f"/projects/{site.project}/items/import/"
    assert "Cleo" in held(site, target, way="file", file=("a.xlsx", BOOK))
    sent = {"way": "pictures", "context": "", "pictures": ("a.png", bombs.png(4_000, 6_000))}
    assert site.upload(target, "", **sent).status == 302


@cache
def book(method: int) -> bytes:
    return bombs.understated(BOOK, "xl/workbook.xml", method)


@cache
def packed_blanks(before: bytes, after: bytes = b"") -> bytes:
    """256 megabytes of blanks between the two, packed once for all tests: that takes seconds."""
    return gzip.compress(before + b" " * 2**28 + after)


@pytest.mark.parametrize("method", bombs.METHODS)
def test_a_workbook_with_a_part_longer_than_stated(site, method):
    content, project = book(bombs.METHODS[method]), f"/projects/{site.project}/"
    assert len(content) < 2**20
    for target in ("items/import/", "comparisons/import/", "given-questions/import/"):
        said = held(site, project + target, way="file", file=("class.xlsx", content))
        assert "can't be read as a workbook" in said, target
    for kind in ("items", "comparisons", "questions"):
        assert "can't be read as a workbook" in hand_in(site, kind, "class.xlsx", content), kind


@pytest.mark.parametrize("how", PICTURES)
def test_a_picture_that_unfolds_or_never_ends(site, how):
    name, make, words = PICTURES[how]
    file = (name, make())
    sent = {"way": "pictures", "context": "", "pictures": file}
    assert words in held(site, f"/projects/{site.project}/items/import/", **sent)
    target = f"/api/v1/projects/{site.project}/items/files/"
    assert words in held(site, target, site.secret, statuses=(201, 400, 422), file=file, key=how)


def test_archives_wait_for_the_engine_unopened(site):
    """Of a zip file the web process looks at the first bytes alone."""
    for archive in (bombs.honest("a.png", 256), bombs.overlapping(9_000, 10), book(bombs.METHODS["LZMA"])):
        hand_in(site, "media", "a.zip", archive)
        target = f"/projects/{site.project}/items/import/"
        page = held(site, target, statuses=(302,), way="archive", archive=("a.zip", archive))
        assert "Waiting to be checked" in page
        stop_imports(site)


def stop_imports(site: Served) -> None:
    target = f"/api/v1/projects/{site.project}/imports/"
    listed = site.get(target, f"Authorization: Bearer {site.secret}")
    for one in json.loads(listed.body)["results"]:
        site.upload(f"{target}{one['id']}/stop/", site.secret)


def test_documents_are_packed_for_the_engine_unopened(site):
    content = bombs.understated(docx("Cats"), "word/document.xml", bombs.METHODS["bzip2"])
    target = f"/projects/{site.project}/items/import/"
    assert "Waiting to be checked" in held(site, target, way="documents", documents=("a.docx", content))
    stop_imports(site)


def test_packed_tables_are_unpacked_up_to_the_limit_and_once(site):
    packed = packed_blanks(b"key,text\n")
    for content, said in ((packed, "unpacks to more than 50"), (gzip.compress(packed), "not a text file")):
        for name in ("a.csv", "a.csv.gz", "a.json", "a.txt"):
            target = f"/projects/{site.project}/items/import/"
            assert said in held(site, target, way="file", file=(name, content)), name
            assert said in hand_in(site, "items", name, content), name


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "gzip, gzip", "x-gzip"])
def test_a_packed_request_is_never_unpacked(site, coding):
    """It is read as the bytes that it is, which are no JSON and no form."""
    packed = packed_blanks(b'{"name": "', b'"}')
    headers = (f"Authorization: Bearer {site.secret}", f"Content-Encoding: {coding}")
    for kind in ("application/json", "application/x-www-form-urlencoded"):
        before, started = site.memory(), time.monotonic()
        answer = site.post("/api/v1/projects/", packed, kind, *headers)
        assert answer.status in (400, 415, 422), kind
        checked(site, answer, before, started)


DEEP_JSON = {
    "lists": "[" * DEEP + "]" * DEEP,
    "lists without end": "[" * DEEP,
    "objects": '{"a":' * DEEP + "1" + "}" * DEEP,
    "in a field": '{"name": ' + "[" * DEEP + "]" * DEEP + "}",
    "a number of a million digits": '{"name": ' + "9" * 10**6 + "}",
    "a number beyond all": '{"name": 1e' + "9" * 10**5 + "}",
}


@pytest.mark.parametrize("how", DEEP_JSON)
def test_deep_json_is_refused(site, how):
    body = DEEP_JSON[how].encode()
    before, started = site.memory(), time.monotonic()
    answer = site.post("/api/v1/projects/", body, "application/json", f"Authorization: Bearer {site.secret}")
    assert answer.status in (400, 422), answer.body[:300]
    checked(site, answer, before, started)
    for name, content in (("a.json", b"[" + body + b"]"), ("a.jsonl", body)):
        held(site, f"/projects/{site.project}/items/import/", way="file", file=(name, content))
        hand_in(site, "items", name, content)


def test_a_matrix_that_claims_more_than_it_has(site):
    """NumPy's header with a shape of a billion rows: the engine compares it with the file's size."""
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000), }"
    content = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + header.ljust(117) + b"\n" + bytes(800)
    held(site, f"/projects/{site.project}/items/features/", file=("a.npy", content), called="f")
    stop_imports(site)
