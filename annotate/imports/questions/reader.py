"""The rows of a file of questions: new items, the question, the vote that is there already; or what is wrong."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from string import ascii_lowercase
from typing import Any, TextIO

from django.utils.translation import gettext as _

from annotate.files import cells
from annotate.files.cells import shortened
from annotate.files.layout import read_sheet
from annotate.files.limits import MAX_COMPETITOR, MAX_ROWS, MAX_TEXT, BadFile, Unusable
from annotate.files.sheets import Cell, SheetRow
from annotate.files.writers import without_apostrophes
from annotate.imports.comparisons.actions import SIDES, Comparison, outcomes_of, problems
from annotate.imports.comparisons.sets import list_text, shared_of, shown_in
from annotate.imports.comparisons.tables import WORDS as VOTES
from annotate.imports.prepared import EVERY, Line, Read
from annotate.imports.questions.columns import Asking, layout_of
from annotate.imports.questions.completions import completions_in, groups_by_score, sets_of
from annotate.imports.questions.dialogues import split_dialogues
from annotate.items.rows import NewItem
from annotate.labelling.item_sets import items_of_key
from annotate.labelling.outcomes import main_outcome, n_ranked
from annotate.labelling.plan.given import questions_of
from annotate.labelling.task_types.registry import task_type_of
from annotate.models import MAX_ITEMS_SHOWN, Annotator, Item, Label, Project
from annotate.questions.checking import KnownItem, check_question, known_items, priority_in
from annotate.questions.queries import WITHDRAWN

LONGEST_NAME_IN_KEY = 80


class GivenQuestions:
    """A table of questions, in UTF-8. Rows that name a question again are merged; their votes count all the same."""

    every = EVERY
    features: Sequence[str] = ()

    def __init__(self, text: TextIO, project: Project, mapping: Mapping[str, Any], seed: str) -> None:
        self.project, self.asking = project, Asking(**mapping["asking"])
        self.sheet = read_sheet(text, layout_of(mapping))
        self.columns = self.sheet.columns
        self.known = known_items(project)
        keys = {item.pk: key for key, item in self.known.items()}
        asked = questions_of(project).filter(withdrawn_at=None).order_by().values_list("key", flat=True)
        self.asked = {digest_of(*sorted(keys[pk] for pk in items_of_key(key))) for key in asked.iterator(2000)}
        people = project.annotators.exclude(source=Annotator.Source.IMPORT)
        self.taken = set(people.values_list("pseudonym", flat=True))
        self.rng = random.Random(seed)  # noqa: S311

    def ahead(self) -> Iterable[Line]:
        return ()

    def rows(self) -> Iterator[Read]:
        for n, row in enumerate(self.sheet.rows, 1):
            if n > MAX_ROWS:
                raise BadFile(
                    _("The file has more than %(limit)d rows. Split it and import the parts one by one.")
                    % {"limit": MAX_ROWS}
                )
            try:
                yield self.read(row)
            except Unusable as problem:
                yield Read(row.place, row.cells, problem=str(problem))

    def read(self, row: SheetRow) -> Read:
        """Raise Unusable; nothing is noted of such a row."""
        if row.problem:
            raise Unusable(row.problem)
        values = {what: self.cell(row, place) for what, place in self.asking.columns.items()}
        if values.get("state") == WITHDRAWN:
            raise Unusable(_("The file marks this question as withdrawn."))
        priority = priority_in(values.get("priority", ""))
        if self.asking.format == "completions":
            return self.read_completions(row, values, priority)
        if self.asking.format == "keys":
            keys = self.keys_in(values)
            check_question(self.project.k, keys, self.known)
            new: list[NewItem] = []
            votes: list[Comparison] = []
        else:
            answers = self.answers_in(row.place, values)
            keys = [item.key for item in answers]
            new = self.check_answers(answers)
            votes = self.votes_in(row.place, values, answers)
        return self.read_as(row, new, [keys], votes, priority)

    def read_as(
        self, row: SheetRow, new: list[NewItem], questions: list[list[str]], votes: list[Comparison], priority: int
    ) -> Read:
        """Return the row's lines, and note what is known from now on."""
        for item in new:
            self.known[item.key] = KnownItem(0, item.context, False)
        lines: list[Line] = [("item", item) for item in new]
        n_merged = 0
        for keys in questions:
            question = digest_of(*sorted(keys))
            if question in self.asked:
                n_merged += 1
            else:
                self.asked.add(question)
                lines.append(("question", (keys, priority)))
        lines += [("comparison", vote) for vote in votes]
        return Read(row.place, row.cells, lines, n_merged=n_merged)

    def cell(self, row: SheetRow, place: int) -> str:
        value: Any = row.cells[place] if place < len(row.cells) else ""
        together = list_text if self.asking.format == "keys" else ";".join
        text = value if isinstance(value, str) else together(value)
        cells.check_characters(text)
        own = self.asking.format == "keys" and self.sheet.is_csv
        return without_apostrophes(text.strip()) if own else text.strip()

    def list_cell(self, row: SheetRow, what: str) -> Cell:
        """Return a cell as it is, a list of JSON still a list; "" where the file has no such column."""
        place = self.asking.columns.get(what, len(row.cells))
        cell = row.cells[place] if place < len(row.cells) else ""
        return cell.strip() if isinstance(cell, str) else cell

    # --- Keys of items ------------------------------------------------------------------------------------------------

    def keys_in(self, values: Mapping[str, str]) -> list[str]:
        """Return the keys that the row names, however many; empty cells name nothing."""
        if values.get("set"):
            return list(shown_in(values["set"]))
        named = [values.get(f"item_{n}", "") for n in range(1, MAX_ITEMS_SHOWN + 1)]
        return [key for key in named if key]

    # --- A prompt and its answers -------------------------------------------------------------------------------------

    def answers_in(self, place: int, values: Mapping[str, str]) -> list[NewItem]:
        """Return the row's answers as items, whether they are new or not."""
        values = without_dialogues(values, self.project.k)
        k = self.project.k
        if more := [n for n in range(k + 1, MAX_ITEMS_SHOWN + 1) if values.get(f"answer_{n}")]:
            raise Unusable(
                _("The row has %(n)d answers; tasks of this project show %(k)d. Remove those beyond.")
                % {"n": more[-1], "k": k}
            )
        given = [(values.get(f"answer_{n}", ""), values.get(f"competitor_{n}", "")) for n in range(1, k + 1)]
        return items_of(place, values.get("prompt", ""), given)

    def check_answers(self, answers: Sequence[NewItem]) -> list[NewItem]:
        """Return those that are new. Raises Unusable."""
        if len({item.key for item in answers}) < len(answers):
            raise Unusable(_("Two answers of the row are the same. Remove the row, or correct one of them."))
        for item in answers:
            if (known := self.known.get(item.key)) and known.is_retired:
                raise Unusable(
                    _("The answer “%(text)s” is a retired item, so it is shown to nobody. Restore it, or leave it out.")
                    % {"text": shortened(item.body)}
                )
        return [item for item in answers if item.key not in self.known]

    # --- A prompt and a list of completions --------------------------------------------------------------------------

    def read_completions(self, row: SheetRow, values: Mapping[str, str], priority: int) -> Read:
        """Return the lines of a row that makes a question of each set of its completions, and a vote where all of the
        set have scores."""
        lists = {what: self.list_cell(row, what) for what in ("completions", "models", "scores")}
        found = completions_in(lists["completions"], self.asking.score, lists["models"], lists["scores"])
        sets = sets_of(len(found), self.project.k)
        items = items_of(row.place, values.get("prompt", ""), [(one.text, one.model) for one in found])
        new = self.check_answers(items)
        name = self.asking.prefix + (values.get("annotator") or self.asking.someone)
        votes = []
        for places in sets:
            if (groups := groups_by_score(places, found)) and (vote := self.vote_by(groups, items)):
                votes.append(vote._replace(row=row.place, annotator=name))
                if problem := next(problems(self.project, votes[-1], dict.fromkeys(vote.shown, 0), self.taken), ""):
                    raise Unusable(problem)
        return self.read_as(row, new, [[items[place].key for place in places] for places in sets], votes, priority)

    def vote_by(self, groups: Sequence[Sequence[int]], items: Sequence[NewItem]) -> Comparison | None:
        """Return what scores say of a set, in an order of the items by lot; None where the task can't say it."""
        keys = [items[place].key for group in groups for place in group]
        self.rng.shuffle(keys)
        shown, order = tuple(keys), [[items[place].key for place in group] for group in groups]
        if len(shown) == 2:
            if len(groups) == 1:
                return Comparison(0, "", shown, Label.Outcome.TIE.value)
            outcome, named = self.vote_for([shown.index(order[0][0])], shown)
            return Comparison(0, "", shown, outcome, order=named)
        task_type = task_type_of(self.project)
        answer = task_type.answer_from_order(order, self.project)
        if answer is None:
            return None
        shared = shared_of(order) if task_type.shares_places(self.project) else ()
        return Comparison(0, "", shown, task_type.outcome.value, order=tuple(answer), shared=shared)

    # --- Votes that are there already ---------------------------------------------------------------------------------

    def votes_in(self, place: int, values: Mapping[str, str], answers: Sequence[NewItem]) -> list[Comparison]:
        """Return the row's vote, if it has one."""
        keys = tuple(item.key for item in answers)
        if self.asking.first_wins:
            outcome, order = self.vote_for([0], keys)
            if len(keys) == 2 and self.rng.random() < 0.5:  # a fixed side would pass for a bias towards it
                keys, outcome = keys[::-1], "right" if outcome == "left" else outcome
        elif text := values.get("vote", ""):
            outcome, order = self.vote_in(text, keys, [item.competitor for item in answers])
        else:
            return []
        name = self.asking.prefix + (values.get("annotator") or self.asking.someone)
        vote = Comparison(place, name, keys, outcome, order=order)
        if problem := next(problems(self.project, vote, dict.fromkeys(keys, 0), self.taken), ""):
            raise Unusable(problem)
        return [vote]

    def vote_in(self, text: str, keys: Sequence[str], makers: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        """Return outcome and order of a vote: a name, a letter or a number, several of them divided by “>”, or a word.

        Raises Unusable.
        """
        named = [self.place_in(part.strip(), makers) for part in text.split(">")]
        places = [place for place in named if place is not None]
        if len(places) == len(named):
            return self.vote_for(places, keys)
        word = VOTES.get(text.casefold(), "")
        if word in outcomes_of(self.project) and word not in SIDES:
            return word, ()
        raise Unusable(
            _(
                "The vote “%(vote)s” is neither one of those who made the answers (%(makers)s), nor a letter or number "
                "of an answer, nor an allowed word (%(words)s)."
            )
            % {
                "vote": shortened(text),
                "makers": shortened(", ".join(filter(None, makers)) or "–"),
                "words": ", ".join(outcomes_of(self.project)),
            }
        )

    def place_in(self, text: str, makers: Sequence[str]) -> int | None:
        """Return which answer a vote names, from 0; None where it names none."""
        if list(makers).count(text) == 1:
            return list(makers).index(text)
        folded = text.casefold()
        for word in ("answer", "model", "response", "item", "option"):
            folded = folded.removeprefix(word).removeprefix("_").strip()
        names = {"left": 0, "right": 1} if len(makers) == 2 else {}
        for n in range(len(makers)):
            names |= {ascii_lowercase[n]: n, str(n + 1): n}
        return names.get(folded)

    def vote_for(self, places: Sequence[int], keys: Sequence[str]) -> tuple[str, tuple[str, ...]]:
        """Return outcome and order of a vote that names these answers, best first."""
        asked = main_outcome(self.project)
        known = outcomes_of(self.project)
        if "left" in known and len(places) == 1:
            return ("left" if places[0] == 0 else "right"), ()
        needed = n_ranked(self.project)
        chosen = [keys[place] for place in places]
        if len(keys) == 2 and needed == 2 and len(chosen) == 1:
            chosen += [key for key in keys if key not in chosen]
        return asked.value, tuple(chosen)


def items_of(place: int, prompt: str, given: Sequence[tuple[str, str]]) -> list[NewItem]:
    """Return answers, each as (text, who made it), as items. Raises Unusable."""
    if len(prompt) > MAX_TEXT:
        raise Unusable(
            _("The prompt has %(n)d characters; the limit is %(limit)d. Shorten it.")
            % {"n": len(prompt), "limit": MAX_TEXT}
        )
    return [item_of(place, n, prompt, text, " ".join(maker.split())) for n, (text, maker) in enumerate(given, 1)]


def item_of(place: int, n: int, prompt: str, text: str, maker: str) -> NewItem:
    """Return one answer as an item. Raises Unusable."""
    if not text:
        raise Unusable(_("Answer %(n)d is empty. Fill the cell or remove the row.") % {"n": n})
    if len(text) > MAX_TEXT:
        raise Unusable(
            _("Answer %(place)d has %(n)d characters; the limit is %(limit)d. Shorten it.")
            % {"place": n, "n": len(text), "limit": MAX_TEXT}
        )
    if len(maker) > MAX_COMPETITOR:
        raise Unusable(
            _("The name of who made answer %(place)d has %(n)d characters; the limit is %(limit)d. Shorten it.")
            % {"place": n, "n": len(maker), "limit": MAX_COMPETITOR}
        )
    return NewItem(place, key_of(prompt, maker, text), text, Item.Kind.TEXT, context=prompt, competitor=maker)


def without_dialogues(values: Mapping[str, str], k: int) -> dict[str, str]:
    """Return the row's values, conversations cut into what they share, which is the prompt, and the answers."""
    names = [f"answer_{n}" for n in range(1, k + 1)]
    found = split_dialogues([values.get(name, "") for name in names])
    if found is None:
        return dict(values)
    shared, answers = found
    return {**values, "prompt": values.get("prompt") or shared, **dict(zip(names, answers, strict=True))}


def key_of(prompt: str, maker: str, text: str) -> str:
    """Return the key of an answer: the same for the same words by the same maker to the same prompt."""
    return f"{maker[:LONGEST_NAME_IN_KEY] or 'answer'} {digest_of(prompt, maker, text).hex()}"


def digest_of(*texts: str) -> bytes:
    found = sha256()
    for text in texts:
        found.update(f"{len(text)}:{text}".encode())
    return found.digest()[:8]
