"""Makes and revokes results links and serves the published ranking through the API."""

from dataclasses import asdict
from functools import partial
from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotate import access
from annotate.api.base import (
    ApiRequest,
    ApiView,
    FiniteFloatField,
    NoQuery,
    PageQuery,
    StrictSerializer,
    page_serializer,
    paginated_response,
    validated_body,
    validated_criterion,
    validated_query,
)
from annotate.api.problems import Unprocessable
from annotate.core import rate_limits
from annotate.criteria import Criterion
from annotate.dashboard.overall.places import Place, stored_places, track_places
from annotate.dashboard.overall.queries import overall_ranking
from annotate.dashboard.ranking.queries import RankingQuery, sort_estimates
from annotate.dashboard.ranking.table import part_of, place_figures, small_parts
from annotate.fitting.published import published_fit
from annotate.fitting.stored_duels import duels_of
from annotate.models import MAX_CRITERIA, OVERALL, Item, ResultsLink
from annotate.publishing.results_links.actions import make_link, revoke_link, set_deadline, set_names
from models_engine.models import Estimate, Fit


class ResultsLinkRow(serializers.Serializer):
    id = serializers.UUIDField(source="pk")
    criterion = serializers.IntegerField(
        help_text="Number of the criterion shown; 1 if the project has only one, 0 for the overall ranking."
    )
    track = serializers.CharField(help_text="Tag whose items are ranked among themselves; empty for all items.")
    shows_methods = serializers.BooleanField(help_text="Whether it shows how the ranking was computed.")
    shows_groups = serializers.BooleanField(help_text="Whether the page tells which groups of people differ.")
    shows_leaderboard = serializers.BooleanField(help_text="Whether the page ranks the competitors, too.")
    invites = serializers.BooleanField(help_text="Whether the page has a button to take part while that is possible.")
    made_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True, help_text="Null: valid until revoked.")
    revoked_at = serializers.DateTimeField(allow_null=True)
    hides_names = serializers.BooleanField(help_text="Whether names are hidden until they are revealed.")
    revealed_at = serializers.DateTimeField(allow_null=True, help_text="When the names were revealed.")
    shows_join = serializers.BooleanField(help_text="Whether the projector view shows the join link and its QR code.")
    deadline = serializers.DateTimeField(allow_null=True, help_text="What the projector view counts down to.")
    live_url = serializers.SerializerMethodField(help_text="Address of the projector view.")
    url = serializers.SerializerMethodField(help_text="Address of the page; anyone who has it can see the ranking.")
    token = serializers.CharField(help_text="Token with which programs read the ranking (results_read).")

    def get_url(self, link: ResultsLink) -> str:
        return str(reverse("results", args=[link.token], request=self.context["request"]))

    def get_live_url(self, link: ResultsLink) -> str:
        return str(reverse("results-live", args=[link.token], request=self.context["request"]))


class ResultsLinkChange(StrictSerializer):
    revealed = serializers.BooleanField(required=False, help_text="true: reveal the names; false: hide them.")
    deadline = serializers.DateTimeField(required=False, allow_null=True)


class NewResultsLink(StrictSerializer):
    criterion = serializers.IntegerField(
        required=False, default=1, min_value=0, max_value=MAX_CRITERIA, help_text="0: the overall ranking."
    )
    expires_at = serializers.DateTimeField(required=False, default=None, allow_null=True)
    track = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=100,
        help_text="A tag: ranks its items alone.",
    )
    hides_names = serializers.BooleanField(required=False, default=False)
    shows_join = serializers.BooleanField(required=False, default=False)
    deadline = serializers.DateTimeField(required=False, default=None, allow_null=True)
    shows_methods = serializers.BooleanField(required=False, default=False)
    shows_groups = serializers.BooleanField(required=False, default=False)
    shows_leaderboard = serializers.BooleanField(required=False, default=False)
    invites = serializers.BooleanField(required=False, default=False)


