"""Finding the best 5 of 40 with server and engine as real processes: set by pages, then asked for, then paused."""

import random
import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime

import numpy as np
import pytest
from django.conf import global_settings
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotate.core.errors import ProjectNotOpen
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.models import Annotator, AskedBy, FitState, Item, Membership, Presentation, Project, User
from tests.browser.test_trust import SIDEWAYS
from tests.browser.test_whole_path import PASSWORD, sign_in
from tests.load.database import ALIAS, as_default, environment, own_database
from tests.load.servers import Process, engine, free_port, wait_until_it_answers, web
from tests.site.processes import wait_for

N_ITEMS, N_BEST, MOST_ANSWERS, BATCH = 40, 5, 4000, 20
# The best five are an even distance apart from each other, and two logits ahead of the sixth.
QUALITY = [4 - 0.2 * place + (2 if place < N_BEST else 0) for place in range(N_ITEMS)]


@pytest.fixture
def running(browser, settings, tmp_path, django_db_blocker) -> Iterator[tuple[str, Callable[[], Process], Process]]:
    """The address of a running site on a database of its own, what starts an engine, and one that runs."""
    settings.PASSWORD_HASHERS = global_settings.PASSWORD_HASHERS
    with django_db_blocker.unblock(), own_database(tmp_path) as url:
        env, port = environment(url, tmp_path), free_port()
        started: list[Process] = []

        def start() -> Process:
            started.append(engine(env, tmp_path).start())
            return started[-1]

        server = web(env, port, tmp_path).start()
        first = start()
        try:
            wait_until_it_answers(port)
            yield f"http://127.0.0.1:{port}", start, first
        finally:
            server.stop()
            for process in started:
                process.stop()


def make_project() -> Project:
    alice = User(username="alice", email="alice@example.org")
    alice.set_password(PASSWORD)
    alice.save(using=ALIAS)
    project = Project.objects.using(ALIAS).create(
        name="Prize", question="Which is better?", state="open", overlap=1000, estimator="BradleyTerry"
    )
    Membership.objects.using(ALIAS).create(project=project, user=alice, role="owner")
    FitState.objects.using(ALIAS).create(project=project)
    order = random.Random(5).sample(range(N_ITEMS), N_ITEMS)
    Item.objects.using(ALIAS).bulk_create(
        Item(project=project, key=f"i{place}", name=f"Entry {place + 1:02d}", body=f"Entry {place + 1}")
        for place in order
    )
    return project


def find_the_best(page: Page, site: str, project: Project) -> None:
    """Says on the pages what the questions are for and when to stop."""
    page.goto(site + reverse("policy", args=[project.pk]))
    page.get_by_role("radio", name="Find the best").check()
    page.get_by_label("How many are the best").fill(str(N_BEST))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("It holds from the next question on.")).to_be_visible()
    page.goto(site + reverse("goal", args=[project.pk]))
    page.get_by_role("radio", name="The top places are clear").check()
    page.get_by_label("Pause the project when the goal is met").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Goal and cost are saved.")).to_be_visible()


class Crowd:
    """Twenty people who answer by a Bradley-Terry model of QUALITY, through the actions that a browser reaches."""

    def __init__(self, project: Project) -> None:
        self.project, self.rng, self.n = project, np.random.default_rng(3), 0
        self.people = [
            Annotator.objects.using(ALIAS).create(project=project, pseudonym=f"Otter {i}", source="link")
            for i in range(20)
        ]
        items = Item.objects.using(ALIAS).filter(project=project)
        self.quality = {item.pk: QUALITY[int(item.key[1:])] for item in items}

    def answer(self, n: int) -> bool:
        """Give so many answers; False where the project takes no more."""
        with as_default():
            for _ in range(n):
                try:
                    self.answer_one(timezone.now())
                except ProjectNotOpen:
                    return False
        return True

    def answer_one(self, now: datetime) -> None:
        annotator = Annotator.objects.select_related("project").get(pk=self.people[self.n % len(self.people)].pk)
        self.n += 1
        shown = assignment.next_presentation(annotator=annotator, now=now, rng=random.Random(self.n))
        left, right = shown.presented.order_by("position").values_list("item_id", flat=True)
        wins = self.rng.random() < 1 / (1 + np.exp(self.quality[right] - self.quality[left]))
        record_label(presentation=shown, answer=Answer("choice", 0 if wins else 1), now=now)


def lags_little(project: Project) -> bool:
    state = FitState.objects.using(ALIAS).get(project=project)
    return state.wanted - state.fitted <= 3 * BATCH


def shown(project: Project, rule: str) -> int:
    return Presentation.objects.using(ALIAS).filter(project=project, asked_by=rule).count()


@pytest.mark.alone
def test_the_best_five_of_forty_are_found_with_the_engine_killed_and_the_project_stops_by_itself(
    running, open_page, axe
):
    """An engine that nobody kills goes the same way, without the part between."""
    site, start, worker = running
    project = make_project()
    page = open_page(viewport={"width": 1280, "height": 900})
    sign_in(page, site)
    find_the_best(page, site, project)
    crowd = Crowd(project)
    is_open = True
    while is_open and crowd.n < MOST_ANSWERS:
        is_open = crowd.answer(BATCH)
        if worker is not None and shown(project, AskedBy.ADAPTIVE) > 30:
            worker.kill()
            worker = None
            assert crowd.answer(150), "answering goes on without an engine"
            assert not lags_little(project)
            start()
        wait_for(lambda: lags_little(project), seconds=120, why="the engine did not keep up")
        time.sleep(0.05)
    assert not is_open, f"{crowd.n} answers did not suffice"
    assert worker is None, "it was found before the engine was killed"
    page.goto(site + reverse("progress", args=[project.pk]))
    expect(page.get_by_text("You can stop now.")).to_be_visible()
    expect(page.get_by_text("The project is paused, so nobody is asked any more.")).to_be_visible()
    page.goto(site + reverse("ranking", args=[project.pk]))
    names = page.locator("th.c-item")
    expect(names.filter(has_text="Entry").first).to_be_visible()
    found = re.findall(r"Entry \d\d", " ".join(names.all_inner_texts()))
    assert set(list(dict.fromkeys(found))[:N_BEST]) == {f"Entry {place + 1:02d}" for place in range(N_BEST)}
    asked = dict(Item.objects.using(ALIAS).filter(project=project).values_list("key", "n_taken"))
    counts = [asked[f"i{place}"] for place in range(N_ITEMS)]
    assert np.mean(counts[: 2 * N_BEST]) > 1.5 * np.mean(counts[2 * N_BEST :]), "leaders were asked about more often"
    assert min(counts) >= 4
    assert shown(project, AskedBy.CONTROL) > 0.2 * crowd.n
    page.goto(site + reverse("policy", args=[project.pk]))
    expect(page.get_by_role("heading", name="Asked so far")).to_be_visible()
    assert page.evaluate(SIDEWAYS) == 0
    axe(page, in_dark=True)
