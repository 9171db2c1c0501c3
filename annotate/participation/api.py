"""An annotator's way around the tasks: consent, the questionnaire, one's own answers, the end with its code."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.response import Response

from annotate.api.authentication import ANNOTATE
from annotate.api.base import ApiRequest, ApiView, NoQuery, PageQuery, StrictSerializer, validated_body, validated_query
from annotate.api.problems import Conflict, Unprocessable
from annotate.labelling.api import LanguageQuery, annotator_or_404, validated_language
from annotate.labelling.own_answers import queries as own
from annotate.labelling.refusals import refusal_of_task
from annotate.models import MAX_TEXT_LENGTH, Annotator, Completion, Project, QuestionField
from annotate.participation.completion.actions import finish
from annotate.participation.completion.codes import return_link
from annotate.participation.consent.actions import give_consent
from annotate.participation.consent.queries import consent_text
from annotate.participation.questionnaire.actions import save_question_answers
from annotate.participation.questionnaire.forms import AnswersForm
from annotate.participation.questionnaire.queries import (
    answers_of,
    asked_questions,
    open_questions,
    translate_questions,
)
from annotate.participation.rules import participation_rules, thanks_text


def asked_language(request: ApiRequest, project: Project) -> str:
    """Return one of the project's further languages, "" for its own. Raises Unprocessable."""
    return validated_language(project, validated_query(request, LanguageQuery)["language"])


class ConsentDetail(serializers.Serializer):
    version = serializers.CharField(allow_blank=True, help_text="SHA-256 of the text; empty if there is none.")
    text = serializers.CharField(allow_blank=True, help_text="Markdown.")
    agreed = serializers.BooleanField(help_text="Whether you have agreed to the current text.")


class Agreement(StrictSerializer):
    version = serializers.CharField(max_length=64, help_text="The version of the text that was read.")


def consent_json(annotator: Annotator, language: str = "") -> dict[str, Any]:
    text = consent_text(annotator.project, language)
    if text is None:
        return {"version": "", "text": "", "agreed": True}
    agreed = annotator.consent_version == annotator.project.consent_version
    return {"version": text.version, "text": text.text, "agreed": agreed}


