"""What the demo fills its database with: an owner, projects with simulated answers, or a project of real data.

None of them runs dry: no set of items is ever full.
"""

import random
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from allauth.account.models import EmailAddress
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from annotate.annotators.exclusion import exclude_annotator
from annotate.demo.crowd import CLICKER, CONTRARY, IDEAS_NAME, Crowd, lives_in_the_centre, people
from annotate.demo.manifest import Folder
from annotate.demo.posters import posters
from annotate.demo.texts import IDEAS, MOTTOES, item_key
from annotate.imports.comparisons.actions import Report, import_comparisons
from annotate.items.actions import import_items
from annotate.items.rows import NewItem
from annotate.labelling.plan.queries import NO_LIMIT
from annotate.models import Annotator, Item, Label, Project, QuestionField, User
from annotate.participation.questionnaire.actions import (
    QuestionValues,
    RequestedQuestion,
    change_questions,
    save_question_answers,
)
from annotate.projects.actions import create_project, set_state

OWNER = "owner@example.org"
HOMES = ["In the centre", "Outside the centre"]
# Labels that are there when the first page is opened, given over the last hours.
FIRST_LABELS = {"ideas": 2400, "posters": 360, "mottoes": 300}
EXAMPLE_LABELS = 250
FIRST_HOURS = timedelta(hours=5)
Outcome = Label.Outcome
# Who is excluded from the ideas, and why.
CARELESS = {
    CLICKER: "Clicks at random: about a second for each answer, and no more agreement with others than chance gives.",
    CONTRARY: "Answers the other way round: chooses what nearly everybody else does not.",
}
INSTRUCTIONS = """Think of a town of about 30,000 people that you know.

*There is no right answer: we ask for yours.*
"""


def set_owner(password: str) -> User:
    """Return the owner's account with this password; it may also use the operators' pages under /admin/."""
    user, _ = User.objects.get_or_create(username="owner", defaults={"email": OWNER})
    user.is_staff = user.is_superuser = True
    user.set_password(password)
    user.save()
    EmailAddress.objects.update_or_create(user=user, email=OWNER, defaults={"verified": True, "primary": True})
    return user


def new_password() -> str:
    """Make a password that is easy to type and hard to guess: 60 bits."""
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    return "-".join("".join(secrets.choice(letters) for _ in range(4)) for _ in range(3))


def make_ideas(
    owner: User, now: datetime, *, name: str = IDEAS_NAME, n_labels: int = FIRST_LABELS["ideas"], **values: Any
) -> Project:
    """Make the project with two camps, which the questionnaire tells apart but for a few."""
    rows = [
        NewItem(place, item_key(place), text, Item.Kind.TEXT, (subject,))
        for place, (subject, text) in enumerate(
            ((subject, text) for subject, texts in IDEAS.items() for text in texts), start=1
        )
    ]
    project = create_project(
        owner=owner,
        values={
            "name": name,
            "question": "Which would do more for a town?",
            "more_means": "better for a town",
            "instructions": INSTRUCTIONS,
            "outcomes": [Outcome.TIE, Outcome.CANT_JUDGE, Outcome.SKIP],
            "overlap": NO_LIMIT,
            "estimator": "CollaborativeGP",
            "simulated": True,
            **values,
        },
        now=now,
    )
    field = add_home_question(project, owner, now)
    fill(project, owner, rows, n_labels, now)
    for person in people():
        annotator = Annotator.objects.get(project=project, pseudonym=person.name)
        home = HOMES[0] if lives_in_the_centre(person) else HOMES[1]
        save_question_answers(annotator=annotator, at_end=True, values={field.pk: home}, now=now)
    for name, reason in CARELESS.items():
        annotator = Annotator.objects.get(project=project, pseudonym=name)
        exclude_annotator(annotator=annotator, actor=owner, reason=reason, now=now)
    return project


def add_home_question(project: Project, owner: User, now: datetime) -> QuestionField:
    asked = QuestionValues(True, QuestionField.Kind.CHOICE, "Where do you live?", HOMES, None, None)
    wanted = [RequestedQuestion(None, asked, required=False)]
    change_questions(project=project, actor=owner, wanted=wanted, removed=[], now=now)
    return project.fields.get()


