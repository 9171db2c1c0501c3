"""Front ends of one's own: joining, the next task, answering it, undoing; the same rules as on the site's pages."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotate import access, assigning, limits
from annotate.actions import annotators as actions
from annotate.actions.entry import join_by_link
from annotate.actions.labels import MAX_RESPONSE_MS, Answer, record_and_go_on, undo_label
from annotate.api.authentication import ANNOTATE
from annotate.api.base import ApiRequest, NoQuery, Strict, View, asked, sent
from annotate.api.problems import Unfit
from annotate.criteria import criteria_of
from annotate.errors import Refusal
from annotate.forms.labelling import JoinForm, comment_in, reason_in
from annotate.models import LONGEST_COMMENT, LONGEST_REASON, MOST_SHOWN, Annotator, Item, Label, Project, new_token
from annotate.pseudonyms import LONGEST, suggest
from annotate.queries.labelling import Task, current_task
from annotate.views.joining import RNG

IN_FILES = (Item.Kind.IMAGE, Item.Kind.AUDIO, Item.Kind.VIDEO)


class Joining(Strict):
    pseudonym = serializers.CharField(
        max_length=LONGEST, required=False, default="", allow_blank=True, help_text="Left out, one is made up."
    )


class Joined(serializers.Serializer):
    project = serializers.UUIDField()
    pseudonym = serializers.CharField()
    secret = serializers.CharField(
        allow_null=True,
        help_text="For `Authorization: Annotator SECRET`: it alone brings this annotator back. Null with an account.",
    )


class ShownItem(serializers.Serializer):
    place = serializers.IntegerField(help_text="From 0, in the order in which to show them. Answers name places.")
    kind = serializers.CharField()
    text = serializers.CharField(allow_blank=True)
    media = serializers.URLField(allow_null=True, help_text="Of images, sound and video.")
    link = serializers.CharField(allow_blank=True)


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
    token = serializers.CharField(help_text="Names this showing; one answer is taken for it, however often it is sent.")
    question = serializers.CharField()
    criteria = AskedCriterion(
        many=True,
        help_text="Empty, or what is judged by turns, in order: an answer speaks of the first, and in `further` of the "
        "others.",
    )
    asked = serializers.ChoiceField(choices=Label.Outcome.choices, help_text="The outcome that the task asks for.")
    graded = serializers.BooleanField(help_text="Whether a choice says how much better it is.")
    n_named = serializers.IntegerField(help_text="How many places `order` names, of rankings and best and worst.")
    others = serializers.ListField(child=serializers.CharField(), help_text="Outcomes allowed besides.")
    comments = serializers.BooleanField(help_text="Whether a comment may go with the answer.")
    asks_why_skipped = serializers.BooleanField()
    skip_reasons = serializers.ListField(child=serializers.CharField(), help_text="To choose from, or own words.")
    context = serializers.CharField(  # type: ignore[assignment]
        allow_null=True, help_text="What the items are about; to be shown above them."
    )
    items = ShownItem(many=True)
    practice = PracticeStep(allow_null=True, help_text="Of a practice task, the how many-th it is; null for others.")
    wait_ms = serializers.IntegerField(help_text="How long the items are still to be read before an answer is taken.")


class StopDetail(serializers.Serializer):
    heading = serializers.CharField()
    text = serializers.CharField(help_text="For the annotator.")
    again = serializers.BooleanField(help_text="Whether looking once more later may help.")


class Step(serializers.Serializer):
    """What an annotator is shown now: a task, or a break (ask for the next to end it), or why there is nothing."""

    pseudonym = serializers.CharField()
    instructions = serializers.CharField(allow_blank=True, help_text="Markdown.")
    n_done = serializers.IntegerField(help_text="Their answers that count.")
    cap = serializers.IntegerField(allow_null=True)
    task = TaskDetail(allow_null=True)
    is_break = serializers.BooleanField()
    feedback = FeedbackDetail(
        allow_null=True, help_text="On a practice answer just given; ask for the next task to go on."
    )
    stop = StopDetail(allow_null=True)


class OneAnswer(Strict):
    outcome = serializers.ChoiceField(choices=Label.Outcome.choices)
    chosen = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=0, max_value=MOST_SHOWN - 1, help_text="Of a choice."
    )
    order = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=MOST_SHOWN - 1),
        required=False,
        default=list,
        max_length=MOST_SHOWN,
        help_text="Places best first: of a ranking, or the best and the worst.",
    )
    grade = serializers.ChoiceField(choices=Label.Grade.choices, required=False, default="", allow_blank=True)


class GivenAnswer(OneAnswer):
    further = OneAnswer(
        many=True,
        required=False,
        default=list,
        help_text="Of a task with criteria, what is said by those after the first; of a task skipped, nothing.",
    )
    comment = serializers.CharField(max_length=LONGEST_COMMENT, required=False, default="", allow_blank=True)
    response_ms = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=0, max_value=MAX_RESPONSE_MS
    )
    active_ms = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=0, max_value=MAX_RESPONSE_MS
    )
    client_at = serializers.DateTimeField(required=False, allow_null=True, default=None)
    reason = serializers.CharField(
        max_length=LONGEST_REASON, required=False, default="", allow_blank=True, help_text="Of a skip, where asked."
    )


class Stored(serializers.Serializer):
    """What became of an answer, and the step that follows."""

    outcome = serializers.CharField(help_text="As stored: the first answer to a task stands.")
    counts = serializers.BooleanField(help_text="False if it came late, or was taken back.")
    next = Step()


class Undo(Strict):
    token = serializers.CharField(max_length=40, help_text="Of the task whose answer is taken back: the last one.")


def step(request: ApiRequest, annotator: Annotator, refusal: Refusal | None) -> dict[str, Any]:
    task = current_task(annotator=annotator, now=timezone.now(), refusal=refusal)
    values = {
        "pseudonym": annotator.pseudonym,
        "instructions": annotator.project.instructions,
        "n_done": task.n_done,
        "cap": task.cap,
        "task": detail(request, annotator.project, task) if task.token else None,
        "is_break": task.is_break,
        "feedback": task.feedback,
        "stop": task.stop,
    }
    return dict(Step(values).data)


def detail(request: ApiRequest, project: Project, task: Task) -> dict[str, Any]:
    return {
        "token": task.token,
        "question": project.question,
        "criteria": criteria_of(project),
        "asked": task.asked,
        "graded": task.graded,
        "n_named": task.n_named,
        "others": [other.value for other in task.others],
        "comments": project.comments,
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
                "media": reverse("api-item-media", args=[project.pk, option.item_id], request=request)
                if option.kind in IN_FILES
                else None,
                "link": option.link,
            }
            for place, option in enumerate(task.options)
        ],
    }


def following(request: ApiRequest, annotator: Annotator) -> dict[str, Any]:
    """Opens the next presentation, and shows it or says why there is none."""
    try:
        assigning.next_presentation(annotator=annotator, now=timezone.now(), rng=RNG)
    except Refusal as refusal:
        return step(request, annotator, refusal)
    return step(request, annotator, None)


def pseudonym_for(request: ApiRequest, project: Project) -> str:
    name = sent(request, Joining)["pseudonym"] or suggest(project, RNG)
    form = JoinForm({"pseudonym": name}, project=project)
    if not form.is_valid():
        raise Unfit({name: [str(one) for one in texts] for name, texts in form.errors.items()})
    return str(form.cleaned_data["pseudonym"])


def known(request: ApiRequest, project_id: UUID) -> Annotator:
    annotator = access.annotator_for(request, project_id)
    if annotator is None:
        access.project_for(request, project_id, access.ANNOTATE)
        raise NotFound(_("You are no annotator of this project yet. Send POST to its address “annotator” first."))
    limits.limit(request, "answer", who=str(annotator.pk))
    return annotator


class Join(View):
    """By the project's join link, without an account."""

    scope = None
    authentication_classes = []

    @extend_schema(operation_id="annotating_join", request=Joining, responses={201: Joined})
    def post(self, request: ApiRequest, token: str) -> Response:
        """Makes a pseudonymous annotator of the project behind a join link.

        Where the project asks for consent or has a questionnaire, `next` refuses until that was done: by
        `annotating_agree` and `annotating_answer_questions`, or on the site by the link `/join/again/SECRET/`.
        """
        asked(request, NoQuery)
        limits.limit(request, "join")
        project = access.project_to_join(token)
        annotator = join_by_link(
            project=project,
            pseudonym=pseudonym_for(request, project),
            resume_token=new_token(),
            version="",
            now=timezone.now(),
        )
        made = {"project": project.pk, "pseudonym": annotator.pseudonym, "secret": annotator.resume_token}
        return Response(Joined(made).data, status=201)


