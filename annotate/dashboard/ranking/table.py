"""Defines the export table of the ranking: the published fit's figures of every item."""

from collections.abc import Callable, Collection, Iterator

from django.db.models import Count
from django.utils.translation import gettext_lazy as _

from annotate.criteria import Criterion
from annotate.dashboard.scale.queries import kept_scale, scaled_ranking
from annotate.files.columns import Column, Kind, Row, by_component, of_components
from annotate.fitting.published import published_fit
from annotate.fitting.stored_best_worst import BestWorstCounts, best_worst_counts
from annotate.fitting.stored_misfit import stored_misfit
from annotate.fitting.stored_undecided import stored_undecided, undecided_figures
from annotate.models import Item, Project
from models_engine.models import Estimate, Fit

CHUNK = 1000  # items read at a time
PLACES = ("rank", "rank_low", "rank_high")

MISFIT = [
    Column(
        "infit",
        _("How far the answers deviate from the order: 1 is what chance gives, more is misfit; empty if unknown."),
        Kind.NUMBER,
    ),
    Column("infit_z", _("The same, standardised: over 2.5 deserves a look."), Kind.NUMBER),
]

BEST_WORST = [
    Column("n_best", _("How often it was chosen as best; empty for other tasks than best and worst."), Kind.INTEGER),
    Column("n_worst", _("How often it was chosen as worst; empty for other tasks."), Kind.INTEGER),
    Column(
        "best_worst",
        _("Best minus worst over the times it was shown, from -1 to 1, beside the model's score."),
        Kind.NUMBER,
    ),
]
UNDECIDED = [
    Column(
        "undecided",
        _("How many times as often as on average answers are undecided here; empty where too few are to say."),
        Kind.NUMBER,
    ),
    # xgettext:no-python-format
    Column("undecided_low", _("Lower end of its 90% interval."), Kind.NUMBER),
    # xgettext:no-python-format
    Column("undecided_high", _("Upper end of its 90% interval."), Kind.NUMBER),
]
COLUMNS = [
    Column("item", _("The item's key.")),
    Column("title", _("The item's title; if it has none, its text in one line, shortened to 90 characters.")),
    Column(
        "rank",
        _(
            "Place by utility within its connected part; 1 is the best. Of an item never compared the place predicted "
            "from its features, else empty."
        ),
        Kind.INTEGER,
    ),
    # xgettext:no-python-format
    Column("rank_low", _("Best place inside the 90% interval of the rank."), Kind.INTEGER),
    # xgettext:no-python-format
    Column("rank_high", _("Worst place inside the 90% interval of the rank."), Kind.INTEGER),
    Column(
        "score",
        _("Chance, in per cent, to be preferred to an average item; empty for older fits without scores."),
        Kind.NUMBER,
    ),
    # xgettext:no-python-format
    Column("score_low", _("Lower end of the 90% interval of the score."), Kind.NUMBER),
    # xgettext:no-python-format
    Column("score_high", _("Upper end of the 90% interval of the score."), Kind.NUMBER),
    Column(
        "utility",
        _(
            "Latent worth in logits (probits for CollaborativeGP). Only differences mean something; zero is the "
            "mean of its connected part."
        ),
        Kind.NUMBER,
    ),
    Column("sd", _("Posterior standard deviation of the utility."), Kind.NUMBER),
    # xgettext:no-python-format
    Column("low", _("Lower end of the 90% interval of the utility."), Kind.NUMBER),
    # xgettext:no-python-format
    Column("high", _("Upper end of the 90% interval of the utility."), Kind.NUMBER),
    Column(
        "p_top_k",
        _(
            "Probability of being among the best k of its connected part; k is a setting of the project. Empty where k "
            "or fewer have a place."
        ),
        Kind.NUMBER,
    ),
    Column("n_comparisons", _("Number of comparisons of this item in the fit."), Kind.INTEGER),
    Column(
        "part",
        _("Number of the connected part; 0 is the largest. Items of different parts can't be compared."),
        Kind.INTEGER,
    ),
    Column(
        "tier", _("Number of the tier: every item of a tier is clearly above every item of the next."), Kind.INTEGER
    ),
    Column(
        "rank_class",
        _("Number of the class: a class begins with an item that is clearly below the first item of the class above."),
        Kind.INTEGER,
    ),
    Column(
        "highest_class",
        _("The highest class that the item may belong to. It is above its own class if there is little data."),
        Kind.INTEGER,
    ),
    Column(
        "next_state",
        _(
            "Compared with the item one place below: separated, tied, not_enough (not enough data), or last (no "
            "item below)."
        ),
    ),
    Column(
        "divisiveness",
        _("How much the item's utility varies over annotators; empty if the estimator does not infer it."),
        Kind.NUMBER,
    ),
    *of_components(_("How much the utility rises for an annotator whose position on taste component {number} is 1.")),
    Column("fit", _("Number of the fit that these figures come from."), Kind.INTEGER),
    *MISFIT,
    *BEST_WORST,
    *UNDECIDED,
    Column(
        "predicted",
        _("Whether the figures are predicted from what the item looks like, because nobody has compared it."),
        Kind.TRUTH,
    ),
]


