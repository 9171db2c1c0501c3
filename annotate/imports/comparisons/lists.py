"""Comparisons made elsewhere, as lists write them: choix's pairs of numbers, PrefLib's orders."""

import json
import random
import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from django.utils.translation import gettext as _

from annotate.files.cells import shortened
from annotate.files.limits import MAX_COMPARISONS, BadFile, Unusable
from annotate.files.sheets import Sheet, SheetRow
from annotate.imports.comparisons.actions import Comparison
from annotate.imports.comparisons.sets import shared_of
from annotate.imports.comparisons.tables import Voting, sided
from annotate.labelling.task_types.registry import task_type_of
from annotate.models import Label, Project

Groups = list[list[str]]  # keys, best first, those not told apart together
Outcome = Label.Outcome
# Possessive (++), so that no text takes longer than it is long.
NUMBERS = re.compile(r"[\[(]\s*+\d++(?:\s*+,\s*+\d++)*+\s*+,?\s*+[\])]")
BETWEEN = r"(?:\s++[,;]?|[,;])\s*+"
LINE = re.compile(rf"\d++(?:{BETWEEN}\d++)++")
TWO_NUMBERS = re.compile(rf"\d{BETWEEN}\d")
ALTERNATIVE = re.compile(r"#\s*ALTERNATIVE NAME (\d+)\s*:\s*(.*)")
VOTE = re.compile(r"(\d+)\s*:\s*(.+)")
GROUP = re.compile(r"\{([^{}]*)\}|([^,{}]+)")
PREFLIB = (".soc", ".soi", ".toc", ".toi")


def looks_like_orders(text: str, name: str) -> bool:
    return name.lower().removesuffix(".gz").endswith(PREFLIB) or text.lstrip().startswith("# FILE NAME:")


def looks_like_indices(text: str) -> bool:
    """Return nothing but pairs of numbers, whatever divides them."""
    start = text[:4096].strip()
    return bool(re.fullmatch(r"[\s\d,;()\[\]]+", start)) and bool(TWO_NUMBERS.search(start))


def indices(text: str) -> Sheet:
    """Return a row for each list of numbers: JSON, Python's own notation, or a line each."""
    return Sheet([_("best first")], lists_in(text))


def lists_in(text: str) -> Iterator[SheetRow]:
    start = text.lstrip()
    if start.startswith(("[", "(")):
        found = NUMBERS.finditer(text)
        for n, match in enumerate(found, 1):
            yield SheetRow(n, [re.findall(r"\d+", match.group())])
        return
    for n, line in enumerate(text.splitlines(), 1):
        words = line.strip().strip("()[],")
        if words:
            problem = (
                ""
                if LINE.fullmatch(words)
                else _("The line “%(line)s” is not a pair of numbers.") % {"line": shortened(words)}
            )
            yield SheetRow(n, [re.findall(r"\d+", words) if not problem else [words]], problem)


def orders(text: str) -> Sheet:
    """Return a row for each distinct order: how many gave it, and the order as keys in JSON. Raises BadFile."""
    names: dict[str, str] = {}
    lines = text.splitlines()
    for line in lines:
        if match := ALTERNATIVE.match(line):
            names[match.group(1)] = match.group(2).strip() or match.group(1)
    if not names:
        raise BadFile(
            _(
                "The file names no alternatives (“# ALTERNATIVE NAME 1: …”). Download it again from PrefLib: "
                "files from before 2022 have another format."
            )
        )
    if len(set(names.values())) < len(names):
        raise BadFile(_("Two alternatives of the file have the same name. Give each its own."))
    return Sheet([_("votes"), _("order")], orders_in(lines, names))


