"""What a judge is asked about a set of items, in words and as JSON, and what its reply says."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

PROMPT = """{question}
{context}
{items}

{answer}"""
LETTERS = "ABCDEFGHIJ"
ONE_WORD = re.compile(r"\W*([a-z]|tie)\W*", re.IGNORECASE)
IN_ORDER = re.compile(r"\W*[a-z](?:(?:\s*[=>,;]\s*|\s+)[a-z])*\W*", re.IGNORECASE)
MAX_EXCERPT = 40


class NoAnswer(Exception):
    """The judge said nothing usable this time.

    why: the kind of trouble.   excerpt: the beginning of what it said.   pause: seconds to wait before the next try, if
    it named any.
    """

    def __init__(self, why: str, pause: float = 0.0, excerpt: str = "") -> None:
        self.why, self.pause = why, pause
        self.excerpt = excerpt if len(excerpt) <= MAX_EXCERPT else excerpt[: MAX_EXCERPT - 3] + "..."
        super().__init__(why)


class Unusable(ValueError):
    """Asking again would not help: the address or the key is wrong, or the program can't be started."""


@dataclass(frozen=True)
class Question:
    """A set in the order in which it is shown.

    task: pair, graded, best, best_worst, ranking or top.   is_ordered: whether n_named letters in order are the answer,
    and not one.   best, worst: what the project calls them, if anything.   grades: words for how much better the item
    chosen is, where that is asked.
    """

    question: str
    items: Sequence[str]
    context: str = ""
    task: str = "pair"
    is_ordered: bool = False
    n_named: int = 1
    shares_places: bool = False
    ties: bool = False
    best: str = ""
    worst: str = ""
    grades: Sequence[str] = ()

    @property
    def letters(self) -> str:
        return LETTERS[: len(self.items)]

    @property
    def shown(self) -> str:
        return f"{self.letters[0]} {'or' if len(self.items) == 2 else 'to'} {self.letters[-1]}"

    def as_json(self) -> dict[str, Any]:
        """Return what a program reads."""
        names = ("question", "context", "task", "n_named", "shares_places", "ties")
        fields = {**{name: getattr(self, name) for name in names}, "items": list(self.items)}
        fields |= {"best": self.best, "worst": self.worst} if self.best or self.worst else {}
        fields |= {"grades": list(self.grades)} if self.grades else {}
        return fields | (dict(zip("ab", self.items, strict=True)) if len(self.items) == 2 else {})

    def fill_in(self, prompt: str) -> str:
        """Return the prompt with the set at its places; braces in texts of items stay as they are. Raises Unusable."""
        if "{a}" in prompt and "{items}" not in prompt and len(self.items) > 2:
            raise Unusable(
                f"The prompt has {{a}} and {{b}}, but this project shows {len(self.items)} items at a time. Put "
                "{items} where they go, and {answer} where it says how to reply."
            )
        values = {
            "question": self.question,
            "context": self.context,
            "items": "\n\n".join(f"{letter}:\n{text}" for letter, text in zip(LETTERS, self.items, strict=False)),
            "answer": self.rule(),
            "a": self.items[0],
            "b": self.items[1],
            "or_tie": self.or_tie(),
        }
        return re.sub(r"\{(" + "|".join(values) + r")\}", lambda match: values[match[1]], prompt)

    def or_tie(self) -> str:
        return ", or “tie” if they are equally good" if self.ties else ""

    def rule(self) -> str:
        """Return how to reply, in words."""
        best, worst = f"“{self.best}”" if self.best else "the best", f"“{self.worst}”" if self.worst else "the worst"
        if not self.is_ordered:
            chooses = f"Choose {best}. " if len(self.items) > 2 else ""
            if self.grades:
                words = " or ".join(f"“{one}”" for one in self.grades)
                example = f"“{self.letters[0]} {self.grades[0]}”"
                return (
                    f"{chooses}Reply with one letter, {self.shown}, and {words} for how much better it is, as in "
                    f"{example}{self.or_tie()}, and nothing else."
                )
            return f"{chooses}Reply with one letter, {self.shown}{self.or_tie()}, and nothing else."
        if self.task == "best_worst":
            words = f"Reply with two letters of {self.shown}: first {best}, then {worst}"
        elif self.n_named == len(self.items):
            words = f"Reply with all {self.n_named} letters, {self.shown}, {best} first"
        else:
            words = f"Reply with {self.n_named} letters of {self.shown}: those of the best {self.n_named}, {best} first"
        shared = "; put = between items that are equally good" if self.shares_places else ""
        return f"{words}, separated by commas{shared}{self.or_tie()}, and nothing else."


@dataclass(frozen=True)
class Reply:
    """chosen: a place, None for a tie or where there is an order.   order: places, best first.   shared: which entries
    of it, from 0, share the place of the one before."""

    chosen: int | None
    tokens_in: int | None = None
    tokens_out: int | None = None
    order: tuple[int, ...] = ()
    shared: tuple[int, ...] = ()
    grade: str = ""  # how much better the item chosen is, where it was asked and said

    def as_row(self) -> dict[str, Any]:
        """Return the part of an answer that the site stores of it."""
        if not self.order:
            return {"chosen": self.chosen, **({"grade": self.grade} if self.grade else {})}
        return {"order": list(self.order), **({"shared": list(self.shared)} if self.shared else {})}


