"""Turns people's Markdown and HTML into safe HTML: a short list of tags, and nothing that runs or loads.

What takes long to render is rendered once: the result stays in the cache under a hash of the text.
"""

import hashlib
import re
import secrets
from collections.abc import Callable, Sequence
from html import unescape
from typing import Any

import nh3
from django.core.cache import cache
from django.utils.html import escape, linebreaks
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.texmath import texmath_plugin

from annotate.core.code_colours import render_code
from annotate.core.formulas import render_formula

# The page's own headings are h1 and h2, so that the outline stays whole a text's begin at h3.
HEADINGS_DOWN = 2
SPANS = {"colspan", "rowspan"}
BLOCK_END = re.compile(r"(?=<)")  # words of neighbouring elements stay apart

# Parsing takes time in proportion to length; a text beyond this is shown as it was typed.
MAX_LENGTH = 50_000
# HTML nested deeper than this is shown as words: cleaning takes time with the square of the depth.
MAX_DEPTH = 200
MAX_FORMULAS = 200  # of one text; what comes after them, or more in brackets, is shown as it was typed
# A text from this length on is rendered once; the name changes with what rendering does.
CACHED_LENGTH = 2_000
CACHED_AS = "rendered-1"
CACHED_SECONDS = 24 * 3600

# What people's HTML may hold besides.
MORE_TAGS = {"b", "bdi", "dd", "del", "dl", "dt", "h1", "h2", "i", "ins", "kbd", "q", "sub", "sup", "tfoot", "u"}

TAGS = {"a", "blockquote", "br", "code", "em", "hr", "li", "ol", "p", "pre", "s", "strong", "ul"}
TAGS |= {"h3", "h4", "h5", "h6", "table", "tbody", "td", "th", "thead", "tr"}


def render_image_text(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, environment: Any
) -> str:
    """Return what an image in a text shows, in words: fetching it would tell a third party who reads what, and when."""
    return escape(renderer.renderInlineAsText(tokens[index].children, options, environment))


Renderer = Callable[[RendererHTML, Sequence[Token], int, Any, dict[str, Any]], str]


def set_aside(rendered: SafeString, environment: dict[str, Any]) -> str:
    """Return a mark for safe HTML that the cleaner would take apart; `render_markdown` puts it back."""
    environment["aside"].append(rendered)
    return f"{environment['mark']}-{len(environment['aside']) - 1}-"


def formula_rule(*, block: bool) -> Renderer:
    def render(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, environment: Any) -> str:
        environment["formulas"] += 1
        if environment["formulas"] > MAX_FORMULAS:
            return escape(tokens[index].content)
        return set_aside(render_formula(tokens[index].content, block=block), environment)

    return render


def render_fence(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, environment: Any) -> str:
    token = tokens[index]
    return set_aside(render_code(token.content, token.info.partition(" ")[0]), environment) + "\n"


def make_parser(*, brackets: bool) -> MarkdownIt:
    """Return a parser of Markdown with formulas between dollars, and with `brackets` also in \\(…\\) and \\[…\\]."""
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    dollarmath_plugin(parser, allow_labels=False, allow_space=False, allow_digits=False, double_inline=True)
    if brackets:
        texmath_plugin(parser, delimiters="brackets")
    parser.add_render_rule("image", render_image_text)
    parser.add_render_rule("fence", render_fence)
    parser.add_render_rule("math_inline", formula_rule(block=False))
    parser.add_render_rule("math_inline_double", formula_rule(block=True))
    parser.add_render_rule("math_block", formula_rule(block=True))
    return parser


PARSER = make_parser(brackets=True)
# For texts with more brackets than formulas may be: for each the end is looked for through all the rest.
PARSER_WITHOUT_BRACKETS = make_parser(brackets=False)

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


TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)[^>]*>?")
# Elements that have no end, or whose end is often left out: they don't stand in one another.
FLAT = frozenset("area base br col dd dt hr img input li link meta option p td th tr wbr".split())


def sanitize_html(text: str) -> SafeString:
    """Clean a person's HTML to words, structure and links, safe to show on any page."""
    if is_deep(text):
        return mark_safe(linebreaks(unescape(TAG.sub(" ", text)), autoescape=True))  # noqa: S308
    clean = HTML_CLEANER.clean(text)
    return mark_safe(HEADING.sub(lower_heading, clean))  # noqa: S308  (cleaned by nh3 on the line above)


def is_deep(text: str) -> bool:
    """Return whether elements may stand in one another deeper than MAX_DEPTH; found by counting tags."""
    depth = 0
    for end, name in TAG.findall(text):
        if name.lower() not in FLAT:
            depth = max(depth - 1, 0) if end else depth + 1
            if depth > MAX_DEPTH:
                return True
    return False


def lower_heading(found: re.Match[str]) -> str:
    return f"{found[1]}{min(int(found[2]) + HEADINGS_DOWN, 6)}>"


def strip_tags(text: str) -> str:
    """Return the text of a person's HTML; not safe to show as HTML."""
    if is_deep(text):
        return unescape(TAG.sub(" ", text))
    return unescape(nh3.clean(BLOCK_END.sub(" ", text), tags=set()))


def render_text(text: str, kind: str) -> SafeString:
    """Render a text of this kind (plain, Markdown, HTML) as safe HTML."""
    if kind == "markdown":
        return render_markdown(text)
    return rendered_once(text, kind, sanitize_html) if kind == "html" else escape(text)


def render_markdown(text: str) -> SafeString:
    """Render Markdown to HTML that is safe to show on any page."""
    if len(text) > MAX_LENGTH:
        return mark_safe(linebreaks(text, autoescape=True))  # noqa: S308
    return rendered_once(text, "markdown", parse_markdown)


def rendered_once(text: str, kind: str, render: Callable[[str], SafeString]) -> SafeString:
    """Return what `render` makes of the text, from the cache where the text is long and was rendered before."""
    if len(text) < CACHED_LENGTH:
        return render(text)
    key = f"{CACHED_AS}-{kind}-{hashlib.sha256(text.encode()).hexdigest()}"
    kept = cache.get(key)
    if kept is None:
        kept = str(render(text))
        cache.set(key, kept, CACHED_SECONDS)
    return mark_safe(kept)  # noqa: S308  (made by `render`, which returns safe HTML)


def parse_markdown(text: str) -> SafeString:
    many = text.count("\\(") + text.count("\\[") > MAX_FORMULAS
    parser = PARSER_WITHOUT_BRACKETS if many else PARSER
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + HEADINGS_DOWN, 6)}"
    environment: dict[str, Any] = {"mark": f"aside-{secrets.token_hex(12)}", "aside": [], "formulas": 0}
    html = CLEANER.clean(parser.renderer.render(tokens, parser.options, environment))
    aside = re.compile(f"{environment['mark']}-(\\d+)-")
    return mark_safe(aside.sub(lambda found: environment["aside"][int(found[1])], html))  # noqa: S308  (cleaned above)
