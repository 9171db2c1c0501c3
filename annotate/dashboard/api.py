"""Serves the published ranking and the fits through the API."""

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
    CriterionQuery,
    FiniteFloatField,
    PageQuery,
    StoredMessageField,
    page_serializer,
    paginated_response,
    validated_criterion,
    validated_query,
)
from annotate.api.problems import Unprocessable
from annotate.dashboard.heading import engine_status
from annotate.dashboard.ranking import table
from annotate.dashboard.ranking.pair import pair_figures
from annotate.dashboard.ranking.queries import SORTS, RankingQuery, sort_estimates
from annotate.dashboard.ranking.tracks import Track, by_place, track_of
from annotate.fitting.published import published_fit
from annotate.models import MAX_CRITERIA, Item, Project
from models_engine.models import Estimate, Fit

NAMES = [column.name for column in table.COLUMNS]


class RankingParameters(CriterionQuery, PageQuery):
    q = serializers.CharField(
        required=False, default="", max_length=200, help_text="Text that the key or the item contains."
    )
    tag = serializers.CharField(required=False, default="", max_length=100)
    track = serializers.CharField(
        required=False,
        default="",
        max_length=100,
        help_text="Tag within whose items places, classes, P(first) and P(top k) are given; not with q or tag.",
    )
    sort = serializers.ChoiceField(
        choices=[*SORTS, *(f"-{name}" for name in SORTS)],
        required=False,
        default="rank",
        help_text="Sort order within each connected part.",
    )


class FitsParameters(PageQuery):
    criterion = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_CRITERIA, help_text="Omit to get the fits of all criteria."
    )


class FitRow(serializers.Serializer):
    number = serializers.IntegerField()
    criterion = serializers.IntegerField(help_text="Number of the criterion; 1 if the project has only one.")
    estimator = serializers.CharField()
    status = serializers.ChoiceField(choices=Fit.Status.choices)
    published = serializers.BooleanField()
    n_labels = serializers.IntegerField()
    n_items = serializers.IntegerField()
    n_annotators = serializers.IntegerField()
    n_parts = serializers.IntegerField(help_text="Number of connected parts; each has its own ranking.")
    converged = serializers.BooleanField(allow_null=True)
    message = StoredMessageField(allow_blank=True)
    seed = serializers.IntegerField()
    data_hash = serializers.CharField(allow_blank=True)
    seconds = FiniteFloatField(allow_null=True)
    unit = FiniteFloatField(
        allow_null=True, help_text="Multiply utilities by this to get the logits of an average person's answer."
    )
    started_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)


class RankedItem(serializers.Serializer):
    """The columns of the export of the ranking, under the same names."""

    item = serializers.CharField(help_text="The item's key.")
    title = serializers.CharField()
    tags = serializers.ListField(child=serializers.CharField())
    part = serializers.IntegerField(
        help_text="Connected part; 0 is the largest. Items of different parts can't be compared."
    )
    rank = serializers.IntegerField(
        allow_null=True,
        help_text="Null if never compared, as the other figures of places; unless `predicted` from its features.",
    )
    rank_low = serializers.IntegerField(allow_null=True)
    rank_high = serializers.IntegerField(allow_null=True)
    score = FiniteFloatField(
        allow_null=True,
        help_text="Chance, in per cent, to be preferred to an average item; null for older fits without scores.",
    )
    score_low = FiniteFloatField(allow_null=True, help_text="Lower end of the 90% interval of the score.")
    score_high = FiniteFloatField(allow_null=True)
    utility = FiniteFloatField(allow_null=True)
    sd = FiniteFloatField(allow_null=True)
    low = FiniteFloatField(allow_null=True, help_text="Lower end of the 90% interval of the utility.")
    high = FiniteFloatField(allow_null=True)
    p_top_k = FiniteFloatField(allow_null=True, help_text="Null where k or fewer have a place.")
    p_first = FiniteFloatField(
        allow_null=True, default=None, help_text="Probability of being the best; with track only."
    )
    tier = serializers.IntegerField(allow_null=True)
    rank_class = serializers.IntegerField(
        allow_null=True,
        help_text="A class begins with an item that is clearly below the first item of the class above.",
    )
    highest_class = serializers.IntegerField(allow_null=True, help_text="The highest class it may belong to.")
    next_state = serializers.ChoiceField(choices=Estimate.NextState.choices)
    n_comparisons = serializers.IntegerField()
    divisiveness = FiniteFloatField(allow_null=True)
    infit = FiniteFloatField(
        allow_null=True, help_text="How far the answers deviate from the order: 1 is what chance gives, more is misfit."
    )
    infit_z = FiniteFloatField(allow_null=True, help_text="The same, standardised: over 2.5 deserves a look.")
    n_best = serializers.IntegerField(allow_null=True, help_text="Times chosen as best; null for other tasks.")
    n_worst = serializers.IntegerField(allow_null=True, help_text="Times chosen as worst; null for other tasks.")
    best_worst = FiniteFloatField(allow_null=True, help_text="(Best - worst) / shown, from -1 to 1.")
    undecided = FiniteFloatField(
        allow_null=True,
        help_text="How many times as often as on average answers are undecided here; null where too few are to say.",
    )
    undecided_low = FiniteFloatField(allow_null=True, help_text="Lower end of its 90% interval.")
    undecided_high = FiniteFloatField(allow_null=True)
    predicted = serializers.BooleanField(
        help_text="Whether the figures are predicted from what the item looks like, because nobody has compared it."
    )


