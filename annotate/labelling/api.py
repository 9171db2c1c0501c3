"""Front ends of one's own: joining, the next task, answering it, undoing; the same rules as on the site's pages."""

from functools import partial
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotate import access
from annotate.api.authentication import ANNOTATE
from annotate.api.base import ApiRequest, ApiView, NoQuery, StrictSerializer, validated_body, validated_query
from annotate.api.problems import Unprocessable
from annotate.core import rate_limits
from annotate.core.errors import UserError
from annotate.core.languages import MAX_LANGUAGE_LENGTH
from annotate.criteria import named_criteria
from annotate.labelling import assignment
from annotate.labelling.actions import MAX_RESPONSE_MS, Answer, record_and_assign_next
from annotate.labelling.answer_fields import PlacesAnswer
from annotate.labelling.forms import clean_comment, parse_comment, parse_reason, without_empty_end
from annotate.labelling.known_items import declare_known, undo_last
from annotate.labelling.navigation import RNG
from annotate.labelling.queries import Task, current_task
from annotate.labelling.wording import MIXED, wording_of
from annotate.models import MAX_COMMENT_LENGTH, MAX_ITEMS_SHOWN, MAX_REASON_LENGTH, Annotator, Item, Label, Project

IN_FILES = (Item.Kind.IMAGE, Item.Kind.AUDIO, Item.Kind.VIDEO)


class ShownItem(serializers.Serializer):
    place = serializers.IntegerField(help_text="From 0, in the order in which to show them. Answers name places.")
    kind = serializers.CharField()
    text = serializers.CharField(allow_blank=True)
    title = serializers.CharField(
        allow_blank=True, help_text="To be shown under an image or recording; empty unless the owner wants that."
    )
    shows_text = serializers.BooleanField(
        help_text="Whether the text of an image is to be shown under it; it is its alternative text otherwise."
    )
    media = serializers.URLField(allow_null=True, help_text="Only for images, sound and video.")
    pages = serializers.ListField(
        child=serializers.URLField(),
        help_text="Of a document: the pages of a PDF, all of them, or the pictures in a text.",
    )
    link = serializers.CharField(allow_blank=True)
    metadata = serializers.DictField(child=serializers.CharField(), help_text="Shown below it, by name.")
    button = serializers.CharField(help_text="Text of the button that chooses this item, in the owner's words if any.")


class PracticeStep(serializers.Serializer):
    number = serializers.IntegerField()
    n = serializers.IntegerField()


class FeedbackDetail(serializers.Serializer):
    is_right = serializers.BooleanField()
    answer = serializers.CharField(help_text="The right answer by letters: A is the first item shown.")
    why = serializers.CharField(allow_blank=True)
    verdict = serializers.ChoiceField(choices=["going on", "again", "passed"])
    n_right = serializers.IntegerField()
    needed = serializers.IntegerField()
    n = serializers.IntegerField()


class AskedCriterion(serializers.Serializer):
    number = serializers.IntegerField()
    name = serializers.CharField()
    question = serializers.CharField()


class TaskDetail(serializers.Serializer):
    language = serializers.CharField(
        help_text="The language in which it is asked; send it with the answer. fr/en: in fr, but what lacks a "
        "translation in en. Empty if the project has not said its language."
    )
    token = serializers.CharField(
        help_text="Identifies this task; only one answer to it is stored, however often it is sent."
    )
    question = serializers.CharField()
    instruction = serializers.CharField(allow_blank=True, help_text="The line above the items.")
    marks = serializers.DictField(
        child=serializers.CharField(),
        help_text="Words for `best` and `worst`, where both are asked for; else empty.",
    )
    criteria = AskedCriterion(
        many=True,
        help_text="The criteria in order; empty if the project has none. The answer itself is for the first one, "
        "`further` holds those for the others.",
    )
    asked = serializers.ChoiceField(choices=Label.Outcome.choices, help_text="The outcome that the task asks for.")
    graded = serializers.BooleanField(help_text="Whether a choice says how much better it is.")
    n_named = serializers.IntegerField(help_text="How many places `order` must name, for rankings and best and worst.")
    shares_places = serializers.BooleanField(help_text="Whether items of a ranking may share a place.")
    others = serializers.ListField(child=serializers.CharField(), help_text="Other allowed outcomes.")
    comments = serializers.BooleanField(help_text="Whether the answer may have a comment.")
    item_comments = serializers.BooleanField(help_text="Whether the answer may have a comment on each item.")
    comment_required = serializers.BooleanField(
        help_text="Whether it must: all but skips and answers that nobody can judge."
    )
    may_know = serializers.BooleanField(
        help_text="Whether the annotator may say that they know an item (`annotating_declare_known`)."
    )
    asks_why_skipped = serializers.BooleanField()
    skip_reasons = serializers.ListField(
        child=serializers.CharField(), help_text="Suggested reasons; annotators can also write their own."
    )
    context = serializers.CharField(  # type: ignore[assignment]
        allow_null=True, help_text="What the items are about; show it above them."
    )
    items = ShownItem(many=True)
    practice = PracticeStep(allow_null=True, help_text="The number of this practice task; null for other tasks.")
    wait_ms = serializers.IntegerField(help_text="Milliseconds left until an answer is accepted.")


