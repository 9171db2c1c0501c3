"""Checks the published ranking: each check has a sentence, a state and the figures behind it."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb
from typing import Any

from django.db.models import Count, Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.numbers import format_integer, format_number, format_percent
from annotate.core.stored_messages import render_message
from annotate.criteria import Criterion
from annotate.dashboard.ranking.queries import MIN_COMPARISONS
from annotate.dashboard.trust.adaptive import with_notes
from annotate.dashboard.trust.calibration import calibration_of
from annotate.dashboard.trust.check import FAIL, PASS, UNKNOWN, Check
from annotate.dashboard.trust.misfit import MisfitSummary, misfit_summary
from annotate.dashboard.trust.reliability import Reliability, check_reliability, evaluation_of, reliability_of
from annotate.dashboard.trust.settling import Settling, settling_of
from annotate.dashboard.trust.undecided import UndecidedSummary, undecided_summary
from annotate.labelling.asked_tasks import shows_pairs_only
from annotate.models import Evaluation, Project
from models_engine.models import Estimate, Fit

MIN_UNITS = 20  # pairs that two people compared, below which agreement is not judged
MIN_ANSWERS = 100  # below which neither side nor calibration is judged
SIDE_MARGIN = 0.02  # a side bias smaller than this moves no ranking whose order shown is random
NextState = Estimate.NextState


@dataclass(frozen=True)
class Trust:
    checks: list[Check]
    reliability: Reliability
    misfit: MisfitSummary | None
    settling: Settling | None
    undecided: UndecidedSummary | None

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
    """Read the trust page from three queries, with several rankings from five, whatever the size of the project."""
    counts = Estimate.objects.filter(fit=fit).aggregate(
        n=Count("pk"),
        thin=Count("pk", filter=Q(n_comparisons__lt=MIN_COMPARISONS)),
        alone=Count("pk", filter=Q(n_comparisons=0)),
        separated=Count("pk", filter=Q(next_state=NextState.SEPARATED)),
        tied=Count("pk", filter=Q(next_state=NextState.TIED)),
        not_enough=Count("pk", filter=Q(next_state=NextState.NOT_ENOUGH)),
    )
    kept = fit.diagnostics.get("checks", {})
    evaluation = evaluation_of(criterion)
    reliability = reliability_of(fit, evaluation)
    checks = [
        check_enough_answers(counts),
        check_connected(fit, counts, ranks_by_context(criterion.project, fit), criterion.project),
        check_converged(fit),
        check_separation(counts),
        check_reliability(reliability),
        check_agreement(kept.get("agreement", {}), comb(counts["n"], 2)),
        check_side_bias(criterion.project, kept.get("first_place", {})),
        check_calibration(fit, evaluation),
        check_balance(kept.get("balance", {})),
    ]
    if criterion.project.ranks_counts:  # the others ask for answers
        checks = [check_converged(fit), check_separation(counts), check_reliability(reliability)]
    return Trust(
        checks=with_notes(checks, kept),
        reliability=reliability,
        misfit=misfit_summary(fit),
        settling=settling_of(fit),
        undecided=undecided_summary(fit),
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
        _("With fewer than 5 comparisons, an item's place is mostly guesswork. Collect more answers."),
        [
            (_("Items"), format_integer(n)),
            (_("Fewer than 5 comparisons"), format_integer(thin)),
            (_("None at all"), format_integer(counts["alone"])),
        ],
    )


def ranks_by_context(project: Project, fit: Fit) -> bool:
    """Tell whether the fit has several rankings because there are several contexts: each context has but one."""
    if fit.n_parts < 2:
        return False
    contexts = dict(project.items.values_list("pk", "context_id"))
    parts: dict[int | None, set[int]] = {}
    compared = Estimate.objects.filter(fit=fit, n_comparisons__gt=0)
    for item, part in compared.values_list("item_id", "part"):
        parts.setdefault(contexts.get(item), set()).add(part)
    return len(parts) > 1 and all(len(found) == 1 for found in parts.values())


def check_connected(fit: Fit, counts: Mapping[str, int], by_context: bool, project: Project) -> Check:
    """by_context: items have contexts, and within each context all are connected."""
    n_parts, alone = fit.n_parts - counts["alone"], counts["alone"]
    good = not alone and (n_parts == 1 or by_context)
    if good and by_context:
        text = _(
            "Within each of %(n)s prompts or contexts, every item can be compared with every other. There is no common "
            "ranking by design: one ranking per prompt."
        ) % {"n": format_integer(n_parts)}
    elif good:
        text = _("Every item can be compared with every other through some chain of answers.")
    elif n_parts > 1 and not by_context:
        text = _("The items fall into %(n)s groups that no answer connects. Each group has its own ranking.") % {
            "n": format_integer(n_parts)
        }
    else:
        text = ngettext(
            "%(n)s item has not been compared with anything yet.",
            "%(n)s items have not been compared with anything yet.",
            alone,
        ) % {"n": format_integer(alone)}
    if not good and project.given_order:
        text += " " + _(
            "The questions of this project are given: they decide what is connected. Add some that join it."
        )
    return Check(
        "connected",
        _("Connected"),
        PASS if good else FAIL,
        text,
        _("Two items can be ranked against each other only if a chain of comparisons connects them."),
        [(_("Connected parts"), format_integer(n_parts)), (_("Items never compared"), format_integer(alone))],
    )


def check_converged(fit: Fit) -> Check:
    states = {True: PASS, False: FAIL, None: UNKNOWN}
    texts = {
        True: _("Fit %(n)s converged: further iterations would not change the results."),
        False: _("Fit %(n)s did not converge: places and intervals may be wrong."),
        None: _("Fit %(n)s does not report whether it converged."),
    }
    facts = [(_("Iterations"), str(fit.diagnostics.get("n_iterations", "-")))]
    if fit.message:
        facts.append((_("Message from the estimator"), render_message(fit.message)))
    explained = _(
        "An estimator improves its results iteration by iteration and stops when they no longer change. That "
        "is called convergence."
    )
    return Check(
        "converged",
        _("Converged"),
        states[fit.converged],
        texts[fit.converged] % {"n": fit.number},
        explained,
        facts,
    )


def check_separation(counts: Mapping[str, int]) -> Check:
    """Count "not enough data" as not yet known, never as tied."""
    ahead, tied, open_ = counts["separated"], counts["tied"], counts["not_enough"]
    n = ahead + tied + open_
    if not n:
        text, state = _("No two items have been compared yet."), UNKNOWN
    elif open_:
        text = _(
            "Of %(n)s pairs of neighbours in the ranking, %(open)s can't be told apart yet: there is not enough data."
        )
        state = UNKNOWN
    else:
        text, state = (
            _("All %(n)s pairs of neighbours in the ranking are settled: one is clearly ahead, or the two are tied."),
            PASS,
        )
    return Check(
        "told-apart",
        _("Places settled"),
        state,
        text % {"n": format_integer(n), "open": format_integer(open_)},
        _(
            "“Ahead” means 95% sure. “Tied” means that the difference is known to be small. Otherwise there is "
            "not enough data."
        ),
        [
            (_("Ahead of the next"), format_integer(ahead)),
            (_("Tied with it"), format_integer(tied)),
            (_("Not enough data"), format_integer(open_)),
        ],
    )


def check_agreement(kept: Mapping[str, Any], n_pairs: int) -> Check:
    """n_pairs: the pairs of items that there are at most."""
    alpha, low, high = (kept.get(name) for name in ("alpha", "low", "high"))
    n_units, n_values = kept.get("n_units") or 0, kept.get("n_values") or 0
    shown = (
        {}
        if alpha is None
        else {"alpha": format_number(alpha), "low": format_number(low or 0), "high": format_number(high or 0)}
    )
    if alpha is None or low is None or n_units < MIN_UNITS:
        state = UNKNOWN
        if n_pairs < MIN_UNITS:
            text = _(
                "Too few items to say. Pairs that they make: %(pairs)s; needed, compared by two or more people: "
                "%(least)d."
            )
        else:
            text = _("Too early to say. Pairs of items that two or more people compared: %(n)s; needed: %(least)d.")
    elif low > 0:
        state, text = (
            PASS,
            _("People agree more than by chance: alpha is %(alpha)s (90%% interval %(low)s to %(high)s)."),
        )
    else:
        state = FAIL
        text = _(
            "People agree no more than might happen by chance: alpha is %(alpha)s (90%% interval %(low)s to %(high)s)."
        )
    facts = [
        (_("Pairs compared by two or more people"), format_integer(n_units)),
        (_("Answers about these pairs"), format_integer(n_values)),
    ]
    if alpha is not None:
        facts.insert(0, (_("Krippendorff's alpha"), "{alpha} ({low} to {high})".format(**shown)))
    return Check(
        "agreement",
        _("Agreement"),
        state,
        text % {**shown, "n": format_integer(n_units), "least": MIN_UNITS, "pairs": format_integer(n_pairs)},
        _(
            "1 means perfect agreement, 0 what chance gives. Items of similar quality and real differences in "
            "taste lower it. For whole rankings it is the mean of Kendall's tau between people."
        ),
        facts,
    )


def check_side_bias(project: Project, kept: Mapping[str, Any]) -> Check:
    share, low, high, chance, n = (kept.get(name) for name in ("share", "low", "high", "chance", "n"))
    n = n or 0
    first = _("A") if shows_pairs_only(project) else _("first place")
    facts = [(_("Answers with one best item"), format_integer(n))]
    if share is None or low is None or high is None or chance is None or n < MIN_ANSWERS:
        state, text = (
            UNKNOWN,
            _(
                "Too early to say whether the position on the screen matters: %(n)s answers name one best item, and "
                "%(least)d are needed."
            ),
        )
        shown: dict[str, Any] = {}
    else:
        biased = not low <= chance <= high and abs(share - chance) > SIDE_MARGIN
        state = FAIL if biased else PASS
        text = (
            _(
                "The position on the screen matters: the item shown as %(first)s won %(share)s of the time; "
                "%(chance)s is expected by chance."
            )
            if biased
            else _(
                "The position on the screen does not matter: the item shown as %(first)s won %(share)s of the time; "
                "%(chance)s is expected by chance."
            )
        )
        shares = {"share": share, "chance": chance, "low": low, "high": high}
        shown = {name: format_percent(value, 1) for name, value in shares.items()}
        facts.append((_("Won by the item shown first"), _("%(share)s (%(low)s to %(high)s)") % shown))
        facts.append((_("Expected by chance"), shown["chance"]))
    return Check(
        "side",
        _("Position"),
        state,
        text % {"n": format_integer(n), "least": MIN_ANSWERS, "first": first, **shown},
        _(
            "Items are shown in random order, so a preference for one position harms no item. But it is a sign of "
            "careless answers."
        ),
        facts,
    )


def check_calibration(fit: Fit, evaluation: Evaluation | None) -> Check:
    found = calibration_of(evaluation, fit.estimator)
    explained = _(
        "The engine sets a fifth of the answers aside, fits the rest and predicts those set aside. Of the "
        "answers predicted with 80%, 80% should come true. The test is repeated each time the number of "
        "answers has grown by half."
    )
    if found is None or found.n < MIN_ANSWERS:
        text = _(
            "Not tested yet. The engine tests this as soon as it is free and at least 100 answers can be set aside."
        )
        return Check("calibrated", _("Calibrated"), UNKNOWN, text, explained, calibration=found)
    state = PASS if found.is_right else FAIL
    if state == PASS:
        text = _(
            "Its predictions are well calibrated: of %(n)s answers predicted with %(from)s to %(to)s, %(true)s "
            "came true."
        )
    elif found.too_sure:
        text = _(
            "Its predictions are overconfident: of %(n)s answers predicted with %(from)s to %(to)s, only %(true)s "
            "came true."
        )
    else:
        text = _(
            "Its predictions are too cautious: of %(n)s answers predicted with %(from)s to %(to)s, %(true)s came true."
        )
    facts = [
        (_("Answers predicted"), format_integer(found.n)),
        (_("Predicted winners that won"), found.accuracy),
        (_("Spiegelhalter's z (well calibrated between -2 and 2)"), found.z),
        (
            _("Tested at"),
            _("fit %(n)s, %(labels)s answers") % {"n": found.fit_number, "labels": format_integer(found.n_labels)},
        ),
    ]
    if found.n_drawn:
        facts.append(
            (
                _("Answers used"),
                _("%(n)s of them, from randomly chosen annotators") % {"n": format_integer(found.n_drawn)},
            )
        )
    return Check("calibrated", _("Calibrated"), state, text % found.example, explained, facts, found)


def check_balance(kept: Mapping[str, Any]) -> Check:
    fewest, median, most = (kept.get(name) for name in ("fewest", "median", "most"))
    explained = _("Items that are compared far less often have the widest intervals. The next tasks prefer them.")
    if fewest is None or median is None or most is None or median < MIN_COMPARISONS:
        text = _("Too early to say how evenly items are compared.")
        return Check("balanced", _("Evenly compared"), UNKNOWN, text, explained)
    good = 3 * fewest >= median
    shown = {"fewest": format_integer(fewest), "median": format_integer(median), "most": format_integer(most)}
    text = (
        _("Items have %(fewest)s to %(most)s comparisons each; half of them have %(median)s or more.")
        if good
        else _("Uneven: one item has only %(fewest)s comparisons, while half of the items have %(median)s or more.")
    )
    facts = [(_("Fewest"), shown["fewest"]), (_("Median"), shown["median"]), (_("Most"), shown["most"])]
    return Check("balanced", _("Evenly compared"), PASS if good else FAIL, text % shown, explained, facts)
