"""Reads the documentation, for the help pages: one page per file, found by words."""

import posixpath
import re
from dataclasses import dataclass
from functools import cache
from html import escape

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _
from markdown_it import MarkdownIt
from markdown_it.token import Token

from annotate.core.folders import DOCS

# The pages offered, in order: the file's name and what it holds.
PAGES: dict[str, tuple[str, str | Promise]] = {
    "using": ("using.md", _("Setting a project up, what annotators see, what the results say")),
    "glossary": ("GLOSSARY.md", _("What each word means")),
    "statistics": ("statistics.md", _("How rankings are computed, what the figures mean, how to cite")),
    "programs": ("api.md", _("The REST API, the Python client, webhooks and imports")),
    "privacy": ("privacy.md", _("Which personal data are kept, how long, and who sees them")),
    "accessibility": ("accessibility.md", _("What is tested, and how to report a barrier")),
}
# The parts of "using", in order. Its own page lists their sections, under the anchors they had while all was one page.
INDEX = "using"
PARTS = {
    "setting-up": "using/setting-up.md",
    "questions": "using/questions.md",
    "people": "using/people.md",
    "results": "using/results.md",
    "publishing": "using/publishing.md",
    "demo": "using/demo.md",
}
FILES = {name: file for name, (file, _about) in PAGES.items()} | PARTS
ADDRESS_OF = {file: name for name, file in FILES.items()}
MIN_CONTENTS = 2  # sections, from which a page begins with a list of them
MAX_FOUND = 30
EXCERPT = 180  # characters
PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


@dataclass(frozen=True)
class Section:
    """A heading with the words below it, up to the next heading."""

    page: str
    page_title: str
    anchor: str
    title: str
    text: str
    level: int

    @property
    def address(self) -> str:
        return f"{reverse('help-page', args=[self.page])}#{self.anchor}"


@dataclass(frozen=True)
class Page:
    name: str
    title: str
    anchor: str
    html: SafeString  # below the title
    sections: list[Section]

    @property
    def contents(self) -> list[tuple[Section, list[Section]]]:
        """Return the sections in order, each with the smaller ones inside it; none where there are too few to list."""
        listed: list[tuple[Section, list[Section]]] = []
        for section in self.sections:
            if section.level == 2:
                listed.append((section, []))
            elif section.level == 3:
                listed[-1][1].append(section)
        return listed if len(listed) >= MIN_CONTENTS and self.name != INDEX else []


@dataclass(frozen=True)
class Found:
    section: Section
    excerpt: str


@cache
def read_page(name: str) -> Page:
    """Return a page of FILES. The files ship with the site: they change only with its version."""
    tokens = PARSER.parse((DOCS / FILES[name]).read_text(encoding="utf-8"))
    add_anchors(tokens)
    if name == INDEX:
        anchor_listed_sections(tokens)
    for token in tokens:
        for child in token.children or ():
            rewrite_link(child, posixpath.dirname(FILES[name]))
    place = next(i for i, token in enumerate(tokens) if token.tag == "h1")
    title = tokens[place + 1].content
    html = PARSER.renderer.render(tokens, PARSER.options, {})
    for scrolling in ("pre", "table"):  # what may scroll sideways is reached by keyboard
        html = html.replace(f"<{scrolling}>", f'<{scrolling} tabindex="0">')
    _title, _end, html = html.replace("<th></th>", "<td></td>").partition("</h1>")
    # Written by us, in files of this package; raw HTML in them is shown as text.
    return Page(name, title, str(tokens[place].attrGet("id")), mark_safe(html), sections_of(name, title, tokens))  # noqa: S308


def add_anchors(tokens: list[Token]) -> None:
    """Give each heading the anchor that links of the documentation use, and move headings one level down."""
    for i, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", slugify(plain_text(tokens[i + 1])))
        if token.type == "inline" and token.children:
            token.children = [child for child in token.children if child.type != "image"]


