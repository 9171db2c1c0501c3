"""Messages stored by workers as a msgid with arguments and translated when they are shown.

Each subject marks its own msgids with gettext_noop, so that makemessages finds them; so does the engine, whose messages
(models_engine.messages) may have several clauses.
"""

import json
import re
from typing import Any

from django.utils.formats import get_format
from django.utils.translation import gettext, gettext_noop

from models_engine.errors import EngineError, InsufficientData
from models_engine.messages import Message, message_of

# What nobody wrote for the readers of pages: the engine's errors for programmers, and every other library's.
UNFORESEEN = gettext_noop(
    "The computation failed with an error that was not foreseen. If it happens again, tell whoever runs this site. "
    "The error, in English: %(error)s"
)
NUMBERS = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?")

# Messages that version 0.1 stored as codes.
FORMER = {
    "ended": gettext_noop(
        "The engine process %(name)s stopped before it had finished. It may have been killed or have run out of memory."
    ),
    "no items": gettext_noop("There are no items yet."),
    "no labels": gettext_noop("There are no answers that count yet. Try again when there are some."),
    "no estimator": gettext_noop(
        "There is no estimator called “%(name)s”. Choose one of %(names)s in the project's settings."
    ),
    "nothing to record": gettext_noop(
        "There is no ranking yet, so there is nothing to record. Try again once there is one."
    ),
    "no fit": gettext_noop("There is no ranking yet. Try again once there is one."),
    "few first": gettext_noop(
        "The first cohort has too few answers to be compared: %(labels)d from %(people)d annotators. It needs "
        "at least %(least_labels)d from %(least_people)d."
    ),
    "few second": gettext_noop(
        "The second cohort has too few answers to be compared: %(labels)d from %(people)d annotators. It "
        "needs at least %(least_labels)d from %(least_people)d."
    ),
    "apart": gettext_noop(
        "Too few items were compared by both cohorts: %(kept)d of %(items)d, and at least 2 are needed. Try "
        "again when there are more answers."
    ),
    "died": gettext_noop(
        "The engine stopped several times during this comparison. It may have been killed or have run out of memory."
    ),
    "certificate": gettext_noop("The certificate was not accepted: %(reason)s"),
    "no answer": gettext_noop("No answer within %(n)d seconds."),
    "no connection": gettext_noop("The connection failed (%(reason)s)."),
    "no address": gettext_noop("This is not a web address. Write it like https://example.org/hook."),
    "no https": gettext_noop("The address has to begin with https://."),
    "more than an address": gettext_noop("Remove the user name, the password and the part after “#” from the address."),
    "not plain": gettext_noop(
        "Use only ASCII characters in the address; encode others with percent signs or, in the host name, as punycode."
    ),
    "inside": gettext_noop("Addresses inside the site's own network can't be called. Use a public one."),
    "nowhere": gettext_noop("The host name “%(host)s” could not be found. Check the spelling."),
    "leads inside": gettext_noop(
        "This host name points into the site's own network, which can't be called. Use a public address."
    ),
}


class NotEnoughData(InsufficientData):
    """Its text is a stored message: render_message translates it."""

    def __init__(self, msgid: str, **arguments: int | str) -> None:
        super().__init__(store_message(msgid, **arguments))


def store_message(msgid: str, **arguments: int | str) -> str:
    """Return the text to be stored; render_message shows it. `msgid` is marked with gettext_noop."""
    return json.dumps({"msgid": msgid, "arguments": arguments}, ensure_ascii=False)


def store_engine_message(message: str) -> str:
    """Return the text to be stored of what the engine said; what is not to be translated is quoted in a sentence."""
    if not message or is_stored(message):
        return message
    if isinstance(message, Message) and message.parts:
        return json.dumps({"parts": message.parts}, ensure_ascii=False)
    return store_message(UNFORESEEN, error=message)


def store_error(error: Exception) -> str:
    """Return the text to be stored of why work failed: the engine's own words, or any other error with its name."""
    if isinstance(error, EngineError) and (text := message_of(error)):
        return store_engine_message(text)
    return store_message(UNFORESEEN, error=f"{type(error).__name__}: {error}")


def is_stored(text: str) -> bool:
    """Tells whether the text is a stored message already."""
    return isinstance(parsed(text), dict)


def parsed(text: str) -> Any:
    """Return the JSON that the text is, None where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def render_message(text: str) -> str:
    """Translate a stored message; any other text is an error's own and stays as it is."""
    message = parsed(text)
    if not isinstance(message, dict):
        return text
    if message.get("msgid") and isinstance(message.get("arguments"), dict):
        return gettext(message["msgid"]) % message["arguments"]
    if isinstance(message.get("parts"), list):
        return "; ".join(gettext(msgid) % localized(arguments) for msgid, arguments in message["parts"])
    former = FORMER.get(str(message.pop("why", "")))
    return gettext(former) % message if former else text


def localized(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the engine's arguments with the decimal sign of the language in numbers; a `text` is a message itself."""
    sign, values = get_format("DECIMAL_SEPARATOR"), dict(arguments)
    for name, value in arguments.items():
        if name == "text":
            values[name] = render_message(str(value))
        elif name != "name" and isinstance(value, str) and NUMBERS.fullmatch(value):
            values[name] = value.replace(".", sign)
    return values
