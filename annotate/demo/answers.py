"""The demo's leaderboard: what five made-up language models answered to twenty prompts, by subject."""

import math
from collections.abc import Iterator
from datetime import datetime

from annotate.demo.board_texts import MODELS, PROMPTS, answer_of
from annotate.demo.projects import fill
from annotate.items.rows import NewItem
from annotate.labelling.plan.queries import NO_LIMIT
from annotate.models import Item, Label, Project, User
from annotate.projects.actions import create_project

NAME = "Answers of five models (made up)"
N_LABELS = 800
Outcome = Label.Outcome
INSTRUCTIONS = """Read the prompt above, then both answers. Choose the one that you would rather have got.

*The models do not exist: we wrote what they say.*
"""


def make_leaderboard(owner: User, now: datetime) -> Project:
    project = create_project(
        owner=owner,
        values={
            "name": NAME,
            "question": "Which answer is better?",
            "more_means": "better",
            "instructions": INSTRUCTIONS,
            "outcomes": [Outcome.TIE, Outcome.BOTH_BAD, Outcome.SKIP],
            "overlap": NO_LIMIT,
            "estimator": "BradleyTerry",
            "top_k": 1,
            "style_features": ["length", "lists"],
            "simulated": True,
        },
        now=now,
    )
    fill(project, owner, list(rows()), N_LABELS, now, features=["lists"])
    return project


def rows() -> Iterator[NewItem]:
    """Yield each model's answer to each prompt; `lists` is how many lines of a list it has."""
    place = 0
    for n, prompt in enumerate(PROMPTS, start=1):
        for model in MODELS:
            place += 1
            text = answer_of(model, prompt)
            lists = math.log1p(text.count("\n- "))
            yield NewItem(
                place,
                f"{model.lower()}-{n:02d}",
                text,
                Item.Kind.MARKDOWN,
                (prompt.subject,),
                context=prompt.text,
                features=(lists,),
                competitor=model,
            )
