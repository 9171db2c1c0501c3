"""What engine processes keep for people to read: stored as what to say, said in the language of whoever reads it."""

import json
from typing import Any

from django.utils.translation import gettext_lazy as _

from models_engine.errors import InsufficientData

WHY = {
    "ended": _("The engine process %(name)s ended in the middle of this work. Was it killed, or out of memory?"),
    "no items": _("There are no items yet."),
    "no labels": _("There are no labels that count yet. Ask again once there are."),
    "no estimator": _("There is no estimator called “%(name)s”. Choose one of %(names)s in the project's settings."),
    "nothing to record": _("There is no fit to make a run record of yet. Ask again once the ranking shows one."),
    "no fit": _("There is no fit yet. Ask again once the ranking shows one."),
    "few first": _(
        "The first cohort has %(labels)d labels of %(people)d annotators; "
        "it takes %(least_labels)d labels of %(least_people)d annotators to compare it."
    ),
    "few second": _(
        "The second cohort has %(labels)d labels of %(people)d annotators; "
        "it takes %(least_labels)d labels of %(least_people)d annotators to compare it."
    ),
    "apart": _(
        "Both cohorts have compared %(kept)d of the %(items)d items with others in common; it takes 2. "
        "More labels mend it."
    ),
    "died": _(
        "The engine process ended in the middle of the comparison, several times. Was it killed, or out of memory?"
    ),
    # Of webhooks.
    "certificate": _("The certificate was not accepted: %(reason)s"),
    "no answer": _("No answer within %(n)d seconds."),
    "no connection": _("The connection failed (%(reason)s)."),
    "no address": _("This is no address. Write it as in https://example.org/hook."),
    "no https": _("The address has to begin with https://."),
    "more than an address": _("Write the address without a user, a password or a part after “#”."),
    "not plain": _("Write the address in plain letters; others belong in percent or punycode form."),
    "inside": _("Addresses inside the site's own network can't be called. Use a public one."),
    "nowhere": _("The name “%(host)s” leads nowhere."),
    "leads inside": _("The name leads into the site's own network, which can't be called."),
}


class TooLittle(InsufficientData):
    """Its text is what a row's message stores; in_words says it."""

    def __init__(self, why: str, **values: int) -> None:
        super().__init__(stored(why, **values))


class NotComparable(TooLittle):
    pass


def stored(why: str, **values: int | str) -> str:
    return json.dumps({"why": why, **values})


def in_words(message: str) -> str:
    """What a stored message says; a text that no code stands for is an error's own and stays as it is."""
    try:
        said: Any = json.loads(message)
    except ValueError:
        return message
    why = said.pop("why", None) if isinstance(said, dict) else None
    return str(WHY[why]) % said if why in WHY else message
