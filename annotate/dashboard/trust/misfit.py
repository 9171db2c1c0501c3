"""Lists the items and annotators whose answers deviate from the published order by more than chance."""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.numbers import format_integer, format_number
from annotate.fitting.stored_misfit import Deviation, flagged_deviations
from annotate.models import Annotator, Item
from models_engine.models import Fit


@dataclass(frozen=True)
class MisfitItem:
    item: Item
    deviation: Deviation

    @property
    def words(self) -> str:
        return misfit_words(self.deviation)


@dataclass(frozen=True)
class MisfitAnnotator:
    annotator: Annotator
    deviation: Deviation

    @property
    def words(self) -> str:
        return misfit_words(self.deviation)


@dataclass(frozen=True)
class MisfitSummary:
    """n_items, n_annotators: with answers enough to say.   items, annotators: flagged, the worst first."""

    n_items: int
    n_annotators: int
    items: list[MisfitItem]
    annotators: list[MisfitAnnotator]
    n_more: int

    @property
    def sentence(self) -> str:
        if not self.n_items:
            return _("Not enough data yet: it takes 5 comparisons of an item to say.")
        if not self.items and not self.annotators:
            text = _(
                "The answers about each of %(items)s items, and of each of %(people)s annotators, follow one order."
            )
            return text % {"items": format_integer(self.n_items), "people": format_integer(self.n_annotators)}
        sentences = []
        if self.items:
            text = ngettext(
                "%(n)s item is judged unlike the order: read it again.",
                "%(n)s items are judged unlike the order: read them again.",
                len(self.items),
            )
            sentences.append(text % {"n": format_integer(len(self.items))})
        if self.annotators:
            text = ngettext(
                "%(n)s annotator judges unlike the others: look at the answers.",
                "%(n)s annotators judge unlike the others: look at their answers.",
                len(self.annotators),
            )
            sentences.append(text % {"n": format_integer(len(self.annotators))})
        return " ".join(sentences)


def misfit_summary(fit: Fit) -> MisfitSummary | None:
    """From two queries; None where the fit did not find out."""
    kept = fit.diagnostics.get("misfit")
    if not kept:
        return None
    of_items, of_annotators = (flagged_deviations(fit, side) for side in ("items", "annotators"))
    items, people = Item.objects.in_bulk([*of_items]), Annotator.objects.in_bulk([*of_annotators])
    n_flagged = kept["items"]["n_flagged"] + kept["annotators"]["n_flagged"]
    return MisfitSummary(
        n_items=kept["items"]["n"],
        n_annotators=kept["annotators"]["n"],
        items=[MisfitItem(items[key], one) for key, one in of_items.items() if key in items],
        annotators=[MisfitAnnotator(people[key], one) for key, one in of_annotators.items() if key in people],
        n_more=n_flagged - len(of_items) - len(of_annotators),
    )


def misfit_words(one: Deviation) -> str:
    return _("infit %(infit)s from %(n)s comparisons") % {
        "infit": format_number(one.infit),
        "n": format_integer(one.n),
    }
