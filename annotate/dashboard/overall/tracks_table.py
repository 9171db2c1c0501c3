"""Defines the export table of tracks: places of the items of each tag among themselves."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from annotate.criteria import Criterion
from annotate.dashboard.overall.places import stored_places
from annotate.files.columns import Column, Kind, Row
from annotate.fitting.published import published_fit
from annotate.models import DerivedRanking, Item

COLUMNS = [
    Column("track", _("The tag whose items are ranked among themselves.")),
    Column("item", _("The item's key.")),
    Column("title", _("The item's title; where it has none, its text in one line, cut at 90 characters.")),
    Column("rank", _("Place within the track; 1 is the best."), Kind.INTEGER),
    # xgettext:no-python-format
    Column("rank_low", _("Best place inside the 90% interval of the rank."), Kind.INTEGER),
    # xgettext:no-python-format
    Column("rank_high", _("Worst place inside the 90% interval of the rank."), Kind.INTEGER),
    Column("p_first", _("Probability of being the best item of the track."), Kind.NUMBER),
    Column("p_top_k", _("Probability of being among the best k; k is a setting of the project."), Kind.NUMBER),
    Column("rank_class", _("Number of the class within the track."), Kind.INTEGER),
    Column("score", _("Score among all items."), Kind.NUMBER),
    Column("fit", _("Number of the fit that these figures come from."), Kind.INTEGER),
]


def rows(criterion: Criterion) -> Iterator[Row]:
    fit = published_fit(criterion)
    number = fit.number if fit else 0
    tracks = DerivedRanking.objects.filter(project=criterion.project, criterion=criterion.number, fit_number=number)
    for track in tracks.exclude(track="").order_by("track"):
        places = stored_places(track)
        items = Item.objects.in_bulk([place.item_id for place in places])
        for one in places:
            if one.item_id in items:
                item = items[one.item_id]
                own = (one.rank, one.rank_low, one.rank_high, one.p_first, one.p_top, one.rank_class, one.score)
                yield [track.track, item.key, item.title, *own, number]
