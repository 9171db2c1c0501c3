"""The demo's jury: twenty drawn posters of a contest, two weighted criteria, and judges whom the roster names."""

import secrets
from datetime import datetime, timedelta

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from annotate.annotators.roster.actions import add_people
from annotate.annotators.roster.table import NewPerson
from annotate.demo.crowd import JUDGES, Crowd
from annotate.demo.posters import CONTEST, posters
from annotate.demo.projects import FIRST_HOURS, set_up
from annotate.items.rows import NewItem
from annotate.labelling.plan.queries import NO_LIMIT
from annotate.models import OVERALL, Item, Label, Project, User
from annotate.participation.joining.expected import join_as_expected
from annotate.projects.actions import create_project
from annotate.publishing.entries.actions import make_entry_links, set_released
from annotate.publishing.results_links.actions import make_link

NAME = "Jury of a poster contest"
N_ANSWERS = 78
ABSENT = "Olga (simulated)"  # on the list, has not come yet
TITLES = """
Under the bridge; Market morning; First swim; The long way home; Seven o'clock; Roof gardens; Slow water; Open windows;
Paper boats; North side; After the rain; Brass band; Late summer; Every door; Bakers' street; Quiet hours; Two rivers;
Kites; Lanterns; The last tram
""".replace("\n", " ").strip()
TRACKS = ("Schools", "Studios")
INSTRUCTIONS = """Four posters at a time: put them in order, the best first, once by each criterion.

Judge the poster, not who you think made it. Say **I know this one** where you do.
"""


def make_jury(owner: User, now: datetime) -> Project:
    """Make the contest with answers by all judges but one who is awaited, and a projector view with hidden names."""
    project = create_project(
        owner=owner,
        values={
            "name": NAME,
            "question": "Which poster deserves the prize more?",
            "criteria": [
                {"name": "Design", "question": "Which poster is the better picture?"},
                {"name": "Effect", "question": "Which poster would make you stop in the street?"},
            ],
            "weights": [2, 1],
            "more_means": "more deserving",
            "instructions": INSTRUCTIONS,
            "task_type": Project.TaskType.RANKING,
            "k": 4,
            "outcomes": [Label.Outcome.CANT_JUDGE],
            "comments": True,
            "item_comments": True,
            "known_button": True,
            "media_captions": "both",
            "overlap": NO_LIMIT,
            "estimator": "PlackettLuce",
            "top_k": 3,
            "simulated": True,
        },
        now=now,
    )
    rng = set_up(project, owner, entries(), now)
    invite_judges(project, owner, now)
    crowd = Crowd(project, rng)
    for n in range(N_ANSWERS):
        crowd.answer(now - FIRST_HOURS * (1 - n / N_ANSWERS))
    make_entry_links(project=project, actor=owner, tag="", now=now)
    set_released(project=project, actor=owner, tag="", released=True, now=now)
    show_on_projector(project, owner, now)
    return project


def entries() -> list[NewItem]:
    """Return the contest's posters with their titles, which judges do not see, each in one of the tracks."""
    titles = [title.strip() for title in TITLES.split(";")]
    rows = []
    for place, (poster, title) in enumerate(zip(posters(CONTEST), titles, strict=True), start=1):
        file = default_storage.save(f"items/{secrets.token_hex(16)}.png", ContentFile(poster.png))
        track = TRACKS[place % 2]
        rows.append(NewItem(place, poster.key, poster.caption, Item.Kind.IMAGE, (track,), media=file, title=title))
    return rows


def invite_judges(project: Project, owner: User, now: datetime) -> None:
    """Put the judges on the roster: two may not judge a poster, one none from the studios; all but one join."""
    items = list(project.items.order_by("pk").values_list("pk", flat=True))
    tags = dict(project.tags.values_list("name", "pk"))
    rows = []
    for place, name in enumerate([*JUDGES, ABSENT]):
        rows.append(
            NewPerson(
                name,
                f"judge-{place + 1}@example.org",
                "Art school" if place % 2 else "Town hall",
                ("artist",) if place % 2 else ("public",),
                tuple(items[place : place + 1]) if place < 2 else (),
                (tags["Studios"],) if place == 2 else (),
            )
        )
    add_people(project=project, actor=owner, rows=rows, now=now)
    for person in project.expected_people.filter(name__in=JUDGES).order_by("pk"):
        join_as_expected(person=person, version="", now=now)


def show_on_projector(project: Project, owner: User, now: datetime) -> None:
    make_link(
        project=project,
        actor=owner,
        criterion=OVERALL,
        expires_at=None,
        now=now,
        hides_names=True,
        deadline=now + timedelta(hours=2),
    )
