"""Serves the checks of the ranking, the report and one item through the API."""

from html import unescape
from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.html import strip_tags
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.response import Response

from annotate import access
from annotate.api.base import (
    ApiRequest,
    ApiView,
    CriterionQuery,
    FiniteFloatField,
    validated_criterion,
    validated_query,
)
from annotate.criteria import Criterion
from annotate.dashboard import item as item_query
from annotate.dashboard.report import build_report
from annotate.dashboard.trust.check import FAIL, PASS, UNKNOWN
from annotate.dashboard.trust.queries import trust
from annotate.dashboard.trust.settling import APART, CHANGES, EARLY, MOVING, SETTLED
from annotate.fitting.published import published_fit
from models_engine.models import Fit


def fit_of(criterion: Criterion) -> Fit:
    """Return the published fit; raises NotFound before the first."""
    fit = published_fit(criterion)
    if fit is None or not fit.n_items:
        raise NotFound(_("There is no ranking yet. Try again once there is one."))
    return fit


class Fact(serializers.Serializer):
    name = serializers.CharField()
    figure = serializers.CharField()


class Bin(serializers.Serializer):
    between = serializers.CharField(help_text="Predicted from … to …")
    n = serializers.IntegerField()
    predicted = serializers.CharField()
    came_true = serializers.CharField()
    interval = serializers.CharField()


class CheckRow(serializers.Serializer):
    key = serializers.CharField(help_text="Stays the same, for programs.")
    title = serializers.CharField()
    verdict = serializers.ChoiceField(choices=[PASS, FAIL, UNKNOWN], source="state")
    sentence = serializers.CharField()
    explained = serializers.CharField()
    facts = Fact(many=True)
    calibration = Bin(source="calibration.points", many=True, allow_null=True, default=None)


class Coefficient(serializers.Serializer):
    value = FiniteFloatField()
    low = FiniteFloatField(help_text="Lower end of the 90% interval.")
    high = FiniteFloatField(help_text="Upper end of the 90% interval.")


class Reliability(serializers.Serializer):
    """Reliability of the items' order; null where it is not known."""

    separation = Coefficient(allow_null=True, help_text="Scale-separation reliability (SSR) of the largest part.")
    strata = FiniteFloatField(
        allow_null=True, help_text="Levels that can be told apart: (4 G + 1) / 3, G² = SSR / (1 - SSR)."
    )
    n_items = serializers.IntegerField(allow_null=True, help_text="Items of the largest part.")
    annotators = Coefficient(allow_null=True, help_text="From halves of the annotators, stepped up to all of them.")
    answers = Coefficient(allow_null=True, help_text="From halves of the answers, stepped up to all of them.")
    split_at_fit = serializers.IntegerField(allow_null=True, help_text="Number of the fit whose labels were halved.")


class DeviationRow(serializers.Serializer):
    infit = FiniteFloatField(source="deviation.infit", help_text="1 is what chance gives, more is misfit.")
    infit_z = FiniteFloatField(source="deviation.z", help_text="Standardised; listed from 2.5 on.")
    n = serializers.IntegerField(source="deviation.n", help_text="Pairs that count.")


class MisfitItemRow(DeviationRow):
    item = serializers.CharField(source="item.key")
    title = serializers.CharField(source="item.title")


class MisfitAnnotatorRow(DeviationRow):
    annotator = serializers.CharField(source="annotator.pseudonym")


class MisfitDetail(serializers.Serializer):
    """Who and what is judged unlike the order, the worst first; every infit is in the exports."""

    sentence = serializers.CharField()
    n_items = serializers.IntegerField(help_text="Items with answers enough to say.")
    n_annotators = serializers.IntegerField()
    items = MisfitItemRow(many=True)
    annotators = MisfitAnnotatorRow(many=True)


class UndecidedTimes(serializers.Serializer):
    times = FiniteFloatField(source="value", help_text="How many times as often undecided as on average.")
    low = FiniteFloatField(help_text="Lower end of the 90% interval.")
    high = FiniteFloatField(help_text="Upper end of the 90% interval.")
    n_undecided = serializers.IntegerField(help_text="Answers that call the items equal or do not judge them.")
    n = serializers.IntegerField(help_text="Answers.")


