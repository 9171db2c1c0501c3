"""Given questions: the list with answers so far, adding many at once, changing, withdrawing, drawing again."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.api.base import (
    ApiRequest,
    ApiView,
    NoQuery,
    PageQuery,
    StrictSerializer,
    WholeSerializer,
    page_serializer,
    paginated_response,
    validated_body,
    validated_query,
)
from annotate.api.idempotency import HEADER, idempotent
from annotate.api.problems import Unprocessable
from annotate.core import rate_limits
from annotate.files.limits import MAX_KEY, Unusable
from annotate.labelling.plan import given
from annotate.labelling.plan.queries import plan_progress
from annotate.models import MAX_ITEMS_SHOWN, GivenOrder, ItemSet, Project
from annotate.questions.checking import check_question, known_items
from annotate.questions.queries import STATES, filtered_questions, with_items

MAX_AT_ONCE = 1000


class QuestionQuery(PageQuery):
    state = serializers.ChoiceField(choices=list(STATES), required=False, default="")
    item = serializers.CharField(
        max_length=MAX_KEY, required=False, default="", help_text="Only questions with the item that has this key."
    )


class QuestionRow(serializers.Serializer):
    number = serializers.IntegerField(help_text="Place in the list, from 1.")
    items = serializers.ListField(source="keys", child=serializers.CharField(), help_text="Keys of the items.")
    priority = serializers.IntegerField()
    state = serializers.ChoiceField(
        choices=list(STATES),
        help_text="not_asked: an item is retired, or it is a gold question; withdrawn: asked no more, with answers.",
    )
    n_answers = serializers.IntegerField(help_text="Answers that count, and those being given.")


class NewQuestion(StrictSerializer):
    items = serializers.ListField(
        child=serializers.CharField(max_length=MAX_KEY),
        min_length=1,
        max_length=2 * MAX_ITEMS_SHOWN,
        help_text="Keys of different items of one context, exactly as many as a task shows.",
    )
    priority = serializers.IntegerField(
        min_value=-given.MAX_PRIORITY, max_value=given.MAX_PRIORITY, required=False, default=0
    )


class NewQuestions(StrictSerializer):
    questions = serializers.ListField(child=NewQuestion(), min_length=1, max_length=MAX_AT_ONCE)
    order = serializers.ChoiceField(
        choices=GivenOrder.choices, required=False, default="", help_text="How they are asked; else as before."
    )


class QuestionsAdded(serializers.Serializer):
    n_added = serializers.IntegerField()
    n_merged = serializers.IntegerField(help_text="Those that were there already, or given twice.")


class Numbers(StrictSerializer):
    numbers = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**31 - 1), min_length=1, max_length=MAX_AT_ONCE
    )


class QuestionChanges(WholeSerializer, Numbers):
    priority = serializers.IntegerField(min_value=-given.MAX_PRIORITY, max_value=given.MAX_PRIORITY, required=False)
    asked = serializers.BooleanField(required=False, help_text="true: ask withdrawn ones again; false: withdraw.")


class Withdrawal(StrictSerializer):
    numbers = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**31 - 1),
        required=False,
        max_length=MAX_AT_ONCE,
        help_text="If left out, all of them.",
    )
    draw_again = serializers.BooleanField(
        required=False, default=False, help_text="Withdraw all, and draw questions as in other projects."
    )


class QuestionsChanged(serializers.Serializer):
    n_changed = serializers.IntegerField(help_text="Questions that were another way before.")


class QuestionOrder(StrictSerializer):
    order = serializers.ChoiceField(choices=GivenOrder.choices)


class QuestionPlan(serializers.Serializer):
    order = serializers.CharField(help_text="balanced, in_order, priority; empty where questions are drawn.")
    n_asked = serializers.IntegerField(help_text="Questions that are asked.")
    n_full = serializers.IntegerField(help_text="Those with all their answers.")
    n_answers = serializers.IntegerField()
    n_left = serializers.IntegerField(help_text="Answers still needed.")


def question_json(project: Project, rows: list[ItemSet]) -> list[Any]:
    return list(QuestionRow(with_items(project, rows), many=True).data)


class Questions(ApiView):
    @extend_schema(
        operation_id="given_questions_list", parameters=[QuestionQuery], responses=page_serializer(QuestionRow)
    )
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the questions that the owner gave, with their answers so far."""
        project = access.project_for(request, project_id, access.MANAGE)
        query = validated_query(request, QuestionQuery)
        rows = filtered_questions(project, query["state"], query["item"])
        return paginated_response(request, rows, query, lambda page: question_json(project, page))

    @extend_schema(
        operation_id="given_questions_create",
        parameters=[HEADER],
        request=NewQuestions,
        responses={201: QuestionsAdded},
    )
    @idempotent
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Adds up to 1,000 questions: all of them, or none and the errors. From the first on, only given questions are
        asked."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        rate_limits.check_rate_limit(request, "import", who=str(request.user.pk))
        sent = validated_body(request, NewQuestions)
        known = known_items(project, (key for one in sent["questions"] for key in one["items"]))
        found, problems = [], {}
        for place, one in enumerate(sent["questions"]):
            try:
                found.append(given.NewQuestion(check_question(project.k, one["items"], known), one["priority"]))
            except Unusable as problem:
                problems[f"questions.{place}"] = [str(problem)]
        if problems:
            raise Unprocessable(problems)
        added = given.add_questions(
            project=project, actor=request.user, questions=found, order=sent["order"], now=timezone.now()
        )
        return Response(QuestionsAdded(added).data, status=201)

    @extend_schema(operation_id="given_questions_change", request=QuestionChanges, responses=QuestionsChanged)
    def patch(self, request: ApiRequest, project_id: UUID) -> Response:
        """Changes the priority of questions, withdraws them or asks withdrawn ones again. Unknown numbers are left
        out."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        sent = validated_body(request, QuestionChanges)
        if "priority" not in sent and "asked" not in sent:
            raise Unprocessable({"priority": [_("Say what to change: priority, asked or both.")]})
        what: dict[str, Any] = {
            "project": project,
            "actor": request.user,
            "numbers": sent["numbers"],
            "now": timezone.now(),
        }
        n = 0
        if "priority" in sent:
            n = given.change_priority(**what, priority=sent["priority"])
        if "asked" in sent:
            n = max(n, given.ask_again(**what) if sent["asked"] else given.withdraw_questions(**what))
        return Response({"n_changed": n})


class WithdrawQuestions(ApiView):
    @extend_schema(operation_id="given_questions_withdraw", request=Withdrawal, responses=QuestionsChanged)
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Asks these questions no more; their answers stay. Those that nobody was shown are deleted."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        sent = validated_body(request, Withdrawal)
        now = timezone.now()
        if sent["draw_again"]:
            if "numbers" in sent:
                raise Unprocessable({"draw_again": [_("This withdraws all questions. Leave out the numbers.")]})
            n = given.draw_again(project=project, actor=request.user, now=now)
        else:
            n = given.withdraw_questions(project=project, actor=request.user, numbers=sent.get("numbers"), now=now)
        return Response({"n_changed": n})


def plan_json(project: Project) -> dict[str, Any]:
    plan = plan_progress(project)
    if not project.given_order:
        return {"order": "", "n_asked": 0, "n_full": 0, "n_answers": 0, "n_left": 0}
    figures = {"n_asked": plan.n_sets, "n_full": plan.n_full, "n_answers": plan.n_answers, "n_left": plan.n_left}
    return {"order": project.given_order, **figures}


class QuestionsOrder(ApiView):
    @extend_schema(operation_id="given_questions_plan", responses=QuestionPlan)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns in which order the given questions are asked, and how many answers they still need."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        return Response(plan_json(project))

    @extend_schema(operation_id="given_questions_order", request=QuestionOrder, responses=QuestionPlan)
    def put(self, request: ApiRequest, project_id: UUID) -> Response:
        """Asks the given questions in another order."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        sent = validated_body(request, QuestionOrder)
        given.change_order(project=project, actor=request.user, order=sent["order"], now=timezone.now())
        project.refresh_from_db()
        return Response(plan_json(project))
