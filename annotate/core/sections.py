"""Items of several sections: a JSON list of texts, code, chats, links and files, shown one below the other."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from annotate.core.chat import chat_words, parse_turns, render_chat
from annotate.core.code_colours import render_code
from annotate.core.embeds import is_web_address
from annotate.core.sanitizing import render_text, strip_tags

MAX_SECTIONS = 20
MAX_HEADING = 100
MAX_ADDRESS = 2000
TEXTS = ("text", "markdown", "html", "code", "chat")
FILES = ("image", "audio", "video")
LINK = "link"
KINDS = (*TEXTS, *FILES, LINK)


class Section(NamedTuple):
    """text: of an image, what it shows; of sound and video, their transcript.   language: of code.

    file: of an image, sound or video, the name of its file before it is stored, then its number among the item's files.
    """

    kind: str
    text: str = ""
    heading: str = ""
    language: str = ""
    link: str = ""
    file: str | int = ""

    @property
    def is_file(self) -> bool:
        return self.kind in FILES

    @property
    def words(self) -> str:
        own = {"html": strip_tags, "chat": chat_words}.get(self.kind)
        return own(self.text) if own else self.text or self.link

    @property
    def rendered(self) -> SafeString:
        """Return the text as safe HTML."""
        if self.kind == "code":
            return render_code(self.text, self.language)
        return render_chat(self.text) if self.kind == "chat" else render_text(self.text, self.kind)


def parse_sections(text: str) -> list[Section]:
    """Raise ValueError with what to correct."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            _('The sections are not valid JSON: %(problem)s. Write them as [{"kind": "text", "text": "…"}, …].')
            % {"problem": str(error)[:200]}
        ) from error
    if not isinstance(found, list) or not found:
        raise ValueError(_('The sections are no list. Write them as [{"kind": "text", "text": "…"}, …].'))
    if len(found) > MAX_SECTIONS:
        raise ValueError(
            _("The item has %(n)d sections; the limit is %(limit)d. Put some of them together.")
            % {"n": len(found), "limit": MAX_SECTIONS}
        )
    return [section_of(number, one) for number, one in enumerate(found, 1)]


def section_of(number: int, value: Any) -> Section:
    known = {*Section._fields}
    if not isinstance(value, dict) or value.get("kind", "text") not in KINDS or not value.keys() <= known:
        raise ValueError(
            _("Section %(number)d is not understood. Give it a kind (%(kinds)s) and only these fields: %(fields)s.")
            % {"number": number, "kinds": ", ".join(KINDS), "fields": ", ".join(Section._fields)}
        )
    words = value.get("text", "")
    given = {name: value.get(name, "") for name in ("heading", "language", "link")}
    given["text"] = json.dumps(words, ensure_ascii=False) if isinstance(words, list) else words
    file = value.get("file", "")
    if not all(isinstance(one, str) for one in given.values()) or type(file) not in (str, int):
        raise ValueError(_("Section %(number)d has a value that is no text. Correct it.") % {"number": number})
    section = Section(value.get("kind", "text"), file=file, **given)
    if problem := problem_of(section):
        raise ValueError(_("Section %(number)d: %(problem)s") % {"number": number, "problem": problem})
    return section


def problem_of(section: Section) -> str:
    if len(section.heading) > MAX_HEADING:
        words = _("its heading has %(n)d characters; the limit is %(limit)d. Shorten it.")
        return words % {"n": len(section.heading), "limit": MAX_HEADING}
    if section.kind in TEXTS and not section.words.strip():
        return _("it has no text that can be shown. Add some text.")
    if section.kind == "chat":
        try:
            parse_turns(section.text)
        except ValueError as problem:
            return str(problem)
    if section.kind == LINK and (len(section.link) > MAX_ADDRESS or not is_web_address(section.link)):
        return _("its link is not a web address. Write it in full, as in https://example.org/page.")
    if section.is_file and not section.file:
        return _("it names no file. Name one that is in the same zip file.")
    return _("only images, sound and video have files.") if section.file and not section.is_file else ""


def sections_in(text: str) -> list[Section]:
    """Return the sections of an item; none of another text."""
    try:
        return parse_sections(text) if text.lstrip()[:1] == "[" else []
    except ValueError:
        return []


def write_sections(sections: Sequence[Section]) -> str:
    """Return the JSON of sections, without what they leave empty."""
    found = [{name: value for name, value in one._asdict().items() if value} for one in sections]
    return json.dumps(found, ensure_ascii=False)


def section_words(text: str) -> str:
    """Return the words of all sections; of another text the text."""
    sections = sections_in(text)
    return "\n\n".join(one.words for one in sections if one.words) if sections else text
