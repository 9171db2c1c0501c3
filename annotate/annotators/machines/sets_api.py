"""What a machine is still to be asked, and its answers, through the API."""

from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.annotators.machines import actions
from annotate.annotators.machines.answers import GivenAnswer, NewAnswer, WrongAnswer, read_answer
from annotate.annotators.machines.api import machine_or_404
from annotate.annotators.machines.sets import MAX_ORDERS, MIN_ORDERS, WHICH, AskedSet, sets_to_judge
from annotate.api.base import (
    ApiRequest,
    ApiView,
    CriterionQuery,
    NoQuery,
    StrictSerializer,
    validated_body,
    validated_criterion,
    validated_query,
)
from annotate.api.problems import Unprocessable
from annotate.core.sanitizing import strip_tags
from annotate.files.limits import MAX_KEY
from annotate.labelling.answer_fields import PlacesAnswer
from annotate.labelling.asked_tasks import with_task
from annotate.models import MAX_ITEMS_SHOWN, Item, Label, Project
from annotate.models.machines import MAX_VERSION_LENGTH

MAX_ANSWERS = 200  # in one request
MAX_SETS = 200
TEXTS = (Item.Kind.TEXT, Item.Kind.MARKDOWN, Item.Kind.HTML)


class SetsQuery(CriterionQuery):
    sets = serializers.ChoiceField(
        choices=WHICH, required=False, default="answered", help_text="Sets that people answered, of the plan, or all."
    )
    orders = serializers.IntegerField(
        required=False,
        default=MIN_ORDERS,
        min_value=MIN_ORDERS,
        max_value=MAX_ORDERS,
        help_text="In how many orders each set is shown; a set of k items has 2 k at most, a pair two.",
    )
    after = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=20, help_text="`next` of the last reply."
    )
    limit = serializers.IntegerField(required=False, default=50, min_value=1, max_value=MAX_SETS)


class JudgedItem(serializers.Serializer):
    key = serializers.CharField()
    kind = serializers.ChoiceField(choices=Item.Kind.choices)
    text = serializers.CharField(allow_blank=True, help_text="Empty for what is no text, such as a picture.")


class SetRow(serializers.Serializer):
    context = serializers.CharField(allow_null=True)  # type: ignore[assignment]
    task = serializers.CharField(help_text="The kind of task, as answers name it.")
    task_type = serializers.ChoiceField(choices=Project.TaskType.choices)
    n_named = serializers.IntegerField(
        help_text="How many places `order` must name; 1 where `chosen` names the only one."
    )
    is_ordered = serializers.BooleanField(help_text="Whether `order` is the answer, and not `chosen`.")
    shares_places = serializers.BooleanField(help_text="Whether items in `order` may share a place.")
    ties = serializers.BooleanField(help_text="Whether a tie is an answer.")
    grades = serializers.ListField(
        child=serializers.CharField(),
        help_text="What `grade` may say of how much better the item chosen is; empty where that is not asked.",
    )
    items = JudgedItem(many=True)
    orders = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="The orders still to be asked, by place in `items`.",
    )


class SetList(serializers.Serializer):
    question = serializers.CharField()
    best_words = serializers.CharField(allow_blank=True, help_text="What the project calls the best; empty: best.")
    worst_words = serializers.CharField(allow_blank=True)
    next = serializers.CharField(allow_null=True, help_text="Null once every set was listed.")
    results = SetRow(many=True)


class AnswerRow(PlacesAnswer):
    """Neither a choice nor an order: a tie."""

    grade = serializers.ChoiceField(
        choices=Label.Grade.choices,
        required=False,
        default="",
        allow_blank=True,
        help_text="How much better the item chosen is, of a graded pair.",
    )
    task = serializers.CharField(
        max_length=24,
        required=False,
        default="",
        allow_blank=True,
        help_text="`task` of the set, where the project asks several kinds of one size; else the first of them.",
    )

    items = serializers.ListField(
        child=serializers.CharField(max_length=MAX_KEY),
        min_length=2,
        max_length=MAX_ITEMS_SHOWN,
        help_text="Keys in the order shown.",
    )
    prompt_version = serializers.CharField(max_length=MAX_VERSION_LENGTH, required=False, default="", allow_blank=True)
    tokens_in = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, required=False, default=None, allow_null=True
    )
    tokens_out = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, required=False, default=None, allow_null=True
    )
    cost = serializers.DecimalField(
        max_digits=14, decimal_places=8, min_value=0, required=False, default=None, allow_null=True
    )
    seconds = serializers.FloatField(min_value=0, max_value=10**6, required=False, default=None, allow_null=True)