def anchor_listed_sections(tokens: list[Token]) -> None:
    """Give each line of a list the anchor of the section it leads to, so that old addresses still find it."""
    for item, _paragraph, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type == "list_item_open" and inline.children and inline.children[0].type == "link_open":
            item.attrSet("id", str(inline.children[0].attrGet("href")).partition("#")[2])


def neighbours(name: str) -> tuple[Page | None, Page | None]:
    """Return the parts before and after a part; none of what is no part."""
    names = list(PARTS)
    place = names.index(name) if name in PARTS else None
    if place is None:
        return None, None
    before = read_page(names[place - 1]) if place else None
    return before, read_page(names[place + 1]) if place + 1 < len(names) else None


def rewrite_link(token: Token, folder: str) -> None:
    """Lead links between files to their help pages; what has none becomes plain text."""
    if token.type != "link_open":
        return
    href = str(token.attrGet("href"))
    file, _sep, anchor = href.partition("#")
    if re.match(r"https?:|mailto:", href) or not file:
        return
    name = ADDRESS_OF.get(posixpath.normpath(posixpath.join(folder, file)))
    if name is None:
        token.attrs = {}
        return
    token.attrSet("href", reverse("help-page", args=[name]) + (f"#{anchor}" if anchor else ""))


def plain_text(inline: Token) -> str:
    """Return the words of a line of Markdown; where its file breaks the line there is a space."""
    breaks, words = ("softbreak", "hardbreak"), ("text", "code_inline")
    parts = (one for one in inline.children or () if one.type in breaks + words)
    return "".join(" " if one.type in breaks else one.content for one in parts)


def sections_of(name: str, page_title: str, tokens: list[Token]) -> list[Section]:
    found: list[Section] = []
    title, anchor, words, level = "", "", list[str](), 1
    for i, token in enumerate(tokens):
        if token.type == "heading_open":
            found += [Section(name, page_title, anchor, title, " ".join(words), level)] if title else []
            title, anchor, words, level = plain_text(tokens[i + 1]), str(token.attrGet("id")), [], int(token.tag[1])
        elif token.type == "inline" and tokens[i - 1].type != "heading_open":
            words.append(plain_text(token))
        elif token.type in ("fence", "code_block"):
            words.append(token.content)
    return [*found, Section(name, page_title, anchor, title, " ".join(words), level)]


def search(query: str) -> list[Found]:
    """Return the sections that hold every word of the query, those that name it in their heading first."""
    words = query.casefold().split()
    if not words:
        return []
    ranked = []
    for name in FILES.keys() - {INDEX}:
        for place, section in enumerate(read_page(name).sections):
            title, text = section.title.casefold(), section.text.casefold()
            if all(word in title or word in text for word in words):
                in_title = sum(word in title for word in words)
                ranked.append((-in_title, -sum(text.count(word) for word in words), name, place, section))
    ranked.sort(key=lambda found: found[:4])
    return [Found(section, excerpt(section.text, words)) for *_rank, section in ranked[:MAX_FOUND]]


def excerpt(text: str, words: list[str]) -> str:
    """Return the part of a text around the first of the words, cut at spaces."""
    places = [place for place in (text.casefold().find(word) for word in words) if place >= 0]
    start = max(0, min(places, default=0) - EXCERPT // 3)
    start = 0 if start == 0 else text.find(" ", start) + 1
    part = text[start : start + EXCERPT]
    if start + EXCERPT < len(text):
        part = part.rpartition(" ")[0] + " …"
    return ("… " if start else "") + part


def marked(text: str, query: str) -> SafeString:
    """Return the text as HTML, with the words of the query marked."""
    pattern = "|".join(re.escape(escape(word)) for word in query.split())
    html = re.sub(f"({pattern})", r"<mark>\1</mark>", escape(text), flags=re.IGNORECASE) if pattern else escape(text)
    return mark_safe(html)  # noqa: S308  escaped above
