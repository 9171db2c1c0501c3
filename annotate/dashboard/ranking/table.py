"""Defines the export table of the ranking: the published fit's figures of every item."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from annotate.criteria import Criterion
from annotate.files.columns import Column, Kind, Row, by_component, of_components
from annotate.fitting.published import published_fit
from annotate.models import Item
from models_engine.models import Estimate

CHUNK = 1000  # items read at a time

COLUMNS = [
    Column("item", _("The item's key.")),
    Column("title", _("The item's title; where it has none, its text in one line, cut at 90 characters.")),
    Column("rank", _("Place by utility within its part; 1 is the highest."), Kind.INTEGER),
    # xgettext:no-python-format
    Column("rank_low", _("Best place inside the 90% interval of the rank."), Kind.INTEGER),
    # xgettext:no-python-format
    Column("rank_high", _("Worst place inside the 90% interval of the rank."), Kind.INTEGER),
    Column(
        "score",
        _("Chance, in per cent, to be preferred to an average item; empty in fits made without scores."),
        Kind.NUMBER,
    ),
    # xgettext:no-python-format
    Column("score_low", _("Lower end of the 90% interval of the score."), Kind.NUMBER),
    # xgettext:no-python-format
    Column("score_high", _("Upper end of the 90% interval of the score."), Kind.NUMBER),
    Column(
        "utility",
        _("Worth in logits, in probits for CollaborativeGP; zero is its part's mean, only differences mean something."),
        Kind.NUMBER,
    ),
    Column("sd", _("Posterior standard deviation of the utility."), Kind.NUMBER),
    # xgettext:no-python-format
    Column("low", _("Lower end of the 90% interval of the utility."), Kind.NUMBER),
    # xgettext:no-python-format
    Column("high", _("Upper end of the 90% interval of the utility."), Kind.NUMBER),
    Column(
        "p_top_k", _("Probability of being among the first k of its part; k is a setting of the project."), Kind.NUMBER
    ),
    Column("n_comparisons", _("Comparisons of this item that the fit counts."), Kind.INTEGER),
    Column(
        "part",
        _("Connected part of the comparisons, 0 is the largest; nothing compares items across parts."),
        Kind.INTEGER,
    ),
    Column(
        "tier", _("Number of the tier: every item of a tier is told apart from every item of the next."), Kind.INTEGER
    ),
    Column(
        "rank_class",
        _("Number of the class: it begins with an item that is surely below the first of the class above."),
        Kind.INTEGER,
    ),
    Column(
        "highest_class",
        _("The highest class that the item may belong to; above its own where little is known."),
        Kind.INTEGER,
    ),
    Column(
        "next_state", _("Against the item one place below: separated, tied or not_enough (data); last: there is none.")
    ),
    Column(
        "divisiveness",
        _("Spread of the item's utility over annotators; empty where the estimator has none."),
        Kind.NUMBER,
    ),
    *of_components(_("By how much an annotator's score of 1 along component {number} of taste raises the utility.")),
    Column("fit", _("Number of the fit that these figures come from."), Kind.INTEGER),
]


def rows(criterion: Criterion) -> Iterator[Row]:
    fit = published_fit(criterion)
    if fit is None:
        return
    # Read at once, for a fit's estimates go when the next ones come; a row is a few hundred bytes.
    estimates = list(Estimate.objects.filter(fit=fit).order_by("part", "rank", "item_id"))
    for start in range(0, len(estimates), CHUNK):
        chunk = estimates[start : start + CHUNK]
        items = Item.objects.only("key", "name", "kind", "body").in_bulk([estimate.item_id for estimate in chunk])
        for e in chunk:
            if e.item_id in items:
                yield row(e, items[e.item_id], fit.number)


def row(e: Estimate, item: Item, number: int) -> Row:
    places = [e.rank, e.rank_low, e.rank_high, e.score, e.score_low, e.score_high]
    figures = [e.utility, e.sd, e.low, e.high, e.p_top, e.n_comparisons]
    tastes = [e.divisiveness, *by_component(e.loadings)]
    classes = [e.part, e.tier, e.rank_class, e.highest_class, e.next_state]
    return [item.key, item.title, *places, *figures, *classes, *tastes, number]
