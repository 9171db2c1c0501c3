"""manage.py crowd: the demo's simulated people, who go on answering until told to stop."""

import random
import signal
import threading
from argparse import ArgumentParser
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand
from django.utils import timezone

from annotate.core.errors import ProjectNotOpen
from annotate.demo.crowd import Crowd, share_of_rate
from annotate.models import Project

LOOK_AGAIN = 20.0  # seconds after which a crowd that had finished looks for new pairs


class Command(BaseCommand):
    help = "Lets a simulated crowd answer in every project that is marked as simulated, until told to stop."
    requires_system_checks = (Tags.models,)  # no page is shown: checking addresses would import every one

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--rate", type=float, default=2.0, help="answers a second, over all projects (2)")

    def handle(self, *args: Any, **options: Any) -> None:
        stopping = threading.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stopping.set())
        rng = random.Random()  # noqa: S311
        crowds = [Crowd(project, rng) for project in Project.objects.filter(simulated=True)]
        while not stopping.wait(rng.expovariate(options["rate"])):
            answering = [crowd for crowd in crowds if not crowd.has_finished]
            if answering:
                crowd = rng.choice(answering)
                if rng.random() < share_of_rate(crowd.n_labels, crowd.most_labels):
                    self.one_answer(crowd, stopping)
            elif not stopping.wait(LOOK_AGAIN):
                for crowd in crowds:
                    crowd.restart()

    def one_answer(self, crowd: Crowd, stopping: threading.Event) -> None:
        try:
            label = crowd.answer(timezone.now())
        except ProjectNotOpen:
            stopping.wait(1)
            return
        if label is None:
            self.stdout.write(f"The simulated crowd has nothing left to compare in “{crowd.project}” and pauses.")
