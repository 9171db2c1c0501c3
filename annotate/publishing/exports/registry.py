"""Lists every export table."""

from django.utils.translation import gettext_lazy as _

from annotate.dashboard.ranking import table as ranking_table
from annotate.publishing.exports import annotators, comparisons, fits, items, labels, pairs, preferences
from annotate.publishing.exports.table import Table, always, of_project

TABLES = {
    table.name: table
    for table in (
        Table(
            "ranking",
            _("Ranking"),
            _("Every ranked item with its figures from the published fit, part by part."),
            always(ranking_table.COLUMNS),
            ranking_table.rows,
        ),
        Table(
            "labels",
            _("Labels"),
            _("Every answer ever given, in the order of arrival. Voided ones are marked, not left out."),
            always(labels.COLUMNS),
            of_project(labels.rows_of_all),
        ),
        Table(
            "comparisons",
            _("Comparisons"),
            _("Only the answers that fits count, ready for the engine's command line."),
            comparisons.columns,
            comparisons.rows,
        ),
        Table(
            "annotators",
            _("Annotators"),
            _("One line per annotator: volume, speed, agreement, reliability."),
            annotators.columns,
            annotators.rows,
        ),
        Table(
            "items",
            _("Items"),
            _("The items and their tags, retired ones too."),
            always(items.COLUMNS),
            of_project(items.rows),
        ),
        Table(
            "pairs",
            _("Who beat whom"),
            _("Every two items that some answer compares, with wins and ties; as a matrix, a line and a column each."),
            always(pairs.COLUMNS),
            pairs.rows,
        ),
        Table(
            "preferences",
            _("Preference pairs (DPO)"),
            _("Prompt, chosen and rejected text, as language models are trained on them; ties are left out."),
            always(preferences.COLUMNS),
            preferences.rows,
        ),
        Table(
            "fits",
            _("Fits"),
            _("Every fit that is kept, with settings, data hash, how it went and how long it took."),
            fits.columns,
            of_project(fits.rows),
        ),
    )
}
