"""Lists every export table, in the order of the page."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from annotate.annotators.cohorts import table as cohorts_table
from annotate.dashboard.grades import table as grades_table
from annotate.dashboard.leaderboard import table as leaderboard_table
from annotate.dashboard.overall import competitors as competitors_table
from annotate.dashboard.overall import table as overall_table
from annotate.dashboard.overall import tracks_table
from annotate.dashboard.ranking import table as ranking_table
from annotate.files.columns import Column
from annotate.models import Machine, Preregistration, Project
from annotate.publishing.exports import (
    annotators,
    battles,
    comparisons,
    counts,
    deviations,
    fits,
    ideas,
    items,
    labels,
    machines,
    pairs,
    preferences,
    questions,
)
from annotate.publishing.exports.table import Group, Table, always, of_project


def has_competitors(project: Project) -> bool:
    return project.has_competitors


def has_machines(project: Project) -> bool:
    return Machine.objects.filter(annotator__project=project).exists()


def asks(project: Project) -> bool:
    return not project.ranks_counts


TABLES = {
    table.name: table
    for table in (
        Table(
            "ranking",
            _("Ranking"),
            _("Every ranked item with its figures from the published fit."),
            ranking_table.columns,
            ranking_table.rows,
            of_answers=False,
            group=Group.RESULTS,
        ),
        Table(
            "overall",
            _("Overall"),
            _("Every item with its weighted total over the criteria; empty for a project without named criteria."),
            overall_table.columns,
            of_project(overall_table.rows),
            of_answers=False,
            group=Group.RESULTS,
            is_used=lambda project: bool(project.criteria),
        ),
        Table(
            "overall_leaderboard",
            _("Overall: leaderboard"),
            _("Every competitor with its weighted total over the criteria; empty without competitors or criteria."),
            competitors_table.columns,
            of_project(competitors_table.rows),
            of_answers=False,
            group=Group.RESULTS,
            is_used=lambda project: bool(project.criteria) and project.has_competitors,
        ),
        Table(
            "tracks",
            _("Tracks"),
            _("The items of each tag, ranked among themselves."),
            always(tracks_table.COLUMNS),
            tracks_table.rows,
            of_answers=False,
            group=Group.RESULTS,
            is_used=lambda project: project.tags.exists(),
        ),
        Table(
            "leaderboard",
            _("Leaderboard"),
            _("Every competitor with its figures: on the whole, by category, and with style held equal."),
            always(leaderboard_table.COLUMNS),
            leaderboard_table.rows,
            of_answers=False,
            group=Group.RESULTS,
            is_used=has_competitors,
        ),
        Table(
            "leaderboard_pairs",
            _("Leaderboard: pairs"),
            _("Every two competitors: wins and ties as seen, and the chance that one is better."),
            always(leaderboard_table.PAIR_COLUMNS),
            leaderboard_table.pair_rows,
            of_answers=False,
            group=Group.RESULTS,
            is_used=has_competitors,
        ),
        Table(
            "leaderboard_cohorts",
            _("Leaderboard: cohorts"),
            _("Every competitor by cohorts of annotators, of the latest comparison by each property."),
            always(cohorts_table.COLUMNS),
            cohorts_table.rows,
            of_answers=False,
            group=Group.RESULTS,
            is_used=has_competitors,
        ),
        Table(
            "grades",
            _("Grades"),
            _("Every ranked item with its likeliest grade and the probability of each."),
            grades_table.columns,
            grades_table.rows,
            of_answers=False,
            group=Group.RESULTS,
            is_used=lambda project: bool(project.grades),
        ),
        Table(
            "labels",
            _("Labels"),
            _("Every answer ever given, in order of arrival. Void answers are included and marked."),
            labels.columns,
            of_project(labels.rows_of_all),
            group=Group.ANSWERS,
            is_used=asks,
        ),
        Table(
            "comparisons",
            _("Comparisons"),
            _("Only the answers that count in the ranking, ready for the engine's command line."),
            comparisons.columns,
            comparisons.rows,
            group=Group.ANSWERS,
            is_used=asks,
        ),
        Table(
            "battles",
            _("Battles (Arena)"),
            _("Answers about pairs with the competitors' names and both texts, in the layout of Arena's battles."),
            always(battles.ARENA),
            battles.arena_rows,
            group=Group.ANSWERS,
            is_used=asks,
        ),
        Table(
            "crowdkit",
            _("Comparisons for crowd-kit"),
            _("Answers about pairs as crowd-kit reads them: worker, left, right and label."),
            always(battles.CROWDKIT),
            battles.crowdkit_rows,
            group=Group.ANSWERS,
            is_used=asks,
        ),
        Table(
            "counts",
            _("Counts"),
            _("Every imported count of an annotator and item, as the import of counts reads it; empty without any."),
            always(counts.COLUMNS),
            of_project(counts.rows),
            of_answers=False,
            group=Group.ANSWERS,
            is_used=lambda project: project.ranks_counts,
        ),
        Table(
            "annotators",
            _("Annotators"),
            _("One row per annotator: number of answers, speed, agreement, reliability."),
            annotators.columns,
            annotators.rows,
            group=Group.PEOPLE_AND_ITEMS,
        ),
        Table(
            "machines",
            _("Machines"),
            _("One row per machine: program, prompt, answers, cost, and the latest report on it."),
            always(machines.COLUMNS),
            machines.rows,
            of_answers=False,
            group=Group.PEOPLE_AND_ITEMS,
            is_used=has_machines,
        ),
        Table(
            "machine_answers",
            _("Machines: answers"),
            _("Every answer of every machine, in the order shown, with tokens and cost."),
            always(machines.ANSWER_COLUMNS),
            machines.answer_rows,
            of_answers=False,
            group=Group.ANSWERS,
            is_used=has_machines,
        ),
        Table(
            "items",
            _("Items"),
            _("The items and their tags, retired ones too."),
            always(items.COLUMNS),
            of_project(items.rows),
            of_answers=False,
            group=Group.PEOPLE_AND_ITEMS,
        ),
        Table(
            "questions",
            _("Given questions"),
            _("The questions that you gave, with their answers so far. The import of questions reads this table."),
            questions.columns,
            of_project(questions.rows),
            group=Group.PEOPLE_AND_ITEMS,
            is_used=lambda project: bool(project.given_order),
        ),
        Table(
            "ideas",
            _("Ideas"),
            _("What annotators proposed as items, and what became of it."),
            always(ideas.COLUMNS),
            of_project(ideas.rows),
            of_answers=False,
            group=Group.PEOPLE_AND_ITEMS,
            is_used=lambda project: project.ideas.exists(),
        ),
        Table(
            "pairs",
            _("Who beat whom"),
            _(
                "Wins and ties for every pair of items that was compared; also as a matrix with one row and one "
                "column per item."
            ),
            always(pairs.COLUMNS),
            pairs.rows,
            group=Group.RESULTS,
            is_used=asks,
        ),
        Table(
            "preferences",
            _("Preference pairs (DPO)"),
            _("Prompt, chosen and rejected text, ready for training language models. Ties are left out."),
            always(preferences.columns()),
            preferences.rows,
            group=Group.ANSWERS,
            is_used=asks,
        ),
        Table(
            "fits",
            _("Fits"),
            _("Every stored fit with its settings, data hash, convergence and duration."),
            fits.columns,
            of_project(fits.rows),
            of_answers=False,
            group=Group.WHOLE,
        ),
        Table(
            "deviations",
            _("Deviations"),
            _("Every change of the plan since it was frozen, with its reason."),
            always(deviations.COLUMNS),
            of_project(deviations.rows),
            of_answers=False,
            group=Group.WHOLE,
            is_used=lambda project: Preregistration.objects.filter(project=project).exists(),
        ),
    )
}


@dataclass(frozen=True)
class Listed:
    """The tables of the page with their columns: by what they are about, and those that the project does not use."""

    groups: list[tuple[str, list[tuple[Table, Sequence[Column]]]]]
    unused: list[tuple[Table, Sequence[Column]]]


def listed(project: Project) -> Listed:
    answers = {asked: asked(project) for asked in {table.is_used for table in TABLES.values()}}
    used = {name: answers[table.is_used] for name, table in TABLES.items()}
    shown = [(table, table.columns(project)) for table in TABLES.values()]
    return Listed(
        [(str(group.label), [one for one in shown if one[0].group == group and used[one[0].name]]) for group in Group],
        [one for one in shown if not used[one[0].name]],
    )
