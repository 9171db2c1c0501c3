"""Defines the export of preference pairs to train language models (DPO): prompt, chosen and rejected text."""

import hashlib
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
from django.utils.translation import gettext_lazy as _

from annotate.core.chat import turns_in
from annotate.core.sections import section_words
from annotate.criteria import Criterion
from annotate.files.columns import Column, Kind, Row
from annotate.labelling.label_rows import is_informative, label_chunks, pad_to_power_of_two, ranked_groups
from annotate.models import Item
from annotate.publishing.exports.pairs import pairs_counted
from annotate.publishing.exports.preference_options import PreferenceOptions

CHUNK = 500  # pairs whose texts are read at a time
TEXTS = ("prompt", "chosen", "rejected")

PAIR_COLUMNS = [
    Column("prompt", _("The context of the items, if they have one; otherwise the question asked.")),
    Column("chosen", _("Text of the preferred item; for an image, its description.")),
    Column("rejected", _("Text of the other item.")),
    Column("chosen_item", _("Its key.")),
    Column("rejected_item", _("Its key.")),
]
COLUMNS = [
    *PAIR_COLUMNS,
    Column("annotator", _("Pseudonym of the annotator who gave the answer.")),
    Column(
        "label",
        _("Number of the label; a ranking gives one row for every pair of items that it puts in order."),
        Kind.INTEGER,
    ),
]
MAJORITY_COLUMNS = [
    *PAIR_COLUMNS,
    Column("n", _("Answers that compare the two, ties included."), Kind.INTEGER),
    Column("share", _("Share of these answers that prefer the chosen item."), Kind.NUMBER),
    Column("margin", _("This share less the share that prefers the rejected item."), Kind.NUMBER),
]
SPLIT = Column("split", _("“train” or “test”, the same for all lines of a prompt."))

ALL = PreferenceOptions()


def columns(options: PreferenceOptions = ALL) -> list[Column]:
    """Return the columns that the rows with these options have."""
    found = MAJORITY_COLUMNS if options.lines == "majority" else COLUMNS
    if options.form == "chat":
        found = [Column(one.name, one.meaning, Kind.MESSAGES) if one.name in TEXTS else one for one in found]
    return [*found, *([SPLIT] if options.held_out else [])]


def rows(criterion: Criterion, options: PreferenceOptions = ALL) -> Iterator[Row]:
    """Ties, and answers that do not count, say nothing of which is better; nor do pairs with as many for as against."""
    for row in majority_rows(criterion) if options.lines == "majority" else answer_rows(criterion):
        side = split_of(row[0], options.held_out)
        if options.split not in ("all", side):
            continue
        row[1:3] = map(section_words, row[1:3])
        if options.form == "chat":
            row[:3] = [messages("user", row[0]), messages("assistant", row[1]), messages("assistant", row[2])]
        yield [*row, *([side] if options.held_out else [])]


def split_of(prompt: str, held_out: int) -> str:
    """Return the side of a prompt's lines, by a hash of its text: what is held out at 10% is so at 20%, too."""
    place = int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:8], "big")
    return "test" if place * 100 < held_out << 64 else "train"


def messages(role: str, content: str) -> list[dict[str, str]]:
    """Return a text as one message of this role, a chat as its turns."""
    turns = turns_in(content)
    return [turn._asdict() for turn in turns] if turns else [{"role": role, "content": content}]


def answer_rows(criterion: Criterion) -> Iterator[list[Any]]:
    for labels, shown, items in label_chunks(criterion):
        prompts = prompts_of(list(items))
        for label in labels:
            if not is_informative(criterion.project, label):
                continue
            groups = ranked_groups(label, [items[item] for item in shown[label["presentation"]]])
            for above, below in combinations(groups, 2):
                for better in above:
                    for worse in below:
                        texts = [prompts.get(better.pk, criterion.question), better.body, worse.body]
                        yield [*texts, better.key, worse.key, label["annotator__pseudonym"], label["pk"]]


def majority_rows(criterion: Criterion) -> Iterator[list[Any]]:
    """Yield each pair once, the item above that more answers prefer; the texts are read some pairs at a time."""
    items, pairs, counts = pairs_counted(criterion)
    decided = counts[:, 0] != counts[:, 1]
    pairs, counts = np.asarray(items)[pairs[decided]], counts[decided]
    for start in range(0, len(pairs), CHUNK):
        some = pairs[start : start + CHUNK].tolist()
        wanted = sorted({item for pair in some for item in pair})
        found = Item.objects.filter(pk__in=pad_to_power_of_two(wanted)).values_list("pk", "key", "body")
        known, prompts = {pk: (key, body) for pk, key, body in found}, prompts_of(wanted)
        for pair, (first, second, ties) in zip(some, counts[start : start + CHUNK].tolist(), strict=True):
            if not known.keys() >= set(pair):  # an item was deleted meanwhile
                continue
            better, worse = pair if first > second else reversed(pair)
            (key, body), (other_key, other_body) = known[better], known[worse]
            n = first + second + ties
            texts = [prompts.get(better, criterion.question), body, other_body]
            yield [*texts, key, other_key, n, max(first, second) / n, abs(first - second) / n]


def prompts_of(items: list[int]) -> dict[int, str]:
    """Return the context of each of the items that has one."""
    found = Item.objects.filter(pk__in=pad_to_power_of_two(items)).exclude(context=None)
    return dict(found.values_list("pk", "context__body"))
