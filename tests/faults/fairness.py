"""How long many projects wait for their fits, alone and beside one that always wants a long one."""

import random
import statistics
import time
from dataclasses import dataclass

from django.db.models import F

from annotate.models import FitState, Project
from tests.faults.scene import Scene
from tests.load.database import ALIAS

PROJECTS = 200
SECONDS = 60.0
EVERY = 2.0  # seconds between two answers of anybody's
LONG_SECONDS = 6


@dataclass
class Waits:
    """Seconds from an answer until a fit holds it, of the projects that got one."""

    alone: list[float]
    beside: list[float]
    long_fits: int

    def __str__(self) -> str:
        one, two = statistics.median(self.alone), statistics.median(self.beside)
        return (
            f"{PROJECTS} projects, an answer every {EVERY} s: median wait for a fit {one:.2f} s "
            f"({len(self.alone)} fits), and {two:.2f} s ({len(self.beside)} fits, {two / one:.2f} times) beside "
            f"one that always wants a long fit and got {self.long_fits}"
        )


def measure_fairness(scene: Scene, seconds: float = SECONDS) -> Waits:
    projects = [scene.project(f"Project {n}", n_items=6) for n in range(PROJECTS)]
    greedy = scene.project("Always wants a long one", "Busy", n_items=6)
    for project in [*projects, greedy]:
        scene.vote(project, 2)
    wait_until_all_are_fitted([project.pk for project in projects])
    alone = waits(scene, projects, None, seconds)
    before = fitted(greedy)
    beside = waits(scene, projects, greedy, seconds)
    return Waits(alone, beside, fitted(greedy) - before)


def fitted(project: Project) -> int:
    """The published fits of a project."""
    return FitState.objects.using(ALIAS).values_list("published_fit", flat=True).get(project=project) or 0


def wait_until_all_are_fitted(pks: list) -> None:
    deadline = time.monotonic() + 600
    while FitState.objects.using(ALIAS).filter(pk__in=pks, wanted__gt=F("fitted")).exists():
        if time.monotonic() > deadline:
            raise TimeoutError("The first fits of all projects took more than ten minutes.")
        time.sleep(0.5)


def waits(scene: Scene, projects: list[Project], greedy: Project | None, seconds: float) -> list[float]:
    """Gives answers to one project after the other, drawn at random; the greedy one has new data all the time."""
    rng, waiting, found = random.Random(1), dict[Project, tuple[int, float]](), []
    began = next_answer = time.monotonic()
    while time.monotonic() < began + seconds or (waiting and time.monotonic() < began + 3 * seconds):
        if greedy:
            FitState.objects.using(ALIAS).filter(project=greedy).update(wanted=F("fitted") + 1)
        if next_answer <= time.monotonic() < began + seconds:
            next_answer += EVERY
            project = rng.choice([one for one in projects if one not in waiting])
            scene.vote(project, 1)
            waiting[project] = (scene.versions(project)[0], time.monotonic())
        states = FitState.objects.using(ALIAS).filter(project__in=waiting).values_list("project_id", "fitted")
        reached = dict(states)
        for project, (wanted, since) in list(waiting.items()):
            if reached[project.pk] >= wanted:
                found.append(time.monotonic() - since)
                del waiting[project]
        time.sleep(0.02)
    return found + [time.monotonic() - since for _wanted, since in waiting.values()]