def make_example_project(owner: User, now: datetime) -> Project:
    """Make a newcomer's example: the ideas, with fewer answers, and nobody who goes on answering."""
    return make_ideas(owner, now, name="Example: ideas for a town", n_labels=EXAMPLE_LABELS, estimator="BradleyTerry")


def make_posters(owner: User, now: datetime) -> Project:
    rows = []
    for place, poster in enumerate(posters(), start=1):
        file = default_storage.save(f"items/{secrets.token_hex(16)}.png", ContentFile(poster.png))
        rows.append(NewItem(place, poster.key, poster.caption, Item.Kind.IMAGE, media=file))
    project = create_project(
        owner=owner,
        values={
            "name": "Posters",
            "question": "Which would you rather have on your wall?",
            "more_means": "nicer to have there",
            "outcomes": [Outcome.TIE, Outcome.BOTH_GOOD, Outcome.BOTH_BAD, Outcome.SKIP],
            "overlap": NO_LIMIT,
            "simulated": True,
        },
        now=now,
    )
    fill(project, owner, rows, FIRST_LABELS["posters"], now)
    return project


def make_mottoes(owner: User, now: datetime) -> Project:
    rows = [NewItem(place, f"motto-{place}", text, Item.Kind.TEXT) for place, text in enumerate(MOTTOES, start=1)]
    project = create_project(
        owner=owner,
        values={
            "name": "A motto for the town",
            "question": "Which motto would suit a town best?",
            "more_means": "more suitable",
            "task_type": Project.TaskType.RANKING,
            "k": 4,
            "outcomes": [Outcome.CANT_JUDGE, Outcome.SKIP],
            "overlap": NO_LIMIT,
            "estimator": "PlackettLuce",
            "simulated": True,
        },
        now=now,
    )
    fill(project, owner, rows, FIRST_LABELS["mottoes"], now)
    return project


def fill(
    project: Project, owner: User, rows: list[NewItem], n_labels: int, now: datetime, features: Sequence[str] = ()
) -> None:
    """Fill a project with items and the first answers of the simulated crowd, and open it."""
    give_first_answers(project, owner, n_labels, now, set_up(project, owner, rows, now, features))


def set_up(
    project: Project, owner: User, rows: list[NewItem], now: datetime, features: Sequence[str] = ()
) -> random.Random:
    """Give a project its items and open it; return where its crowd draws from."""
    rng = random.Random(project.name)  # noqa: S311
    import_items(
        project=project,
        actor=owner,
        rows=rows,
        upload="demo",
        source="Crowdrank's demo",
        now=now,
        rng=rng,
        features=features,
    )
    set_state(project=project, actor=owner, state=Project.State.OPEN, now=now)
    return rng


def give_first_answers(project: Project, owner: User, n_labels: int, now: datetime, rng: random.Random) -> None:
    earlier = list(Crowd(project, rng).earlier(n_labels, now - FIRST_HOURS, now))
    import_comparisons(
        project=project,
        actor=owner,
        comparisons=earlier,
        source="simulated crowd",
        now=now,
        rng=rng,
        annotators_are=Annotator.Source.SIMULATED,
    )


def make_real(
    owner: User, folder: Folder, now: datetime, progress: Callable[[int, int], None]
) -> tuple[Project, Report]:
    """Return the folder's items and comparisons as an open project."""
    comparisons = folder.comparisons()
    rows = [
        NewItem(place, item.key, item.text, item.kind, item.tags)
        for place, item in enumerate(folder.items(comparisons), start=1)
    ]
    outcomes = folder.outcomes or [Outcome.SKIP]
    project = create_project(owner=owner, values=folder.project | {"outcomes": outcomes}, now=now)
    rng = random.Random(0)  # noqa: S311
    source = f"{folder.path.name}/{folder.manifest['labels']['file']}"
    import_items(project=project, actor=owner, rows=rows, upload=source, source=source, now=now, rng=rng)
    report = import_comparisons(
        project=project, actor=owner, comparisons=comparisons, source=source, now=now, rng=rng, progress=progress
    )
    set_state(project=project, actor=owner, state=Project.State.OPEN, now=now)
    return project, report