class StopDetail(serializers.Serializer):
    heading = serializers.CharField()
    text = serializers.CharField(help_text="Message for the annotator.")
    again = serializers.BooleanField(help_text="Whether it may help to ask again later.")


class LanguageQuery(StrictSerializer):
    language = serializers.CharField(
        required=False,
        default="",
        max_length=MAX_LANGUAGE_LENGTH,
        help_text="One of the project's languages, such as fr; without it, the project's own.",
    )


def validated_language(project: Project, language: str) -> str:
    """Return one of the project's further languages, "" for its own; raises Unprocessable."""
    if language in ("", project.language):
        return ""
    if language not in project.languages:
        known = ", ".join(filter(None, [project.language, *project.languages])) or "-"
        message = _("The project has no translation into “%(language)s”. Its languages: %(known)s.")
        raise Unprocessable({"language": [message % {"language": language, "known": known}]})
    return language


class Step(serializers.Serializer):
    """What an annotator sees now: a task, a break (request the next task to end it), or why there is none."""

    pseudonym = serializers.CharField()
    instructions = serializers.CharField(allow_blank=True, help_text="Markdown.")
    n_done = serializers.IntegerField(help_text="Number of the annotator's answers that count.")
    cap = serializers.IntegerField(allow_null=True)
    target = serializers.IntegerField(
        allow_null=True, help_text="Answers asked of the annotator, who may go on; null where no number is asked."
    )
    task = TaskDetail(allow_null=True)
    is_break = serializers.BooleanField()
    feedback = FeedbackDetail(
        allow_null=True, help_text="About the practice answer just given; request the next task to continue."
    )
    stop = StopDetail(allow_null=True)


class OneAnswer(PlacesAnswer):
    outcome = serializers.ChoiceField(choices=Label.Outcome.choices)
    grade = serializers.ChoiceField(choices=Label.Grade.choices, required=False, default="", allow_blank=True)


class GivenAnswer(OneAnswer):
    further = OneAnswer(
        many=True,
        required=False,
        default=list,
        help_text="For tasks with criteria: the answers by the second and later criteria; empty if the task is "
        "skipped.",
    )
    comment = serializers.CharField(max_length=MAX_COMMENT_LENGTH, required=False, default="", allow_blank=True)
    item_comments = serializers.ListField(
        child=serializers.CharField(max_length=MAX_COMMENT_LENGTH, allow_blank=True),
        required=False,
        default=list,
        max_length=MAX_ITEMS_SHOWN,
        help_text="Comments on the items, in the order of their places; empty for an item without one.",
    )
    response_ms = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=0, max_value=MAX_RESPONSE_MS
    )
    active_ms = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=0, max_value=MAX_RESPONSE_MS
    )
    client_at = serializers.DateTimeField(required=False, allow_null=True, default=None)
    language = serializers.CharField(
        max_length=2 * MAX_LANGUAGE_LENGTH + 1,
        required=False,
        default="",
        allow_blank=True,
        help_text="The task's `language`; the next task comes in the same.",
    )
    reason = serializers.CharField(
        max_length=MAX_REASON_LENGTH,
        required=False,
        default="",
        allow_blank=True,
        help_text="The reason for skipping, where the project asks for one.",
    )


class Stored(serializers.Serializer):
    """The answer as stored, and the next step."""

    outcome = serializers.CharField(help_text="The outcome as stored; the first answer to a task is final.")
    counts = serializers.BooleanField(help_text="False if the answer came too late or was undone.")
    next = Step()


class Undo(StrictSerializer):
    token = serializers.CharField(
        max_length=40, help_text="The token of the task whose answer is undone; it must be the last one."
    )


def step_json(
    request: ApiRequest, annotator: Annotator, refusal: UserError | None, language: str = ""
) -> dict[str, Any]:
    wording = wording_of(annotator.project, language)
    task = current_task(annotator=annotator, now=timezone.now(), refusal=refusal, wording=wording)
    values = {
        "pseudonym": annotator.pseudonym,
        "instructions": wording.project.instructions,
        "n_done": task.n_done,
        "cap": task.cap,
        "target": task.target,
        "task": task_json(request, wording.project, task) if task.token else None,
        "is_break": task.is_break,
        "feedback": task.feedback,
        "stop": task.stop,
    }
    return dict(Step(values).data)


