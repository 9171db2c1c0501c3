"""The site on a database of its own, its processes, and a project that a crowd answers."""

import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from django.db import DatabaseError, connections
from django.utils import timezone

from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.labelling.item_sets import TAKEN_STATES
from annotate.models import Annotator, FitState, Item, Label, Membership, Presentation, Project, User
from tests.faults.crowd import Crowd
from tests.faults.proxy import RoundRobin
from tests.faults.services import Disk, Postgres, Redis
from tests.load.database import ALIAS, as_default, production_environment
from tests.load.servers import Process, free_port, wait_until_it_answers, web

PATIENCE = 180.0


@dataclass
class Scene:
    url: str
    folder: Path
    logs: Path
    disk: Disk | str
    postgres: Postgres | str
    redis: Redis | str
    env: dict[str, str] = field(default_factory=dict)
    port: int = 0
    slow_seconds: int = 1  # what the estimators Slow and Busy take
    web: Process | None = None
    hosts: list[Process] = field(default_factory=list)  # of several, web is the first one
    proxy: RoundRobin | None = None
    engine: Process | None = None

    @property
    def vendor(self) -> str:
        return connections[ALIAS].vendor

    def start(self, n_hosts: int = 1, **env: str) -> None:
        self.env = production_environment(self.url, self.folder) | env
        self.env["ACCOUNT_EMAIL_VERIFICATION"] = "none"
        self.env["DJANGO_SETTINGS_MODULE"] = "annotate.settings"
        if isinstance(self.redis, Redis):
            self.env["REDIS_URL"] = self.redis.url
        self.port = free_port()
        ports = [self.port] if n_hosts == 1 else [free_port() for _ in range(n_hosts)]
        self.hosts = [web(self.env, port, self.logs, 2) for port in ports]
        self.web = self.hosts[0]
        self.proxy = None if n_hosts == 1 else RoundRobin(self.port, ports)
        # The real engine, which also knows estimators that misbehave.
        command = [sys.executable, "-m", "tests.site.slow_worker_process", str(self.slow_seconds)]
        self.engine = Process(command, self.env, self.logs / "engine.log")
        self.start_processes()

    def start_processes(self) -> None:
        for process in (*self.hosts, self.engine):
            process.start()
        wait_until_it_answers(self.port, 180)

    def stop_processes(self) -> None:
        for process in (*self.hosts, self.engine):
            if process and process.child:
                process.stop()
        if self.proxy:
            self.proxy.stop()
            self.proxy = None

    def project(self, name: str, estimator: str = "BradleyTerry", n_items: int = 150) -> Project:
        user, _ = User.objects.using(ALIAS).get_or_create(username="alice", email="alice@example.org")
        user.set_password("correct horse battery")
        user.save(using=ALIAS)
        project = Project.objects.using(ALIAS).create(
            name=name, question="Which is better?", state="open", estimator=estimator, overlap=2
        )
        Membership.objects.using(ALIAS).create(project=project, user=user, role="owner")
        Item.objects.using(ALIAS).bulk_create(
            Item(project=project, key=f"i{i}", body=f"Item {i}") for i in range(n_items)
        )
        FitState.objects.using(ALIAS).create(project=project)
        return project

    def vote(self, project: Project, n: int) -> None:
        with as_default():
            own = Project.objects.get(pk=project.pk)
            otter, _ = Annotator.objects.get_or_create(project=own, pseudonym="Otter", source="link")
            rng = random.Random(1)
            for _ in range(n):
                shown = assignment.next_presentation(annotator=otter, now=timezone.now(), rng=rng)
                record_label(presentation=shown, answer=Answer("choice", chosen=rng.randrange(2)), now=timezone.now())

    def versions(self, project: Project) -> tuple[int, int]:
        """The version of the data that is wanted, and the one fitted."""
        state = FitState.objects.using(ALIAS).get(project=project)
        return state.wanted, state.fitted

    def patiently(self, read):
        """What `read` says once the database answers this process again."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return read()
            except DatabaseError:
                connections[ALIAS].close()
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def wait_for_full_service(self, project: Project, crowd: Crowd, since: float) -> tuple[float | None, float | None]:
        """Seconds from `since` until everybody has been answered, and until an answer given since then is in a fit."""
        wanted = self.patiently(lambda: self.versions(project))[0]
        answered, fitted = None, None
        while (answered is None or fitted is None) and time.monotonic() < since + PATIENCE:
            if answered is None and crowd.all_answered_since(since):
                answered = time.monotonic() - since
            if fitted is None and self.patiently(lambda: self.versions(project))[1] > wanted:
                fitted = time.monotonic() - since
            time.sleep(0.05)
        return answered, fitted

    def count(self, project: Project, crowd: Crowd) -> tuple[int, int]:
        """How many of the acknowledged answers are stored, and how many are there twice or beyond the overlap."""
        labels = Label.objects.using(ALIAS).filter(project=project)
        by_token = Counter(labels.values_list("presentation__token", flat=True))
        taken = Presentation.objects.using(ALIAS).filter(project=project, state__in=TAKEN_STATES)
        distinct = Counter(taken.values_list("item_set_id", "annotator_id"))
        by_set = Counter(taken.values_list("item_set_id", flat=True))
        doubled = sum(n - 1 for n in by_token.values()) + sum(n - 1 for n in distinct.values())
        beyond = sum(max(0, n - project.overlap) for n in by_set.values())
        return sum(token in by_token for token in crowd.acknowledged), doubled + beyond