VALUES = [
    Column("value", _("Value on the scale that the project keeps."), Kind.NUMBER),
    # xgettext:no-python-format
    Column("value_low", _("Lower end of the 90% interval of the value."), Kind.NUMBER),
    # xgettext:no-python-format
    Column("value_high", _("Upper end of the 90% interval of the value."), Kind.NUMBER),
]


def columns(project: Project) -> list[Column]:
    """Return the columns: those of every project, and the values where it keeps a scale."""
    return [*COLUMNS, *(VALUES if project.anchors else [])]


def values_on_scale(criterion: Criterion, fit: Fit) -> dict[int, Row]:
    """Value and interval of each item on the kept scale."""
    kept = kept_scale(criterion)
    found = scaled_ranking(criterion.project, fit, kept, size=10**9) if kept else None
    return {row.item.pk: [row.value, row.low, row.high] for row in found.rows} if found else {}


def rows(criterion: Criterion) -> Iterator[Row]:
    fit = published_fit(criterion)
    if fit is None:
        return
    more = [None] * len(VALUES) if criterion.project.anchors else []
    on_scale = values_on_scale(criterion, fit)
    besides = figures_besides(fit)
    # Read at once, for a fit's estimates go when the next ones come; a row is a few hundred bytes.
    estimates = list(Estimate.objects.filter(fit=fit).order_by("part", "rank", "item_id"))
    small = small_parts(fit)
    for start in range(0, len(estimates), CHUNK):
        chunk = estimates[start : start + CHUNK]
        items = Item.objects.only("key", "name", "kind", "body").in_bulk([estimate.item_id for estimate in chunk])
        for e in chunk:
            if e.item_id in items:
                values = on_scale.get(e.item_id, more)
                yield [*row(e, items[e.item_id], fit.number, small), *besides(e.item_id), e.is_predicted, *values]


def figures_besides(fit: Fit) -> Callable[[int], Row]:
    """Return what gives the columns MISFIT, BEST_WORST and UNDECIDED of an item."""
    misfits, counts, undecided = stored_misfit(fit, "items"), best_worst_counts(fit), stored_undecided(fit, "items")

    def besides(pk: int) -> Row:
        return [*misfits.get(pk, (None, None)), *chosen_as(counts.get(pk)), *undecided_figures(undecided.get(pk))]

    return besides


def chosen_as(counts: BestWorstCounts | None) -> Row:
    """Return what the columns BEST_WORST hold."""
    return [counts.best, counts.worst, counts.score] if counts else [None, None, None]


def small_parts(fit: Fit, parts: Collection[int] | None = None) -> set[int]:
    """Return the parts (of these, all by default) with k ranked items or fewer, where P(top k) says nothing."""
    k = fit.settings.get("top_k")
    ranked = Estimate.objects.filter(fit=fit, n_comparisons__gt=0)
    if k is None:
        return set()
    if parts is not None:
        ranked = ranked.filter(part__in=parts)
    sizes = ranked.order_by().values_list("part").annotate(n=Count("pk"))
    return {part for part, n in sizes if n <= k}


def place_figures(e: Estimate, small: Collection[int]) -> dict[str, int | float | None]:
    """Return the columns that say something of places alone: None for an item never compared, which has no place but a
    predicted one, and P(top k) where all have one among the best k."""
    compared = e.n_comparisons > 0
    places = {name: getattr(e, name) if compared or e.is_predicted else None for name in PLACES}
    classes = {name: getattr(e, name) if compared else None for name in ("tier", "rank_class", "highest_class")}
    among = e.part if compared else e.predicted_in
    return {**places, **classes, "p_top_k": None if among is None or among in small else e.p_top}


def part_of(e: Estimate) -> int:
    """Return the part that the place is of: of a predicted one that in which it is predicted."""
    return e.part if e.predicted_in is None else e.predicted_in


def row(e: Estimate, item: Item, number: int, small: Collection[int]) -> Row:
    own = place_figures(e, small)
    places = [own["rank"], own["rank_low"], own["rank_high"], e.score, e.score_low, e.score_high]
    figures = [e.utility, e.sd, e.low, e.high, own["p_top_k"], e.n_comparisons]
    tastes = [e.divisiveness, *by_component(e.loadings)]
    classes = [part_of(e), own["tier"], own["rank_class"], own["highest_class"], e.next_state]
    return [item.key, item.title, *places, *figures, *classes, *tastes, number]