class ResultsLinks(ApiView):
    @extend_schema(operation_id="results_links_list", parameters=[PageQuery], responses=page_serializer(ResultsLinkRow))
    def get(self, request: ApiRequest, project_id: UUID) -> Response:
        """Lists the project's results links, newest first, including revoked ones."""
        project = access.project_for(request, project_id, access.OWN)
        query = validated_query(request, PageQuery)
        links = project.results_links.order_by("-made_at", "-pk")
        return paginated_response(request, links, query, lambda rows: list(link_row(rows, request, many=True)))

    @extend_schema(operation_id="results_links_create", request=NewResultsLink, responses={201: ResultsLinkRow})
    def post(self, request: ApiRequest, project_id: UUID) -> Response:
        """Creates a results link: anyone who has it can see the ranking.

        Takes no Idempotency-Key, because the response contains a secret.
        """
        project = access.project_for(request, project_id, access.OWN)
        validated_query(request, NoQuery)
        values = validated_body(request, NewResultsLink)
        validated_criterion(project, values)
        if values["criterion"] == OVERALL and not project.criteria:
            text = _("The project has no named criteria, so it has no overall ranking. Give criterion 1.")
            raise Unprocessable({"criterion": [text]})
        if values["track"] and not project.tags.filter(name=values["track"]).exists():
            text = _("The project has no tag “%(track)s”. Give the name of a tag of its items, or leave it out.")
            raise Unprocessable({"track": [text % values]})
        link = make_link(project=project, actor=request.user, now=timezone.now(), **values)
        return Response(link_row(link, request), status=201)


class ResultsLinkView(ApiView):
    @extend_schema(operation_id="results_links_update", request=ResultsLinkChange, responses=ResultsLinkRow)
    def patch(self, request: ApiRequest, project_id: UUID, link_id: UUID) -> Response:
        """Reveals or hides the names of the items, and sets the deadline of the projector view."""
        project = access.project_for(request, project_id, access.OWN)
        validated_query(request, NoQuery)
        given = validated_body(request, ResultsLinkChange, partial=True)
        link = get_object_or_404(project.results_links, pk=link_id)
        if "revealed" in given:
            set_names(link=link, actor=request.user, shown=given["revealed"], now=timezone.now())
        if "deadline" in given:
            set_deadline(link=link, actor=request.user, deadline=given["deadline"], now=timezone.now())
        link.refresh_from_db()
        return Response(link_row(link, request))

    @extend_schema(operation_id="results_links_revoke", request=None, responses={204: None})
    def delete(self, request: ApiRequest, project_id: UUID, link_id: UUID) -> Response:
        """Revokes the link: it no longer works."""
        project = access.project_for(request, project_id, access.OWN, in_archive=True)
        validated_query(request, NoQuery)
        link = get_object_or_404(project.results_links.select_related("project"), pk=link_id)
        revoke_link(link=link, actor=request.user, now=timezone.now())
        return Response(status=204)


def link_row(links: Any, request: ApiRequest, *, many: bool = False) -> Any:
    return ResultsLinkRow(links, many=many, context={"request": request}).data


