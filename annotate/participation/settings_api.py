"""Who may take part: the rules of entry, the questionnaire, new links, invitations by e-mail."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.base import ApiRequest, ApiView, NoQuery, StrictSerializer, validated_body, validated_query
from annotate.api.idempotency import HEADER, idempotent
from annotate.api.problems import Unprocessable
from annotate.audit import record_event
from annotate.models import (
    MAX_QUESTION_FIELDS,
    MAX_TEXT_LENGTH,
    EventVerb,
    ParticipationRules,
    Project,
    QuestionField,
)
from annotate.participation.actions import change_rules, replace_join_link, replace_platform_link
from annotate.participation.forms import ParticipationRulesForm
from annotate.participation.invitations.forms import MAX_ADDRESSES, InviteForm
from annotate.participation.invitations.views import invite, join_link, short_address
from annotate.participation.joining.short_addresses import switch_short_address
from annotate.participation.places import n_places_taken
from annotate.participation.queries import answer_budget
from annotate.participation.questionnaire.actions import change_questions
from annotate.participation.questionnaire.forms import MAX_CHOICES, MAX_NUMBER, QuestionForm
from annotate.participation.questionnaire.queries import active_questions
from annotate.participation.rules import participation_rules
from annotate.participation.views import platform_link

MAX_INTEGER = 2**31 - 1


class EntryRules(serializers.ModelSerializer, StrictSerializer):
    places = serializers.IntegerField(min_value=1, max_value=MAX_INTEGER, required=False, allow_null=True)
    place_minutes = serializers.IntegerField(min_value=1, max_value=MAX_INTEGER, required=False, allow_null=True)

    class Meta:
        model = ParticipationRules
        fields = ParticipationRulesForm.Meta.fields


class Arithmetic(serializers.Serializer):
    needed = serializers.CharField()
    given = serializers.CharField()
    verdict = serializers.CharField(allow_blank=True)
    enough = serializers.BooleanField(allow_null=True)


class EntryDetail(serializers.ModelSerializer):
    join_link = serializers.URLField()
    short_address = serializers.CharField(
        allow_blank=True, help_text="Short address that leads to the join link; empty while it is off."
    )
    platform_link = serializers.CharField(
        allow_blank=True, help_text="The study's URL for the platform; empty while the link is off."
    )
    consent_version = serializers.CharField(
        allow_blank=True, help_text="SHA-256 of the consent text; empty if there is none."
    )
    n_places_taken = serializers.IntegerField()
    arithmetic = Arithmetic(help_text="How many answers the study needs and how many its participants can give.")

    class Meta:
        model = ParticipationRules
        fields = [
            *ParticipationRulesForm.Meta.fields,
            "join_link",
            "short_address",
            "platform_link",
            "consent_version",
            "n_places_taken",
            "arithmetic",
        ]


def detail(request: ApiRequest, project: Project) -> dict[str, Any]:
    entry = participation_rules(project)
    plain: Any = request._request
    more = {
        "join_link": join_link(plain, project),
        "short_address": short_address(plain, project),
        "platform_link": platform_link(plain, entry),
        "consent_version": Project.objects.values_list("consent_version", flat=True).get(pk=project.pk),
        "n_places_taken": n_places_taken(entry, timezone.now()),
        "arithmetic": answer_budget(project, entry),
    }
    for name, value in more.items():
        setattr(entry, name, value)
    return dict(EntryDetail(entry).data)


class EntryView(ApiView):
    @extend_schema(operation_id="entry_read", responses=EntryDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Return who may take part: links, places, consent text, codes, and the study in numbers."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        return Response(detail(request, project))

    @extend_schema(operation_id="entry_update", request=EntryRules, responses=EntryDetail)
    def patch(self, request: ApiRequest, project_id: UUID) -> Response:
        """Change the rules that are sent. If the consent text changes, everybody is asked to agree again."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        given, entry = validated_body(request, EntryRules, partial=True), participation_rules(project)
        data = {name: given.get(name, getattr(entry, name)) for name in ParticipationRulesForm.Meta.fields}
        form = ParticipationRulesForm(
            {name: value for name, value in data.items() if value is not None and value is not False}
        )
        if not form.is_valid():
            raise Unprocessable({name: [str(text) for text in texts] for name, texts in form.errors.items()})
        change_rules(project=project, actor=request.user, values=form.values(), now=timezone.now())
        return Response(detail(request, project))


class PlatformLink(ApiView):
    @extend_schema(operation_id="entry_replace_platform_link", request=None, responses=EntryDetail)
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Replace the platform link. The old one stops working; people who joined by it stay."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        replace_platform_link(project=project, actor=request.user, now=timezone.now())
        return Response(detail(request, project))


class JoinLink(ApiView):
    @extend_schema(operation_id="entry_replace_join_link", request=None, responses=EntryDetail)
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Replace the join link. The old one stops working; people who have joined stay."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        replace_join_link(project=project, actor=request.user, now=timezone.now())
        return Response(detail(request, access.project_for(request, project_id, access.MANAGE)))