class MachineAnswers(StrictSerializer):
    criterion = serializers.IntegerField(required=False, default=1, min_value=1, max_value=5)
    rows = AnswerRow(many=True)


class StoredAnswers(serializers.Serializer):
    n_stored = serializers.IntegerField()
    n_known = serializers.IntegerField(help_text="Sets that it had answered in this order before: that answer stays.")


class MachineSets(ApiView):
    @extend_schema(operation_id="machines_sets", parameters=[SetsQuery], responses=SetList)
    def get(self, request: ApiRequest, project_id: UUID, machine_key: UUID) -> Response:
        """List sets that the machine is still to be asked, each with its kind of task and the orders missing."""
        project = access.project_for(request, project_id, access.MANAGE)
        query = validated_query(request, SetsQuery)
        criterion = validated_criterion(project, query)
        machine = machine_or_404(project, machine_key)
        asked = (query["sets"], query["after"], query["limit"], query["orders"])
        found, following = sets_to_judge(machine, criterion, *asked)
        values = {
            "question": criterion.question,
            "best_words": project.best_words,
            "worst_words": project.worst_words,
            "next": following,
            "results": [set_row(project, one) for one in found],
        }
        return Response(SetList(values).data)


def set_row(project: Project, one: AskedSet) -> dict[str, Any]:
    own = with_task(project, one.task)
    context = one.items[0].context
    return {
        "context": context.body if context else None,
        "task": one.task.code,
        "task_type": one.task.task_type,
        "n_named": one.task.type.n_ranked(own),
        "is_ordered": one.task.type.is_ordered,
        "shares_places": one.task.type.shares_places(own),
        "ties": one.task.k == 2 and Label.Outcome.TIE in project.outcomes,
        "grades": Label.Grade.values if one.task.type.is_graded else [],
        "items": [{"key": item.key, "kind": item.kind, "text": text_of(item)} for item in one.items],
        "orders": one.orders,
    }


def text_of(item: Item) -> str:
    if item.kind == Item.Kind.SECTIONS:
        return item.words
    if item.kind not in TEXTS:
        return ""
    return strip_tags(item.body) if item.kind == Item.Kind.HTML else item.body


class MachineAnswersView(ApiView):
    @extend_schema(operation_id="machines_answer", request=MachineAnswers, responses=StoredAnswers)
    def post(self, request: ApiRequest, project_id: UUID, machine_key: UUID) -> Response:
        """Store up to 200 answers, all or none. The first answer to a set in an order stays: sending it again is
        safe."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        machine = machine_or_404(project, machine_key)
        body = validated_body(request, MachineAnswers)
        criterion = validated_criterion(project, body)
        rows = checked_rows(project, body["rows"])
        n = actions.store_answers(machine=machine, criterion=criterion, rows=rows, now=timezone.now())
        return Response({"n_stored": n, "n_known": len(rows) - n})


def checked_rows(project: Project, rows: list[dict[str, Any]]) -> list[NewAnswer]:
    """Raise Unprocessable, which names the rows that are wrong."""
    if len(rows) > MAX_ANSWERS:
        text = _("There are %(n)d rows; the limit is %(limit)d. Send them in several requests.")
        raise Unprocessable({"rows": [text % {"n": len(rows), "limit": MAX_ANSWERS}]})
    known = actions.item_ids(project, {item for row in rows for item in row["items"]})
    errors: dict[str, list[str]] = {}
    found: list[NewAnswer] = []
    for place, row in enumerate(rows):
        try:
            found.append(checked_row(project, row, known))
        except WrongAnswer as error:
            errors[f"rows.{place}"] = [str(error)]
    if errors:
        raise Unprocessable(errors)
    return found


def checked_row(project: Project, row: dict[str, Any], known: dict[str, int]) -> NewAnswer:
    """Raise WrongAnswer."""
    more = dict(row)
    keys = more.pop("items")
    given = GivenAnswer(**{name: more.pop(name) for name in ("chosen", "order", "shared", "grade", "task")})
    missing = next((key for key in keys if key not in known), None)
    if missing is not None:
        raise WrongAnswer(_("No item has the key “%(key)s”. Use keys of this project's items.") % {"key": missing})
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise WrongAnswer(_("The item “%(key)s” is named twice. Give different items.") % {"key": twice})
    return read_answer(project, tuple(known[key] for key in keys), given, **more)
