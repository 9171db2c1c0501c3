"""Checks the published ranking: each check has a sentence, a state and the figures behind it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.numbers import format_integer, format_number, format_percent
from annotate.core.stored_messages import render_message
from annotate.criteria import Criterion
from annotate.dashboard.ranking.queries import MIN_COMPARISONS
from annotate.dashboard.trust.calibration import Calibration, calibration_of
from annotate.models import Evaluation, Project
from models_engine.models import Estimate, Fit

PASS, FAIL, UNKNOWN = "good", "warn", "unknown"
MIN_UNITS = 20  # pairs that two people compared, below which agreement is not judged
MIN_ANSWERS = 100  # below which neither side nor calibration is judged
SIDE_MARGIN = 0.02  # a side bias smaller than this moves no ranking whose order shown is random
NextState = Estimate.NextState


@dataclass(frozen=True)
class Check:
    """state: good, warn or unknown (not enough is known to say either).   facts: (what, figure) pairs."""

    key: str
    title: str
    state: str
    sentence: str
    explained: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    calibration: Calibration | None = None


@dataclass(frozen=True)
class Trust:
    checks: list[Check]

    @property
    def n_good(self) -> int:
        return sum(check.state == PASS for check in self.checks)

    @property
    def n_bad(self) -> int:
        return sum(check.state == FAIL for check in self.checks)

    @property
    def n_unknown(self) -> int:
        return len(self.checks) - self.n_good - self.n_bad


def trust(criterion: Criterion, fit: Fit) -> Trust:
    """From three queries, whatever the size of the project."""
    project = criterion.project
    counts = Estimate.objects.filter(fit=fit).aggregate(
        n=Count("pk"),
        thin=Count("pk", filter=Q(n_comparisons__lt=MIN_COMPARISONS)),
        alone=Count("pk", filter=Q(n_comparisons=0)),
        separated=Count("pk", filter=Q(next_state=NextState.SEPARATED)),
        tied=Count("pk", filter=Q(next_state=NextState.TIED)),
        not_enough=Count("pk", filter=Q(next_state=NextState.NOT_ENOUGH)),
    )
    kept = fit.diagnostics.get("checks", {})
    evaluation = Evaluation.objects.filter(project=project, criterion=criterion.number).first()
    return Trust(
        [
            check_enough_answers(counts),
            check_connected(fit, counts),
            check_converged(fit),
            check_separation(counts),
            check_agreement(kept.get("agreement", {})),
            check_side_bias(project, kept.get("first_place", {})),
            check_calibration(fit, evaluation),
            check_balance(kept.get("balance", {})),
        ]
    )


def check_enough_answers(counts: Mapping[str, int]) -> Check:
    thin, n = counts["thin"], counts["n"]
    if thin:
        text = ngettext(
            "%(thin)s of %(n)s items has fewer than 5 comparisons.",
            "%(thin)s of %(n)s items have fewer than 5 comparisons.",
            thin,
        )
    else:
        text = _("Each of %(n)s items has at least 5 comparisons.")
    return Check(
        "enough",
        _("Enough data"),
        FAIL if thin else PASS,
        text % {"thin": format_integer(thin), "n": format_integer(n)},
        _("With fewer than 5 comparisons an item's place is mostly guesswork. More labels mend it."),
        [
            (_("Items"), format_integer(n)),
            (_("Fewer than 5 comparisons"), format_integer(thin)),
            (_("None at all"), format_integer(counts["alone"])),
        ],
    )


def check_connected(fit: Fit, counts: Mapping[str, int]) -> Check:
    n_parts, alone = fit.n_parts - counts["alone"], counts["alone"]
    good = n_parts == 1 and not alone
    if good:
        text = _("Every item can be compared with every other through some chain of answers.")
    elif n_parts > 1:
        text = _("%(n)s groups of items are not connected by any answer: each has a ranking of its own.") % {
            "n": format_integer(n_parts)
        }
    else:
        text = _("%(n)s items have not been compared with anything yet.") % {"n": format_integer(alone)}
    return Check(
        "connected",
        _("Connected"),
        PASS if good else FAIL,
        text,
        _("Where no chain of comparisons leads from one item to another, nothing says which is better."),
        [(_("Connected parts"), format_integer(n_parts)), (_("Items never compared"), format_integer(alone))],
    )


def check_converged(fit: Fit) -> Check:
    states = {True: PASS, False: FAIL, None: UNKNOWN}
    texts = {
        True: _("Fit %(n)s came to rest: more steps would not change the figures."),
        False: _("Fit %(n)s did not come to rest: places and intervals may be off."),
        None: _("Fit %(n)s does not say whether it came to rest."),
    }
    facts = [(_("Steps"), str(fit.diagnostics.get("n_iterations", "-")))]
    if fit.message:
        facts.append((_("What it said"), render_message(fit.message)))
    explained = _("An estimator improves its figures step by step and stops when they no longer change.")
    return Check(
        "converged",
        _("Converged"),
        states[fit.converged],
        texts[fit.converged] % {"n": fit.number},
        explained,
        facts,
    )


def check_separation(counts: Mapping[str, int]) -> Check:
    """ "Not enough data" is not yet known; it is never counted as tied."""
    ahead, tied, open_ = counts["separated"], counts["tied"], counts["not_enough"]
    n = ahead + tied + open_
    if not n:
        text, state = _("No two items have been compared yet."), UNKNOWN
    elif open_:
        text = _("Of %(n)s neighbours in the ranking, %(open)s can't be told apart yet: there is not enough data.")
        state = UNKNOWN
    else:
        text, state = (
            _("Each of %(n)s neighbours in the ranking is told apart from the next, or known to tie with it."),
            PASS,
        )
    return Check(
        "told-apart",
        _("Places settled"),
        state,
        text % {"n": format_integer(n), "open": format_integer(open_)},
        _("Ahead means 95% sure. Tied means that the difference is known to be small. Otherwise data is not enough."),
        [
            (_("Ahead of the next"), format_integer(ahead)),
            (_("Tied with it"), format_integer(tied)),
            (_("Not enough data"), format_integer(open_)),
        ],
    )


def check_agreement(kept: Mapping[str, Any]) -> Check:
    alpha, low, high = (kept.get(name) for name in ("alpha", "low", "high"))
    n_units, n_values = kept.get("n_units") or 0, kept.get("n_values") or 0
    shown = (
        {}
        if alpha is None
        else {"alpha": format_number(alpha), "low": format_number(low or 0), "high": format_number(high or 0)}
    )
    if alpha is None or low is None or n_units < MIN_UNITS:
        state = UNKNOWN
        text = _("Only %(n)s pairs of items were compared by two people or more; it takes %(least)d to say.")
    elif low > 0:
        state, text = PASS, _("People agree beyond chance: alpha is %(alpha)s (90%% interval %(low)s to %(high)s).")
    else:
        state = FAIL
        text = _("People agree hardly more than by chance: alpha is %(alpha)s (90%% interval %(low)s to %(high)s).")
    facts = [
        (_("Pairs that two or more compared"), format_integer(n_units)),
        (_("Answers on those"), format_integer(n_values)),
    ]
    if alpha is not None:
        facts.insert(0, (_("Krippendorff's alpha"), "{alpha} ({low} to {high})".format(**shown)))
    return Check(
        "agreement",
        _("Agreement"),
        state,
        text % {**shown, "n": format_integer(n_units), "least": MIN_UNITS},
        _(
            "1 is perfect, 0 is what chance gives. Items close to each other, and true differences of taste, lower it; "
            "of whole rankings it is the mean of Kendall's tau between people."
        ),
        facts,
    )


def check_side_bias(project: Project, kept: Mapping[str, Any]) -> Check:
    share, low, high, chance, n = (kept.get(name) for name in ("share", "low", "high", "chance", "n"))
    n = n or 0
    first = _("A") if project.k == 2 else _("first place")
    facts = [(_("Answers with one best item"), format_integer(n))]
    if share is None or low is None or high is None or chance is None or n < MIN_ANSWERS:
        state, text = (
            UNKNOWN,
            _("%(n)s answers put one item first; it takes %(least)d to say whether the side matters."),
        )
        shown: dict[str, Any] = {}
    else:
        biased = not low <= chance <= high and abs(share - chance) > SIDE_MARGIN
        state = FAIL if biased else PASS
        text = (
            _("The side matters: what was shown as %(first)s won %(share)s of the time, by chance it is %(chance)s.")
            if biased
            else _(
                "The side does not matter: what was shown as %(first)s won %(share)s of the time, by chance %(chance)s."
            )
        )
        told = {"share": share, "chance": chance, "low": low, "high": high}
        shown = {name: format_percent(value, 1) for name, value in told.items()}
        facts.append((_("Won by the first shown"), _("%(share)s (%(low)s to %(high)s)") % shown))
        facts.append((_("By chance"), shown["chance"]))
    return Check(
        "side",
        _("Side"),
        state,
        text % {"n": format_integer(n), "least": MIN_ANSWERS, "first": first, **shown},
        _("The order shown is drawn at random, so a liking for one side hurts no item, but tells of careless answers."),
        facts,
    )


def check_calibration(fit: Fit, evaluation: Evaluation | None) -> Check:
    found = calibration_of(evaluation, fit.estimator)
    explained = _(
        "The engine hides a fifth of the labels, fits the rest and predicts what was hidden. Of answers predicted with "
        "80%, 80% should come true. It does so anew when the labels have grown by half."
    )
    if found is None or found.n < MIN_ANSWERS:
        text = _("Not tested yet: the engine does it when it has nothing else to do, from 100 hidden answers on.")
        return Check("calibrated", _("Calibrated"), UNKNOWN, text, explained, calibration=found)
    state = PASS if found.is_right else FAIL
    if state == PASS:
        text = _("Right about itself: of %(n)s hidden answers given %(from)s to %(to)s, %(true)s came true.")
    elif found.too_sure:
        text = _("Too sure of itself: of %(n)s hidden answers given %(from)s to %(to)s, only %(true)s came true.")
    else:
        text = _("Not sure enough: of %(n)s hidden answers given %(from)s to %(to)s, %(true)s came true.")
    facts = [
        (_("Hidden answers"), format_integer(found.n)),
        (_("Favourites that won"), found.accuracy),
        (_("Spiegelhalter's z (between -2 and 2 is right)"), found.z),
        (
            _("Tested at"),
            _("fit %(n)s, %(labels)s labels") % {"n": found.fit_number, "labels": format_integer(found.n_labels)},
        ),
    ]
    if found.n_drawn:
        facts.append(
            (_("Labels used"), _("%(n)s of them, of annotators drawn at random") % {"n": format_integer(found.n_drawn)})
        )
    return Check("calibrated", _("Calibrated"), state, text % found.example, explained, facts, found)


def check_balance(kept: Mapping[str, Any]) -> Check:
    fewest, median, most = (kept.get(name) for name in ("fewest", "median", "most"))
    explained = _(
        "Items compared far less often than others have the widest intervals; the next questions favour them."
    )
    if fewest is None or median is None or most is None or median < MIN_COMPARISONS:
        text = _("Too few comparisons yet to say how evenly items are shown.")
        return Check("balanced", _("Evenly compared"), UNKNOWN, text, explained)
    good = 3 * fewest >= median
    shown = {"fewest": format_integer(fewest), "median": format_integer(median), "most": format_integer(most)}
    text = (
        _("Items have %(fewest)s to %(most)s comparisons, half of them %(median)s or more.")
        if good
        else _("Uneven: some item has %(fewest)s comparisons, while half of the items have %(median)s or more.")
    )
    facts = [(_("Fewest"), shown["fewest"]), (_("Median"), shown["median"]), (_("Most"), shown["most"])]
    return Check("balanced", _("Evenly compared"), PASS if good else FAIL, text % shown, explained, facts)
