"""What annotators send: a name, and answers, whose timing may be missing or wrong but never costs a label."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django import forms
from django.utils.dateparse import parse_datetime

from annotate.core.languages import MAX_LANGUAGE_LENGTH
from annotate.labelling.actions import MAX_RESPONSE_MS, Answer, Outcome
from annotate.labelling.task_types.base import PLACES, Order
from annotate.labelling.task_types.registry import is_ordered, ordered_task_type, task_type_of
from annotate.labelling.wording import is_shown_language
from annotate.models import MAX_CRITERIA, MAX_ITEMS_SHOWN, Project

ALL_CRITERIA = "each"  # the answer of a form that answers several criteria: by the fields of each, numbered from 1
ORDER_FIELDS = ["best", "worst", *(f"rank_{letter}" for letter in PLACES[:MAX_ITEMS_SHOWN])]

ITEM_COMMENT_FIELDS = [f"comment_{letter}" for letter in PLACES[:MAX_ITEMS_SHOWN]]


CRITERION_FIELDS = [f"{name}_{n}" for n in range(1, MAX_CRITERIA + 1) for name in ("answer", *ORDER_FIELDS)]


class Milliseconds(forms.Field):
    """A duration; None if it is no number or negative, a day if it is longer."""

    def to_python(self, value: Any) -> int | None:
        try:
            milliseconds = float(value)
        except (TypeError, ValueError):
            return None
        if math.isnan(milliseconds) or milliseconds < 0:
            return None
        return round(min(milliseconds, MAX_RESPONSE_MS))


class Moment(forms.Field):
    """A moment by somebody's clock, however wrong; None if it is no moment with a time zone in this century."""

    def to_python(self, value: Any) -> datetime | None:
        try:
            moment = parse_datetime(value)
        except (TypeError, ValueError):
            return None
        if moment is None or moment.tzinfo is None or not 2000 <= moment.year < 2100:
            return None
        return moment


class AnswerForm(forms.Form):
    """The letter of an option, as in “a” or “a_clearly”, or an outcome, some with an order.

    What the project does not allow is refused where labels are written.
    """

    answer = forms.CharField(max_length=100)
    response_ms = Milliseconds(required=False)
    active_ms = Milliseconds(required=False)
    client_at = Moment(required=False)
    language = forms.CharField(max_length=2 * MAX_LANGUAGE_LENGTH + 1, required=False)

    def to_answer(self, session: str, project: Project) -> Answer:
        self.is_valid()
        values = self.cleaned_data
        choice = values.get("answer", "")
        more: dict[str, Any] = {key: values.get(key) for key in ("response_ms", "active_ms", "client_at")}
        more["comment"] = parse_comment(self.data)
        more["item_comments"] = parse_item_comments(self.data)
        language = values.get("language", "")
        more["language"] = language if is_shown_language(language, project) else ""
        if choice == ALL_CRITERIA and project.criteria:
            first, *further = [
                parse_criterion_answer(project, n, self.data) for n in range(1, len(project.criteria) + 1)
            ]
            return replace(first, further=tuple(further), session=session, **more)
        answer = parse_answer(choice, self.data, project)
        reason = parse_reason(self.data) if choice == Outcome.SKIP else ""
        return replace(answer, reason=reason, session=session, **more)


def parse_answer(choice: str, data: Mapping[str, str], project: Project) -> Answer:
    """Return the answer that is named, of an order with the fields that tell it. Raises InvalidAnswer."""
    letter, _line, grade = choice.partition("_")
    if letter in PLACES:
        return Answer(Outcome.CHOICE, chosen=PLACES.index(letter), grade=grade)
    ordered = ordered_task_type(choice)
    order = ordered.parse_order(data, project) if ordered else Order()
    return Answer(choice, order=order.places, shared=order.shared)


def parse_criterion_answer(project: Project, criterion: int, data: Mapping[str, str]) -> Answer:
    """Return the answer by one of several criteria: its fields are those of a form that asks by one, and its number."""
    fields = {name: data[own] for name in ORDER_FIELDS if (own := f"{name}_{criterion}") in data}
    asked = task_type_of(project).outcome.value
    ordered = asked if is_ordered(asked) and any(fields.values()) else ""
    return parse_answer(data.get(f"answer_{criterion}", "")[:100] or ordered, fields, project)


def parse_comment(data: Mapping[str, str]) -> str:
    """Return the comment with the line ends that it was typed with; no database takes a NUL."""
    return clean_comment(data.get("comment", ""))


def clean_comment(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\0", "").strip()


def parse_item_comments(data: Mapping[str, str]) -> tuple[str, ...]:
    """Return the comments on the items in the order shown, up to the last that says something."""
    return without_empty_end([clean_comment(data.get(name, "")) for name in ITEM_COMMENT_FIELDS])


def without_empty_end(comments: Sequence[str]) -> tuple[str, ...]:
    last = max((place for place, text in enumerate(comments) if text), default=-1)
    return tuple(comments[: last + 1])


def parse_reason(data: Mapping[str, str]) -> str:
    """Return why it is skipped: the reason chosen, else words of one's own, on one line."""
    given = data.get("reason", "") or data.get("reason_words", "")
    return " ".join(given.replace("\0", "").split())
