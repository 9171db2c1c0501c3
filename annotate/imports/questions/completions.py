"""A row with a list of completions, each with its model and perhaps a score: the answers, and what the scores say.

Models and scores are fields of each completion, or lists of their own beside a list of texts.
"""

import json
import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from annotate.files.cells import shortened
from annotate.files.limits import Unusable
from annotate.files.sheets import Cell

# What fields of a completion are called, the more telling first.
TEXTS = "response completion answer output text content".split()
MODELS = "model competitor system model_name source".split()
SCORES = "overall_score score rating overall fine-grained_score fine_grained_score".split()
MAX_COMPLETIONS = 50  # in a row
MAX_QUESTIONS = 300  # that a row makes


class Completion(NamedTuple):
    text: str
    model: str
    score: float | None


def completions_in(cell: Cell, score_field: str = "", models: Cell = "", scores: Cell = "") -> list[Completion]:
    """Return the completions of a cell, a JSON list of objects or of texts. Raises Unusable.

    score_field: which field is the score; "" for the first known one that a completion has.   models, scores: lists
    beside it, in the same order, for completions that do not say these themselves.
    """
    given = list_in(cell)
    is_objects = given is not None and all(isinstance(one, dict) for one in given)
    if given is None or not (is_objects or all(isinstance(one, str) for one in given)):
        raise Unusable(
            _(
                '“%(value)s” is no list of completions. Write a JSON list such as [{"model": …, "response": …}], or a '
                "list of texts with models and scores as lists in columns of their own."
            )
            % {"value": shortened(cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False))}
        )
    if not 2 <= len(given) <= MAX_COMPLETIONS:
        raise Unusable(
            _("The row has %(n)d completions; give 2 to %(limit)d.") % {"n": len(given), "limit": MAX_COMPLETIONS}
        )
    if is_objects:
        found = [read_completion(n, one, score_field) for n, one in enumerate(given, 1)]
    else:
        found = [Completion(text.strip(), "", None) for text in given]
    if any(not one.model for one in found):
        names = beside(models, len(found), _("models"))
        found = [one if one.model else one._replace(model=name) for one, name in zip(found, names, strict=True)]
    if all(one.score is None for one in found):
        numbers = beside(scores, len(found), _("scores"))
        found = [one._replace(score=score_in(value)) for one, value in zip(found, numbers, strict=True)]
    return found


def list_in(cell: Cell) -> list[Any] | None:
    """Return a cell's list: of JSON, or JSON in a table's cell; None where it is none."""
    if not isinstance(cell, str):
        return list(cell)
    try:
        found = json.loads(cell) if cell.lstrip().startswith("[") else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def beside(cell: Cell, n: int, what: str) -> list[str]:
    """Return one text for each of n completions, "" where the list says nothing. Raises Unusable.

    what: what the list holds, in words.
    """
    if not cell:
        return [""] * n
    found = list_in(cell)
    if found is None or any(isinstance(one, dict | list) for one in found):
        raise Unusable(
            _("“%(value)s” is no list of %(what)s. Write a JSON list with one for each completion, such as [“…”, “…”].")
            % {"value": shortened(str(cell)), "what": what}
        )
    if len(found) != n:
        raise Unusable(
            _("The row has %(n)d completions and %(given)d %(what)s. Give one for each, null where there is none.")
            % {"n": n, "given": len(found), "what": what}
        )
    return ["" if one is None else str(one).strip() for one in found]


def read_completion(n: int, values: Mapping[str, Any], score_field: str) -> Completion:
    text = first_of(values, TEXTS)
    if not isinstance(text, str):
        raise Unusable(
            _("Completion %(n)d has no text. Call its field one of: %(known)s.") % {"n": n, "known": ", ".join(TEXTS)}
        )
    model = first_of(values, MODELS)
    score = first_of(values, [score_field] if score_field else SCORES)
    return Completion(text.strip(), "" if model is None else str(model), score_in(score))


def first_of(values: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((values[name] for name in names if values.get(name) not in (None, "")), None)


def score_in(value: Any) -> float | None:
    """Return the number that is given; None for none, such as “N/A”."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        score = float(value)
    except (ValueError, OverflowError):
        return None
    return score if math.isfinite(score) else None


def sets_of(n: int, k: int) -> list[tuple[int, ...]]:
    """Return every set of k of n completions, by their places. Raises Unusable."""
    if n < k:
        raise Unusable(
            _("The row has %(n)d completions; tasks of this project show %(k)d. Add some, or leave the row out.")
            % {"n": n, "k": k}
        )
    if math.comb(n, k) > MAX_QUESTIONS:
        raise Unusable(
            _("The row's %(n)d completions make %(sets)d questions of %(k)d; the limit is %(limit)d. Split it.")
            % {"n": n, "sets": math.comb(n, k), "k": k, "limit": MAX_QUESTIONS}
        )
    return list(combinations(range(n), k))


def groups_by_score(places: Sequence[int], found: Sequence[Completion]) -> list[list[int]] | None:
    """Return these completions by their scores, the highest first, equal ones together; None where one has no score."""
    scores = [found[place].score for place in places]
    known = [score for score in scores if score is not None]
    if len(known) < len(scores):
        return None
    pairs = list(zip(places, known, strict=True))
    return [[place for place, own in pairs if own == score] for score in sorted(set(known), reverse=True)]
