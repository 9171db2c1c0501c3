"""Writes the methods paragraph and the rules by which questions were chosen and checked, in the active language."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.numbers import format_integer, format_number
from annotate.core.quoting import quoted
from annotate.criteria import Criterion
from annotate.fitting.predicted_start import uses_predictions
from annotate.labelling.asked_tasks import report_text, shows_pairs_only
from annotate.labelling.plan.queries import NO_LIMIT
from annotate.models import AskedBy, GivenOrder, Policy, Project
from annotate.publishing.methods.citation import software
from annotate.publishing.methods.counts import Counts
from models_engine.estimators.methods import Method
from models_engine.estimators.references import REFERENCES
from models_engine.models import Fit

PREDICTION_PAPERS = ("fay1979", "patterson1971")
GAIN_FIGURES = {"gain", "error", "n_items", "n_pairs"}


def paragraph(criterion: Criterion, fit: Fit, method: Method, counts: Counts) -> str:
    """Return a methods paragraph for a paper; every number in it is of this fit."""
    project = criterion.project
    if project.ranks_counts:
        return " ".join(
            [counted(fit), model_sentence(fit, method), *map(_, method.inference.values()), reported(method)]
        )
    sentences = [
        *answered_here(criterion, fit, counts),
        *selection_rules(project, counts),
        *checks_of(project, counts),
        _("%(labels)s answers about %(items)s items were analysed.")
        % {"labels": format_integer(fit.n_labels), "items": format_integer(fit.n_items)},
        *machines_counted(fit),
        *left_out(counts),
        model_sentence(fit, method),
        _(method.inference.get(str(fit.settings.get("inference", "")), "") or next(iter(method.inference.values()))),
        *larger_sets(project, method),
        *(_(one) for one in method.priors),
        *predictions_in(project, fit),
        reported(method),
    ]
    return " ".join(sentences)


def answered_here(criterion: Criterion, fit: Fit, counts: Counts) -> list[str]:
    """Return how many people were asked what on this site; nothing where all answers came in by a file."""
    if counts.is_imported:
        return []
    text = _("%(people)s annotators %(asked)s (“%(question)s”).")
    asked = {"asked": report_text(criterion.project), "question": criterion.question}
    return [text % {"people": format_integer(min(counts.n_asked_annotators, fit.n_annotators)), **asked}]


def selection_rules(project: Project, counts: Counts) -> list[str]:
    """Return how questions were chosen, and which answers were not asked for on this site."""
    if counts.is_imported:
        return imported(counts)
    return [*selection_rule(project), *policy_rule(project, counts.by_rule), *imported(counts)]


def checks_of(project: Project, counts: Counts) -> list[str]:
    return [] if counts.is_imported else checks_in_use(project)


def imported(counts: Counts) -> list[str]:
    """Return how many answers came in by a file; nothing where none did."""
    if not counts.n_imported:
        return []
    if counts.is_imported:
        text = _("All answers, of %(people)s annotators, were collected elsewhere and imported.")
    else:
        text = _("%(n)s answers of %(people)s annotators were collected elsewhere and imported.")
    numbers = {"n": counts.n_imported, "people": counts.n_imported_annotators}
    return [
        text % {name: format_integer(value) for name, value in numbers.items()},
        _("How their questions were chosen and shown is not recorded here."),
    ]


def machines_counted(fit: Fit) -> list[str]:
    """Return how many answers of machines count in the fit, and for how much; nothing where none do."""
    machines = fit.diagnostics.get("machines") or []
    if not machines:
        return []
    shares = sorted(one["share"] for one in machines)
    text = ngettext(
        "%(n)s answers of %(machines)s machine were analysed besides, each as %(low)s of a person's answer, by how far "
        "the machine's own ranking is from people's.",
        "%(n)s answers of %(machines)s machines were analysed besides, each as %(low)s to %(high)s of a person's "
        "answer, by how far the machine's own ranking is from people's.",
        len(machines),
    )
    numbers = {"n": sum(one["n_labels"] for one in machines), "machines": len(machines)}
    ends = {"low": format_number(shares[0]), "high": format_number(shares[-1])}
    return [text % {**{name: format_integer(value) for name, value in numbers.items()}, **ends}]


def counted(fit: Fit) -> str:
    """Return what was counted, of a project that is ranked by counts."""
    text = _("%(counts)s counts of %(items)s items by %(people)s annotators were analysed, with their exposures.")
    numbers = {"counts": fit.n_labels, "items": fit.n_items, "people": fit.n_annotators}
    return text % {name: format_integer(value) for name, value in numbers.items()}


def model_sentence(fit: Fit, method: Method) -> str:
    versions = fit.diagnostics.get("versions") or {}
    return _(
        "Items were ranked by %(model)s (%(papers)s) with Crowdrank %(version)s (estimator %(estimator)s, "
        "seed %(seed)d)."
    ) % {
        "model": _(method.title),
        "papers": "; ".join(REFERENCES[key].short for key in method.references),
        "version": versions.get("crowdrank") or software()["version"],
        "estimator": fit.estimator,
        "seed": fit.seed,
    }


def larger_sets(project: Project, method: Method) -> list[str]:
    if shows_pairs_only(project) or method.exact_sets:
        return []
    text = _(
        "Answers about more than two items entered as the pairs they imply, with composite-likelihood weights "
        "(%(paper)s)."
    )
    return [text % {"paper": REFERENCES["varin2011"].short}]


def predictions_in(project: Project, fit: Fit) -> list[str]:
    """Return how many places were predicted, from which features, and what was gained by them; nothing where none was.

    Figures are those of the fit: what was measured when it was made.
    """
    predicted = fit.diagnostics.get("predicted") or {}
    if not predicted.get("n"):
        return []
    text = ngettext(
        "The place of %(n)s item that nobody compared was predicted from %(features)s (%(papers)s).",
        "The places of %(n)s items that nobody compared were predicted from %(features)s (%(papers)s).",
        predicted["n"],
    )
    papers = "; ".join(REFERENCES[key].short for key in PREDICTION_PAPERS)
    found = [text % {"n": format_integer(predicted["n"]), "features": features_in(predicted), "papers": papers}]
    if predicted.keys() >= GAIN_FIGURES:
        gain = _(
            "On items whose answers were withheld (%(items)s items, %(pairs)s comparisons), the log loss of a "
            "comparison was %(gain)s nats smaller with features than without (standard error %(error)s)."
        )
        numbers = {"items": format_integer(predicted["n_items"]), "pairs": format_integer(predicted["n_pairs"])}
        found.append(gain % (numbers | {name: format_number(predicted[name], 3) for name in ("gain", "error")}))
    if uses_predictions(project, fit):
        found.append(_("Questions about them were chosen by these predictions until they had answers."))
    return found


def features_in(predicted: Mapping[str, Any]) -> str:
    """Return the features that predictions rest on, in words; of fits that did not keep how many, that alone."""
    n, names = predicted.get("n_features"), [quoted(name) for name in predicted.get("features", [])]
    if n is None:
        return _("their features")
    values = {"n": format_integer(n), "names": ", ".join(names)}
    if not names:
        return ngettext("%(n)s feature", "%(n)s features", n) % values
    if len(names) < n:
        return ngettext("%(n)s feature (%(names)s, …)", "%(n)s features (%(names)s, …)", n) % values
    return ngettext("%(n)s feature (%(names)s)", "%(n)s features (%(names)s)", n) % values


def reported(method: Method) -> str:
    unit = {
        "logit": _("Scores are posterior means of utilities in logits."),
        "probit": _("Scores are posterior means of utilities in probits, the standard deviation of an answer's noise."),
    }
    text = _(
        # xgettext:no-python-format
        "Intervals hold the central 90% of the posterior. Two items count as separated if one is better with a "
        "probability of .95 or more."
    )
    return " ".join([*([unit[method.link]] if method.link in unit else []), text])


def selection_rule(project: Project) -> list[str]:
    """Return the rule that chose which items were shown together, and to whom."""
    people = {"n": format_integer(project.overlap)}
    rules = [
        given_rule(project)
        if project.given_order
        else _("%(sets)s sets of items were drawn beforehand, each item in as many sets as any other or in one more.")
        % {"sets": format_integer(project.n_sets)}
        if project.n_sets
        else _("Sets of items were drawn as people answered, from the items that had been compared least.")
    ]
    if project.overlap < NO_LIMIT:
        rules.append(_("Each set was answered by at most %(n)s annotators.") % people)
    rules.append(_("Nobody was asked about the same set twice, except in planned repeats; places were random."))
    if project.cap is not None:
        rules.append(_("One person gave at most %(n)s answers.") % {"n": format_integer(project.cap)})
    return rules


def policy_rule(project: Project, by_rule: Mapping[str, int]) -> list[str]:
    """Return that questions were chosen by the ranking so far, and how many were not; nothing where none was.

    by_rule: answers by the rule that chose their question (AskedBy).
    """
    adaptive, control = by_rule.get(AskedBy.ADAPTIVE, 0), by_rule.get(AskedBy.CONTROL, 0)
    if not adaptive and not control:
        return []
    text = _(
        "%(adaptive)s answers are to questions chosen by the ranking so far (rule in use now: %(policy)s); "
        "%(control)s are to questions drawn at random to be chosen without it, as a control arm."
    )
    values = {"adaptive": format_integer(adaptive), "control": format_integer(control)}
    return [text % (values | {"policy": policy_words(project)})]


def policy_words(project: Project) -> str:
    """Return the policy with its number, such as the size of the top."""
    name = str(Policy(project.policy).label)
    return f"{name}, k = {project.top_k}" if project.policy == Policy.BEST else name


def given_rule(project: Project) -> str:
    """Return that the owner chose what was asked, how much of it, and in which order."""
    text = {
        GivenOrder.BALANCED: _(
            "The questions were given by the owner, %(sets)s sets of items; those with the fewest answers came first."
        ),
        GivenOrder.IN_ORDER: _(
            "The questions were given by the owner, %(sets)s sets of items, and asked in the order of their list."
        ),
        GivenOrder.PRIORITY: _(
            "The questions were given by the owner, %(sets)s sets of items; those of the highest priority came first."
        ),
    }[GivenOrder(project.given_order)]
    n = project.item_sets.filter(number__isnull=False).count()
    return text % {"sets": format_integer(n)}


def checks_in_use(project: Project) -> list[str]:
    """Return the checks that answers went through, and which of their answers count."""
    found = []
    if project.practice_pass:
        text = _("Before the first task, %(n)d practice tasks had to be answered right, in at most %(tries)d attempts.")
        found.append(text % {"n": project.practice_pass, "tries": project.practice_tries})
    for every, text in (
        (project.attention_every, _("One task in %(n)d was an attention check.")),
        (project.gold_every, _("One task in %(n)d was a gold question, whose right answer was known.")),
    ):
        if every:
            found.append(text % {"n": every})
    if project.gold_every:
        found.append(
            _("Answers to gold questions count in the ranking.")
            if project.count_gold
            else _("Answers to gold questions do not count in the ranking.")
        )
    for limit, text in (
        (project.attention_fails, _("Whoever failed %(n)d attention checks was screened out.")),
        (project.gold_fails, _("Whoever failed %(n)d gold questions was screened out.")),
    ):
        if limit:
            found.append(text % {"n": limit})
    if project.attention_fails or project.gold_fails:
        found.append(
            _("Answers of people screened out count.")
            if project.count_screened_out
            else _("Answers of people screened out do not count.")
        )
    if project.repeat_percent:
        found.append(_("%(n)d%% of the tasks repeated an earlier one.") % {"n": project.repeat_percent})
    if project.min_seconds:
        found.append(_("Answers were accepted after %(n)d seconds of reading.") % {"n": project.min_seconds})
    return found


def left_out(counts: Counts) -> list[str]:
    """Return how many people and answers were left out; nothing where there were none."""
    found = []
    if counts.n_excluded or counts.n_screened_out:
        text = _("%(excluded)s people were excluded and %(screened)s screened out.")
        values = {"excluded": counts.n_excluded, "screened": counts.n_screened_out}
        found.append(text % {name: format_integer(value) for name, value in values.items()})
    if n := sum(counts.voided.values()):
        found.append(_("%(n)s answers were left out as void.") % {"n": format_integer(n)})
    return found
