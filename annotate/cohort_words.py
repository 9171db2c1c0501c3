"""Why two cohorts could not be compared: stored as what to say, and said in the language of whoever reads it."""

import json
from typing import Any

from django.utils.translation import gettext_lazy as _

from models_engine.errors import InsufficientData

WHY = {
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
}


class NotComparable(InsufficientData):
    """Its text is what CohortComparison.message stores."""

    def __init__(self, why: str, **values: int) -> None:
        super().__init__(stored(why, **values))


def stored(why: str, **values: int) -> str:
    return json.dumps({"why": why, **values})


def in_words(message: str) -> str:
    """What a stored message says; a text that no code stands for is an error's own and stays as it is."""
    try:
        said: Any = json.loads(message)
    except ValueError:
        return message
    why = said.pop("why", None) if isinstance(said, dict) else None
    return str(WHY[why]) % said if why in WHY else message
