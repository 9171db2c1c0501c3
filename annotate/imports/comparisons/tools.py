"""Comparisons made with Label Studio or Potato: each answer in their JSON as a row of a table of pairs."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from django.utils.translation import gettext as _

from annotate.files.limits import MAX_KEY
from annotate.files.sheets import Cell, Sheet, SheetRow

NAMES = ["annotator", "left", "right", "answer", "at", "seconds", "left_text", "right_text"]
PLACES = {name: place for place, name in enumerate(NAMES)}
USERS = ("user_id", "annotator", "user")
SECOND = re.compile(r"(?:<br\s*+/?>\s*+|\n[^\S\n]*+)B\.")
Pair = tuple[str, str]


def looks_like_tools(names: Sequence[str]) -> bool:
    return "annotations" in names or "label_annotations" in names


def pairs_sheet(tasks: Sheet) -> Sheet:
    """Return a row for each answer, with the columns NAMES. tasks: the JSON as it was read, a row for each task."""
    return Sheet(NAMES, rows_of(tasks))


def rows_of(tasks: Sheet) -> Iterator[SheetRow]:
    for row in tasks.rows:
        values = dict(zip(tasks.columns, row.cells, strict=False))
        if row.problem:
            yield row
            continue
        try:
            answers = list(label_studio(values) if values.get("annotations") else potato(values))
        except ValueError as problem:
            yield SheetRow(row.place, [str(one) for one in row.cells[: len(NAMES)]], str(problem))
            continue
        for cells in answers:
            yield SheetRow(row.place, cells)


def label_studio(values: dict[str, Cell]) -> Iterator[list[Cell]]:
    """Yield the answers to one task: results of type “pairwise”, and choices such as “tie”. Raises ValueError."""
    annotations = read_json(values["annotations"])
    if not isinstance(annotations, list):
        raise ValueError(_("The annotations are no list. Export from Label Studio as “JSON”, not “JSON-MIN”."))
    for one in annotations:
        if not isinstance(one, dict) or one.get("was_cancelled"):
            continue
        results = [result for result in one.get("result") or () if isinstance(result, dict)]
        answer, fields = answer_in(results)
        if not answer:
            continue
        keys, texts = items_of(values, fields)
        who = str(values.get("annotator") or person(one.get("completed_by")))
        yield [who, *keys, answer, str(one.get("created_at") or ""), str(one.get("lead_time") or ""), *texts]


def answer_in(results: list[dict[str, Any]]) -> tuple[str, list[str]]:
    """Return the answer of one annotation and the fields that it is about; ("", []) if there is none."""
    for kind in ("choices", "pairwise"):  # a tie beside a side that was chosen first
        for result in results:
            value = result.get("value") or {}
            words = value.get("choices") or [value.get("selected") or ""]
            if result.get("type") == kind and words[0]:
                return str(words[0]), [field.strip() for field in str(result.get("to_name", "")).split(",")]
    return "", []


def person(completed_by: Any) -> str:
    """Return a name for whom Label Studio tells by a number or by a record; never their e-mail address."""
    if isinstance(completed_by, dict):
        completed_by = completed_by.get("id", "")
    return f"user {completed_by}" if completed_by not in (None, "") else ""


def potato(values: dict[str, Cell]) -> Iterator[list[Cell]]:
    """Yield the answer of one person to one instance. Raises ValueError."""
    schemes = read_json(values.get("label_annotations") or "{}")
    chosen = [scheme for scheme in schemes.values() if isinstance(scheme, dict)] if isinstance(schemes, dict) else []
    answers = [answer for answer in map(potato_answer, chosen) if answer]
    if len(answers) > 1:
        raise ValueError(_("The row answers %(n)d questions. Keep one of them in a file.") % {"n": len(answers)})
    if not answers:
        return
    keys, texts = items_of(values, [])
    behaviour = read_json(values.get("behavioral_data") or "{}")
    spent = behaviour.get("time_spent", "") if isinstance(behaviour, dict) else ""
    at = behaviour.get("timestamp", "") if isinstance(behaviour, dict) else ""
    who = next((str(values[name]) for name in USERS if values.get(name)), "")
    yield [who, *keys, answers[0], str(at), str(spent), *texts]


def potato_answer(scheme: dict[str, Any]) -> str:
    if "selection" in scheme:
        return str(scheme["selection"])
    try:
        value = float(scheme["scale_value"])
    except (KeyError, TypeError, ValueError):
        return ""
    return "tie" if value == 0 else "left" if value < 0 else "right"


def items_of(values: dict[str, Cell], fields: list[str]) -> tuple[Pair, Pair]:
    """Return keys and texts of the two items. fields: where the tool says that they are. Raises ValueError."""
    if len(fields) == 2 and all(values.get(field) for field in fields):
        left, right = (str(values[field]) for field in fields)
        keys = tuple(str(values.get(f"{field}_key") or "") for field in fields)
    else:
        left, right = two_texts(values)
        keys = (str(values.get("left_key") or ""), str(values.get("right_key") or ""))
    return (keys[0] or key_of(left), keys[1] or key_of(right)), (left, right)


def two_texts(values: dict[str, Cell]) -> Pair:
    if values.get("left") and values.get("right"):
        return str(values["left"]), str(values["right"])
    lists = [cell for cell in values.values() if isinstance(cell, list) and len(cell) == 2 and all(cell)]
    if len(lists) == 1:
        return lists[0][0], lists[0][1]
    if pair := lettered(str(values.get("displayed_text") or "")):
        return pair
    raise ValueError(
        _("The row does not tell which two items were compared. Add them as “left” and “right” to each row.")
    )


def lettered(text: str) -> Pair | None:
    """Return the two texts of “A. …” and, on another line, “B. …”; None where it is not so."""
    text = text.strip()
    found = SECOND.search(text)
    if not found or not text.startswith("A."):
        return None
    first, second = text[2 : found.start()].strip(), text[found.end() :].strip()
    return (first, second) if first and second else None


def key_of(text: str) -> str:
    """Return the text itself as its item's key, or where it is too long its beginning and a hash of the whole."""
    line = " ".join(text.split())
    if len(line) <= MAX_KEY:
        return line
    return f"{line[:60]}… {hashlib.sha256(text.encode()).hexdigest()[:12]}"


def read_json(cell: Cell) -> Any:
    """Raise ValueError."""
    try:
        return json.loads(cell) if isinstance(cell, str) else cell
    except RecursionError as error:
        raise ValueError(_("The JSON is nested too deeply.")) from error
