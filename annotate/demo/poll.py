"""The demo's public poll in two languages, with ideas of participants: approved, waiting, merged and refused."""

import random
from datetime import datetime

from annotate.demo.crowd import Crowd
from annotate.demo.poll_texts import APPROVED, GERMAN, MERGED, POOL, REFUSED, WAITING
from annotate.demo.projects import FIRST_HOURS, give_first_answers, set_up
from annotate.ideas.actions import approve_idea, merge_idea, refuse_idea, submit_idea
from annotate.items.rows import NewItem
from annotate.items.translations import translate_all
from annotate.labelling.plan.queries import NO_LIMIT
from annotate.models import Idea, Item, Label, Project, ShowResult, User
from annotate.projects.actions import create_project
from annotate.projects.languages.actions import set_languages, translate_words

NAME = "What to do with the old pool"
N_LABELS = 500


def make_poll(owner: User, now: datetime) -> Project:
    project = create_project(
        owner=owner,
        values={
            "name": NAME,
            "question": "What should become of the old swimming pool?",
            "more_means": "preferred",
            "instructions": "Two suggestions at a time: choose the one that you would rather have.",
            "outcomes": [Label.Outcome.SKIP],
            "overlap": NO_LIMIT,
            "estimator": "BradleyTerry",
            "top_k": 3,
            "break_every": 10,
            "ideas_open": True,
            "show_result": ShowResult.AFTER,
            "simulated": True,
        },
        now=now,
    )
    set_languages(project=project, actor=owner, language="en", languages=["de"], now=now)
    translate_words(project=project, actor=owner, language="de", words=GERMAN, now=now)
    rows = [
        NewItem(place, f"pool-{place:02d}", english, Item.Kind.TEXT, translations=(("de", german, ""),))
        for place, (english, german) in enumerate(POOL, start=1)
    ]
    rng = set_up(project, owner, rows, now)
    project.refresh_from_db()
    take_ideas(project, owner, now, rng)
    give_first_answers(project, owner, N_LABELS, now, rng)
    return project


def take_ideas(project: Project, owner: User, now: datetime, rng: random.Random) -> None:
    """Send ideas by as many people, and decide about all but the last few."""
    people = iter(Crowd(project, rng).annotators.values())
    sent = now - FIRST_HOURS

    def send(text: str) -> Idea:
        return submit_idea(annotator=next(people), text=text, now=sent, rng=rng)

    german = {}
    for text, translation in APPROVED:
        item = approve_idea(idea=send(text), actor=owner, now=now, rng=rng)
        german[item.pk] = (translation, "")
    translate_all(project=project, actor=owner, language="de", texts=german, now=now)
    for text, key in MERGED:
        merge_idea(idea=send(text), actor=owner, item=project.items.get(key=key), now=now)
    for text, reason in REFUSED:
        refuse_idea(idea=send(text), actor=owner, reason=reason, now=now)
    for text in WAITING:
        send(text)