def task_json(request: ApiRequest, project: Project, task: Task) -> dict[str, Any]:
    at = partial(reverse, request=request)
    return {
        "language": task.language,
        "token": task.token,
        "question": project.question,
        "instruction": task.hint,
        "marks": dict(task.marks),
        "criteria": named_criteria(project),
        "asked": task.asked,
        "graded": task.graded,
        "n_named": task.n_named,
        "shares_places": task.shares_places,
        "others": [other.value for other in task.others],
        "comments": project.comments,
        "item_comments": project.item_comments,
        "comment_required": (project.comments or project.item_comments) and project.comment_required,
        "may_know": project.known_button,
        "asks_why_skipped": project.ask_why_skipped,
        "skip_reasons": project.skip_reasons,
        "practice": task.practice,
        "wait_ms": task.wait_ms,
        "context": task.context.body if task.context else None,
        "items": [
            {
                "place": place,
                "kind": option.kind,
                "text": option.body,
                "title": option.caption.title,
                "shows_text": option.caption.shows_text,
                "media": at("api-item-media", args=[project.pk, option.item_id]) if option.kind in IN_FILES else None,
                "pages": [at("api-item-page", args=[project.pk, option.item_id, number]) for number in option.pages],
                "link": option.link,
                "button": option.words,
                "metadata": dict(option.metadata),
            }
            for place, option in enumerate(task.options)
        ],
    }


def open_next_step(request: ApiRequest, annotator: Annotator, language: str = "") -> dict[str, Any]:
    """Opens the next presentation, and shows it or says why there is none."""
    try:
        assignment.next_presentation(annotator=annotator, now=timezone.now(), rng=RNG)
    except UserError as refusal:
        return step_json(request, annotator, refusal, language)
    return step_json(request, annotator, None, language)


def annotator_or_404(request: ApiRequest, project_id: UUID) -> Annotator:
    annotator = access.annotator_for(request, project_id)
    if annotator is None:
        access.project_for(request, project_id, access.ANNOTATE)
        raise NotFound(_("You have not joined this project yet. First send a POST request to its “annotator” address."))
    rate_limits.check_rate_limit(request, "answer", who=str(annotator.pk))
    return annotator


class Next(ApiView):
    scope = ANNOTATE

    @extend_schema(operation_id="annotating_next", request=None, parameters=[LanguageQuery], responses=Step)
    @rate_limits.limit_concurrency
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns your open task, or a new one. Repeating the request only renews the lease."""
        annotator = annotator_or_404(request, project_id)
        language = validated_language(annotator.project, validated_query(request, LanguageQuery)["language"])
        return Response(open_next_step(request, annotator, language))


class AnswerTask(ApiView):
    scope = ANNOTATE

    @extend_schema(operation_id="annotating_answer", request=GivenAnswer, responses=Stored)
    @rate_limits.limit_concurrency
    def post(self, request: ApiRequest, token: str) -> Response:
        """Stores the answer to a task and returns the next one. Repeating the request stores nothing more."""
        presentation = access.presentation_for(request, token)
        validated_query(request, NoQuery)
        annotator = presentation.annotator
        rate_limits.check_rate_limit(request, "answer", who=str(annotator.pk))
        values = validated_body(request, GivenAnswer)
        language = validated_language(annotator.project, values["language"].partition(MIXED)[0])
        converted: dict[str, Any] = {
            **order_given(values),
            "comment": parse_comment(values),
            "item_comments": without_empty_end([clean_comment(text) for text in values["item_comments"]]),
            "reason": parse_reason(values),
        }
        converted["further"] = tuple(Answer(**{**one, **order_given(one)}) for one in values["further"])
        answer = Answer(**{**values, **converted}, session="api")
        label, refusal = record_and_assign_next(presentation=presentation, answer=answer, now=timezone.now(), rng=RNG)
        stored = {
            "outcome": label.outcome,
            "counts": label.voided_at is None,
            "next": step_json(request, presentation.annotator, refusal, language),
        }
        return Response(Stored(stored).data)


def order_given(values: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(values[name]) for name in ("order", "shared")}


class KnownItem(StrictSerializer):
    place = serializers.IntegerField(
        min_value=0, max_value=MAX_ITEMS_SHOWN - 1, help_text="The place of the item that the annotator knows."
    )


class DeclareKnown(ApiView):
    scope = ANNOTATE

    @extend_schema(operation_id="annotating_declare_known", request=KnownItem, responses=Step)
    @rate_limits.limit_concurrency
    def post(self, request: ApiRequest, token: str) -> Response:
        """Says that you know an item of a task: the task is void, you never see the item again, the next one comes."""
        presentation = access.presentation_for(request, token)
        validated_query(request, NoQuery)
        rate_limits.check_rate_limit(request, "answer", who=str(presentation.annotator_id))
        place = validated_body(request, KnownItem)["place"]
        declare_known(presentation=presentation, place=place, now=timezone.now())
        return Response(open_next_step(request, presentation.annotator))


class UndoAnswer(ApiView):
    scope = ANNOTATE

    @extend_schema(operation_id="annotating_undo", request=Undo, responses=Step)
    @rate_limits.limit_concurrency
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Undoes your last answer, or that you know an item, and asks the same task again."""
        annotator = annotator_or_404(request, project_id)
        validated_query(request, NoQuery)
        undo_last(annotator=annotator, now=timezone.now(), token=validated_body(request, Undo)["token"])
        return Response(step_json(request, annotator, None))