def orders_in(lines: Sequence[str], names: dict[str, str]) -> Iterator[SheetRow]:
    for n, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = VOTE.fullmatch(line.strip())
        if not match:
            problem = _("“%(line)s” is not an order such as “3: 1,2,{3,4}”.") % {"line": shortened(line)}
            yield SheetRow(n, [line], problem)
            continue
        groups = [
            [number.strip() for number in (tied or single).split(",") if number.strip()]
            for tied, single in GROUP.findall(match.group(2))
        ]
        unknown = next((number for group in groups for number in group if number not in names), None)
        problem = (
            ""
            if unknown is None
            else _("The order names the alternative “%(n)s”, which the file does not define.")
            % {"n": shortened(unknown)}
        )
        keys = [] if problem else [[names[number] for number in group] for group in groups if group]
        yield SheetRow(n, [match.group(1), json.dumps(keys, ensure_ascii=False)], problem)


class ListReader:
    """Rows to comparisons: whole orders where the project asks for such, else every pair in them."""

    def __init__(self, voting: Voting, seed: str, project: Project, keys: Sequence[str]) -> None:
        self.voting, self.project, self.keys = voting, project, keys
        self.rng = random.Random(seed)  # noqa: S311
        self.texts: dict[str, str] = {}
        self.voters = 0

    def comparisons(self, row: SheetRow) -> Iterator[Comparison]:
        """Raise Unusable."""
        if row.problem:
            raise Unusable(row.problem)
        if self.voting.format == "indices":
            groups, n, name = [[self.key(number)] for number in row.cells[0]], 1, self.voting.someone
        else:
            groups, n, name = json.loads(str(row.cells[1])), int(str(row.cells[0])), ""
        found = list(answers(self.project, groups))
        if n * len(found) > MAX_COMPARISONS:
            raise Unusable(
                _("The row contains %(n)d comparisons; the limit is %(limit)d.")
                % {"n": n * len(found), "limit": MAX_COMPARISONS}
            )
        if self.voting.create:
            self.texts |= {key: key for group in groups for key in group}
        for _vote in range(n):
            self.voters += 1
            who = self.voting.prefix + (name or _("voter %(n)d") % {"n": self.voters})
            shared = shared_of(groups) if task_type_of(self.project).shares_places(self.project) else ()
            for shown, outcome, order in found:
                yield self.comparison(row.place, who, shown, outcome, order)._replace(shared=shared if order else ())

    def key(self, number: str) -> str:
        if self.voting.numbers != "places":
            return number
        if int(number) >= len(self.keys):
            raise Unusable(
                _("%(n)s is not a position in the list of %(items)d items, which starts at 0.")
                % {"n": number, "items": len(self.keys)}
            )
        return self.keys[int(number)]

    def comparison(self, place: int, who: str, shown: list[str], outcome: str, order: list[str]) -> Comparison:
        if outcome == Outcome.CHOICE and len(shown) == 2:
            sides, outcome = sided(self.rng, order[0], next((key for key in shown if key != order[0]), order[0]))
            return Comparison(place, who, sides, outcome)
        self.rng.shuffle(shown := list(shown))
        return Comparison(place, who, tuple(shown), outcome, order=tuple(order))


def answers(project: Project, groups: Groups) -> Iterator[tuple[list[str], str, list[str]]]:
    """Yield (items shown, outcome, items named) for each comparison that the order makes in the project. Raises
    Unusable."""
    keys = [key for group in groups for key in group]
    if len(keys) < 2:
        raise Unusable(_("The order names fewer than two items, so it compares nothing."))
    if project.k == 2:
        places = [(key, place) for place, group in enumerate(groups) for key in group]
        for (better, above), (worse, below) in combinations(places, 2):
            yield [better, worse], Outcome.CHOICE if above < below else Outcome.TIE, [better] if above < below else []
        return
    task_type = task_type_of(project)
    named = task_type.answer_from_order(groups, project)
    if len(keys) != project.k or named is None:
        raise Unusable(
            _("An order of %(n)d items does not answer this project's task: “%(task)s” with %(k)d items.")
            % {"n": len(keys), "task": project.get_task_type_display(), "k": project.k}
        )
    yield keys, task_type.outcome.value, named
