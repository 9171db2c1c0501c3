"""Connects courses with projects, so that their people can be brought into the roster."""

from datetime import datetime

from django.db.models import QuerySet

from annotate.audit import record_event
from annotate.core.transactions import write_transaction
from annotate.lti.messages import TeacherMessage
from annotate.models import EventVerb, LtiCourse, LtiPlatform, Project, User


def connect(
    *, project: Project, actor: User, message: TeacherMessage, platform: LtiPlatform, now: datetime
) -> LtiCourse | None:
    """Return the connection; None where the platform does not say where the course's people are."""
    if not message.memberships_url:
        return None
    with write_transaction():
        course, is_new = LtiCourse.objects.get_or_create(
            project=project,
            platform=platform,
            memberships_url=message.memberships_url,
            defaults={"title": message.course},
        )
        if is_new:
            record_event(project, actor, EventVerb.COURSE_CONNECTED, now, course=str(course), platform=platform.name)
    return course


def disconnect(*, course: LtiCourse, actor: User, now: datetime) -> None:
    """Forget the course; who was brought in from it stays on the roster."""
    with write_transaction():
        title, name = str(course), course.platform.name
        if LtiCourse.objects.filter(pk=course.pk).delete()[0]:
            record_event(course.project, actor, EventVerb.COURSE_DISCONNECTED, now, course=title, platform=name)


def courses_of(project: Project) -> QuerySet[LtiCourse]:
    return LtiCourse.objects.filter(project=project).select_related("platform", "project").order_by("title", "pk")


def is_connected(project: Project, platform: LtiPlatform, message: TeacherMessage) -> bool:
    known = LtiCourse.objects.filter(project=project, platform=platform)
    return known.filter(memberships_url=message.memberships_url).exists()
