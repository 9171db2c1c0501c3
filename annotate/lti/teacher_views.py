"""Pages for teachers who come from a course: choosing what to place in it, connecting it, going on to the ranking.

Inside the platform's frame nobody is signed in, since accounts' cookies are for no other site's frames: there a page
leads to a window of its own, where the teacher signs in, and takes the choice back to the platform.
"""

from typing import Any
from uuid import UUID

from django.contrib.auth.views import redirect_to_login
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from annotate import access
from annotate.core.errors import UserError
from annotate.core.rate_limits import check_rate_limit
from annotate.lti import courses, launches, messages
from annotate.lti.deep_linking import signed_choice
from annotate.lti.frames import STATE_COOKIE
from annotate.lti.messages import TeacherMessage
from annotate.lti.services import origin_of
from annotate.lti.views import framed, problem
from annotate.models import LtiPlatform, Project

MAX_SHOWN = 200  # projects to choose from, the newest


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def choose(request: HttpRequest, token: str) -> HttpResponse:
    """Show whoever is signed in their projects; POST keeps the choice, for this window or for the platform's frame."""
    check_rate_limit(request, "answer")
    try:
        message, platform = messages.find(token)
    except UserError as refusal:
        return problem(request, str(refusal), status=refusal.status)
    if not message.return_url:
        raise Http404
    own_window = "window" in request.GET
    if not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path()) if own_window else waiting(request, token, message, platform)
    mine = own_projects(request)
    if request.method != "POST":
        return choice_page(request, message, platform, mine)
    chosen = [one for one in mine if str(one.pk) in request.POST.getlist("project")]
    if not chosen or (len(chosen) > 1 and not message.several):
        return choice_page(request, message, platform, mine, status=400)
    for project in chosen:
        courses.connect(project=project, actor=request.user, message=message, platform=platform, now=timezone.now())
    kept = {"projects": [str(one.pk) for one in chosen], "grades": "grades" in request.POST}
    messages.keep_choice(message, kept)
    if own_window:
        return render(request, "lti/chosen.html", {"platform": platform, "projects": chosen})
    return send_back(request, token, message, platform)


def own_projects(request: HttpRequest) -> list[Project]:
    mine: QuerySet[Project] = Project.objects.filter(
        memberships__user_id=request.user.pk or 0, memberships__role__in=access.MANAGE, archived_at=None
    ).exclude(state=Project.State.CLOSED)
    return list(mine.order_by("-created_at")[:MAX_SHOWN])


def choice_page(
    request: HttpRequest, message: TeacherMessage, platform: LtiPlatform, mine: list[Project], status: int = 200
) -> HttpResponse:
    context = {"message": message, "platform": platform, "projects": mine, "is_refused": status == 400}
    return render(request, "lti/choose.html", context, status=status)


def waiting(
    request: HttpRequest, token: str, message: TeacherMessage, platform: LtiPlatform, status: int = 200
) -> HttpResponse:
    """Show the page in the platform's frame that leads to a window of its own, and back."""
    context = {"token": token, "message": message, "platform": platform, "is_early": status == 409}
    return framed(render(request, "lti/waiting.html", context, status=status), platform)


@csrf_exempt
@never_cache
@require_POST
def place(request: HttpRequest, token: str) -> HttpResponse:
    """Take the choice that was made in another window back to the platform, in the browser where it began."""
    check_rate_limit(request, "answer")
    platform = None
    try:
        message, platform = messages.find(token)
        if message.return_url and messages.find_choice(message) is None:
            return waiting(request, token, message, platform, status=409)
    except UserError as refusal:
        return problem(request, str(refusal), platform, refusal.status)
    return send_back(request, token, message, platform)


def send_back(request: HttpRequest, token: str, message: TeacherMessage, platform: LtiPlatform) -> HttpResponse:
    """Show the form whose button takes the signed choice to the platform; it is made once."""
    try:
        launches.check_began_here(request.COOKIES.get(STATE_COOKIE, ""), message.nonce)
        choice = messages.find_choice(message)
        if choice is None or not messages.forget(message):
            raise messages.MessageGone
    except UserError as refusal:
        return problem(request, str(refusal), platform, refusal.status)
    found = Project.objects.in_bulk([UUID(pk) for pk in choice["projects"]])
    signed = signed_choice(
        platform=platform,
        message=message,
        projects=list(found.values()),
        grades=choice["grades"],
        url=request.build_absolute_uri(reverse("lti-launch")),
        now=timezone.now(),
    )
    context = {"address": message.return_url, "signed": signed, "projects": list(found.values()), "platform": platform}
    response = framed(render(request, "lti/send_back.html", context), platform)
    response.lti_posts_to = origin_of(message.return_url)  # type: ignore[attr-defined]
    return response


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def course(request: HttpRequest, token: str) -> HttpResponse:
    """Lead a member to the ranking, a manager past the question whether to connect the course; POST connects it."""
    check_rate_limit(request, "answer")
    try:
        message, platform = messages.find(token)
    except UserError as refusal:
        return problem(request, str(refusal), status=refusal.status)
    project = Project.objects.filter(pk=message.project).first() if message.project else None
    if project is None:
        raise Http404
    if not request.user.is_authenticated:
        if "window" in request.GET:
            return redirect_to_login(request.get_full_path())
        return framed(render(request, "lti/teacher.html", {"project": project, "token": token}), platform)
    role = access.role_in(request.user, project.pk)
    context: dict[str, Any] = {"project": project, "message": message, "platform": platform}
    if role not in access.SEE:
        return render(request, "lti/no_member.html", context, status=403)
    may_connect = role in access.MANAGE and not project.archived_at and message.memberships_url
    if request.method == "POST":
        if not may_connect:
            return problem(request, _("Only owners and managers of the project can connect a course."), status=403)
        courses.connect(project=project, actor=request.user, message=message, platform=platform, now=timezone.now())
        return redirect("expected-people", project.pk)
    if may_connect and not courses.is_connected(project, platform, message):
        return render(request, "lti/connect.html", context)
    return redirect("ranking", project.pk)
