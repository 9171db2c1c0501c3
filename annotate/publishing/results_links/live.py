"""Reads what the projector view of a results link shows: the first places, the countdown, how to take part."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotate.core.charts import Interval, Scale
from annotate.core.qr_codes import qr_svg
from annotate.criteria import Criterion
from annotate.dashboard.overall.places import Place, stored_places, track_places
from annotate.dashboard.overall.podium import Podium, podium
from annotate.dashboard.overall.queries import overall_ranking
from annotate.dashboard.ranking.queries import AVERAGE_SCORE, MIN_COMPARISONS
from annotate.fitting.published import published_fit
from annotate.items.title_changes import title_version
from annotate.models import OVERALL, Item, Project, ResultsLink
from models_engine.models import Estimate, Fit

SHOWN = 10  # places
MAX_READ = 200  # of those that may be first
TITLES_SEEN = timedelta(minutes=10)  # a page cut off for longer keeps an earlier title until the next fit


@dataclass(frozen=True)
class LiveRow:
    """title: empty while names are hidden."""

    place: Place
    title: str
    mark: Interval | None


@dataclass(frozen=True)
class Countdown:
    """left: hours, minutes and seconds, as the page is written; static/js/projector.js counts on."""

    deadline: datetime
    left: str
    is_over: bool


@dataclass(frozen=True)
class LiveView:
    """version: changes with what is shown, the countdown aside."""

    title: str
    podium: Podium | None
    rows: list[LiveRow]
    n_items: int
    fit: Fit | None
    early: str
    hidden: bool
    version: str


def live_view(link: ResultsLink) -> LiveView:
    """Return the first places; what names an item is not in it while names are hidden."""
    places, n_items, fit, title = read_places(link)
    version = version_of(link, fit)  # before the titles are read: a title changed meanwhile is then sent once more
    titles: dict[int, str] = {}
    if link.shows_names:
        items = Item.objects.in_bulk([place.item_id for place in places])
        titles = {pk: item.shown_as(link.project.items_shown_by) for pk, item in items.items()}
    return LiveView(
        title=title,
        podium=podium(places, titles, hidden=not link.shows_names, n_items=n_items),
        rows=live_rows(places[:SHOWN], titles),
        n_items=n_items,
        fit=fit,
        early=too_early(fit) if fit else "",
        hidden=not link.shows_names,
        version=version,
    )


def version_of(link: ResultsLink, fit: Fit | None) -> str:
    """Return a text that changes whenever the page does."""
    project = link.project
    ends = deadline_of(link)
    shown = [fit.number if fit else 0, int(link.shows_names), ends.timestamp() if ends else 0, project.state]
    titles = [project.items_shown_by, title_version(project, TITLES_SEEN)] if link.shows_names else []
    ways_in = [secret_digest(project.join_token, project.join_code or "")] if shows_join(link) else []
    return "-".join(map(str, [*shown, *titles, *ways_in]))


def secret_digest(*secrets: str) -> str:
    """Return a text that changes with them and tells nothing of them."""
    return salted_hmac("annotate.projector", "\0".join(secrets), algorithm="sha256").hexdigest()[:12]


def current_version(link: ResultsLink) -> str:
    """Return what `live_view` would say its version is, from three queries at most."""
    return version_of(link, fit_of(link))


def fit_of(link: ResultsLink) -> Fit | None:
    """Return the published fit that the link shows."""
    if link.criterion != OVERALL:
        return published_fit(Criterion(link.project, link.criterion))
    row = overall_ranking(link.project)
    return Fit.objects.filter(project_id=link.project_id, number=row.fit_number if row else 0).defer("arrays").first()


def read_places(link: ResultsLink) -> tuple[list[Place], int, Fit | None, str]:
    """Return the first places and all others that may be first, the number of items, the fit, the ranking's name."""
    project = link.project
    if link.criterion == OVERALL:
        row = overall_ranking(project)
        places = (
            track_places(project, OVERALL, link.track, row.fit_number) if link.track and row else stored_places(row)
        )
        return places, len(places), fit_of(link), " · ".join(filter(None, [_("Overall"), link.track]))
    criterion = Criterion(project, link.criterion)
    fit = fit_of(link)
    title = " · ".join(filter(None, [criterion.name, link.track]))
    if link.track:
        places = track_places(project, link.criterion, link.track, fit.number if fit else None)
        return places, len(places), fit, title
    ranked = Estimate.objects.filter(fit=fit, part=0, n_comparisons__gt=0).order_by("rank")
    first = ranked.filter(Q(rank__lte=SHOWN) | Q(rank_low=1))[:MAX_READ]
    return [Place.of_estimate(one) for one in first], ranked.count(), fit, title


def too_early(fit: Fit) -> str:
    """Return why nothing should be made of the places yet; empty where nothing speaks against them."""
    if fit.converged is False:
        return _("No result to rely on yet: the calculation did not converge.")
    thin = Estimate.objects.filter(fit=fit, n_comparisons__lt=MIN_COMPARISONS).count()
    return _("Too early to say: most items have fewer than 5 comparisons.") if 2 * thin > fit.n_items else ""


def live_rows(places: Sequence[Place], titles: dict[int, str]) -> list[LiveRow]:
    ends = [end for one in places for end in (one.score_low, one.score_high) if end is not None]
    scale = Scale.around(min(ends, default=0.0), max(ends, default=100.0), reference=AVERAGE_SCORE)
    return [
        LiveRow(
            place=one,
            title=titles.get(one.item_id, ""),
            mark=scale.interval(one.score_low, one.score, one.score_high)
            if one.score is not None and one.score_low is not None and one.score_high is not None
            else None,
        )
        for one in places
    ]


def deadline_of(link: ResultsLink) -> datetime | None:
    """Return the link's own deadline, else when the project closes."""
    return link.deadline or link.project.closes_at


def countdown(link: ResultsLink, now: datetime) -> Countdown | None:
    deadline = deadline_of(link)
    return Countdown(deadline, format_left(deadline - now), deadline <= now) if deadline else None


def format_left(left: timedelta) -> str:
    """Return hours, minutes and seconds: 1:02:05; never less than 0:00:00."""
    seconds = max(0, int(left.total_seconds()))
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def shows_join(link: ResultsLink) -> bool:
    """Tells whether the view says how to take part: only where the owner wants it and people can answer."""
    return link.shows_join and link.project.state == Project.State.OPEN


def live_context(link: ResultsLink, origin: str) -> dict[str, Any]:
    """Return what the part that changes shows to anybody; `origin`: scheme and host by which they reached the site."""
    now = timezone.now()
    context: dict[str, Any] = {"project": link.project, "link": link, "live": live_view(link), "now": now}
    context["countdown"] = countdown(link, now)
    if shows_join(link):
        address = origin + reverse("join", args=[link.project.join_token])
        context |= {"join_link": address.partition("://")[2], "code": qr_svg(address)}
        if link.project.join_code:
            short_path = reverse("short-join", args=[link.project.join_code])
            context |= {"host": origin.partition("://")[2], "short_path": short_path}
    return context