def read_reply(text: str, asked: Question) -> Reply:
    """Return what a reply chooses, as JSON or in bare letters. Raises NoAnswer for anything else."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if isinstance(found, dict | list):
        return read_json(found, asked)
    if asked.grades and (graded := with_grade(text, asked)):
        return graded
    match = ONE_WORD.fullmatch(text.strip())
    if match and (match[1].lower() == "tie" or not asked.is_ordered):
        return one_choice(match[1], asked)
    if not asked.is_ordered:
        raise NoAnswer("a reply that chooses nothing", excerpt=text.strip())
    if not IN_ORDER.fullmatch(text.strip()):
        raise NoAnswer("a reply that names no order", excerpt=text.strip())
    return in_order(joined(text), asked)


def with_grade(text: str, asked: Question) -> Reply | None:
    """Return what “A clearly” or “clearly A” chooses; None for anything else."""
    words = [one.lower() for one in re.findall(r"\w+", text)]
    grades = [one for one in words if one in asked.grades]
    letters = [one for one in words if one not in asked.grades]
    if len(grades) != 1 or len(letters) != 1 or len(letters[0]) != 1:
        return None
    return replace(one_choice(letters[0], asked), grade=grades[0])


def grade_in(found: dict[str, Any], asked: Question) -> str:
    """Return the grade of a JSON reply, "" where it says none. Raises NoAnswer for one that was not asked."""
    grade = found.get("grade")
    if grade in (None, "") or not asked.grades:
        return ""
    if not isinstance(grade, str) or grade.lower() not in asked.grades:
        why = f"a grade that is none of {', '.join(asked.grades)}"
        raise NoAnswer(why, excerpt=json.dumps(grade, ensure_ascii=False))
    return grade.lower()


def joined(text: str) -> list[list[str]]:
    """Return the letters in groups that share a place."""
    groups: list[list[str]] = []
    together = False
    for sign in re.findall(r"[a-z]|=", text.lower()):
        if sign == "=":
            together = bool(groups)
        elif together:
            groups[-1].append(sign)
            together = False
        else:
            groups.append([sign])
    return groups


def read_json(found: dict[str, Any] | list[Any], asked: Question) -> Reply:
    """Return what {"chosen": "A"} (with a "grade" of graded pairs), {"best": "A", "worst": "C"} or
    {"order": ["B", ["A", "C"]]} chooses."""
    excerpt = json.dumps(found, ensure_ascii=False)
    if isinstance(found, dict) and isinstance(found.get("chosen"), str):
        match = ONE_WORD.fullmatch(found["chosen"])
        if match and (match[1].lower() == "tie" or not asked.is_ordered):
            choice = one_choice(match[1], asked)
            return choice if choice.chosen is None else replace(choice, grade=grade_in(found, asked))
        if asked.grades and (graded := with_grade(found["chosen"], asked)):
            return graded
    order = found.get("order") if isinstance(found, dict) else found
    if isinstance(found, dict) and asked.task == "best_worst" and {"best", "worst"} <= set(found):
        order = [found["best"], found["worst"]]
    if not asked.is_ordered:
        raise NoAnswer("a reply that chooses nothing", excerpt=excerpt)
    groups = [one if isinstance(one, list) else [one] for one in order] if isinstance(order, list) else []
    if not groups or not all(isinstance(one, str) and len(one) == 1 for group in groups for one in group):
        raise NoAnswer("a reply that names no order", excerpt=excerpt)
    return in_order(groups, asked)


def one_choice(word: str, asked: Question) -> Reply:
    if word.lower() == "tie":
        if not asked.ties:
            raise NoAnswer("a tie, which is no answer here", excerpt=word)
        return Reply(None)
    return Reply(place_of(word, asked))


def place_of(letter: str, asked: Question) -> int:
    place = asked.letters.find(letter.upper())
    if place < 0:
        raise NoAnswer(f"a letter that was not shown (shown were {asked.shown})", excerpt=letter.upper())
    return place


def in_order(groups: Sequence[Sequence[str]], asked: Question) -> Reply:
    letters = [letter for group in groups for letter in group]
    excerpt = ", ".join(" = ".join(group) for group in groups).upper()
    order = tuple(place_of(letter, asked) for letter in letters)
    if len(set(order)) != len(order):
        raise NoAnswer("a letter named twice", excerpt=excerpt)
    if len(order) != asked.n_named:
        raise NoAnswer(f"{len(order)} letters where {asked.n_named} are needed", excerpt=excerpt)
    firsts = {sum(map(len, groups[:at])) for at in range(len(groups))}
    shared = tuple(index for index in range(len(order)) if index not in firsts)
    if shared and not asked.shares_places:
        raise NoAnswer("items that share a place, which is no answer here", excerpt=excerpt)
    return Reply(None, order=order, shared=shared)


def usable_prompt(prompt: str) -> str:
    """Return it. Raises ValueError where it says nowhere what the items are."""
    if "{items}" in prompt or ("{a}" in prompt and "{b}" in prompt):
        return prompt
    missing = "{b}" if "{a}" in prompt else "{items}"
    raise ValueError(f"The prompt has no {missing}: say there where the items go.")
