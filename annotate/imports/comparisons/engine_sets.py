"""Answers about sets as the engine's command line reads them: best and worst, chosen, top, ranks, rankings.

Such a file says which of the items shown are above which. The project says what that is an answer to: the same ranks
are a choice in one project and a ranking in another.
"""

import random
from collections.abc import Iterator, Mapping, Sequence

from django.utils.translation import gettext as _

from annotate.files.cells import shortened
from annotate.files.limits import Unusable
from annotate.files.sheets import SheetRow
from annotate.files.writers import without_apostrophes
from annotate.imports.comparisons.actions import SIDES, Comparison
from annotate.imports.comparisons.sets import shared_of
from annotate.imports.comparisons.tables import Voting
from annotate.labelling.asked_tasks import AskedTask, tasks_of, with_task
from annotate.models import Label, Project

Groups = list[list[str]]  # keys, best first, those not told apart together
Outcome = Label.Outcome


class SetReader:
    """Rows to comparisons, each of the kind of task of the project that it answers exactly."""

    def __init__(self, voting: Voting, seed: str, project: Project, is_csv: bool) -> None:
        self.voting, self.project, self.is_csv = voting, project, is_csv
        self.rng = random.Random(seed)  # noqa: S311
        self.texts: dict[str, str] = {}

    def comparisons(self, row: SheetRow) -> Iterator[Comparison]:
        """Raise Unusable."""
        if row.problem:
            raise Unusable(row.problem)
        values = {what: cell_in(row, place, self.is_csv) for what, place in self.voting.columns.items()}
        shown, groups = self.shown_in(values)
        if self.voting.create:
            self.texts |= {key: key for key in shown}
        name = self.voting.prefix + (values.get("annotator") or self.voting.someone)
        yield answer_of(self.project, Comparison(row.place, name, shown, ""), groups)

    def shown_in(self, values: Mapping[str, str]) -> tuple[tuple[str, ...], Groups]:
        """Return the items in the order shown, by lot where the file does not say it, and in the order given."""
        if values.get("set"):
            shown = keys_in(values["set"])
            return tuple(shown), groups_of(values, shown)
        order = keys_in(values.get("ranking", ""))
        if len(order) < 2:
            raise Unusable(_("The row names fewer than two items. Fill the cell or remove the row."))
        shown = order.copy()
        self.rng.shuffle(shown)
        return tuple(shown), [[key] for key in order]


def cell_in(row: SheetRow, place: int, is_csv: bool) -> str:
    cell = row.cells[place] if place < len(row.cells) else ""
    if not isinstance(cell, str):
        return ";".join(key.replace(";", "%3B") for key in cell)
    return without_apostrophes(cell.strip()) if is_csv else cell.strip()


def keys_in(cell: str) -> list[str]:
    """Return the keys of a list; as the export writes them, a semicolon within a key is %3B."""
    return [key.strip().replace("%3B", ";") for key in cell.split(";") if key.strip()]


def groups_of(values: Mapping[str, str], shown: Sequence[str]) -> Groups:
    """Return the items shown, best first, as the row's other columns say. Raises Unusable."""
    if values.get("ranks"):
        return groups_by_rank(shown, [rank.strip() for rank in values["ranks"].split(";")])
    first = [keys_in(values.get(what, "")) for what in ("chosen", "best")]
    first += [[key] for key in keys_in(values.get("top", ""))]
    named = [group for group in first if group]
    last = keys_in(values.get("worst", ""))
    keys = [key for group in [*named, last] for key in group]
    if not named or set(keys) - set(shown) or len(set(keys)) < len(keys):
        raise Unusable(
            _("The answer names “%(keys)s”; name items of the set, each once.") % {"keys": shortened(", ".join(keys))}
        )
    rest = [key for key in shown if key not in keys]
    return [group for group in [*named, rest, last] if group]


def groups_by_rank(shown: Sequence[str], ranks: Sequence[str]) -> Groups:
    if len(ranks) != len(shown) or not all(rank.isascii() and rank.isdigit() and len(rank) < 4 for rank in ranks):
        raise Unusable(
            _("“%(ranks)s” does not give each of the %(n)d items a rank such as 0.")
            % {"ranks": shortened(";".join(ranks)), "n": len(shown)}
        )
    return [
        [key for key, own in zip(shown, ranks, strict=True) if int(own) == rank]
        for rank in sorted(set(map(int, ranks)))
    ]


def answer_of(project: Project, row: Comparison, groups: Groups) -> Comparison:
    """Return the row with the answer that says exactly this order, by a kind of task of the project. Raises
    Unusable."""
    for task in tasks_of(project):
        if task.k == len(row.shown) and (found := answer_by(project, task, row, groups)):
            return found
    raise Unusable(
        _("An order such as this of %(n)d items is no answer to a task of this project.") % {"n": len(row.shown)}
    )


def answer_by(project: Project, task: AskedTask, row: Comparison, groups: Groups) -> Comparison | None:
    asked, k = with_task(project, task), task.k
    if k == 2 and len(groups) == 1:
        return row._replace(outcome=Outcome.TIE.value)
    named = task.type.answer_from_order(groups, asked)
    if named is None or not set(named) <= set(row.shown):
        return None
    shared = shared_of(groups) if task.type.shares_places(asked) else ()
    ranks = task.type.encode_ranks([row.shown.index(key) for key in named], k, shared)
    place = {key: str(rank) for rank, group in enumerate(groups) for key in group}
    if ranks != "".join(place[key] for key in row.shown):
        return None
    if task.type.is_ordered:
        return row._replace(outcome=task.type.outcome.value, order=tuple(named), shared=shared)
    if k == 2:
        return row._replace(outcome="left" if named[0] == row.shown[0] else "right")
    return row._replace(outcome=Outcome.CHOICE.value, order=tuple(named))


def side_as_order(project: Project, one: Comparison) -> Comparison:
    """Return a choice between two as the ranking of two that the project asks for; any other answer as it is."""
    pairs = [task for task in tasks_of(project) if task.k == 2]
    if one.outcome not in SIDES or len(one.shown) != 2 or not pairs or any(not task.type.is_ordered for task in pairs):
        return one
    order = one.shown if one.outcome == "left" else one.shown[::-1]
    return one._replace(outcome=pairs[0].type.outcome.value, order=order, grade="")
