"""Lists, adds and removes the people expected, sends their links, and joins by such a link, through the API."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.annotators.roster import queries
from annotate.annotators.roster.actions import add_people, remove_person, send_links, shown_link
from annotate.annotators.roster.courses import import_course
from annotate.annotators.roster.table import MAX_ROWS, RosterCheck, check_rows
from annotate.api.base import (
    ApiRequest,
    ApiView,
    NoQuery,
    PageQuery,
    StrictSerializer,
    page_serializer,
    paginated_response,
    validated_body,
    validated_query,
)
from annotate.api.idempotency import HEADER, idempotent
from annotate.api.problems import Unprocessable
from annotate.core import rate_limits
from annotate.files.limits import MAX_KEY, MAX_TAG
from annotate.lti.courses import courses_of, disconnect
from annotate.models import MAX_ANNOTATOR_TAGS, ExpectedPerson, Project
from annotate.models.roster import MAX_ORGANISATION_LENGTH
from annotate.participation.joining.expected import join_as_expected
from annotate.participation.joining.pseudonyms import MAX_PSEUDONYM_LENGTH

MAX_CONFLICTS = 500  # of one person, in one request
SAME_NAMES = ("name", "email", "organisation", "tags", "invited_at", "n_invitations", "n_labels")


class ExpectedRow(serializers.Serializer):
    id = serializers.IntegerField()
    name = serializers.CharField()
    email = serializers.CharField(allow_blank=True)
    organisation = serializers.CharField(allow_blank=True)
    tags = serializers.ListField(child=serializers.CharField())
    conflicts = serializers.ListField(
        child=serializers.CharField(), help_text="Keys of items, and tags of items after `tag:`."
    )
    link = serializers.CharField(
        allow_blank=True,
        help_text="The person's own link, for owners; empty for managers, who may send it. Whoever has it can answer "
        "as this person.",
    )
    invited_at = serializers.DateTimeField(allow_null=True)
    n_invitations = serializers.IntegerField()
    joined_at = serializers.DateTimeField(allow_null=True)
    annotator = serializers.UUIDField(
        allow_null=True, help_text="Their key among the annotators, once they have joined."
    )
    n_labels = serializers.IntegerField(help_text="Number of answers that count.")


class NewExpected(StrictSerializer):
    name = serializers.CharField(max_length=MAX_PSEUDONYM_LENGTH)
    email = serializers.CharField(max_length=254, required=False, default="", allow_blank=True)
    organisation = serializers.CharField(
        max_length=MAX_ORGANISATION_LENGTH,
        required=False,
        default="",
        allow_blank=True,
        help_text="Items with the tag `organisation:NAME` are a conflict; so are those with `domain:` and the domain "
        "of the e-mail address.",
    )
    tags = serializers.ListField(
        child=serializers.CharField(max_length=MAX_TAG), required=False, default=list, max_length=MAX_ANNOTATOR_TAGS
    )
    conflicts = serializers.ListField(
        child=serializers.CharField(max_length=max(MAX_KEY, MAX_TAG + 4)),
        required=False,
        default=list,
        max_length=MAX_CONFLICTS,
        help_text="Keys of items, and tags of items after `tag:`.",
    )


class NewExpectedList(StrictSerializer):
    rows = serializers.ListField(child=NewExpected(), min_length=1, max_length=MAX_ROWS)


class ExpectedAdded(serializers.Serializer):
    n_people = serializers.IntegerField()


class LinkMessage(StrictSerializer):
    to = serializers.ChoiceField(
        choices=[one.value for one in queries.Group],
        required=False,
        default=queries.Group.NEW.value,
        help_text="`new`: who was never written to. `missing`: who was, and has not come. `unfinished`: who has joined "
        "and has not given the answers asked of each, and can go on; 409 while the project takes no answers.",
    )
    words = serializers.CharField(max_length=1000, required=False, default="", allow_blank=True)


class LinkRow(serializers.Serializer):
    name = serializers.CharField(source="person.name")
    is_sent = serializers.BooleanField(source="ok")
    told = serializers.CharField(help_text="What happened to the message.")


class LinksSent(serializers.Serializer):
    results = LinkRow(many=True)


class JoinedAsExpected(serializers.Serializer):
    project = serializers.UUIDField()
    pseudonym = serializers.CharField()
    secret = serializers.CharField(help_text="Send it as `Authorization: Annotator SECRET`.")


class Roster(ApiView):
    @extend_schema(operation_id="roster_list", parameters=[PageQuery], responses=page_serializer(ExpectedRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the people expected by name, with their links, conflicts and how much they have answered."""
        project = access.project_for(request, project_id, access.MANAGE)
        query = validated_query(request, PageQuery)
        return paginated_response(
            request, queries.roster(project), query, lambda rows: expected_rows(request, project, rows)
        )

    @extend_schema(
        operation_id="roster_create", parameters=[HEADER], request=NewExpectedList, responses={201: ExpectedAdded}
    )
    @idempotent
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Puts up to 500 people on the list. If any row is wrong, nobody is added and errors are listed by row."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        rows = validated_body(request, NewExpectedList)["rows"]
        cells = ((place, cells_of(one), "") for place, one in enumerate(rows))
        people, problems = check_rows(cells, RosterCheck.of_project(project))
        if problems:
            raise Unprocessable({f"rows.{row.place}": [row.message] for row in problems})
        n = add_people(project=project, actor=request.user, rows=people, now=timezone.now())
        return Response({"n_people": n}, status=201)


