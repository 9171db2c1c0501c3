"""An answer that found its annotator signed out: kept in the address to come back to; JavaScript keeps it by itself."""

from dataclasses import dataclass
from uuid import UUID

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode

from annotate.errors import BadAnswer
from annotate.forms.labelling import BY_CRITERION, ORDER_FIELDS, AnswerForm
from annotate.models import LONGEST_COMMENT, Annotator, Label
from annotate.queries.answer_words import all_in_words, said_in
from annotate.queries.labelling import awaits_label


@dataclass(frozen=True)
class Unsent:
    """What a form with one button sends."""

    token: str
    words: str
    values: dict[str, str]


def sign_in_first(request: HttpRequest, token: str, project_id: UUID) -> HttpResponse:
    """Says that signing in comes first, with a link that comes back with the answer."""
    back = f"{reverse('label', args=[project_id])}?{urlencode({'unsent': token, **sent_values(request.POST)})}"
    link = f"{reverse('account_login')}?{urlencode({'next': back})}"
    return render(request, "labelling/signed_out.html", {"link": link}, status=401)


def unsent_answer(request: HttpRequest, annotator: Annotator) -> Unsent | None:
    """The answer that came back in the address, if it still waits to be sent."""
    token = request.GET.get("unsent")
    if not token or not awaits_label(annotator, token):
        return None
    try:
        answer = AnswerForm(request.GET).to_answer("", annotator.project)
    except BadAnswer:
        return None
    if any(one.outcome not in Label.Outcome.values for one in (answer, *answer.further)):
        return None
    return Unsent(token, all_in_words(annotator.project, said_in(answer)), sent_values(request.GET))


def sent_values(data: QueryDict) -> dict[str, str]:
    names = [*AnswerForm.base_fields, *(name for name in [*ORDER_FIELDS, *BY_CRITERION] if name in data)]
    values = {name: data.get(name, "")[:100] for name in names}
    comment = data.get("comment", "")[:LONGEST_COMMENT]
    return values | {"comment": comment} if comment else values
