"""A budget of CPU for whatever reads what people send: texts that repeat themselves must not take it long."""

import io
import zipfile
from xml.etree import ElementTree

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from annotate.core.chat import render_chat
from annotate.core.code_colours import LANGUAGES, render_code
from annotate.core.errors import UserError
from annotate.core.sanitizing import render_markdown, sanitize_html, strip_tags
from annotate.files.decoding import decode
from annotate.files.layout import guess_columns, guess_layout, read_sheet
from annotate.files.limits import Unusable
from annotate.imports.comparisons import lists, tools
from annotate.imports.media.archives import check_is_zip, files_in, opened
from annotate.imports.questions.dialogues import split_dialogues
from annotate.items.captions.webvtt import checked_text
from annotate.items.media.images import read_picture
from tests.attack.cpu import limited_cpu
from tests.budget import examples
from tests.conftest import make_token

pytestmark = [pytest.mark.embedded, pytest.mark.slow]
LENGTH = 40_000
SECONDS = 2.0  # of CPU, for so many characters; what is linear takes some hundredths

# Pieces that open, close, quote, escape, mark, indent or divide something in some format.
PIECES = [
    *list("()[]{}<>\"'`*_~#|\\$&;:,.!-+=/@%^ \n\t\r0aA\xa0é"),
    "\n\n",
    "\r\n",
    "**",
    "__",
    "~~",
    "```",
    "~~~",
    "$$",
    "\\(",
    "\\[",
    "\\{",
    "\\frac",
    "\\left(",
    "![",
    "](",
    "[a](",
    "<a",
    "<!--",
    "-->",
    "<![CDATA[",
    "</",
    "<b>",
    "<p>",
    "<br>",
    "<table><tr><td>",
    "&amp;",
    "&#x3c;",
    "* ",
    "> ",
    "1. ",
    "    ",
    "| a |\n|---|\n",
    "|-|",
    "---\n",
    "===\n",
    "00:00.000 --> 00:01.000\n",
    "WEBVTT\n",
    '""',
    '","',
    '{"a":',
    '[{"',
    "\\u0000",
    "# ALTERNATIVE NAME 1: a\n",
    "1: {1,2},3\n",
    "1, 2",
    "(1, ",
    "Human: ",
    "\n\nHuman:",
    "sep=;\n",
    "http://a.b/",
    "\ufeff",
]
REPEATED = st.tuples(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join), st.integers(1, LENGTH))


def pumped(parts: list[tuple[str, int]]) -> str:
    return "".join((piece * n)[: LENGTH // len(parts)] for piece, n in parts)


TEXTS = st.lists(REPEATED, min_size=1, max_size=3).map(pumped) | REPEATED.map(lambda one: (one[0] * LENGTH)[:LENGTH])


def read_table(text: str) -> None:
    for name in ("a.csv", "a.json", "a.jsonl", "a.txt"):
        layout = guess_layout(text, name)
        guess_columns(text, layout)
        for row in read_sheet(text, layout).rows:
            assert row.place


def read_lists(text: str) -> None:
    lists.looks_like_orders(text, "")
    lists.looks_like_indices(text)
    for row in lists.indices(text).rows:
        assert row.place
    for row in lists.orders(text).rows:
        assert row.place


READERS = {
    "markdown": render_markdown,
    "html": sanitize_html,
    "words of html": strip_tags,
    "chat": render_chat,
    "captions": checked_text,
    "table": read_table,
    "lists": read_lists,
    "two texts": tools.lettered,
    "dialogues": lambda text: split_dialogues([text, text]),
    "encoding": lambda text: decode(text.encode("utf-16"), "a.csv"),
}


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=examples(30))
@given(text=TEXTS)
def test_no_text_takes_long_to_read(name, text):
    with limited_cpu(SECONDS):
        try:
            READERS[name](text)
        except (UserError, Unusable, ValueError):
            pass  # refused, soon enough


@pytest.mark.parametrize("language", sorted(LANGUAGES))
@settings(max_examples=examples(6))
@given(text=TEXTS)
def test_no_code_takes_long_to_colour(language, text):
    with limited_cpu(SECONDS):
        render_code(text[:20_000], language)


# Found by trying every piece alone: the parser's formulas and the lexer of C took time with the square of the length.
@pytest.mark.parametrize("piece", ["\\(", "\\[", "![", "$"])
def test_markdown_of_one_piece_again_and_again(piece):
    with limited_cpu(SECONDS):
        assert piece[-1] in strip_tags(render_markdown((piece * LENGTH)[:LENGTH]))


@pytest.mark.parametrize("piece", ["/", "//", "\n", "\r\n"])
def test_code_of_one_piece_again_and_again(piece):
    """Nothing of it is lost where the time is up."""
    code = (piece * 10_000 + "end")[-20_000:]
    with limited_cpu(SECONDS):
        html = render_code(code, "c")
    shown = ElementTree.fromstring(html)
    assert "".join(shown.itertext()) == code.replace("\r\n", "\n").replace("\r", "\n")


@given(st.binary(max_size=300), st.integers(1, 300))
@settings(max_examples=examples(60))
def test_no_zip_file_takes_long_to_list(noise, n):
    """Whole ones of many small files, and such whose directory was written over."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for number in range(n):
            archive.writestr(f"{'d/' * (number % 50)}{number}", b"")
    content = out.getvalue()
    for data in (content, content[: -len(noise)] + noise, noise + content, content[: len(content) // 2] + noise):
        with limited_cpu(SECONDS):
            try:
                check_is_zip(SimpleUploadedFile("a.zip", data))
                with opened(io.BytesIO(data)) as archive:
                    files_in(archive)
            except UserError:
                pass


KINDS = ["PNG", "JPEG", "GIF", "WEBP"]


@given(st.sampled_from(KINDS), st.integers(1, 300), st.integers(1, 300), st.binary(max_size=200), st.integers(0, 5000))
@settings(max_examples=examples(60))
def test_no_picture_takes_long_to_decode(kind, width, height, noise, at):
    """Whole ones, and such that were written over somewhere: sizes, tables, blocks."""
    out = io.BytesIO()
    Image.new("RGB", (width, height), (1, 2, 3)).save(out, kind)
    data = bytearray(out.getvalue())
    at %= len(data)
    data[at : at + len(noise)] = noise
    with limited_cpu(SECONDS):
        read_picture(SimpleUploadedFile(f"a.{kind.lower()}", bytes(data)))


FILTERS = ["q", "tag", "state", "sort", "order", "page", "page_size", "limit", "offset", "cursor", "criterion", "since"]
HOSTILE = [
    ")" * 5000,
    "%" * 5000,
    "\\" * 5000,
    "9" * 5000,
    "-" + "9" * 400,
    "é" * 5000,
    "\x00",
    "'\"" * 2000,
    "_" * 5000,
]


@pytest.mark.parametrize("route", ["api-items", "api-annotators", "api-log", "api-ranking"])
def test_no_filter_of_the_api_takes_long(route, client, project, alice):
    secret = make_token(alice)[1]
    for name in FILTERS:
        for value in HOSTILE:
            with limited_cpu(SECONDS), CaptureQueriesContext(connection) as queries:
                response = client.get(
                    reverse(route, args=[project.pk]), {name: value}, headers={"Authorization": f"Bearer {secret}"}
                )
            assert response.status_code < 500, (name, value[:10])
            assert len(queries) < 40
