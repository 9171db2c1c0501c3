"""Which column of a file of questions is which: guessed by its name, chosen by the owner."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from string import ascii_lowercase
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate.files.layout import Layout, guess_layout, read_sheet
from annotate.files.limits import BadFile
from annotate.imports.guessing import check_known_columns, place_of
from annotate.models import MAX_ITEMS_SHOWN

FORMATS = {
    "keys": gettext_lazy("Keys of items: one question a row"),
    "answers": gettext_lazy("A prompt and its answers: items and questions in one go"),
    "completions": gettext_lazy("A prompt and a list of completions with models and scores: several questions a row"),
}
# What columns are called, the more telling first; those of each item are followed by its number or letter.
NAMES = {
    "set": ["items", "shown_order", "item_keys"],
    "prompt": "prompt instruction question input context query source".split(),
    "vote": "vote winner label preference preferred annotation choice outcome".split(),
    "annotator": "annotator judge worker user rater annotator_id worker_id user_id".split(),
    "completions": ["completions", "responses", "answers", "candidates", "outputs", "generations"],
    "models": ["models", "model_names", "systems", "competitors"],
    "scores": ["ratings", "scores", "overall_scores", "rewards"],
    "priority": ["priority"],
    "state": ["state"],
}
ITEMS = ["item", "item_key", "key", "choice_key"]
ANSWERS = "answer response completion output text conversation translation candidate".split()
COMPETITORS = "competitor model system answer_model response_model completion_model model_name".split()
PREFERENCES = {"chosen": 1, "rejected": 2}  # the better answer and the worse, without a vote
FORMAT_OF = {"answer": "answers", "item": "keys", "completions": "completions"}  # what a column named by hand tells
WORDS: dict[str, Promise] = {
    "set": gettext_lazy("Keys of all items, as a list"),
    "prompt": gettext_lazy("Prompt or other context"),
    "completions": gettext_lazy("List of completions"),
    "models": gettext_lazy("List of their models, in the same order"),
    "scores": gettext_lazy("List of their scores, in the same order"),
    "vote": gettext_lazy("Existing vote"),
    "annotator": gettext_lazy("Annotator of the vote"),
    "priority": gettext_lazy("Priority"),
}
OF_FORMAT = {
    "keys": ("set", "priority"),
    "answers": ("prompt", "vote", "annotator", "priority"),
    "completions": ("prompt", "completions", "models", "scores", "annotator", "priority"),
}
OF_ITEM: dict[str, tuple[str, ...]] = {"keys": ("item",), "answers": ("answer", "competitor"), "completions": ()}


@dataclass(frozen=True)
class Asking:
    """How a file of questions is read. columns: places by what they hold: those of WORDS, and item_1, answer_1,
    competitor_1 and so on.

    order: a GivenOrder, else as before.   first_wins: the first answer of every row was preferred to the second.
    someone: the annotator of votes that name none; prefix: before every name.   score: the field of a completion that
    is its score, "" for a usual one.
    """

    format: str
    columns: Mapping[str, int] = field(default_factory=dict)
    order: str = ""
    first_wins: bool = False
    someone: str = "imported"
    prefix: str = ""
    score: str = ""


def item_columns(format: str, k: int) -> list[str]:
    """Return what each item of a question of k has a column for, in the order of a form."""
    return [f"{what}_{n}" for n in range(1, k + 1) for what in OF_ITEM[format]]


def label_of(column: str) -> str:
    """Return what a column is called on pages."""
    if column in WORDS:
        return str(WORDS[column])
    what, number = column.rsplit("_", 1)
    texts = {"item": _("Key of item %(n)s"), "answer": _("Answer %(n)s"), "competitor": _("Who made answer %(n)s")}
    return texts[what] % {"n": number}


def names_of(words: Sequence[str], number: int) -> list[str]:
    """Return what a column of the item with this number may be called: answer_1, answer_a, answer1, answera."""
    marks = (str(number), ascii_lowercase[number - 1])
    return [f"{word}{divider}{mark}" for word in words for divider in ("_", "") for mark in marks]


def guess(names: Sequence[str]) -> Asking:
    """Guess by the columns' names; keys where they say nothing."""
    columns = guess_places(names)
    format = "answers" if "answer_1" in columns and "item_1" not in columns and "set" not in columns else "keys"
    if format == "keys" and "completions" in columns and "set" not in columns and "item_1" not in columns:
        format = "completions"
    wins = format == "answers" and "vote" not in columns and folded(names)[columns["answer_1"]] == "chosen"
    order = "priority" if "priority" in columns else ""
    return Asking(format, of_format(format, columns), order, first_wins=wins)