class Consent(ApiView):
    scope = ANNOTATE

    @extend_schema(operation_id="annotating_read_consent", parameters=[LanguageQuery], responses=ConsentDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns the text that you must agree to before your first task."""
        annotator = annotator_or_404(request, project_id)
        language = asked_language(request, annotator.project)
        return Response(ConsentDetail(consent_json(annotator, language)).data)

    @extend_schema(operation_id="annotating_agree", request=Agreement, responses=ConsentDetail)
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Stores that you agree to this version of the text; 409 if the text has changed since."""
        annotator = annotator_or_404(request, project_id)
        validated_query(request, NoQuery)
        version = validated_body(request, Agreement)["version"]
        is_asked = bool(annotator.project.consent_version)
        if is_asked and not give_consent(annotator=annotator, version=version, now=timezone.now()):
            raise Conflict(_("The text changed while you read it. Please look at it once more."))
        return Response(ConsentDetail(consent_json(annotator)).data)


class AskedField(serializers.Serializer):
    id = serializers.IntegerField(source="pk")
    label = serializers.CharField()  # type: ignore[assignment]
    kind = serializers.ChoiceField(choices=QuestionField.Kind.choices)
    choices = serializers.ListField(child=serializers.CharField(), help_text="One of these is sent as the answer.")
    shown_label = serializers.CharField(help_text="The label in the language asked for.")
    shown_choices = serializers.ListField(
        child=serializers.CharField(), help_text="The choices in the language asked for, in the same order."
    )
    least = serializers.IntegerField(allow_null=True)
    most = serializers.IntegerField(allow_null=True)
    required = serializers.BooleanField()  # type: ignore[assignment]
    answer = serializers.CharField(allow_blank=True, help_text="Your earlier answer.")


class AskedNow(serializers.Serializer):
    at_end = serializers.BooleanField(
        allow_null=True, help_text="Whether the questions come after the last task; null if there are none now."
    )
    questions = AskedField(many=True)


class GivenField(StrictSerializer):
    id = serializers.IntegerField(min_value=1, max_value=2**63 - 1)
    answer = serializers.CharField(
        max_length=MAX_TEXT_LENGTH,
        allow_blank=True,
        help_text="A text, a number in digits, one answer from the list, or yes or no.",
    )


class GivenFields(StrictSerializer):
    questions = serializers.ListField(child=GivenField(), max_length=100)


def questions_asked(annotator: Annotator) -> tuple[bool | None, list[QuestionField]]:
    at_end = open_questions(annotator, timezone.now())
    fields = [] if at_end is None else [one for one in asked_questions(annotator.project) if one.at_end == at_end]
    return (at_end if fields else None), fields


def consent_response(annotator: Annotator, language: str) -> Response:
    at_end, fields = questions_asked(annotator)
    translate_questions(annotator.project, fields, language)
    earlier = {field: value for (_one, field), value in answers_of([annotator.pk], fields).items()}
    for field in fields:
        field.answer = earlier.get(field.pk, "")  # type: ignore[attr-defined]
    return Response(AskedNow({"at_end": at_end, "questions": fields}).data)


class OwnQuestions(ApiView):
    scope = ANNOTATE

    @extend_schema(operation_id="annotating_read_questions", parameters=[LanguageQuery], responses=AskedNow)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns the questions about yourself that are due now."""
        annotator = annotator_or_404(request, project_id)
        return consent_response(annotator, asked_language(request, annotator.project))

    @extend_schema(
        operation_id="annotating_answer_questions", parameters=[LanguageQuery], request=GivenFields, responses=AskedNow
    )
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Submits all questions currently asked and returns the next ones."""
        annotator = annotator_or_404(request, project_id)
        language = asked_language(request, annotator.project)
        given = {f"field-{one['id']}": one["answer"] for one in validated_body(request, GivenFields)["questions"]}
        at_end, fields = questions_asked(annotator)
        if at_end is None:
            raise Conflict(_("There are no questions for you now."))
        form = AnswersForm(given, asked=fields, earlier={})
        unknown = sorted(set(given) - set(form.fields))
        errors = {name: [str(text) for text in texts] for name, texts in form.errors.items()}
        errors |= {name: [_("You are not asked this question now.")] for name in unknown}
        if errors:
            raise Unprocessable({name.replace("field-", "questions."): texts for name, texts in errors.items()})
        save_question_answers(annotator=annotator, at_end=at_end, values=form.values(), now=timezone.now())
        return consent_response(Annotator.objects.select_related("project").get(pk=annotator.pk), language)


class EndDetail(serializers.Serializer):
    kind = serializers.ChoiceField(choices=Completion.Kind.choices)
    code = serializers.CharField(allow_blank=True)
    link = serializers.CharField(allow_blank=True, help_text="The link back to the platform.")
    thanks = serializers.CharField(allow_blank=True, help_text="Markdown.")
    at = serializers.DateTimeField()


class End(ApiView):
    scope = ANNOTATE

    @extend_schema(operation_id="annotating_finish", parameters=[LanguageQuery], request=None, responses=EndDetail)
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Finishes your participation once nothing is left to answer. Repeating the request returns the same code."""
        annotator = annotator_or_404(request, project_id)
        language = asked_language(request, annotator.project)
        end = finish(annotator=annotator, now=timezone.now())
        entry = participation_rules(annotator.project)
        values = {
            "kind": end.kind,
            "code": end.code,
            "link": return_link(entry, end.code, annotator.platform_id or ""),
            "thanks": thanks_text(entry, language),
            "at": end.at,
        }
        return Response(EndDetail(values).data)


class ShownRow(serializers.Serializer):
    letter = serializers.CharField()
    text = serializers.CharField(source="item.body", allow_blank=True)
    named = serializers.BooleanField(help_text="Whether the answer names this item.")


class OwnItemCommentRow(serializers.Serializer):
    letter = serializers.CharField()
    text = serializers.CharField()


class OwnAnswerRow(serializers.Serializer):
    at = serializers.DateTimeField()
    words = serializers.CharField()
    shown = ShownRow(many=True)
    comment = serializers.CharField(allow_blank=True)
    item_comments = OwnItemCommentRow(many=True)
    undone = serializers.BooleanField()
    late = serializers.BooleanField()
    token = serializers.CharField(
        allow_blank=True, help_text="The token to undo this answer; empty if it can't be undone."
    )


class OwnAnswersPage(serializers.Serializer):
    count = serializers.IntegerField()
    n_pages = serializers.IntegerField()
    n_counting = serializers.IntegerField()
    results = OwnAnswerRow(many=True)


class OwnQuery(StrictSerializer):
    page = PageQuery._declared_fields["page"]


class OwnAnswers(ApiView):
    scope = ANNOTATE

    @extend_schema(operation_id="annotating_list_answers", parameters=[OwnQuery], responses=OwnAnswersPage)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists your own answers, latest first, while the project accepts answers."""
        annotator = annotator_or_404(request, project_id)
        query = validated_query(request, OwnQuery)
        refusal = refusal_of_task(annotator, timezone.now())
        if refusal:
            raise refusal
        found = own.own_answers(annotator, number=str(query["page"]))
        paginator = found.page.paginator
        if query["page"] > paginator.num_pages:
            raise NotFound(
                _("There is no page %(page)d; the last is %(last)d.")
                % {"page": query["page"], "last": paginator.num_pages}
            )
        values = {
            "count": paginator.count,
            "n_pages": paginator.num_pages,
            "n_counting": found.n_counting,
            "results": found.answers,
        }
        return Response(OwnAnswersPage(values).data)