def expected_rows(request: ApiRequest, project: Project, people: Iterable[ExpectedPerson]) -> list[dict[str, Any]]:
    rows = [
        {
            **{name: getattr(person, name) for name in SAME_NAMES},
            "id": person.pk,
            "conflicts": queries.conflict_names(person),
            "link": shown_link(request, project, person),
            "joined_at": person.annotator and person.annotator.joined_at,
            "annotator": person.annotator and person.annotator.key,
        }
        for person in people
    ]
    return list(ExpectedRow(rows, many=True).data)


def cells_of(one: dict[str, Any]) -> dict[str, str]:
    return {**one, "tags": "\n".join(one["tags"]), "conflicts": "\n".join(one["conflicts"])}


class RosterRow(ApiView):
    @extend_schema(operation_id="roster_delete", request=None, responses={204: None})
    def delete(self, request: ApiRequest, project_id: UUID, person_id: int) -> Response:
        """Takes a person off the list: their link stops working; who has joined stays an annotator."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        people = ExpectedPerson.objects.select_related("project").filter(project=project)
        remove_person(person=get_object_or_404(people, pk=person_id), actor=request.user, now=timezone.now())
        return Response(status=204)


class RosterInvitations(ApiView):
    @extend_schema(operation_id="roster_invite", parameters=[HEADER], request=LinkMessage, responses={202: LinksSent})
    @idempotent
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Sends their links to up to 100 people of one group who have an address; says what happened to each.

        Nobody gets two messages within an hour. Reminders (`unfinished`) say how much the person has answered.
        """
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        given = validated_body(request, LinkMessage)
        plain: Any = request._request
        to = queries.Group(given["to"])
        results = send_links(plain, project, request.user, to, given["words"], timezone.now())
        return Response(LinksSent({"results": results}).data, status=202)


class CourseRow(serializers.Serializer):
    id = serializers.IntegerField()
    title = serializers.CharField(allow_blank=True)
    platform = serializers.CharField(source="platform.name")
    fetched_at = serializers.DateTimeField(allow_null=True, help_text="When its people were last brought in.")


class CoursesDetail(serializers.Serializer):
    courses = CourseRow(many=True)


class BroughtInDetail(serializers.Serializer):
    n_added = serializers.IntegerField()
    n_known = serializers.IntegerField(help_text="On the list already.")
    n_came = serializers.IntegerField(help_text="Take part under a pseudonym already, and keep it.")
    n_nameless = serializers.IntegerField(help_text="Left out, since the platform does not give their names.")


class RosterCourses(ApiView):
    @extend_schema(operation_id="roster_courses_list", responses=CoursesDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the courses of learning platforms that are connected with the project."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        return Response(CoursesDetail({"courses": courses_of(project)}).data)


class RosterCourse(ApiView):
    @extend_schema(operation_id="roster_courses_bring_in", request=None, responses=BroughtInDetail)
    def post(self, request: ApiRequest, project_id: UUID, course_id: int) -> Response:
        """Puts the people of a course on the list: names and roles (tags `learner`, `teacher`), no addresses."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        course = get_object_or_404(courses_of(project), pk=course_id)
        imported = import_course(project=project, course=course, actor=request.user, now=timezone.now())
        return Response(BroughtInDetail(imported).data)

    @extend_schema(operation_id="roster_courses_delete", request=None, responses={204: None})
    def delete(self, request: ApiRequest, project_id: UUID, course_id: int) -> Response:
        """Disconnects a course; who was brought in from it stays on the list."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        course = get_object_or_404(courses_of(project), pk=course_id)
        disconnect(course=course, actor=request.user, now=timezone.now())
        return Response(status=204)


class JoinPersonally(ApiView):
    """Joining by the personal link of somebody on the roster."""

    scope = None
    authentication_classes = []

    @extend_schema(operation_id="annotating_join_personally", request=None, responses={200: JoinedAsExpected})
    def post(self, request: ApiRequest, token: str) -> Response:
        """Joins as the person of a personal link, or returns their secret again.

        Consent and questionnaire are asked for as after `annotating_join`.
        """
        validated_query(request, NoQuery)
        rate_limits.check_rate_limit(request, "join")
        person = access.expected_person(token)
        annotator = join_as_expected(person=person, version="", now=timezone.now())
        made = {"project": person.project_id, "pseudonym": annotator.pseudonym, "secret": annotator.resume_token}
        return Response(JoinedAsExpected(made).data)
