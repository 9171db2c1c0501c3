"""Machines through the API: adding them, what one is still to be asked, its answers, the switch, the report."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.annotators.machines import actions
from annotate.annotators.machines.forms import MAX_NAME_LENGTH
from annotate.annotators.machines.queries import SETS, machine_rows, machines_page, pairs_to_judge
from annotate.annotators.machines.report import FIGURES, report_view
from annotate.api.base import (
    ApiRequest,
    ApiView,
    CriterionQuery,
    FiniteFloatField,
    NoQuery,
    StoredMessageField,
    StrictSerializer,
    validated_body,
    validated_criterion,
    validated_query,
)
from annotate.api.idempotency import HEADER, idempotent
from annotate.api.problems import Unprocessable
from annotate.core.rate_limits import check_rate_limit
from annotate.core.sanitizing import strip_tags
from annotate.criteria import Criterion
from annotate.files.limits import MAX_KEY
from annotate.fitting.published import published_fit
from annotate.models import Item, Label, Machine, MachineReport, Project
from annotate.models.machines import MAX_CURRENCY_LENGTH, MAX_PROMPT_LENGTH, MAX_VERSION_LENGTH

MAX_ANSWERS = 200  # in one request
MAX_PAIRS = 200
TEXTS = (Item.Kind.TEXT, Item.Kind.MARKDOWN, Item.Kind.HTML)


class NewMachine(StrictSerializer):
    name = serializers.CharField(max_length=MAX_NAME_LENGTH)
    program = serializers.CharField(max_length=200, help_text="The program or model.")
    version = serializers.CharField(max_length=MAX_VERSION_LENGTH, required=False, default="", allow_blank=True)
    prompt = serializers.CharField(
        max_length=MAX_PROMPT_LENGTH, required=False, default="", allow_blank=True, trim_whitespace=False
    )
    prompt_hash = serializers.CharField(
        max_length=64, required=False, default="", allow_blank=True, help_text="Of a prompt that you do not send."
    )
    price = serializers.DecimalField(
        max_digits=12, decimal_places=6, min_value=0, required=False, default=None, allow_null=True,
        help_text="Cost of an answer, used where an answer comes without its own.",
    )  # fmt: skip
    currency = serializers.CharField(max_length=MAX_CURRENCY_LENGTH, required=False, default="", allow_blank=True)


class CountedMachine(serializers.Serializer):
    n_labels = serializers.IntegerField(help_text="Its answers in the fit.")
    share = FiniteFloatField(help_text="How much of a person's comparison each of its comparisons counts for.")
    agreement = FiniteFloatField(allow_null=True)
    reliability = FiniteFloatField(allow_null=True)
    reliability_low = FiniteFloatField(allow_null=True)
    reliability_high = FiniteFloatField(allow_null=True)


class MachineDetail(serializers.Serializer):
    key = serializers.UUIDField(source="annotator.key")
    name = serializers.CharField(source="annotator.pseudonym")
    program = serializers.CharField(source="machine.program")
    version = serializers.CharField(source="machine.version", allow_blank=True)
    prompt = serializers.CharField(source="machine.prompt", allow_blank=True)
    prompt_hash = serializers.CharField(source="machine.prompt_hash", allow_blank=True)
    price = serializers.DecimalField(source="machine.price", max_digits=12, decimal_places=6, allow_null=True)
    currency = serializers.CharField(source="machine.currency", allow_blank=True)
    added_at = serializers.DateTimeField(source="annotator.joined_at")
    excluded_at = serializers.DateTimeField(source="annotator.excluded_at", allow_null=True)
    n_answers = serializers.IntegerField()
    n_tokens = serializers.IntegerField(help_text="In and out, as the endpoint reported them.")
    cost = serializers.DecimalField(max_digits=20, decimal_places=8, allow_null=True)
    last_answer_at = serializers.DateTimeField(source="last_at", allow_null=True)
    in_fit = CountedMachine(allow_null=True, help_text="Null where the published fit does not count it.")


class MachineList(serializers.Serializer):
    count_machines = serializers.BooleanField(help_text="Whether the ranking counts machines.")
    learns_reliability = serializers.BooleanField(
        help_text="Whether the estimator also learns each machine's reliability; the share is learned always."
    )
    results = MachineDetail(many=True)


class Counting(StrictSerializer):
    count_machines = serializers.BooleanField()


class MachineChange(StrictSerializer):
    excluded = serializers.BooleanField(help_text="True: its answers stay and count nowhere.")


class MachineRemoved(serializers.Serializer):
    n_answers = serializers.IntegerField(help_text="Answers deleted with it.")


class PairsQuery(CriterionQuery):
    sets = serializers.ChoiceField(
        choices=SETS, required=False, default="answered", help_text="Pairs that people answered, of the plan, or all."
    )
    after = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=20, help_text="`next` of the last reply."
    )
    limit = serializers.IntegerField(required=False, default=50, min_value=1, max_value=MAX_PAIRS)


class JudgedItem(serializers.Serializer):
    key = serializers.CharField()
    kind = serializers.ChoiceField(choices=Item.Kind.choices)
    text = serializers.CharField(allow_blank=True, help_text="Empty for what is no text, such as a picture.")


class PairRow(serializers.Serializer):
    context = serializers.CharField(allow_null=True)  # type: ignore[assignment]
    items = JudgedItem(many=True)
    orders = serializers.ListField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="The orders still to be asked, by place in `items`.",
    )


class PairList(serializers.Serializer):
    question = serializers.CharField()
    ties = serializers.BooleanField(help_text="Whether a tie is an answer.")
    next = serializers.CharField(allow_null=True, help_text="Null once every pair was listed.")
    results = PairRow(many=True)


class AnswerRow(StrictSerializer):
    items = serializers.ListField(
        child=serializers.CharField(max_length=MAX_KEY),
        min_length=2,
        max_length=2,
        help_text="Keys in the order shown.",
    )
    chosen = serializers.IntegerField(min_value=0, max_value=1, allow_null=True, help_text="Place; null for a tie.")
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
    n_known = serializers.IntegerField(help_text="Pairs that it had answered in this order before: that answer stays.")


class ReportFigure(serializers.Serializer):
    value = FiniteFloatField(allow_null=True)
    low = FiniteFloatField(allow_null=True)
    high = FiniteFloatField(allow_null=True)
    n = serializers.IntegerField(help_text="Pairs that it rests on.")
    is_unbounded = serializers.BooleanField(help_text="Whether a null above stands for: no limit.")


class ReportedMachine(serializers.Serializer):
    name = serializers.CharField()
    share = FiniteFloatField()
    n_answers = serializers.IntegerField()
    n_pairs = serializers.IntegerField()
    n_shared = serializers.IntegerField(help_text="Pairs that people answered too.")
    figures = serializers.DictField(
        child=ReportFigure(allow_null=True), help_text=f"{', '.join(FIGURES)}; null where not known."
    )
    tags = serializers.DictField(child=ReportFigure(allow_null=True), help_text="Agreement by tag.")


class MachinePlaces(serializers.Serializer):
    item = serializers.CharField(source="item.key")
    people = serializers.IntegerField(help_text="Place by people alone.")
    machines = serializers.IntegerField(help_text="Place by machines alone.")
    both = serializers.IntegerField()


class Reported(serializers.Serializer):
    machines = ReportedMachine(many=True)
    rows = MachinePlaces(many=True, help_text="Every item that people and machines compared.")
    n_items = serializers.IntegerField()
    correlation = FiniteFloatField(allow_null=True, help_text="Of people's and machines' utilities.")
    correlation_both = FiniteFloatField(allow_null=True)
    n_people = serializers.IntegerField()
    n_people_answers = serializers.IntegerField()
    n_machine_answers = serializers.IntegerField()


class MachineReportDetail(serializers.Serializer):
    status = serializers.ChoiceField(choices=MachineReport.Status.choices)
    message = StoredMessageField(allow_blank=True, help_text="Why it failed.")
    finished_at = serializers.DateTimeField(allow_null=True)
    fit_number = serializers.IntegerField(allow_null=True)
    estimator = serializers.CharField(allow_blank=True)
    report = Reported(allow_null=True)


def machine_or_404(project: Project, key: UUID) -> Machine:
    found: Machine = get_object_or_404(actions.machines_of(project), annotator__key=key)
    return found


def machine_detail(project: Project, machine: Machine) -> dict[str, Any]:
    criterion = Criterion(project)
    [row] = [one for one in machine_rows(criterion, published_fit(criterion)) if one.machine.pk == machine.pk]
    return dict(MachineDetail(row).data)


class Machines(ApiView):
    @extend_schema(operation_id="machines_list", parameters=[CriterionQuery], responses=MachineList)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the machines that judge, and says whether the ranking counts them."""
        project = access.project_for(request, project_id, access.SEE)
        criterion = validated_criterion(project, validated_query(request, CriterionQuery))
        page = machines_page(criterion, published_fit(criterion))
        told = {"count_machines": page.counts, "learns_reliability": page.learns_reliability, "results": page.rows}
        return Response(MachineList(told).data)

    @extend_schema(
        operation_id="machines_create", parameters=[HEADER], request=NewMachine, responses={201: MachineDetail}
    )
    @idempotent
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Adds a machine. Nothing of it changes later: another prompt is another machine."""
        project = access.project_for(request, project_id, access.OWN)
        validated_query(request, NoQuery)
        body = validated_body(request, NewMachine)
        machine = actions.add_machine(project=project, actor=request.user, now=timezone.now(), **body)
        return Response(machine_detail(project, machine), status=201)


class MachinesCounting(ApiView):
    @extend_schema(operation_id="machines_count", request=Counting, responses=Counting)
    def put(self, request: ApiRequest, project_id: UUID) -> Response:
        """Switches on or off that the ranking counts machines' answers; the log says so."""
        project = access.project_for(request, project_id, access.OWN)
        validated_query(request, NoQuery)
        on = validated_body(request, Counting)["count_machines"]
        actions.set_counting(project=project, actor=request.user, on=on, now=timezone.now())
        return Response({"count_machines": on})


