"""An answer in the words in which it is told to the one who gave it, by every criterion that there is."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from annotate.actions.labels import Answer
from annotate.models import FurtherAnswer, Label, PresentedItem, Project
from annotate.orders import LETTERS, order_of

Outcome = Label.Outcome
Said = tuple[str, list[int | None], str]  # outcome, the places it names, best first, and grade


def in_words(outcome: str, order: Sequence[int | None], grade: str = "") -> str:
    """order: the places that the answer names, best first."""
    letters = [LETTERS[place] for place in order if place is not None and place < len(LETTERS)]
    if outcome == Outcome.CHOICE and letters and grade in Label.Grade.values:
        values = {"letter": letters[0], "slightly": Label.Grade(grade).label.lower()}
        return _("you said %(letter)s is %(slightly)s better") % values
    if outcome == Outcome.CHOICE and letters:
        return _("you chose %(letter)s") % {"letter": letters[0]}
    if outcome == Outcome.BEST_WORST and len(letters) == 2:
        return _("you called %(best)s best, %(worst)s worst") % {"best": letters[0], "worst": letters[1]}
    if outcome in (Outcome.RANKING, Outcome.TOP):
        return _("you ranked %(letters)s") % {"letters": ", ".join(letters)}
    if outcome == Outcome.SKIP:
        return _("you skipped")
    return _("you said “%(answer)s”") % {"answer": Outcome(outcome).label}


def all_in_words(project: Project, said: Sequence[Said]) -> str:
    """What was said by each criterion, with their names where there are several."""
    if len(said) == 1 or said[0][0] == Outcome.SKIP:
        return in_words(*said[0])
    names = [criterion["name"] for criterion in project.criteria]
    return "; ".join(f"{name}: {in_words(*one)}" for name, one in zip(names, said, strict=False))


def said_in(answer: Answer) -> list[Said]:
    return [(one.outcome, one.named, one.grade) for one in (answer, *answer.further)]


def said_by(label: Label | FurtherAnswer, shown: Sequence[int]) -> Said:
    """shown: the items by place."""
    if label.ranks:
        return label.outcome, [*order_of(label.outcome, label.ranks)], label.grade
    return label.outcome, [None if label.chosen_id is None else shown.index(label.chosen_id)], label.grade


def said_by_all(project: Project, label: Label) -> list[Said]:
    """What a stored label says, the first criterion's answer first; one query more where there are several."""
    shown = list(PresentedItem.objects.filter(presentation=label.presentation_id).values_list("item_id", flat=True))
    further = FurtherAnswer.objects.filter(label=label).order_by("criterion") if project.criteria else []
    return [said_by(label, shown), *(said_by(one, shown) for one in further)]
