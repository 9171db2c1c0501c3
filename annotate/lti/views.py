"""The addresses that a learning platform is told of: where a launch begins, where it arrives, this site's keys."""

import json
from typing import Any

import jwt
from django.core import signing
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotate import access
from annotate.core.errors import UserError
from annotate.core.rate_limits import check_rate_limit
from annotate.labelling.navigation import redirect_to_task
from annotate.labelling.views import open_first_task
from annotate.lti import launches
from annotate.lti.deep_linking import read_deep_linking_request
from annotate.lti.frames import FRAME_KEY, STATE_COOKIE
from annotate.lti.messages import TeacherMessage, course_of, keep
from annotate.models import Annotator, ExpectedPerson, LtiPlatform

ENTER_SECONDS = 60


@csrf_exempt
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def login(request: HttpRequest) -> HttpResponse:
    """Begin a launch: send the browser to the platform, which says who it is."""
    check_rate_limit(request, "answer")
    asked = request.POST if request.method == "POST" else request.GET
    platform = launches.find_platform(asked.get("iss", ""), asked.get("client_id", ""))
    if not asked.get("login_hint"):
        return problem(
            request, _("The platform's request has no login_hint. Open the task in the course again."), platform
        )
    hints = {name: asked.get(name, "") for name in ("login_hint", "lti_message_hint")}
    address, state = launches.begin(platform, hints, request.build_absolute_uri(reverse("lti-launch")))
    response = HttpResponseRedirect(address)
    response.set_cookie(STATE_COOKIE, state, max_age=launches.SECONDS, path="/lti/", httponly=True, samesite="Lax")
    response.lti_origin = platform.origin  # type: ignore[attr-defined]
    return response


@csrf_exempt
@never_cache
@require_POST
def launch(request: HttpRequest) -> HttpResponse:
    """Take the platform's message; who learns goes on to the task, who teaches to the project or the choice of one."""
    check_rate_limit(request, "answer")
    platform = None
    try:
        state, kept = request.POST.get("state", ""), request.COOKIES.get(STATE_COOKIE, "")
        platform, nonce = launches.platform_answering(state, kept)
        claims = launches.check_message(platform, nonce, request.POST.get("id_token", ""))
        if claims[f"{launches.CLAIM}message_type"] == launches.CHOOSE:
            return to_teacher(platform, "lti-choose", read_deep_linking_request(platform, nonce, claims))
        asked = launches.launch_of(platform, claims)
        if asked.teaches:
            title, address = course_of(claims)
            message = TeacherMessage(platform.pk, nonce, title, address, str(asked.project.pk))
            return to_teacher(platform, "lti-course", message)
        who = admitted(asked)
    except UserError as refusal:
        return problem(request, str(refusal), platform, refusal.status)
    token = signing.dumps({**who, "platform": platform.pk, "nonce": nonce}, salt="lti enter")
    return framed(HttpResponseRedirect(reverse("lti-enter", args=[token]), status=303), platform)


def to_teacher(platform: LtiPlatform, page: str, message: TeacherMessage) -> HttpResponse:
    return framed(HttpResponseRedirect(reverse(page, args=[keep(message)]), status=303), platform)


def admitted(asked: launches.Launch) -> dict[str, int]:
    """Return who the learner is: an annotator, or somebody on the roster who is asked first."""
    found = launches.arrive(asked, timezone.now())
    if isinstance(found, ExpectedPerson):
        return {"person": found.pk}
    open_first_task(found)
    return {"annotator": found.pk}


@never_cache
@require_safe
def enter(request: HttpRequest, token: str) -> HttpResponse:
    """Bind the browser, once; a step of its own, since the platform's POST comes without this site's cookies."""
    try:
        token_values = signing.loads(token, salt="lti enter", max_age=ENTER_SECONDS)
    except signing.BadSignature:
        return problem(request, _("This launch is too old. Go back to the course and open the task again."), status=404)
    platform = get_object_or_404(LtiPlatform, pk=token_values["platform"])
    try:
        launches.check_began_here(request.COOKIES.get(STATE_COOKIE, ""), token_values["nonce"])
    except UserError as refusal:
        return problem(request, str(refusal), platform, refusal.status)
    if request.method != "GET" or not cache.add(f"lti-enter-{token_values['nonce']}", 1, timeout=2 * ENTER_SECONDS):
        text = _("This launch was used already.") + " " + _("Go back to the course and open the task again.")
        return problem(request, text, platform, 404)
    request.session[FRAME_KEY] = platform.origin
    if "person" in token_values:
        person = get_object_or_404(ExpectedPerson, pk=token_values["person"])
        return HttpResponseRedirect(reverse("personal", args=[person.token]), status=303)
    annotator = get_object_or_404(Annotator.objects.select_related("project"), pk=token_values["annotator"])
    access.remember_annotator(request, annotator)
    return redirect_to_task(annotator.project_id)


def framed(response: HttpResponse, platform: LtiPlatform | None) -> HttpResponse:
    response.lti_origin = platform.origin if platform else ""  # type: ignore[attr-defined]
    return response


def problem(request: HttpRequest, text: str, platform: LtiPlatform | None = None, status: int = 400) -> HttpResponse:
    return framed(render(request, "lti/problem.html", {"text": text}, status=status), platform)


@require_safe
def keys(request: HttpRequest) -> JsonResponse:
    """Show the public keys with which this site asks platforms for tokens."""
    rows = []
    for platform in LtiPlatform.objects.filter(active=True).order_by("pk"):
        algorithm = jwt.algorithms.RSAAlgorithm(jwt.algorithms.RSAAlgorithm.SHA256)
        public: Any = algorithm.prepare_key(platform.private_key).public_key()  # type: ignore[union-attr]
        row = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(public))
        rows.append({**row, "kid": f"platform-{platform.pk}", "use": "sig", "alg": "RS256"})
    return JsonResponse({"keys": rows})
