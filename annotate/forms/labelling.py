"""What annotators send: a name, and answers, whose timing may be missing or wrong but never costs a label."""

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.core import signing
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext_lazy as _

from annotate import pseudonyms
from annotate.actions.labels import MAX_RESPONSE_MS, Answer, Outcome
from annotate.errors import BadAnswer
from annotate.models import MOST_CRITERIA, MOST_SHOWN, ORDERED, Project, new_token
from annotate.orders import ASKED

PLACES = list("abcdefghijklmnopqrstuvwxyz")  # how a form names the items shown
EACH = "each"  # the answer of a form that answers several criteria: by the fields of each, numbered from 1
ORDER_FIELDS = ["best", "worst", *(f"rank_{letter}" for letter in PLACES[:MOST_SHOWN])]


BY_CRITERION = [f"{name}_{n}" for n in range(1, MOST_CRITERIA + 1) for name in ("answer", *ORDER_FIELDS)]


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

    def to_answer(self, session: str, project: Project) -> Answer:
        self.is_valid()
        values = self.cleaned_data
        said = values.get("answer", "")
        more: dict[str, Any] = {key: values.get(key) for key in ("response_ms", "active_ms", "client_at")}
        more["comment"] = comment_in(self.data)
        if said == EACH and project.criteria:
            first, *further = [said_by(project, n, self.data) for n in range(1, len(project.criteria) + 1)]
            return replace(first, further=tuple(further), session=session, **more)
        answer = said_in(said, self.data)
        reason = reason_in(self.data) if said == Outcome.SKIP else ""
        return replace(answer, reason=reason, session=session, **more)


def said_in(said: str, data: Mapping[str, str]) -> Answer:
    """The answer that is named, of an order with the fields that tell it. Raises BadAnswer."""
    letter, _line, grade = said.partition("_")
    if letter in PLACES:
        return Answer(Outcome.CHOICE, chosen=PLACES.index(letter), grade=grade)
    return Answer(said, order=order_in(data, said) if said in ORDERED else ())


def said_by(project: Project, criterion: int, data: Mapping[str, str]) -> Answer:
    """The answer by one of several criteria: its fields are those of a form that asks by one, and its number."""
    fields = {name: data[own] for name in ORDER_FIELDS if (own := f"{name}_{criterion}") in data}
    asked = ASKED[Project.TaskType(project.task_type)].value
    ordered = asked if asked in ORDERED and any(fields.values()) else ""
    return said_in(data.get(f"answer_{criterion}", "")[:100] or ordered, fields)


def comment_in(data: Mapping[str, str]) -> str:
    """The comment with the line ends that it was typed with; no database takes a NUL."""
    return data.get("comment", "").replace("\r\n", "\n").replace("\0", "").strip()


def reason_in(data: Mapping[str, str]) -> str:
    """Why it is skipped: the reason chosen, else words of one's own, on one line."""
    given = data.get("reason", "") or data.get("reason_words", "")
    return " ".join(given.replace("\0", "").split())


def order_in(data: Mapping[str, str], outcome: str) -> tuple[int, ...]:
    """The places that a form names, best first: in `best` and `worst`, or by a rank from 1 in `rank_a`, `rank_b`, ...

    Raises BadAnswer where a rank is given twice or left out before a lower one.
    """
    if outcome == Outcome.BEST_WORST:
        return tuple(PLACES.index(data[name]) for name in ("best", "worst") if data.get(name) in PLACES)
    given = {place: data.get(f"rank_{letter}", "") for place, letter in enumerate(PLACES[:MOST_SHOWN])}
    ranks = {place: int(rank) for place, rank in given.items() if rank.isdecimal() and len(rank) < 4}
    order = sorted(ranks, key=lambda place: ranks[place])
    for expected, place in enumerate(order, start=1):
        if ranks[place] < expected:
            raise BadAnswer(_("Two items have place %(n)d. Give each place to one item.") % {"n": ranks[place]})
        if ranks[place] > expected:
            raise BadAnswer(_("No item has place %(n)d. Give it to one.") % {"n": expected})
    return tuple(order)


class JoinForm(forms.Form):
    """The name that an annotator goes by in one project, and the ticket that makes this form count once."""

    pseudonym = forms.CharField(
        label=_("Your name here"),
        max_length=pseudonyms.LONGEST,
        help_text=_("The project's owner sees your answers under this name. It need not be your real one."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "dir": "auto"}),
    )
    ticket = forms.Field(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project

    def clean_pseudonym(self) -> str:
        name = pseudonyms.tidy(self.cleaned_data["pseudonym"])
        if not any(character.isalnum() for character in name):
            raise forms.ValidationError(_("A name needs at least one letter or digit. Type one, or keep ours."))
        return name

    def clean_ticket(self) -> str:
        """The resume token that the annotator of this form gets."""
        try:
            return str(ticket_signer(self.project).unsign(self.cleaned_data["ticket"] or "", max_age=timedelta(days=1)))
        except signing.BadSignature:
            return new_token()


def new_ticket(project: Project) -> str:
    return ticket_signer(project).sign(new_token())


def ticket_signer(project: Project) -> signing.TimestampSigner:
    return signing.TimestampSigner(salt=f"annotate.join.{project.pk}")