class TimesRow(serializers.Serializer):
    times = FiniteFloatField(source="times.value", help_text="How many times as often undecided as on average.")
    low = FiniteFloatField(source="times.low", help_text="Lower end of the 90% interval.")
    high = FiniteFloatField(source="times.high", help_text="Upper end of the 90% interval.")
    n_undecided = serializers.IntegerField(
        source="times.n_undecided", help_text="Answers that call the items equal or do not judge them."
    )
    n = serializers.IntegerField(source="times.n", help_text="Answers.")


class UndecidedItemRow(TimesRow):
    item = serializers.CharField(source="item.key")
    title = serializers.CharField(source="item.title")


class UndecidedAnnotatorRow(TimesRow):
    annotator = serializers.CharField(source="annotator.pseudonym")


class UndecidedDetail(serializers.Serializer):
    """What nobody can decide, and who is undecided more often than the items explain; the most undecided first."""

    sentence = serializers.CharField()
    n_undecided = serializers.IntegerField(help_text="Answers that call the items equal or do not judge them.")
    items = UndecidedItemRow(many=True)
    annotators = UndecidedAnnotatorRow(many=True)


class SettlingPoint(serializers.Serializer):
    fit = serializers.IntegerField()
    n_labels = serializers.IntegerField()
    n_items = serializers.IntegerField()
    width = FiniteFloatField(help_text="Mean width of the 90% intervals of the scores (0 to 100).")
    tau = FiniteFloatField(
        allow_null=True, help_text="Kendall's tau-b with the present order; null without one order of all items."
    )
    n_changed = serializers.IntegerField(
        allow_null=True, help_text="How many of the first k places are another item's now."
    )
    changes = serializers.ListField(
        child=serializers.ChoiceField(choices=list(CHANGES)),
        help_text="What else changed since the point before: estimator, items, exclusion.",
    )


class SettlingDetail(serializers.Serializer):
    """Earlier fits held against the present one, oldest first, the present one last; at most 31."""

    state = serializers.ChoiceField(choices=[SETTLED, MOVING, EARLY, APART])
    sentence = serializers.CharField()
    k = serializers.IntegerField(help_text="Size of the top whose places are compared.")
    since = serializers.IntegerField(
        allow_null=True, help_text="Number of answers since which no fit had other first k places than now."
    )
    points = SettlingPoint(many=True)


class TrustDetail(serializers.Serializer):
    fit = serializers.IntegerField(help_text="Number of the published fit.")
    n_good = serializers.IntegerField()
    n_bad = serializers.IntegerField()
    n_unknown = serializers.IntegerField()
    checks = CheckRow(many=True)
    reliability = Reliability()
    misfit = MisfitDetail(allow_null=True, help_text="Null where the fit did not find out.")
    undecided = UndecidedDetail(allow_null=True, help_text="Null where too few answers are undecided to say.")
    settling = SettlingDetail(allow_null=True, help_text="Null where the fit did not find out.")


