"""A simulated crowd: two dozen people with hidden tastes who answer through the very actions that a browser reaches.

They are called "Simulated 01" and so on, come from the source "simulated", and their projects say that they are
simulated. What they like is a fixed function of the project's name and the items' keys.
"""

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from annotate.core.errors import (
    AnnotatorErased,
    AnnotatorExcluded,
    CapReached,
    NothingToCompare,
    ScreenedOut,
    SittingCapReached,
)
from annotate.demo.board_texts import board_likes
from annotate.demo.texts import REMARKS, likes
from annotate.imports.comparisons.actions import Comparison
from annotate.labelling.actions import Answer, record_label
from annotate.labelling.assignment import next_presentation
from annotate.labelling.outcomes import allowed_extra_outcomes
from annotate.labelling.task_types.registry import task_type_of
from annotate.models import Annotator, Item, Label, Project

SIZE = 24
CLICKER, CONTRARY = "Simulated 07", "Simulated 15"
# Where these are expected, they answer and nobody else.
JUDGES = ["Ines (simulated)", "Jonas (simulated)", "Kofi (simulated)", "Lena (simulated)", "Mara (simulated)"]
JUDGES += ["Nils (simulated)"]
LOOK_BACK = 3000  # labels from which on a crowd answers ever more rarely
SHARED = 0.3  # logits below which two neighbours of an order seem equal
CLEAR = 1.5  # logits from which a preference is said to be clear
TIE = 0.35  # Davidson's nu: at equal utility nu/(2 + nu) of the answers are ties
CANT_JUDGE = 0.015
SKIP = 0.01
COMMENT, ITEM_COMMENT = 0.15, 0.4  # P(an answer has one), where the project takes them
Outcome = Label.Outcome
LIKES = likes() | board_likes()


@dataclass(frozen=True)
class Opinions:
    """Standard deviations in logits: of what all agree on, of what the two camps see differently, of a whim."""

    spread: float = 1.5
    taste: float = 0.7
    whim: float = 0.3


# By the project's name: two camps about ideas, hardly any difference about mottoes.
IDEAS_NAME = "Ideas for our town"
OPINIONS = {IDEAS_NAME: Opinions(taste=1.4), "A motto for the town": Opinions(spread=3.0, taste=0.2)}


@dataclass(frozen=True)
class Person:
    """`camp` -1 to 1: which way they lean where opinions differ.   care: P(they answer as they feel, not the opposite).

    left: utility they add to whatever stands on the left.   seconds: their median time.   busy: how often they answer.
    """

    name: str
    camp: float
    care: float
    left: float
    seconds: float
    busy: float


def people() -> list[Person]:
    """Return always the same: most careful, four hurried, one who clicks anything, one who has the question upside
    down."""
    rng = random.Random("people")  # noqa: S311
    found = []
    for number in range(1, SIZE + 1):
        care = {7: 0.5, 15: 0.12}.get(number, 0.78 if number % 6 == 0 else 0.97)
        found.append(
            Person(
                f"Simulated {number:02d}",
                camp=(1 if number % 3 else -1) * rng.uniform(0.8, 1),
                care=care,
                left=1.2 if number == 7 else rng.gauss(0, 0.1),
                seconds=1.1 if number == 7 else rng.uniform(2.5, 9),
                busy=2.0 if number in (7, 15) else rng.lognormvariate(0, 0.45),
            )
        )
    return found


def judges() -> list[Person]:
    """Return always the same judges: careful and slow, each with an opinion of their own."""
    rng = random.Random("judges")  # noqa: S311
    return [
        Person(name, camp=rng.uniform(-1, 1), care=0.98, left=0, seconds=rng.uniform(20, 60), busy=1.0)
        for name in JUDGES
    ]


def people_of(project: Project) -> list[Person]:
    return judges() if project.expected_people.filter(name__in=JUDGES).exists() else people()


def utility_of(project: Project, person: Person, item: Item) -> float:
    """Return the person's utility of the item: what all agree on, what their camp sees in it, and a whim of
    their own."""
    item_rng = random.Random(f"{project.name}/{item.key}")  # noqa: S311
    own_rng = random.Random(f"{project.name}/{item.key}/{person.name}")  # noqa: S311
    opinions = OPINIONS.get(project.name, Opinions())
    agreed = LIKES.get(item.key, item_rng.gauss(0, opinions.spread))
    return agreed + person.camp * item_rng.gauss(0, opinions.taste) + own_rng.gauss(0, opinions.whim)


