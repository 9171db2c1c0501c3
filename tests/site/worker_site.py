"""Projects in a database of its own and the real processes at work on it; on the database the tests run on."""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.utils import timezone

from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.models import Annotator, FitState, Item, Label, Membership, Presentation, Project, User, WorkerProcess
from models_engine.models import Fit
from tests.load.database import ALIAS, as_default, environment
from tests.load.servers import Process


class Site:
    """A database of its own with projects, and the processes at work on it."""

    def __init__(self, url: str, folder: Path) -> None:
        self.folder = folder
        self.env = environment(url, folder) | {"DJANGO_SETTINGS_MODULE": "annotate.settings"}
        self.running: list[Process] = []

    def project(self, name: str, estimator: str = "BradleyTerry", n_items: int = 12) -> Project:
        user, _ = User.objects.using(ALIAS).get_or_create(username="alice", email="alice@example.org")
        project = Project.objects.using(ALIAS).create(name=name, state="open", estimator=estimator, overlap=100)
        Membership.objects.using(ALIAS).create(project=project, user=user, role="owner")
        Item.objects.using(ALIAS).bulk_create(
            Item(project=project, key=f"i{i}", body=f"Item {i}") for i in range(n_items)
        )
        FitState.objects.using(ALIAS).create(project=project)
        return project

    def vote(self, name: str, n: int, seed: int = 1) -> None:
        """Answers to the tasks of every project whose name begins so."""
        rng = random.Random(seed)
        with as_default():
            for project in Project.objects.filter(name__startswith=name):
                otter, _ = Annotator.objects.get_or_create(project=project, pseudonym="Otter", source="link")
                for _ in range(n):
                    shown = assignment.next_presentation(annotator=otter, now=timezone.now(), rng=rng)
                    answer = Answer("choice", chosen=rng.randrange(2))
                    record_label(presentation=shown, answer=answer, now=timezone.now())

    def start(self, process: Process) -> Process:
        self.running.append(process.start())
        return process

    def slow_engine(self, seconds: float, *arguments: str) -> Process:
        command = [sys.executable, "-m", "tests.site.slow_worker_process", str(seconds), *arguments]
        return self.start(Process(command, self.env, self.folder / "slow.log"))

    def state(self, project: Project) -> FitState:
        return FitState.objects.using(ALIAS).get(project=project)

    def fits(self, project: Project):
        return Fit.objects.using(ALIAS).filter(project_id=project.pk).order_by("number").defer("arrays")

    def is_storing(self, project: Project) -> bool:
        return self.fits(project).filter(status=Fit.Status.RUNNING).exists()

    def in_mid_fit(self, project: Project) -> bool:
        return self.state(project).step > 3

    def published(self, project: Project) -> Fit | None:
        """The published fit once it holds every label."""
        state = self.state(project)
        return self.fits(project).filter(published=True).first() if state.fitted == state.wanted else None


@contextmanager
def emptied(site: Site) -> Iterator[Site]:
    """Stops the processes in the end and deletes the projects."""
    try:
        yield site
    finally:
        for process in site.running:
            process.stop()
        for model in (Fit, WorkerProcess, Label, Presentation, Project):
            model.objects.using(ALIAS).all().delete()