def folded(names: Sequence[str]) -> list[str]:
    return [name.strip().casefold().replace(" ", "_").replace("-", "_") for name in names]


def guess_places(names: Sequence[str]) -> dict[str, int]:
    """Return the places of all columns whose names tell what they hold, whatever the format."""
    have = folded(names)
    first = {what: next((have.index(one) for one in known if one in have), None) for what, known in NAMES.items()}
    columns = {what: place for what, place in first.items() if place is not None}
    for number in range(1, MAX_ITEMS_SHOWN + 1):
        sides = {1: ["left"], 2: ["right"]}.get(number, [])
        preferred = [name for name, n in PREFERENCES.items() if n == number]
        for what, known in (
            ("item", [*names_of(ITEMS, number), *sides]),
            ("answer", [*names_of(ANSWERS, number), *preferred]),
            ("competitor", [*names_of(COMPETITORS, number), *(f"{name}_model" for name in preferred)]),
        ):
            place = next((have.index(one) for one in known if one in have), None)
            if place is not None:
                columns[f"{what}_{number}"] = place
    return columns


def of_format(format: str, columns: Mapping[str, int]) -> dict[str, int]:
    """Return those of these columns that the format reads; the state tells withdrawn questions of our export."""
    known = {*OF_FORMAT[format], *item_columns(format, MAX_ITEMS_SHOWN), *(["state"] if format == "keys" else [])}
    return {what: place for what, place in columns.items() if what in known}


def guess_questions(
    text: str, name: str, *, columns: Mapping[str, Any] | None = None, **settings: Any
) -> dict[str, Any]:
    """Return how the file seems to be meant, as the mapping of an import; columns, said: what is said. Raises
    BadFile."""
    layout = guess_layout(text, name)
    if layout.format == "lines":
        layout = guess_layout(text, "")
    layout = replace(layout, header=True)
    names = read_sheet(text, layout).columns
    asking = replace(guess(names), **settings)
    every = {*WORDS, *(one for format in FORMATS for one in item_columns(format, MAX_ITEMS_SHOWN))}
    chosen = guess_places(names)
    for what, column in check_known_columns(columns or {}, every).items():
        chosen.pop(what, None)
        if (place := place_of(column, names)) is not None:
            chosen[what] = place
    named = {what.rsplit("_", 1)[0] for what in columns or {}}
    named_format = next((FORMAT_OF[what] for what in FORMAT_OF if what in named), asking.format)
    format = settings.get("format") or named_format
    asking = replace(asking, format=format, columns=of_format(format, chosen))
    return {"layout": asdict(layout), "asking": asdict(asking)}


def check_columns(asking: Asking, k: int, names: Sequence[str]) -> None:
    """Raise BadFile where a column that the format needs is not chosen."""
    if asking.format == "keys" and "set" in asking.columns:
        return
    first = OF_ITEM[asking.format][:1]
    needed = [f"{what}_{n}" for n in range(1, k + 1) for what in first] or ["completions"]
    missing = [label_of(what) for what in needed if what not in asking.columns]
    if missing:
        raise BadFile(
            _("Choose which columns hold: %(missing)s. The file has: %(names)s.")
            % {"missing": ", ".join(missing), "names": ", ".join(names)[:300]}
        )


def layout_of(mapping: Mapping[str, Any]) -> Layout:
    return Layout(**mapping["layout"])