def lives_in_the_centre(person: Person) -> bool:
    """Say what the person tells the questionnaire: the camps live apart, but for one in eight."""
    own_rng = random.Random(f"home/{person.name}")  # noqa: S311
    return (person.camp > 0) != (own_rng.random() < 1 / 8)


def share_of_rate(n_labels: int, most: int) -> float:
    """Return how often a crowd answers that has given so many of at most `most`: so that a demo left running for days
    stays quick, and never runs out of questions.

    The labels then grow as the root of the time, and ever more slowly the fewer sets are left.
    """
    return min(1.0, LOOK_BACK / max(1, n_labels)) * max(0.01, 1 - n_labels / max(1, most))


class Crowd:
    """The people of one project."""

    def __init__(self, project: Project, rng: random.Random) -> None:
        self.project, self.rng = project, rng
        self.people = people_of(project)
        self.n_labels = project.labels.count()
        # Who has nothing left to compare: asked again only after `restart`.
        self.finished: set[str] = set()
        self.annotators = {person.name: self.annotator(person) for person in self.people}

    def annotator(self, person: Person) -> Annotator:
        return Annotator.objects.get_or_create(
            project=self.project, pseudonym=person.name, defaults={"source": Annotator.Source.SIMULATED}
        )[0]

    @property
    def most_labels(self) -> int:
        """Return how many answers there can be: each person's to each set of items of one context."""
        sizes = Counter(self.project.items.filter(retired_at=None).values_list("context", flat=True))
        return len(self.people) * sum(math.comb(n, self.project.k) for n in sizes.values())

    @property
    def has_finished(self) -> bool:
        return len(self.finished) == len(self.people)

    def restart(self) -> None:
        self.finished.clear()

    def answer(self, now: datetime) -> Label | None:
        """Return one answer of one person; None where nothing is left for any. Raises ProjectNotOpen."""
        while not self.has_finished:
            waiting = [person for person in self.people if person.name not in self.finished]
            person = self.rng.choices(waiting, [person.busy for person in waiting])[0]
            try:
                shown = next_presentation(annotator=self.annotators[person.name], now=now, rng=self.rng)
            except (NothingToCompare, CapReached, SittingCapReached, AnnotatorExcluded, AnnotatorErased, ScreenedOut):
                self.finished.add(person.name)
                continue
            self.project.refresh_from_db(
                fields=["criteria", "outcomes", "task_type", "k", "m", "shared_places", "min_seconds"]
            )  # its owner may have changed them
            items = [presented.item for presented in shown.presented.select_related("item")]
            answer = self.with_comments(self.judge_by_each(person, items), len(items))
            if answer.outcome == Outcome.SKIP:
                answer = replace(answer, reason="simulated")
            read_by = now + timedelta(seconds=self.project.min_seconds)
            self.n_labels += 1
            return record_label(presentation=shown, answer=answer, now=read_by)
        return None

    def earlier(self, n: int, start: datetime, end: datetime) -> Iterator[Comparison]:
        """Answers as they would have been given between two times, every item equally often."""
        items = list(self.project.items.order_by("pk"))
        sets: list[list[Item]] = []
        for row in range(1, n + 1):
            sets = sets or self.divided(items)
            shown = sets.pop()
            person = self.rng.choices(self.people, [person.busy for person in self.people])[0]
            answer = self.judge(person, shown)
            at = start + (end - start) * row / n
            yield comparison(row, person, shown, answer, at)

    def divided(self, items: Sequence[Item]) -> list[list[Item]]:
        """Return the items by lot in sets as they are shown, each of one context."""
        k, by_context = self.project.k, dict[int | None, list[Item]]()
        for item in self.rng.sample(items, len(items)):
            by_context.setdefault(item.context_id, []).append(item)
        sets = [some[start : start + k] for some in by_context.values() for start in range(0, len(some) - k + 1, k)]
        return self.rng.sample(sets, len(sets))

    def with_comments(self, answer: Answer, n_items: int) -> Answer:
        """Add a remark to some answers, and one about an item to others, where the project takes them."""
        if self.project.comments and self.rng.random() < COMMENT:
            answer = replace(answer, comment=self.rng.choice(REMARKS))
        if self.project.item_comments and self.rng.random() < ITEM_COMMENT:
            place = self.rng.randrange(n_items)
            answer = replace(answer, item_comments=("",) * place + (self.rng.choice(REMARKS),))
        return answer

    def judge_by_each(self, person: Person, items: Sequence[Item]) -> Answer:
        """Judge by every criterion alike, each time with an error of its own; a task is skipped as a whole."""
        answer = self.judge(person, items)
        further: list[Answer] = []
        while answer.outcome != Outcome.SKIP and len(further) < len(self.project.criteria) - 1:
            other = self.judge(person, items)
            further += [other] if other.outcome != Outcome.SKIP else []
        return replace(answer, further=tuple(further))

    def judge(self, person: Person, items: Sequence[Item]) -> Answer:
        utilities = [utility_of(self.project, person, item) for item in items]
        outcome, order = self.outcome(person, utilities)
        seconds = self.rng.lognormvariate(math.log(person.seconds), 0.5) * (1 + (len(items) - 2) / 2)
        chosen = order[0] if outcome == Outcome.CHOICE else None
        grade = ""
        if chosen is not None and task_type_of(self.project).is_graded:
            grade = Label.Grade.CLEARLY if abs(utilities[0] - utilities[1]) > CLEAR else Label.Grade.SLIGHTLY
        return Answer(
            outcome,
            chosen,
            grade=grade,
            order=() if outcome == Outcome.CHOICE else tuple(order),
            shared=self.shared(utilities, order),
            response_ms=round(1000 * seconds),
            session="simulated",
        )

    def shared(self, utilities: list[float], order: list[int]) -> tuple[int, ...]:
        """Return which of the order seem equal to the one before, where places may be shared."""
        if not task_type_of(self.project).shares_places(self.project):
            return ()
        near = [abs(utilities[one] - utilities[other]) < SHARED for one, other in pairwise(order)]
        return tuple(index for index, alike in enumerate(near, start=1) if alike)

    def outcome(self, person: Person, utilities: list[float]) -> tuple[str, list[int]]:
        """Return what they say and the places they name, with lapses, a habit of the first place, and answers of no
        use."""
        allowed, rng = allowed_extra_outcomes(self.project), self.rng
        for outcome, share in ((Outcome.CANT_JUDGE, CANT_JUDGE), (Outcome.SKIP, SKIP)):
            if outcome in allowed and rng.random() < share:
                return outcome, []
        task_type = task_type_of(self.project)
        if task_type.is_fixed_size:
            return self.of_two(person, utilities, allowed)
        return task_type.outcome, self.order(person, utilities)

    def order(self, person: Person, utilities: list[float]) -> list[int]:
        """Draw an order by Plackett-Luce: by utility with a Gumbel-distributed error; a lapse turns it round."""
        noisy = [utility - math.log(self.rng.expovariate(1)) for utility in utilities]
        noisy[0] += person.left
        best_first = sorted(range(len(noisy)), key=lambda place: -noisy[place])
        if self.rng.random() >= person.care:
            best_first.reverse()
        return task_type_of(self.project).simulate(best_first, self.project)

    def of_two(self, person: Person, utilities: list[float], allowed: list[str]) -> tuple[str, list[int]]:
        """Draw an answer by Davidson's model of ties."""
        rng = self.rng
        margin = utilities[0] - utilities[1] + person.left
        ties = [outcome for outcome in (Outcome.TIE, Outcome.BOTH_GOOD, Outcome.BOTH_BAD) if outcome in allowed]
        if ties and rng.random() < TIE / (2 * math.cosh(margin / 2) + TIE):
            return self.kind_of_tie(ties, sum(utilities) / 2), []
        left = rng.random() < 1 / (1 + math.exp(-margin))
        return Outcome.CHOICE, [int(left != (rng.random() < person.care))]

    @staticmethod
    def kind_of_tie(ties: list[Outcome], level: float) -> str:
        extreme = Outcome.BOTH_GOOD if level > 0 else Outcome.BOTH_BAD
        return extreme if extreme in ties and (abs(level) > CLEAR / 2 or Outcome.TIE not in ties) else ties[0]


def comparison(row: int, person: Person, shown: Sequence[Item], answer: Answer, at: datetime) -> Comparison:
    """Return the answer as one given earlier."""
    keys = tuple(item.key for item in shown)
    if answer.chosen is None:
        order = tuple(keys[place] for place in answer.order)
        return Comparison(row, person.name, keys, answer.outcome, at, answer.response_ms, order, shared=answer.shared)
    if len(keys) == 2:
        return Comparison(
            row, person.name, keys, ("left", "right")[answer.chosen], at, answer.response_ms, (), answer.grade
        )
    return Comparison(row, person.name, keys, answer.outcome, at, answer.response_ms, (keys[answer.chosen],))
