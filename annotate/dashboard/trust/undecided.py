"""Lists the items that nobody can decide, and who is undecided more often than their items explain."""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.numbers import format_integer
from annotate.fitting.stored_undecided import Times, often_undecided
from annotate.models import Annotator, Item
from models_engine.models import Fit


@dataclass(frozen=True)
class UndecidedItem:
    item: Item
    times: Times


@dataclass(frozen=True)
class UndecidedAnnotator:
    annotator: Annotator
    times: Times


@dataclass(frozen=True)
class UndecidedSummary:
    """n_undecided: answers that called items equal or judged nothing. items, annotators: the most undecided first."""

    n_undecided: int
    items: list[UndecidedItem]
    annotators: list[UndecidedAnnotator]
    n_more: int

    @property
    def sentence(self) -> str:
        if not self.items and not self.annotators:
            text = _("%(n)s answers call the items equal or do not judge them, spread as chance would have it.")
            return text % {"n": format_integer(self.n_undecided)}
        sentences = []
        if self.items:
            text = ngettext(
                "%(n)s item is hard to judge, whoever sees it: reword it, replace it or leave it out.",
                "%(n)s items are hard to judge, whoever sees them: reword them, replace them or leave them out.",
                len(self.items),
            )
            sentences.append(text % {"n": format_integer(len(self.items))})
        if self.annotators:
            text = ngettext(
                "%(n)s annotator is undecided more often than the items explain.",
                "%(n)s annotators are undecided more often than the items explain.",
                len(self.annotators),
            )
            sentences.append(text % {"n": format_integer(len(self.annotators))})
        return " ".join(sentences)


def undecided_summary(fit: Fit) -> UndecidedSummary | None:
    """From two queries; None where too few answers were undecided to say."""
    kept = fit.diagnostics.get("undecided")
    if not kept:
        return None
    of_items, of_annotators = often_undecided(fit, "items"), often_undecided(fit, "annotators")
    items, people = Item.objects.in_bulk([*of_items]), Annotator.objects.in_bulk([*of_annotators])
    return UndecidedSummary(
        n_undecided=kept["n_undecided"],
        items=[UndecidedItem(items[key], times) for key, times in of_items.items() if key in items],
        annotators=[UndecidedAnnotator(people[key], times) for key, times in of_annotators.items() if key in people],
        n_more=sum(kept[side]["n_listed"] - len(kept[side]["worst"]) for side in ("items", "annotators")),
    )
