"""Defines the export table of annotators: volume, speed, agreement and reliability of each, by pseudonym."""

from collections.abc import Iterator

from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from annotate.annotators import queries as query
from annotate.criteria import Criterion
from annotate.dashboard.ranking.table import MISFIT, UNDECIDED
from annotate.files.columns import Column, Kind, Row, by_component, of_components
from annotate.fitting.published import published_fit
from annotate.fitting.stored_misfit import stored_misfit
from annotate.fitting.stored_undecided import undecided_figures
from annotate.models import Annotator, Project
from annotate.participation.questionnaire.queries import answered_questions, answers_of

CHUNK = 500  # annotators read at a time

COLUMNS = [
    Column("annotator", _("Pseudonym, unique in the project; never an e-mail address.")),
    Column("source", _("account, link, platform, import or simulated (a program).")),
    Column("joined_at", _("When the annotator first came, server time (UTC)."), Kind.MOMENT),
    Column("n_labels", _("Labels that count."), Kind.INTEGER),
    Column("n_skips", _("How many of them are skips."), Kind.INTEGER),
    Column("n_voided", _("Void labels: undone by the annotator, excluded or late."), Kind.INTEGER),
    Column("median_seconds", _("Median time per label that counts."), Kind.NUMBER),
    Column("last_label_at", _("When the latest label arrived, server time (UTC)."), Kind.MOMENT),
    Column(
        "agreement",
        _("Share of this annotator's choices that agree with the consensus order; empty if there is no consensus yet."),
        Kind.NUMBER,
    ),
    Column(
        "reliability",
        _(
            "Probability that an answer follows the utilities (the annotator's own, where the estimator infers them) "
            "rather than being reversed; empty if the estimator does not infer it."
        ),
        Kind.NUMBER,
    ),
    # xgettext:no-python-format
    Column("reliability_low", _("Lower end of its 90% interval."), Kind.NUMBER),
    # xgettext:no-python-format
    Column("reliability_high", _("Upper end of its 90% interval."), Kind.NUMBER),
    Column(
        "taste_distance",
        _("How far the annotator's own utilities are from the consensus; empty if the estimator does not infer it."),
        Kind.NUMBER,
    ),
    # xgettext:no-python-format
    Column("taste_distance_low", _("Lower end of its 90% interval."), Kind.NUMBER),
    # xgettext:no-python-format
    Column("taste_distance_high", _("Upper end of its 90% interval."), Kind.NUMBER),
    *of_components(
        _(
            "Position on taste component {number}. An annotator's own utilities are the consensus plus, for each "
            "component, this position times the item's value on it."
        )
    ),
    Column("n_gold", _("Gold questions answered."), Kind.INTEGER),
    Column("n_gold_right", _("How many of them right."), Kind.INTEGER),
    Column("n_attention", _("Attention checks answered."), Kind.INTEGER),
    Column("n_attention_right", _("How many of them right."), Kind.INTEGER),
    Column("n_repeats", _("Planned repeats answered."), Kind.INTEGER),
    Column(
        "self_consistency",
        _(
            "How consistently planned repeats were answered: mean share of the set's pairs that were ordered the "
            "same way."
        ),
        Kind.NUMBER,
    ),
    Column("flags", _("Names of the flags raised, separated by spaces.")),
    Column("screened_out", _("Whether the annotator failed the practice or was screened out by a rule."), Kind.TRUTH),
    Column("excluded", _("Whether the annotator is excluded; all their labels are then void."), Kind.TRUTH),
    Column("excluded_at", _("When the annotator was excluded, server time (UTC)."), Kind.MOMENT),
    Column("fit", _("Number of the fit that agreement and reliability come from."), Kind.INTEGER),
    Column("tags", _("The annotator's tags, a JSON list."), Kind.TEXTS),
    Column("screened_out_at", _("When the annotator was screened out, server time (UTC)."), Kind.MOMENT),
    Column("screened_out_by", _("By which rule: practice, attention or gold; otherwise empty.")),
]


def columns(project: Project) -> list[Column]:
    """Return those of every project, one for each field of the questionnaire, retired ones too, and what deviates."""
    meaning = _("Answer to “{label}” of the questionnaire; empty if none was given.")
    fields = [
        Column(f"field_{one.number}", format_lazy(meaning, label=one.label)) for one in answered_questions(project)
    ]
    return [*COLUMNS, *fields, *MISFIT, *UNDECIDED]


def rows(criterion: Criterion) -> Iterator[Row]:
    project = criterion.project
    fit, last, fields = published_fit(criterion), 0, answered_questions(project)
    misfits = stored_misfit(fit, "annotators")
    while True:
        people = Annotator.objects.filter(project=project, pk__gt=last).order_by("pk")
        keys = list(people.values_list("pk", flat=True)[:CHUNK])
        if not keys:
            return
        last = keys[-1]
        given = answers_of(keys, fields)
        for one in query.with_undecided(query.build_rows(keys, fit), fit):
            answers = [given.get((one.annotator.pk, field.pk)) for field in fields]
            deviating = [*misfits.get(one.annotator.pk, (None, None)), *undecided_figures(one.undecided)]
            yield [*row(one, fit.number if fit else None), *answers, *deviating]


def row(one: query.AnnotatorRow, number: int | None) -> Row:
    person, e, checks = one.annotator, one.estimate, one.checked
    return [
        person.pseudonym,
        person.source,
        person.joined_at,
        one.n_labels,
        one.n_skips,
        one.n_voided,
        None if one.median_ms is None else one.median_ms / 1000,
        one.last_seen,
        e and e.agreement,
        e and e.reliability,
        e and e.reliability_low,
        e and e.reliability_high,
        e and e.taste_distance,
        e and e.taste_distance_low,
        e and e.taste_distance_high,
        *by_component(e.scores if e else None),
        checks.gold.n if checks.gold else 0,
        int(checks.gold.k) if checks.gold else 0,
        checks.attention.n if checks.attention else 0,
        int(checks.attention.k) if checks.attention else 0,
        checks.repeats.n if checks.repeats else 0,
        checks.repeats.k / checks.repeats.n if checks.repeats else None,
        " ".join(flag.name for flag in checks.flags),
        person.screened_out_at is not None,
        person.excluded_at is not None,
        person.excluded_at,
        number,
        one.tags,
        person.screened_out_at,
        person.screened_out_by,
    ]
