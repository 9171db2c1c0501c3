"""An answer that found its annotator signed out: kept in the address to come back to; JavaScript keeps it by itself."""

from dataclasses import dataclass
from uuid import UUID

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode

from annotate.core.errors import InvalidAnswer
from annotate.labelling.answer_text import describe_answers, summarize_answer
from annotate.labelling.forms import CRITERION_FIELDS, ITEM_COMMENT_FIELDS, ORDER_FIELDS, AnswerForm
from annotate.labelling.queries import is_unanswered
from annotate.models import MAX_COMMENT_LENGTH, Annotator, Label


@dataclass(frozen=True)
class UnsentAnswer:
    """What a form with one button sends."""

    token: str
    words: str
    values: dict[str, str]


def sign_in_first(request: HttpRequest, token: str, project_id: UUID) -> HttpResponse:
    """Says that signing in comes first, with a link that comes back with the answer."""
    back = f"{reverse('label', args=[project_id])}?{urlencode({'unsent': token, **submitted_values(request.POST)})}"
    link = f"{reverse('account_login')}?{urlencode({'next': back})}"
    return render(request, "labelling/signed_out.html", {"link": link}, status=401)


def unsent_answer(request: HttpRequest, annotator: Annotator) -> UnsentAnswer | None:
    """Return the answer that came back in the address, if it still waits to be sent."""
    token = request.GET.get("unsent")
    if not token or not is_unanswered(annotator, token):
        return None
    try:
        answer = AnswerForm(request.GET).to_answer("", annotator.project)
    except InvalidAnswer:
        return None
    if any(one.outcome not in Label.Outcome.values for one in (answer, *answer.further)):
        return None
    return UnsentAnswer(
        token, describe_answers(annotator.project, summarize_answer(answer)), submitted_values(request.GET)
    )


def submitted_values(data: QueryDict) -> dict[str, str]:
    names = [*AnswerForm.base_fields, *(name for name in [*ORDER_FIELDS, *CRITERION_FIELDS] if name in data)]
    values = {name: data.get(name, "")[:100] for name in names}
    comments = {name: data.get(name, "")[:MAX_COMMENT_LENGTH] for name in ("comment", *ITEM_COMMENT_FIELDS)}
    return values | {name: comment for name, comment in comments.items() if comment}
