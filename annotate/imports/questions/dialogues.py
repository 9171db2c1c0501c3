"""Answers written as whole conversations: the turns that all of them begin with are the prompt, the rest the answer."""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from annotate.files.limits import Unusable

# Atomic, and tried only where blanks begin, so that no text takes longer than it is long.
SPOKEN = re.compile(r"(?:\A\s*+|(?<!\s)(?>\s*?\n\n\s*))(Human|User|Assistant): ?")
ROLES = {"human": "user", "gpt": "assistant"}


class Turn(NamedTuple):
    role: str
    words: str


def turns_of(text: str) -> list[Turn] | None:
    """Return the turns of a conversation: a JSON list of roles and contents, or “Human: …” and “Assistant: …” after
    blank lines; None where the text is none."""
    if text.startswith("["):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            return None
        turns = [turn_of(one) for one in found] if isinstance(found, list) else []
        return [turn for turn in turns if turn] if turns and all(turns) else None
    if not SPOKEN.match(text):
        return None
    parts = SPOKEN.split(text)[1:]
    return [Turn(role_of(role), words.strip()) for role, words in zip(parts[::2], parts[1::2], strict=True)]


def turn_of(value: Any) -> Turn | None:
    if not isinstance(value, dict):
        return None
    role, words = value.get("role", value.get("from")), value.get("content", value.get("value"))
    if isinstance(words, list):  # parts, of which the texts are words
        words = "\n\n".join(str(one["text"]) for one in words if isinstance(one, dict) and "text" in one)
    return Turn(role_of(role), words.strip()) if isinstance(role, str) and isinstance(words, str) else None


def role_of(name: str) -> str:
    return ROLES.get(name.casefold(), name.casefold())


def split_dialogues(texts: Sequence[str]) -> tuple[str, list[str]] | None:
    """Return what all conversations begin with, and how each goes on; None where they are not all conversations.

    Raises Unusable where one says nothing of its own.
    """
    found = [turns_of(text) for text in texts]
    dialogues = [turns for turns in found if turns]
    if not texts or len(dialogues) < len(texts):
        return None
    n_common = 0
    for turns in zip(*dialogues, strict=False):
        if len(set(turns)) > 1 or (turns[0].role == "assistant" and n_common + 1 == min(map(len, dialogues))):
            break
        n_common += 1
    if any(len(turns) == n_common for turns in dialogues):
        raise Unusable(_("One of the conversations has no answer of its own. Remove the row, or correct it."))
    return written(dialogues[0][:n_common]), [written(turns[n_common:]) for turns in dialogues]


def written(turns: Sequence[Turn]) -> str:
    """Return one turn as its words, several with who speaks."""
    if len(turns) == 1:
        return turns[0].words
    return "\n\n".join(f"{turn.role.capitalize()}: {turn.words}" for turn in turns)