class MachineView(ApiView):
    @extend_schema(operation_id="machines_update", request=MachineChange, responses=MachineDetail)
    def patch(self, request: ApiRequest, project_id: UUID, machine_key: UUID) -> Response:
        """Excludes a machine or readmits it."""
        project = access.project_for(request, project_id, access.OWN)
        validated_query(request, NoQuery)
        machine = machine_or_404(project, machine_key)
        on = validated_body(request, MachineChange)["excluded"]
        actions.set_excluded(machine=machine, actor=request.user, on=on, now=timezone.now())
        return Response(machine_detail(project, machine))

    @extend_schema(operation_id="machines_delete", responses={200: MachineRemoved})
    def delete(self, request: ApiRequest, project_id: UUID, machine_key: UUID) -> Response:
        """Deletes a machine with its answers."""
        project = access.project_for(request, project_id, access.OWN)
        validated_query(request, NoQuery)
        n = actions.remove_machine(machine=machine_or_404(project, machine_key), actor=request.user, now=timezone.now())
        return Response({"n_answers": n})


class MachinePairs(ApiView):
    @extend_schema(operation_id="machines_pairs", parameters=[PairsQuery], responses=PairList)
    def get(self, request: ApiRequest, project_id: UUID, machine_key: UUID) -> Response:
        """Lists pairs that the machine is still to be asked, each with the orders that are missing."""
        project = access.project_for(request, project_id, access.MANAGE)
        query = validated_query(request, PairsQuery)
        criterion = validated_criterion(project, query)
        machine = machine_or_404(project, machine_key)
        found, following = pairs_to_judge(machine, criterion, query["sets"], query["after"], query["limit"])
        told = {
            "question": criterion.question,
            "ties": Label.Outcome.TIE in project.outcomes,
            "next": following,
            "results": [
                {
                    "context": one.items[0].context.body if one.items[0].context else None,
                    "items": [{"key": item.key, "kind": item.kind, "text": text_of(item)} for item in one.items],
                    "orders": one.orders,
                }
                for one in found
            ],
        }
        return Response(PairList(told).data)


