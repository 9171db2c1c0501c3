"""Chats as texts: a JSON list of turns, each with a role and a content, as chat programs and data sets write them."""

import json
from typing import Any, NamedTuple

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.core.sanitizing import render_markdown

MAX_TURNS = 200
MAX_ROLE = 40
ROLES = {
    "user": gettext_lazy("User"),
    "human": gettext_lazy("User"),
    "assistant": gettext_lazy("Assistant"),
    "system": gettext_lazy("System"),
    "tool": gettext_lazy("Tool"),
}


class Turn(NamedTuple):
    role: str
    content: str


def parse_turns(text: str) -> list[Turn]:
    """Raise ValueError with what to correct."""
    try:
        found = json.loads(text)
    except RecursionError as error:
        raise ValueError(_("The chat is nested too deeply.")) from error
    except ValueError as error:
        raise ValueError(
            _('The chat is not valid JSON: %(problem)s. Write it as [{"role": "user", "content": "…"}, …].')
            % {"problem": error}
        ) from error
    if not isinstance(found, list) or not found:
        raise ValueError(_('The chat is no list of turns. Write it as [{"role": "user", "content": "…"}, …].'))
    if len(found) > MAX_TURNS:
        raise ValueError(
            _("The chat has %(n)d turns; the limit is %(limit)d. Shorten it.") % {"n": len(found), "limit": MAX_TURNS}
        )
    return [turn_of(number, one) for number, one in enumerate(found, 1)]


def turn_of(number: int, value: Any) -> Turn:
    role, content = (value.get("role"), words_in(value.get("content"))) if isinstance(value, dict) else (None, None)
    if not isinstance(role, str) or not 0 < len(role.strip()) <= MAX_ROLE or content is None:
        raise ValueError(
            _("Turn %(number)d of the chat needs a role of at most %(limit)d characters and a content of text.")
            % {"number": number, "limit": MAX_ROLE}
        )
    return Turn(role.strip(), content)


def words_in(content: Any) -> str | None:
    """Return a content's text: as it is, or of its parts of type “text”; None where there is none."""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        texts = [part.get("text") for part in content if part.get("type", "text") == "text"]
        return "\n\n".join(texts) if texts and all(isinstance(text, str) for text in texts) else None
    return None


def render_chat(text: str) -> SafeString:
    """Return the turns as a list, each under its role, their contents as Markdown; a text that is no chat as it is."""
    turns = turns_in(text)
    if not turns:
        return format_html("{}", text)
    return format_html(
        '<ol class="chat">{}</ol>',
        format_html_join(
            "",
            '<li class="chat-turn chat-{}"><p class="chat-role">{}</p><div class="prose">{}</div></li>',
            (
                (
                    turn.role.lower() if turn.role.lower() in ROLES else "other",
                    ROLES.get(turn.role.lower(), turn.role),
                    render_markdown(turn.content),
                )
                for turn in turns
            ),
        ),
    )


def turns_in(text: str) -> list[Turn]:
    """Return the turns of a chat; none of another text."""
    try:
        return parse_turns(text) if text.lstrip()[:1] == "[" else []
    except ValueError:
        return []


def chat_words(text: str) -> str:
    """Return the words of all turns; of a text that is no chat the text."""
    turns = turns_in(text)
    return "\n".join(turn.content for turn in turns) if turns else text
