"""Turns people's Markdown and HTML into safe HTML: a short list of tags, and nothing that runs or loads."""

import re
from collections.abc import Sequence
from html import unescape
from typing import Any

import nh3
from django.utils.html import escape, linebreaks
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

# The page's own headings are h1 and h2, so that the outline stays whole a text's begin at h3.
HEADINGS_DOWN = 2
SPANS = {"colspan", "rowspan"}
BLOCK_END = re.compile(r"(?=<)")  # words of neighbouring elements stay apart

# Parsing takes time in proportion to length; a text beyond this is shown as it was typed.
MAX_LENGTH = 50_000

# What people's HTML may hold besides.
MORE_TAGS = {"b", "bdi", "dd", "del", "dl", "dt", "h1", "h2", "i", "ins", "kbd", "q", "sub", "sup", "tfoot", "u"}

TAGS = {"a", "blockquote", "br", "code", "em", "hr", "li", "ol", "p", "pre", "s", "strong", "ul"}
TAGS |= {"h3", "h4", "h5", "h6", "table", "tbody", "td", "th", "thead", "tr"}


def render_image_text(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, environment: Any
) -> str:
    """Return what an image in a text shows, in words: fetching it would tell a third party who reads what, and when."""
    return escape(renderer.renderInlineAsText(tokens[index].children, options, environment))


PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
PARSER.add_render_rule("image", render_image_text)

CLEANER = nh3.Cleaner(
    tags=TAGS,
    attributes={"*": set(), "a": {"href"}, "ol": {"start"}},
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="nofollow noopener noreferrer",
    set_tag_attribute_values={"a": {"target": "_blank"}},
)


HTML_CLEANER = nh3.Cleaner(
    tags=TAGS | MORE_TAGS,
    clean_content_tags={
        "script",
        "style",
        "template",
        "title",
        "iframe",
        "object",
        "svg",
        "math",
        "select",
        "textarea",
    },
    attributes={"*": set(), "a": {"href"}, "ol": {"start"}, "td": SPANS, "th": SPANS},
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="nofollow noopener noreferrer",
    set_tag_attribute_values={"a": {"target": "_blank"}},
)
HEADING = re.compile(r"(</?h)([1-6])>")  # as the cleaner writes it: without attributes


def sanitize_html(text: str) -> SafeString:
    """Cleans a person's HTML to words, structure and links, safe to show on any page."""
    clean = HTML_CLEANER.clean(text)
    return mark_safe(HEADING.sub(lower_heading, clean))  # noqa: S308  (cleaned by nh3 on the line above)


def lower_heading(found: re.Match[str]) -> str:
    return f"{found[1]}{min(int(found[2]) + HEADINGS_DOWN, 6)}>"


def strip_tags(text: str) -> str:
    """Returns the text of a person's HTML; not safe to show as HTML."""
    return unescape(nh3.clean(BLOCK_END.sub(" ", text), tags=set()))


def render_text(text: str, kind: str) -> SafeString:
    """Renders a text of this kind (plain, Markdown, HTML) as safe HTML."""
    if kind == "markdown":
        return render_markdown(text)
    return sanitize_html(text) if kind == "html" else escape(text)


def render_markdown(text: str) -> SafeString:
    """Renders Markdown to HTML that is safe to show on any page."""
    if len(text) > MAX_LENGTH:
        return mark_safe(linebreaks(text, autoescape=True))  # noqa: S308
    tokens = PARSER.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + HEADINGS_DOWN, 6)}"
    html = PARSER.renderer.render(tokens, PARSER.options, {})
    return mark_safe(CLEANER.clean(html))  # noqa: S308  (cleaned by nh3 on this line)
