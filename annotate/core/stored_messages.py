"""Messages stored by workers as a msgid with arguments and translated when they are shown.

Each subject marks its own msgids with gettext_noop, so that makemessages finds them.
"""

import json
from typing import Any

from django.utils.translation import gettext, gettext_noop

from models_engine.errors import InsufficientData

# Messages that version 0.1 stored as codes.
FORMER = {
    "ended": gettext_noop(
        "The engine process %(name)s ended in the middle of this work. Was it killed, or out of memory?"
    ),
    "no items": gettext_noop("There are no items yet."),
    "no labels": gettext_noop("There are no labels that count yet. Ask again once there are."),
    "no estimator": gettext_noop(
        "There is no estimator called “%(name)s”. Choose one of %(names)s in the project's settings."
    ),
    "nothing to record": gettext_noop(
        "There is no fit to make a run record of yet. Ask again once the ranking shows one."
    ),
    "no fit": gettext_noop("There is no fit yet. Ask again once the ranking shows one."),
    "few first": gettext_noop(
        "The first cohort has %(labels)d labels of %(people)d annotators; "
        "it takes %(least_labels)d labels of %(least_people)d annotators to compare it."
    ),
    "few second": gettext_noop(
        "The second cohort has %(labels)d labels of %(people)d annotators; "
        "it takes %(least_labels)d labels of %(least_people)d annotators to compare it."
    ),
    "apart": gettext_noop(
        "Both cohorts have compared %(kept)d of the %(items)d items with others in common; it takes 2. "
        "More labels mend it."
    ),
    "died": gettext_noop(
        "The engine process ended in the middle of the comparison, several times. Was it killed, or out of memory?"
    ),
    "certificate": gettext_noop("The certificate was not accepted: %(reason)s"),
    "no answer": gettext_noop("No answer within %(n)d seconds."),
    "no connection": gettext_noop("The connection failed (%(reason)s)."),
    "no address": gettext_noop("This is no address. Write it as in https://example.org/hook."),
    "no https": gettext_noop("The address has to begin with https://."),
    "more than an address": gettext_noop("Write the address without a user, a password or a part after “#”."),
    "not plain": gettext_noop("Write the address in plain letters; others belong in percent or punycode form."),
    "inside": gettext_noop("Addresses inside the site's own network can't be called. Use a public one."),
    "nowhere": gettext_noop("The name “%(host)s” leads nowhere."),
    "leads inside": gettext_noop("The name leads into the site's own network, which can't be called."),
}


class NotEnoughData(InsufficientData):
    """Its text is a stored message: render_message translates it."""

    def __init__(self, msgid: str, **arguments: int | str) -> None:
        super().__init__(store_message(msgid, **arguments))


def store_message(msgid: str, **arguments: int | str) -> str:
    """Returns the text to be stored; render_message shows it. `msgid` is marked with gettext_noop."""
    return json.dumps({"msgid": msgid, "arguments": arguments}, ensure_ascii=False)


def render_message(text: str) -> str:
    """Translates a stored message; any other text is an error's own and stays as it is."""
    try:
        message: Any = json.loads(text)
    except ValueError:
        return text
    if not isinstance(message, dict):
        return text
    if message.get("msgid") and isinstance(message.get("arguments"), dict):
        return gettext(message["msgid"]) % message["arguments"]
    former = FORMER.get(str(message.pop("why", "")))
    return gettext(former) % message if former else text