class Oneself(View):
    scope = ANNOTATE

    @extend_schema(operation_id="annotating_join_as_member", request=Joining, responses={201: Joined})
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Makes you, a member who may annotate, an annotator; if you are one already, that one is told."""
        project = access.project_for(request, project_id, access.ANNOTATE)
        asked(request, NoQuery)
        name = pseudonym_for(request, project)
        annotator = actions.join_with_account(project=project, pseudonym=name, user=request.user)
        made = {"project": project.pk, "pseudonym": annotator.pseudonym, "secret": None}
        return Response(Joined(made).data, status=201)


class Next(View):
    scope = ANNOTATE

    @extend_schema(operation_id="annotating_next", request=None, responses=Step)
    @limits.few_at_once
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Your open task, or a new one: asking again changes nothing but prolongs its lease."""
        annotator = known(request, project_id)
        asked(request, NoQuery)
        return Response(following(request, annotator))


class AnswerTask(View):
    scope = ANNOTATE

    @extend_schema(operation_id="annotating_answer", request=GivenAnswer, responses=Stored)
    @limits.few_at_once
    def post(self, request: ApiRequest, token: str) -> Response:
        """Stores the answer to a task and gives the next one. Sent again, nothing more is stored."""
        presentation = access.presentation_for(request, token)
        asked(request, NoQuery)
        annotator = presentation.annotator
        limits.limit(request, "answer", who=str(annotator.pk))
        values = sent(request, GivenAnswer)
        said: dict[str, Any] = {
            "order": tuple(values["order"]),
            "comment": comment_in(values),
            "reason": reason_in(values),
        }
        said["further"] = tuple(Answer(**{**one, "order": tuple(one["order"])}) for one in values["further"])
        answer = Answer(**{**values, **said}, session="api")
        label, refusal = record_and_go_on(presentation=presentation, answer=answer, now=timezone.now(), rng=RNG)
        stored = {
            "outcome": label.outcome,
            "counts": label.voided_at is None,
            "next": step(request, presentation.annotator, refusal),
        }
        return Response(Stored(stored).data)


class UndoAnswer(View):
    scope = ANNOTATE

    @extend_schema(operation_id="annotating_undo", request=Undo, responses=Step)
    @limits.few_at_once
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Takes your last answer back and asks the same again."""
        annotator = known(request, project_id)
        asked(request, NoQuery)
        undo_label(annotator=annotator, now=timezone.now(), token=sent(request, Undo)["token"])
        return Response(step(request, annotator, None))