class PublishedItem(serializers.Serializer):
    title = serializers.CharField(allow_blank=True, help_text="Empty while names are hidden.")
    part = serializers.IntegerField(
        help_text="Connected part; 0 is the largest. Items of different parts can't be compared."
    )
    rank = serializers.IntegerField(
        allow_null=True, help_text="Null if never compared, as the other figures of places."
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
    low = FiniteFloatField(allow_null=True, help_text="Lower end of the 90% interval of the utility.")
    high = FiniteFloatField(allow_null=True)
    p_top_k = FiniteFloatField(allow_null=True, help_text="Null where k or fewer have a place.")
    p_first = FiniteFloatField(
        allow_null=True, default=None, help_text="Probability of being the best; null for the ranking by one criterion."
    )
    tier = serializers.IntegerField(allow_null=True)
    rank_class = serializers.IntegerField(
        allow_null=True,
        help_text="A class begins with an item that is clearly below the first item of the class above.",
    )
    highest_class = serializers.IntegerField(allow_null=True, help_text="The highest class it may belong to.")
    next_state = serializers.ChoiceField(choices=Estimate.NextState.choices)
    n_comparisons = serializers.IntegerField()
    predicted = serializers.BooleanField(
        default=False,
        help_text="Whether the figures are predicted from what the item looks like, because nobody has compared it.",
    )
    n_duels = serializers.IntegerField(
        help_text="Pairs with this item that answers put in order (implied pairs) or called equal; 0 for older fits."
    )
    duels_won = FiniteFloatField(help_text="How many of them it won, a tie counting half.")


class PublishedRanking(page_serializer(PublishedItem)):  # type: ignore[misc]
    project = serializers.CharField()
    question = serializers.CharField()
    more_means = serializers.CharField(help_text="What a higher place means.")
    n_labels = serializers.IntegerField()
    n_annotators = serializers.IntegerField()
    fitted_at = serializers.DateTimeField(allow_null=True, help_text="Null before the first ranking.")


class Results(ApiView):
    """By a results link, without an account."""

    scope = None
    authentication_classes = []

    @extend_schema(operation_id="results_read", parameters=[PageQuery], responses=PublishedRanking)
    def get(self, request: ApiRequest, token: str) -> Response:
        """Returns the published ranking of a results link, the largest connected part first."""
        rate_limits.check_rate_limit(request, "results")
        query = validated_query(request, PageQuery)
        link = access.results_link(token, timezone.now())
        if link.criterion == OVERALL:
            return unlisted(overall_response(request, link, query))
        criterion = Criterion(link.project, link.criterion)
        project = criterion.project
        fit = published_fit(criterion)
        more = {
            "project": project.name,
            "question": criterion.question,
            "more_means": project.more_means,
            "n_labels": fit.n_labels if fit else 0,
            "n_annotators": fit.n_annotators if fit else 0,
            "fitted_at": fit.finished_at if fit else None,
        }
        if link.track:
            places = track_places(project, link.criterion, link.track, fit.number if fit else None)
            show = partial(published_places, shown_by=project.items_shown_by, names=link.shows_names)
            return unlisted(paginated_response(request, places, query, show, **more))
        estimates = (
            sort_estimates(project, Estimate.objects.filter(fit=fit), RankingQuery())
            if fit
            else Estimate.objects.none()
        )
        shown = partial(published, fit, shown_by=project.items_shown_by, names=link.shows_names)
        return unlisted(paginated_response(request, estimates, query, shown, **more))


def unlisted(response: Response) -> Response:
    response["X-Robots-Tag"] = "noindex, nofollow"
    response["Cache-Control"] = "no-store"
    return response


def overall_response(request: ApiRequest, link: ResultsLink, query: dict[str, Any]) -> Response:
    """Returns one page of the weighted total; counts are those of the fit that caused it."""
    project = link.project
    row = overall_ranking(project)
    fit = Fit.objects.filter(project_id=project.pk, number=row.fit_number).defer("arrays").first() if row else None
    more = {
        "project": project.name,
        "question": project.question,
        "more_means": project.more_means,
        "n_labels": fit.n_labels if fit else 0,
        "n_annotators": fit.n_annotators if fit else 0,
        "fitted_at": row.made_at if row else None,
    }
    shown = partial(published_places, shown_by=project.items_shown_by, names=link.shows_names)
    places = track_places(project, OVERALL, link.track, row.fit_number) if link.track and row else stored_places(row)
    return paginated_response(request, places, query, shown, **more)


def published_places(places: list[Place], *, shown_by: str, names: bool) -> list[Any]:
    items = Item.objects.only("name", "kind", "body").in_bulk([place.item_id for place in places])
    there = [place for place in places if place.item_id in items]
    rows = [
        asdict(place)
        | {"title": title_of(items[place.item_id], shown_by, names), "part": 0, "tier": place.rank_class}
        | {"n_duels": 0, "duels_won": 0.0, "p_top_k": place.p_top}
        for place in there
    ]
    return list(PublishedItem(rows, many=True).data)


def title_of(item: Item, shown_by: str, names: bool) -> str:
    return item.shown_as(shown_by) if names else ""


def published(fit: Fit | None, estimates: list[Estimate], *, shown_by: str, names: bool) -> list[Any]:
    duels = duels_of(fit) if fit else {}
    items = Item.objects.only("name", "kind", "body").in_bulk([estimate.item_id for estimate in estimates])
    there = [estimate for estimate in estimates if estimate.item_id in items]
    small = small_parts(fit, {part_of(estimate) for estimate in there}) if fit else set()
    rows = []
    for estimate in there:
        counts = duels.get(estimate.item_id)
        fought = {"n_duels": counts.n, "duels_won": counts.won} if counts else {"n_duels": 0, "duels_won": 0.0}
        title = title_of(items[estimate.item_id], shown_by, names)
        details = {"title": title, "part": part_of(estimate), "predicted": estimate.is_predicted}
        rows.append({**vars(estimate), **place_figures(estimate, small), **fought, **details})
    return list(PublishedItem(rows, many=True).data)
