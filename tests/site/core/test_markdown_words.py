"""A Markdown text in one line: its words without marks, and nothing that only looks like a mark is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.core.markdown_words import MAX_READ, markdown_words
from annotate.core.sanitizing import render_markdown, strip_tags
from annotate.models import Item


@pytest.mark.parametrize(
    "text",
    [
        "**In short**\n\n- Let it harden, then lift it.\n- Wax comes off.",
        "# A title\n\n> Somebody *said* so, and `code` too.",
        "1. First\n2. Second with [a link](https://example.org/page) in it",
        "![A poster](poster.png) and __strong words__, ~~not~~ these",
        "```python\nx = 1\n```\nThen words\n\n---\nand an end",
        "A title\n=====\nand words\n\nA second\n---\nand more",
        "## Closed ##\nwords # here #",
        "Words, *then more words* and **so on**.",
    ],
)
def test_the_words_are_those_of_the_rendered_text(text):
    rendered = strip_tags(render_markdown(text))
    assert "".join(markdown_words(text).split()) == "".join(rendered.split())


@pytest.mark.parametrize(
    "text", ["2 * 3 * 4 = 24", "snake_case_name", "a - b", "#hashtag", "5.5 litres", "x ** y", "a_b and c_d"]
)
def test_what_only_looks_like_a_mark_stays(text):
    assert markdown_words(text) == text


@pytest.mark.parametrize("text", ["---", "***", "```"])
def test_a_text_of_marks_alone_stays(text):
    assert markdown_words(text) == text


@given(st.text(alphabet="*_`~[]()!#>-+1. ab\n", max_size=3_000))
def test_any_text_is_read_and_no_word_is_added(text):
    left = iter(text)
    words = markdown_words(text)
    assert all(sign in left for sign in words), "its signs are some of the text's, in their order"
    assert words == text or len(words) <= MAX_READ


def test_an_item_is_named_without_marks():
    item = Item(kind=Item.Kind.MARKDOWN, body="**In short**\n\n- Let it harden")
    assert item.first_words == "In short: Let it harden"


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("# Wax on cloth\n\nLet it harden.", "Wax on cloth: Let it harden."),
        ("## Wax ##\nLet it harden.\n\n### Then\n\n- lift it", "Wax: Let it harden. Then: lift it"),
        ("Wax\n===\nLet it harden.", "Wax: Let it harden."),
        ("# What of wax?\nLet it harden.", "What of wax? Let it harden."),
        ("# Wax **on** `cloth`\n\nLet it harden.", "Wax on cloth: Let it harden."),
        ("# Wax on cloth\n", "Wax on cloth"),
        ("__Wax__\nLet it harden.", "Wax: Let it harden."),
        ("**Let it harden.**\n\nThen lift it.", "Let it harden. Then lift it."),
        ("**Wax** is soft\n\n**Wax**", "Wax is soft Wax"),
        ("#hashtag\nand so on", "#hashtag and so on"),
    ],
)
def test_a_heading_stands_apart_from_the_words_below_it(body, named):
    assert Item(kind=Item.Kind.MARKDOWN, body=body).first_words == named


def test_a_text_that_is_not_markdown_is_named_as_it_is_typed():
    assert Item(kind=Item.Kind.TEXT, body="**as typed**").first_words == "**as typed**"
