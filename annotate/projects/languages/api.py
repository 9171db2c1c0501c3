"""A project's languages through the API: reading what is missing, setting them, translating the project's words."""

from typing import Any
from uuid import UUID

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.base import ApiRequest, ApiView, NoQuery, StrictSerializer, validated_body, validated_query
from annotate.core.languages import MAX_LANGUAGE_LENGTH, TAG
from annotate.items.translations import MAX_LANGUAGES
from annotate.models import MAX_TEXT_LENGTH, Project, ProjectTranslation
from annotate.participation.questionnaire.forms import MAX_CHOICES
from annotate.projects.criteria_forms import LONGEST_NAME, LONGEST_QUESTION
from annotate.projects.languages.actions import set_languages, translate_words
from annotate.projects.languages.queries import LanguageState, language_states


class LanguageCode(serializers.RegexField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(rf"^{TAG.pattern}\Z", max_length=MAX_LANGUAGE_LENGTH, **kwargs)


class TranslatedCriterion(StrictSerializer):
    name = serializers.CharField(max_length=LONGEST_NAME, required=False, default="", allow_blank=True)
    question = serializers.CharField(max_length=LONGEST_QUESTION, required=False, default="", allow_blank=True)


class TranslatedQuestion(StrictSerializer):
    number = serializers.IntegerField(min_value=1, help_text="The question's number in the questionnaire.")
    label = serializers.CharField(  # type: ignore[assignment]
        max_length=MAX_TEXT_LENGTH, required=False, default="", allow_blank=True
    )
    choices = serializers.ListField(
        child=serializers.CharField(max_length=MAX_TEXT_LENGTH, allow_blank=True),
        required=False,
        default=list,
        max_length=MAX_CHOICES,
        help_text="As many as the question has, in its order. Answers are stored in the own language's words.",
    )


class Words(serializers.ModelSerializer, StrictSerializer):
    """The project's words in one language; an empty one is shown in the project's own language."""

    criteria = TranslatedCriterion(many=True, required=False, help_text="In the order of the project's criteria.")

    questions = TranslatedQuestion(many=True, required=False, help_text="Of the questionnaire, those translated.")

    class Meta:
        model = ProjectTranslation
        fields = [*ProjectTranslation.WORDS, "criteria", "consent", "thanks", "questions"]


class LanguageRow(serializers.Serializer):
    language = serializers.CharField(help_text="A language code, such as fr.")
    words = Words()
    missing = serializers.ListField(child=serializers.CharField(), help_text="Names of the words still to translate.")
    n_items_missing = serializers.IntegerField(help_text="How many items in use have no text in it.")
    n_items = serializers.IntegerField()
    n_contexts_missing = serializers.IntegerField(help_text="How many contexts have no text in it.")
    n_contexts = serializers.IntegerField()


class LanguagesDetail(serializers.Serializer):
    language = serializers.CharField(allow_blank=True, help_text="Of the project's own words; empty if not said.")
    languages = LanguageRow(many=True)


class LanguagesChange(StrictSerializer):
    language = LanguageCode(required=False, help_text="Of the project's own words and items.")
    languages = serializers.ListField(
        child=LanguageCode(),
        max_length=MAX_LANGUAGES,
        required=False,
        help_text="All further languages; what was translated into one that is left out is deleted.",
    )


def languages_json(project: Project) -> dict[str, Any]:
    rows = [language_row(state) for state in language_states(project)]
    return dict(LanguagesDetail({"language": project.language, "languages": rows}).data)


def language_row(state: LanguageState) -> dict[str, Any]:
    return {
        "language": state.code,
        "words": state.translation or ProjectTranslation(language=state.code),
        "missing": state.missing,
        "n_items_missing": state.n_missing,
        "n_items": state.n_items,
        "n_contexts_missing": state.n_contexts_missing,
        "n_contexts": state.n_contexts,
    }


class Languages(ApiView):
    @extend_schema(operation_id="languages_read", responses=LanguagesDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns the project's languages, its words in each, and what is not translated yet."""
        validated_query(request, NoQuery)
        return Response(languages_json(access.project_for(request, project_id, access.SEE)))

    @extend_schema(operation_id="languages_update", request=LanguagesChange, responses=LanguagesDetail)
    def patch(self, request: ApiRequest, project_id: UUID) -> Response:
        """Sets the project's own language and the further ones. A language in which people have answered stays."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        given = validated_body(request, LanguagesChange)
        wanted = {"language": project.language, "languages": project.languages, **given}
        project = set_languages(project=project, actor=request.user, now=timezone.now(), **wanted)
        return Response(languages_json(project))


class Translation(ApiView):
    @extend_schema(operation_id="languages_translate", request=Words, responses=LanguagesDetail)
    def patch(self, request: ApiRequest, project_id: UUID, language: str) -> Response:
        """Sets the project's words that are sent in one of its further languages."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        if language not in project.languages:
            raise Http404
        words = validated_body(request, Words, partial=True)
        translate_words(project=project, actor=request.user, language=language, words=words, now=timezone.now())
        return Response(languages_json(project))
