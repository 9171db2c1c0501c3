"""Machines through the API: adding them, the switch, the report."""

from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from annotate import access
from annotate.annotators.machines import actions
from annotate.annotators.machines.forms import MAX_NAME_LENGTH
from annotate.annotators.machines.queries import machine_rows, machines_page
from annotate.annotators.machines.report import FIGURES, report_view
from annotate.api.base import (
    ApiRequest,
    ApiView,
    CriterionQuery,
    FiniteFloatField,
    NoQuery,
    StoredMessageField,
    StrictSerializer,
    WholeSerializer,
    validated_body,
    validated_criterion,
    validated_query,
)
from annotate.api.idempotency import HEADER, idempotent
from annotate.core.rate_limits import check_rate_limit
from annotate.criteria import Criterion
from annotate.fitting.published import published_fit
from annotate.models import Machine, MachineReport, Project
from annotate.models.machines import MAX_CURRENCY_LENGTH, MAX_PROMPT_LENGTH, MAX_VERSION_LENGTH


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


class MachineChange(WholeSerializer):
    excluded = serializers.BooleanField(help_text="True: its answers stay and count nowhere.")


class MachineRemoved(serializers.Serializer):
    n_answers = serializers.IntegerField(help_text="Answers deleted with it.")


class ReportFigure(serializers.Serializer):
    value = FiniteFloatField(allow_null=True)
    low = FiniteFloatField(allow_null=True)
    high = FiniteFloatField(allow_null=True)
    n = serializers.IntegerField(help_text="Sets that it rests on.")
    is_unbounded = serializers.BooleanField(help_text="Whether a null above stands for: no limit.")


class ReportedMachine(serializers.Serializer):
    name = serializers.CharField()
    share = FiniteFloatField()
    n_answers = serializers.IntegerField()
    n_sets = serializers.IntegerField(help_text="Sets of items that it was asked about; most often pairs.")
    n_shared = serializers.IntegerField(help_text="Sets that people answered too.")
    figures = serializers.DictField(
        child=ReportFigure(allow_null=True), help_text=f"{', '.join(FIGURES)}; null where not known."
    )
    tags = serializers.DictField(child=ReportFigure(allow_null=True), help_text="Agreement by tag.")
    places = ReportFigure(
        many=True,
        help_text="How often it names best what stands first, second and so on, in sets of the size it answered most "
        "often; empty before it has answered five such sets.",
    )


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
    """Raise Machine.DoesNotExist where it has been removed meanwhile."""
    criterion = Criterion(project)
    found = (one for one in machine_rows(criterion, published_fit(criterion)) if one.machine.pk == machine.pk)
    row = next(found, None)
    if row is None:
        raise Machine.DoesNotExist
    return dict(MachineDetail(row).data)


class Machines(ApiView):
    @extend_schema(operation_id="machines_list", parameters=[CriterionQuery], responses=MachineList)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the machines that judge, and says whether the ranking counts them."""
        project = access.project_for(request, project_id, access.SEE)
        criterion = validated_criterion(project, validated_query(request, CriterionQuery))
        page = machines_page(criterion, published_fit(criterion))
        values = {"count_machines": page.counts, "learns_reliability": page.learns_reliability, "results": page.rows}
        return Response(MachineList(values).data)

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
    values = {name: getattr(row, name) for name in ("status", "message", "finished_at", "fit_number", "estimator")}
    return dict(MachineReportDetail({**values, "report": report_view(criterion, row, most=None)}).data)
