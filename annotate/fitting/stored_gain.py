"""Says what features told of items left out, in words: whether places of items never compared are predicted."""

from dataclasses import dataclass

from django.utils.formats import number_format
from django.utils.translation import gettext as _

from annotate.criteria import list_criteria
from annotate.models import FeatureNames, PredictionGain, Project

Z90 = 1.6448536269514722


@dataclass(frozen=True)
class CriterionGain:
    """criterion: its name where there are several.   helps: whether predictions are used where the owner wants them."""

    criterion: str
    sentence: str
    helps: bool
    row: PredictionGain | None


def list_gains(project: Project) -> list[CriterionGain]:
    """Return what is known by each criterion, in two queries; empty where the items have no features."""
    if project.ranks_counts or not FeatureNames.objects.filter(project=project).exclude(names=[]).exists():
        return []
    rows = {row.criterion: row for row in PredictionGain.objects.filter(project=project)}
    names = {one.number: one.name if project.criteria else "" for one in list_criteria(project)}
    return [
        CriterionGain(name, sentence_of(rows.get(number)), number in rows and rows[number].helps, rows.get(number))
        for number, name in names.items()
    ]


def sentence_of(row: PredictionGain | None) -> str:
    """Return what the figures say, with the 90% interval of the gain."""
    if row is None or row.made_at is None:
        return _(
            "Not measured yet: the engine measures it once the features are in and there are 50 answers, when it has "
            "no other work."
        )
    found = row.figures
    if not found:
        return _("Too early to say: it takes 20 items with features and answers.")
    reach = Z90 * found["error"]
    words = {
        "items": number_format(found["n_items"], use_l10n=True, force_grouping=True),
        "gain": number_format(found["gain"], 3),
        "low": number_format(found["gain"] - reach, 3),
        "high": number_format(found["gain"] + reach, 3),
        "with": number_format(100 * found["accuracy"], 0),
        "without": number_format(100 * found["accuracy_without"], 0),
    }
    if row.helps:
        return (
            _(
                "Features help: of 100 comparisons with an item left out (%(items)s items), %(with)s are predicted "
                "correctly with features and %(without)s without. The log loss is %(gain)s smaller (90%% interval "
                "%(low)s to %(high)s)."
            )
            % words
        )
    return (
        _(
            "No gain was found: of 100 comparisons with an item left out (%(items)s items), %(with)s are predicted "
            "correctly with features and %(without)s without. The log loss is %(gain)s smaller (90%% interval %(low)s "
            "to %(high)s). No places are predicted, even while this is switched on, until the gain is larger than its "
            "standard error."
        )
        % words
    )
