"""Lists every export table."""

from django.utils.translation import gettext_lazy as _

from annotate.annotators.cohorts import table as cohorts_table
from annotate.dashboard.grades import table as grades_table
from annotate.dashboard.leaderboard import table as leaderboard_table
from annotate.dashboard.overall import competitors as competitors_table
from annotate.dashboard.overall import table as overall_table
from annotate.dashboard.overall import tracks_table
from annotate.dashboard.ranking import table as ranking_table
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
from annotate.publishing.exports.table import Table, always, of_project

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
        ),
        Table(
            "overall",
            _("Overall"),
            _("Every item with its weighted total over the criteria; empty for a project without named criteria."),
            overall_table.columns,
            of_project(overall_table.rows),
            of_answers=False,
        ),
        Table(
            "overall_leaderboard",
            _("Overall: leaderboard"),
            _("Every competitor with its weighted total over the criteria; empty without competitors or criteria."),
            competitors_table.columns,
            of_project(competitors_table.rows),
            of_answers=False,
        ),
        Table(
            "tracks",
            _("Tracks"),
            _("The items of each tag, ranked among themselves."),
            always(tracks_table.COLUMNS),
            tracks_table.rows,
            of_answers=False,
        ),
        Table(
            "leaderboard",
            _("Leaderboard"),
            _("Every competitor with its figures: on the whole, by category, and with style held equal."),
            always(leaderboard_table.COLUMNS),
            leaderboard_table.rows,
            of_answers=False,
        ),
        Table(
            "leaderboard_pairs",
            _("Leaderboard: pairs"),
            _("Every two competitors: wins and ties as seen, and the chance that one is better."),
            always(leaderboard_table.PAIR_COLUMNS),
            leaderboard_table.pair_rows,
            of_answers=False,
        ),
        Table(
            "leaderboard_cohorts",
            _("Leaderboard: cohorts"),
            _("Every competitor by cohorts of annotators, of the latest comparison by each property."),
            always(cohorts_table.COLUMNS),
            cohorts_table.rows,
            of_answers=False,
        ),
        Table(
            "grades",
            _("Grades"),
            _("Every ranked item with its likeliest grade and the probability of each."),
            grades_table.columns,
            grades_table.rows,
            of_answers=False,
        ),
        Table(
            "labels",
            _("Labels"),
            _("Every answer ever given, in order of arrival. Void answers are included and marked."),
            labels.columns,
            of_project(labels.rows_of_all),
        ),
        Table(
            "comparisons",
            _("Comparisons"),
            _("Only the answers that count in the ranking, ready for the engine's command line."),
            comparisons.columns,
            comparisons.rows,
        ),
        Table(
            "battles",
            _("Battles (Arena)"),
            _("Answers about pairs with the competitors' names and both texts, in the layout of Arena's battles."),
            always(battles.ARENA),
            battles.arena_rows,
        ),
        Table(
            "crowdkit",
            _("Comparisons for crowd-kit"),
            _("Answers about pairs as crowd-kit reads them: worker, left, right and label."),
            always(battles.CROWDKIT),
            battles.crowdkit_rows,
        ),
        Table(
            "counts",
            _("Counts"),
            _("Every imported count of an annotator and item, as the import of counts reads it; empty without any."),
            always(counts.COLUMNS),
            of_project(counts.rows),
            of_answers=False,
        ),
        Table(
            "annotators",
            _("Annotators"),
            _("One row per annotator: number of answers, speed, agreement, reliability."),
            annotators.columns,
            annotators.rows,
        ),
        Table(
            "machines",
            _("Machines"),
            _("One row per machine: program, prompt, answers, cost, and the latest report on it."),
            always(machines.COLUMNS),
            machines.rows,
            of_answers=False,
        ),
        Table(
            "machine_answers",
            _("Machines: answers"),
            _("Every answer of every machine, in the order shown, with tokens and cost."),
            always(machines.ANSWER_COLUMNS),
            machines.answer_rows,
            of_answers=False,
        ),
        Table(
            "items",
            _("Items"),
            _("The items and their tags, retired ones too."),
            always(items.COLUMNS),
            of_project(items.rows),
            of_answers=False,
        ),
        Table(
            "questions",
            _("Given questions"),
            _("The questions that you gave, with their answers so far. The import of questions reads this table."),
            questions.columns,
            of_project(questions.rows),
        ),
        Table(
            "ideas",
            _("Ideas"),
            _("What annotators proposed as items, and what became of it."),
            always(ideas.COLUMNS),
            of_project(ideas.rows),
            of_answers=False,
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
        ),
        Table(
            "preferences",
            _("Preference pairs (DPO)"),
            _("Prompt, chosen and rejected text, ready for training language models. Ties are left out."),
            always(preferences.columns()),
            preferences.rows,
        ),
        Table(
            "fits",
            _("Fits"),
            _("Every stored fit with its settings, data hash, convergence and duration."),
            fits.columns,
            of_project(fits.rows),
            of_answers=False,
        ),
        Table(
            "deviations",
            _("Deviations"),
            _("Every change of the plan since it was frozen, with its reason."),
            always(deviations.COLUMNS),
            of_project(deviations.rows),
            of_answers=False,
        ),
    )
}
