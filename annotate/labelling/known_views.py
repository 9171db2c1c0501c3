"""The button “I know this one” on the task page: takes the item away and shows the next task."""

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotate import access
from annotate.core import rate_limits
from annotate.core.errors import InvalidAnswer, UserError
from annotate.labelling.known_items import declare_known
from annotate.labelling.unsent_answers import sign_in_first
from annotate.labelling.views import error_page, show_next_task


@never_cache
@require_POST
@rate_limits.limit_concurrency
def known(request: HttpRequest, token: str) -> HttpResponse:
    """Never show the item at the place that was sent again; sent twice it is once."""
    try:
        presentation = access.presentation_for(request, token)
    except access.SignInRequired as refusal:
        return sign_in_first(request, token, refusal.project_id)
    annotator = presentation.annotator
    rate_limits.check_rate_limit(request, "answer", who=str(annotator.pk))
    if annotator.user_id is None:  # whose session may have run out
        access.remember_annotator(request, annotator)
    try:
        declare_known(presentation=presentation, place=place_in(request.POST.get("place", "")), now=timezone.now())
    except UserError as refusal:
        return error_page(request, annotator, refusal, _("Nothing was changed."))
    return show_next_task(request, presentation.annotator)


def place_in(text: str) -> int:
    """Return the place that a form names, from 1, as a place from 0. Raises InvalidAnswer."""
    if not text.isascii() or not text.isdigit() or len(text) > 2:
        raise InvalidAnswer(_("The form does not say which item you know. Reload the page and press the button again."))
    return int(text) - 1