class RankingPage(page_serializer(RankedItem)):  # type: ignore[misc]
    fit = FitRow(allow_null=True, help_text="Null before the first fit; there are no results yet.")
    n_waiting = serializers.IntegerField(help_text="Changes to the labels that this fit does not include.")
    data_version = serializers.IntegerField(
        help_text="Changes to the labels that it includes. Once this reaches data_version + n_waiting of an earlier "
        "answer, the fit holds every label given before that."
    )


class Ranking(ApiView):
    @extend_schema(operation_id="ranking_read", parameters=[RankingParameters], responses=RankingPage)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns the published ranking: the figures of every item, the largest connected part first."""
        project = access.project_for(request, project_id, access.SEE)
        query = validated_query(request, RankingParameters)
        criterion = validated_criterion(project, query)
        fit = published_fit(criterion)
        engine = engine_status(criterion, timezone.now())
        seen = {"n_waiting": engine.n_waiting, "data_version": engine.wanted - engine.n_waiting}
        if fit is None:
            return paginated_response(request, Estimate.objects.none(), query, list, fit=None, **seen)
        sort = query["sort"]
        order = RankingQuery(sort.removeprefix("-"), sort.startswith("-"), query["q"], query["tag"])
        estimates, track = Estimate.objects.filter(fit=fit), None
        if query["track"]:
            track = requested_track(project, fit, query)
            estimates, order = track.restrict(estimates), by_place(order)
        estimates = sort_estimates(project, estimates, order)
        return paginated_response(
            request,
            estimates,
            query,
            lambda rows: ranked(rows, fit, track),
            fit=FitRow(fit).data,
            **seen,
        )


def requested_track(project: Project, fit: Fit, query: dict[str, Any]) -> Track:
    """Return the track of the query; raises Unprocessable where it is filtered, too, or not ranked."""
    if query["q"] or query["tag"]:
        raise Unprocessable({"track": [_("A track is ranked as a whole. Leave out q and tag.")]})
    track = track_of(project, fit, query["track"], "")
    if track is None:
        text = _("Nothing is ranked within “%(track)s”. It takes two items with this tag and the next fit.")
        raise Unprocessable({"track": [text % {"track": query["track"]}]})
    return track


def ranked(estimates: list[Estimate], fit: Fit, track: Track | None = None) -> list[Any]:
    if track:
        track.replace_places(estimates)
    besides = table.figures_besides(fit)
    small = table.small_parts(fit, {table.part_of(estimate) for estimate in estimates})
    items = Item.objects.prefetch_related("tags").in_bulk([estimate.item_id for estimate in estimates])
    rows = []
    for estimate in estimates:
        item = items.get(estimate.item_id)
        if item:
            figures = [*table.row(estimate, item, fit.number, small), *besides(item.pk), estimate.is_predicted]
            values = dict(zip(NAMES, figures, strict=True))
            values["p_first"] = getattr(estimate, "p_first", None)
            rows.append({**values, "tags": sorted(tag.name for tag in item.tags.all())})
    return list(RankedItem(rows, many=True).data)


class PairQuery(CriterionQuery):
    above = serializers.CharField(max_length=200, help_text="Key of the item that is asked about.")
    below = serializers.CharField(max_length=200, help_text="Key of the other item.")


class PairDetail(serializers.Serializer):
    above = serializers.CharField()
    below = serializers.CharField()
    fit = serializers.IntegerField(allow_null=True, help_text="Number of the published fit; null before the first.")
    above_rank = serializers.IntegerField(source="figures.above.rank", allow_null=True, default=None)
    below_rank = serializers.IntegerField(source="figures.below.rank", allow_null=True, default=None)
    probability = FiniteFloatField(
        source="figures.probability",
        allow_null=True,
        help_text="Posterior probability that the first item is above the second; null where it is not known.",
    )
    reason = serializers.CharField(source="figures.reason", allow_blank=True, help_text="Why it is not known.")


class RankingPair(ApiView):
    @extend_schema(operation_id="ranking_pair", parameters=[PairQuery], responses=PairDetail)
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Returns the probability that one item is above another in the published ranking."""
        project = access.project_for(request, project_id, access.SEE)
        query = validated_query(request, PairQuery)
        criterion = validated_criterion(project, query)
        items = requested_pair(project, query)
        fit = published_fit(criterion)
        detail = {name: item.key for name, item in items.items()} | {
            "fit": fit.number if fit else None,
            "figures": pair_figures(fit, items["above"], items["below"]),
        }
        return Response(PairDetail(detail).data)


def requested_pair(project: Project, query: dict[str, Any]) -> dict[str, Item]:
    """Return both items by parameter; raises Unprocessable where a key is unknown, or both are one."""
    known = {item.key: item for item in project.items.filter(key__in=[query["above"], query["below"]])}
    text = _("There is no item with the key “%(key)s”. `items_list` has the keys.")
    unknown = {name: [text % {"key": query[name]}] for name in ("above", "below") if query[name] not in known}
    if not unknown and len(known) == 1:
        unknown["below"] = [_("“%(key)s” is the same item. Give another key.") % {"key": query["below"]}]
    if unknown:
        raise Unprocessable(unknown)
    return {name: known[query[name]] for name in ("above", "below")}


class Fits(ApiView):
    @extend_schema(operation_id="fits_list", parameters=[FitsParameters], responses=page_serializer(FitRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the fits, newest first."""
        project = access.project_for(request, project_id, access.SEE)
        query = validated_query(request, FitsParameters)
        fits = Fit.objects.filter(project_id=project.pk).defer("arrays", "diagnostics").order_by("-number")
        if "criterion" in query:
            fits = fits.filter(criterion=query["criterion"])
        return paginated_response(request, fits, query, lambda rows: list(FitRow(rows, many=True).data))