class TrustView(ApiView):
    @extend_schema(operation_id="trust_read", parameters=[CriterionQuery], responses=TrustDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns each check of the published ranking with its verdict, a sentence and the figures behind it."""
        project = access.project_for(request, project_id, access.SEE)
        criterion = validated_criterion(project, validated_query(request, CriterionQuery))
        fit = fit_of(criterion)
        found = trust(criterion, fit)
        for check in found.checks:
            check.__dict__["facts"] = [{"name": name, "figure": figure} for name, figure in check.facts]
        found.__dict__["fit"] = fit.number
        return Response(TrustDetail(found).data)


class StoppingRule(serializers.Serializer):
    sentence = serializers.CharField(help_text="The goal in words.")
    verdict = serializers.CharField(help_text="As in `goals_read`.")
    stands = serializers.CharField(help_text="Current state, in words.")


class ReportDetail(serializers.Serializer):
    fit = serializers.IntegerField(source="fit.number")
    estimator = serializers.CharField(source="fit.estimator")
    verdict = serializers.CharField()
    asked = serializers.CharField(help_text="What annotators did.")
    method = serializers.CharField(help_text="How the estimator models the answers.")
    cautions = serializers.ListField(child=serializers.CharField(), help_text="Most important first.")
    n_labels = serializers.IntegerField(source="fit.n_labels")
    n_annotators = serializers.IntegerField(source="fit.n_annotators")
    n_excluded = serializers.IntegerField(help_text="Number of excluded annotators.")
    first_label_at = serializers.DateTimeField(source="first_label", allow_null=True)
    reliability = Reliability()
    goal = StoppingRule(allow_null=True, help_text="Null where the project has no goal.")
    last_label_at = serializers.DateTimeField(source="last_label", allow_null=True)


class ReportView(ApiView):
    @extend_schema(operation_id="report_read", parameters=[CriterionQuery], responses=ReportDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns the text of the ranking report: the main result, how it was obtained and its limits."""
        project = access.project_for(request, project_id, access.SEE)
        criterion = validated_criterion(project, validated_query(request, CriterionQuery))
        found = build_report(project, fit_of(criterion), timezone.now())
        found.__dict__["verdict"] = plain_text(found.verdict)
        return Response(ReportDetail(found).data)


def plain_text(html: str) -> str:
    """Return what sentences with marked-up names say."""
    return unescape(strip_tags(html))


class AgainstRow(serializers.Serializer):
    item = serializers.CharField(source="item.key")
    rank = serializers.IntegerField(allow_null=True)
    won = serializers.IntegerField()
    lost = serializers.IntegerField()
    tied = serializers.IntegerField()
    p_above = FiniteFloatField(
        source="beats",
        allow_null=True,
        help_text="Probability that this item is above the other; only for the closest rivals.",
    )


class DissenterRow(serializers.Serializer):
    annotator = serializers.CharField(source="annotator.pseudonym")
    n_against = serializers.IntegerField()
    n = serializers.IntegerField()


class HistoryRow(serializers.Serializer):
    fit = serializers.IntegerField(source="number")
    score = FiniteFloatField(allow_null=True)
    score_low = FiniteFloatField(allow_null=True)
    score_high = FiniteFloatField(allow_null=True)
    utility = FiniteFloatField(allow_null=True)
    low = FiniteFloatField(allow_null=True)
    high = FiniteFloatField(allow_null=True)


class ItemFigures(serializers.Serializer):
    item = serializers.CharField(source="item.key")
    fit = serializers.IntegerField(allow_null=True, help_text="Number of the published fit; null before the first.")
    rank = serializers.IntegerField(source="estimate.rank", allow_null=True, default=None)
    rank_low = serializers.IntegerField(source="estimate.rank_low", allow_null=True, default=None)
    rank_high = serializers.IntegerField(source="estimate.rank_high", allow_null=True, default=None)
    score = FiniteFloatField(source="estimate.score", allow_null=True, default=None)
    score_low = FiniteFloatField(source="estimate.score_low", allow_null=True, default=None)
    score_high = FiniteFloatField(source="estimate.score_high", allow_null=True, default=None)
    utility = FiniteFloatField(source="estimate.utility", allow_null=True, default=None)
    low = FiniteFloatField(source="estimate.low", allow_null=True, default=None)
    high = FiniteFloatField(source="estimate.high", allow_null=True, default=None)
    n_answers = serializers.IntegerField(help_text="Answers about it that count; at most the latest 2,000.")
    outcomes = serializers.DictField(
        child=serializers.IntegerField(), help_text="How many answers put it first, last, in between, or tied it."
    )
    rivals = AgainstRow(many=True, help_text="Its neighbours in the ranking.")
    undecided = UndecidedTimes(allow_null=True, help_text="Null where too few answers are undecided to say.")
    opponents = AgainstRow(many=True, help_text="Items it was compared with most often.")
    dissenters = DissenterRow(
        many=True, help_text="Annotators whose answers contradict its place more often than they support it."
    )
    history = HistoryRow(many=True, help_text="The latest fits, oldest first.")


class ItemFiguresView(ApiView):
    @extend_schema(operation_id="items_figures", parameters=[CriterionQuery], responses=ItemFigures)
    def get(self, request: ApiRequest, project_id: UUID, item_id: int) -> Response:
        """Returns the details of an item: place, rivals, results against others, who disagrees, and history."""
        project = access.project_for(request, project_id, access.SEE)
        criterion = validated_criterion(project, validated_query(request, CriterionQuery))
        fit = published_fit(criterion)
        page: Any = item_query.item_page(criterion, get_object_or_404(project.items, pk=item_id), fit)
        page.__dict__["fit"] = fit.number if fit else None
        return Response(ItemFigures(page).data)