def text_of(item: Item) -> str:
    if item.kind == Item.Kind.SECTIONS:
        return item.words
    if item.kind not in TEXTS:
        return ""
    return strip_tags(item.body) if item.kind == Item.Kind.HTML else item.body


class MachineAnswersView(ApiView):
    @extend_schema(operation_id="machines_answer", request=MachineAnswers, responses=StoredAnswers)
    def post(self, request: ApiRequest, project_id: UUID, machine_key: UUID) -> Response:
        """Stores up to 200 answers, all or none. The first answer to a pair in an order stays: sending it again is
        safe."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        machine = machine_or_404(project, machine_key)
        body = validated_body(request, MachineAnswers)
        criterion = validated_criterion(project, body)
        rows = checked_rows(project, body["rows"])
        n = actions.store_answers(machine=machine, criterion=criterion, rows=rows, now=timezone.now())
        return Response({"n_stored": n, "n_known": len(rows) - n})


def checked_rows(project: Project, rows: list[dict[str, Any]]) -> list[actions.NewAnswer]:
    """Raises Unprocessable, which names the rows that are wrong."""
    if len(rows) > MAX_ANSWERS:
        text = _("There are %(n)d rows; the limit is %(limit)d. Send them in several requests.")
        raise Unprocessable({"rows": [text % {"n": len(rows), "limit": MAX_ANSWERS}]})
    known = actions.item_ids(project, {item for row in rows for item in row["items"]})
    errors: dict[str, list[str]] = {}
    found: list[actions.NewAnswer] = []
    for place, row in enumerate(rows):
        missing = [item for item in row["items"] if item not in known]
        if missing:
            errors[f"rows.{place}"] = [_("No item has the key “%(key)s”.") % {"key": missing[0]}]
        elif row["items"][0] == row["items"][1]:
            errors[f"rows.{place}"] = [
                _("Both items are “%(key)s”. Give two different ones.") % {"key": row["items"][0]}
            ]
        elif row["chosen"] is None and Label.Outcome.TIE not in project.outcomes:
            errors[f"rows.{place}"] = [_("A tie is no answer in this project. Give the place of the chosen item.")]
        else:
            items = (known[row["items"][0]], known[row["items"][1]])
            more = {name: value for name, value in row.items() if name not in ("items", "chosen")}
            found.append(actions.NewAnswer(items, None if row["chosen"] is None else items[row["chosen"]], **more))
    if errors:
        raise Unprocessable(errors)
    return found


class MachinesReport(ApiView):
    @extend_schema(operation_id="machines_report", parameters=[CriterionQuery], responses=MachineReportDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns the latest report that holds the machines against people."""
        project = access.project_for(request, project_id, access.SEE)
        criterion = validated_criterion(project, validated_query(request, CriterionQuery))
        row = get_object_or_404(MachineReport, project=project, criterion=criterion.number)
        return Response(report_detail(criterion, row))

    @extend_schema(operation_id="machines_request_report", request=CriterionQuery, responses={202: MachineReportDetail})
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Starts the report, or computes it anew. Poll until `status` is `ready`."""
        project = access.project_for(request, project_id, access.MANAGE)
        validated_query(request, NoQuery)
        check_rate_limit(request, "export")
        criterion = validated_criterion(project, validated_body(request, CriterionQuery))
        row = actions.request_report(criterion=criterion, actor=request.user, now=timezone.now())
        return Response(report_detail(criterion, row), status=202)


def report_detail(criterion: Criterion, row: MachineReport) -> dict[str, Any]:
    told = {name: getattr(row, name) for name in ("status", "message", "finished_at", "fit_number", "estimator")}
    return dict(MachineReportDetail({**told, "report": report_view(criterion, row, most=None)}).data)
