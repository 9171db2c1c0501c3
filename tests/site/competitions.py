"""Answers of competitors to prompts, judged by simulation: the last competitor is the best."""

import random
from collections.abc import Sequence
from itertools import combinations

from annotate.items.actions import add_items
from annotate.items.rows import NewItem
from annotate.models import Annotator, ItemSet, Label, Presentation, PresentedItem, Project
from tests.conftest import NOW, make_annotator
from tests.site.factories import count_taken, set_key

TEXT = "An answer of some words. "


def make_competition(
    project: Project,
    names: Sequence[str],
    *,
    n_prompts: int,
    tags: Sequence[str] = (),
    seed: int = 0,
    n_people: int = 3,
) -> list[Annotator]:
    """Replaces the project's items: an answer of each competitor to each prompt, judged pair by pair by n_people,
    who choose the later name nine times of ten. tags: of the prompts in turn. The first competitor's answers are long.
    """
    rng = random.Random(seed)
    project.items.all().delete()
    rows = [
        NewItem(
            place,
            f"{name}-{prompt}",
            TEXT * (rng.randint(4, 6) if name == names[0] else rng.randint(1, 4)),
            "text",
            tags=(tags[prompt % len(tags)],) if tags else (),
            context=f"Prompt {prompt}",
            competitor=name,
        )
        for prompt in range(n_prompts)
        for place, name in enumerate(names)
    ]
    items = add_items(project, rows, NOW, rng)
    people = [make_annotator(project, f"Judge {n}") for n in range(n_people)]
    shown = [
        list(pair)
        for start in range(0, len(items), len(names))
        for pair in combinations(items[start:][: len(names)], 2)
    ]
    for pair in shown:
        rng.shuffle(pair)
    judge(project, people, shown, names, rng)
    project.refresh_from_db()
    return people


def judge(project: Project, people: list[Annotator], shown: list[list], names: Sequence[str], rng: random.Random):
    ItemSet.objects.bulk_create([ItemSet(project=project, key=set_key(pair)) for pair in shown])
    sets = {one.key: one for one in project.item_sets.all()}
    asked = [(person, pair) for pair in shown for person in people]
    presentations = Presentation.objects.bulk_create(
        Presentation(
            project=project,
            annotator=person,
            item_set=sets[set_key(pair)],
            state=Presentation.State.ANSWERED,
            created_at=NOW,
            leased_until=NOW,
        )
        for person, pair in asked
    )
    PresentedItem.objects.bulk_create(
        PresentedItem(presentation=one, item=item, position=place)
        for one, (_person, pair) in zip(presentations, asked, strict=True)
        for place, item in enumerate(pair)
    )
    Label.objects.bulk_create(
        Label(
            project=project,
            presentation=one,
            annotator=person,
            outcome=Label.Outcome.CHOICE,
            chosen=sorted(pair, key=lambda item: names.index(item.competitor))[rng.random() < 0.9],
            created_at=NOW,
            response_ms=2000,
            app_version="0.1.0",
        )
        for one, (person, pair) in zip(presentations, asked, strict=True)
    )
    count_taken([item for pair in shown for item in pair], sets, [pair for _person, pair in asked])


def example_board() -> dict:
    """What a fit stores of two competitors, one ahead of the other."""
    figures = {"part": 0, "sd": 0.2, "tier": 1, "rank_class": 1, "highest_class": 1, "p_top_k": 0.9}
    figures |= {"n_contexts": 3, "n_items": 3, "n_labels": 9, "n_annotators": 2}
    rows = [
        {"name": name, "rank": rank, "rank_low": 1, "rank_high": 2, "next_state": state, **figures}
        | {"score": 50 + up, "score_low": 40 + up, "score_high": 60 + up, "utility": up / 20, "low": -0.3, "high": 0.9}
        for name, rank, state, up in (("Orca", 1, "not_enough", 6.0), ("Llama", 2, "last", -6.0))
    ]
    chances = [[0.5, 0.8], [0.2, 0.5]]
    return {
        "problem": "",
        "k": 1,
        "converged": True,
        "rows": rows,
        "tags": [],
        "style": None,
        "wins": [[0, 6], [3, 0]],
        "ties": [[0, 0], [0, 0]],
        **dict.fromkeys(("better", "better_on_new", "expected"), chances),
    }


def example_total() -> dict:
    """What a fit stores of the weighted total of the same two over two criteria; a third has no place by one."""
    counts = {"sd": 0.2, "n_contexts": 3, "n_labels": 9}
    rows = [
        {"name": name, "rank": rank, "rank_low": 1, "rank_high": 2, "p_first": first, "p_top_k": first, **counts}
        | {"score": 50 + up, "score_low": 40 + up, "score_high": 60 + up, "utility": up / 20}
        | {"scores": [[1, 50 + 2 * up], [2, 50.0]]}
        for name, rank, first, up in (("Orca-70b-instruct-with-a-very-long-name", 1, 0.9, 6.0), ("Llama", 2, 0.1, -6.0))
    ]
    return {"why": "", "k": 1, "converged": True, "has_contexts": True, "left_out": ["Alpaca"], "rows": rows}


def example_cohort() -> dict:
    """What a cohort comparison stores of the same two in one cohort."""
    rows = [row | {"effect": 0.1, "effect_sd": 0.3} for row in example_board()["rows"]]
    return {"key": "early", "n_annotators": 2, "n_labels": 9, "rows": rows}