class ShortAddress(ApiView):
    @extend_schema(operation_id="entry_short_address_on", request=None, responses=EntryDetail)
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Switches the short address on: a code of seven letters and digits, for typing, that leads to the join link.

        Nothing changes if there is one. Replacing the join link replaces it too.
        """
        return self.switch(request, project_id, on=True)

    @extend_schema(operation_id="entry_short_address_off", request=None, responses={200: EntryDetail})
    def delete(self, request: ApiRequest, project_id: UUID) -> Response:
        """Switches the short address off. It never works again; the next one is another."""
        return self.switch(request, project_id, on=False)

    def switch(self, request: ApiRequest, project_id: UUID, *, on: bool) -> Response:
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        switch_short_address(project=project, actor=request.user, on=on, now=timezone.now())
        return Response(detail(request, access.project_for(request, project_id, access.MANAGE)))


class FieldRow(serializers.Serializer):
    id = serializers.IntegerField(source="pk")
    number = serializers.IntegerField(
        help_text="Its column in the export of annotators is `field_` followed by this number."
    )
    label = serializers.CharField()  # type: ignore[assignment]
    kind = serializers.ChoiceField(choices=QuestionField.Kind.choices)
    choices = serializers.ListField(child=serializers.CharField())
    least = serializers.IntegerField(allow_null=True)
    most = serializers.IntegerField(allow_null=True)
    at_end = serializers.BooleanField(help_text="Whether it is asked after the last task instead of before the first.")
    required = serializers.BooleanField()  # type: ignore[assignment]


class WantedField(StrictSerializer):
    id = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        max_value=2**63 - 1,
        help_text="The id of an existing question to keep.",
    )
    label = serializers.CharField(max_length=MAX_TEXT_LENGTH)  # type: ignore[assignment]
    kind = serializers.ChoiceField(choices=QuestionField.Kind.choices)
    choices = serializers.ListField(
        child=serializers.CharField(max_length=MAX_TEXT_LENGTH),
        max_length=MAX_CHOICES,
        required=False,
        default=list,
        help_text="For the kind `choice`: two or more answers.",
    )
    least = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=-MAX_NUMBER, max_value=MAX_NUMBER
    )
    most = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=-MAX_NUMBER, max_value=MAX_NUMBER
    )
    at_end = serializers.BooleanField(required=False, default=False)
    required = serializers.BooleanField(required=False, default=False)  # type: ignore[assignment]


class WantedFields(StrictSerializer):
    questions = serializers.ListField(child=WantedField(), max_length=MAX_QUESTION_FIELDS)


class Questions(serializers.Serializer):
    questions = FieldRow(many=True)


class QuestionnaireView(ApiView):
    @extend_schema(operation_id="questionnaire_read", responses=Questions)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """List the questions to annotators about themselves, in order."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        return Response(Questions({"questions": active_questions(project)}).data)

    @extend_schema(operation_id="questionnaire_replace", request=WantedFields, responses=Questions)
    def put(self, request: ApiRequest, project_id: UUID) -> Response:
        """Replace the questions by these, in this order. Those left out are removed; answers to them stay.

        A question with another wording, kind or limits is a new one and asked again.
        """
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        forms = [QuestionForm(form_data(one)) for one in validated_body(request, WantedFields)["questions"]]
        errors = {
            f"questions.{place}.{name}": [str(text) for text in texts]
            for place, form in enumerate(forms)
            for name, texts in form.errors.items()
        }
        if errors:
            raise Unprocessable(errors)
        wanted = [form.wanted() for form in forms]
        removed = {field.pk for field in active_questions(project)} - {one.pk for one in wanted}
        change_questions(project=project, actor=request.user, wanted=wanted, removed=removed, now=timezone.now())
        return Response(Questions({"questions": active_questions(project)}).data)


def form_data(one: dict[str, Any]) -> dict[str, Any]:
    data = {**one, "pk": one["id"], "choices": "\n".join(one["choices"])}
    return {name: value for name, value in data.items() if value is not None and value is not False}


class NewInvitations(StrictSerializer):
    addresses = serializers.ListField(
        child=serializers.EmailField(max_length=254), min_length=1, max_length=MAX_ADDRESSES
    )
    words = serializers.CharField(
        max_length=1000, required=False, default="", allow_blank=True, help_text="Your message."
    )


class InvitationRow(serializers.Serializer):
    address = serializers.CharField()
    is_sent = serializers.BooleanField(source="ok")
    told = serializers.CharField(help_text="What happened to the invitation.")


class Invitations(serializers.Serializer):
    results = InvitationRow(many=True)


class InvitationsView(ApiView):
    @extend_schema(
        operation_id="entry_invite", parameters=[HEADER], request=NewInvitations, responses={202: Invitations}
    )
    @idempotent
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Send the join link to up to 100 addresses and return what happened to each."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        given = validated_body(request, NewInvitations)
        form = InviteForm({"addresses": "\n".join(given["addresses"]), "words": given["words"]})
        if not form.is_valid():
            raise Unprocessable({name: [str(text) for text in texts] for name, texts in form.errors.items()})
        plain: Any = request._request
        plain.user = request.user
        words = form.cleaned_data["words"]
        results = [invite(plain, project, address, words) for address in form.cleaned_data["addresses"]]
        n_sent = sum(result.ok for result in results)
        if n_sent:
            record_event(project, request.user, EventVerb.ANNOTATORS_INVITED, timezone.now(), sent=n_sent)
        return Response(Invitations({"results": results}).data, status=202)
