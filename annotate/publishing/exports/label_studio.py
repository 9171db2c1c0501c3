"""Writes answers about pairs as Label Studio's tasks: one for each answer, with its annotation and both texts."""

import json
from collections.abc import Iterator
from datetime import UTC

from annotate.criteria import Criterion
from annotate.publishing.exports.battles import Battle, battles

SIDES = ("left", "right")


def label_studio_chunks(criterion: Criterion) -> Iterator[bytes]:
    """Yield a JSON list, a task at a time; its fields are named as in the usual template for comparing two texts."""
    before = "["
    for battle in battles(criterion):
        yield f"{before}\n{json.dumps(task_of(criterion, battle), ensure_ascii=False)}".encode()
        before = ","
    yield b"[]\n" if before == "[" else b"\n]\n"


def task_of(criterion: Criterion, battle: Battle) -> dict[str, object]:
    label, (left, right) = battle.label, battle.sides
    data = {
        "prompt": criterion.question if left.context is None else left.context,
        "text1": left.body,
        "text2": right.body,
        "text1_key": left.key,
        "text2_key": right.key,
        "annotator": label["annotator__pseudonym"],
    }
    annotation = {
        "id": label["pk"],
        "result": [result_of(battle)],
        "was_cancelled": False,
        "created_at": label["created_at"].astimezone(UTC).isoformat(),
        "lead_time": None if label["response_ms"] is None else label["response_ms"] / 1000,
    }
    return {"id": label["presentation"], "data": data, "annotations": [annotation]}


def result_of(battle: Battle) -> dict[str, object]:
    if battle.chosen is None:
        value: dict[str, object] = {"choices": [battle.label["outcome"]]}
        return {"from_name": "tie", "to_name": "text1,text2", "type": "choices", "value": value}
    value = {"selected": SIDES[battle.chosen]}
    return {"from_name": "pairwise", "to_name": "text1,text2", "type": "pairwise", "value": value}
