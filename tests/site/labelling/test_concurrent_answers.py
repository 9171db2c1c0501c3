"""Integrity under fire: real processes, real HTTP, kills in the middle, on whichever database the tests run on."""

import random
import threading
import time
from collections import Counter
from itertools import pairwise

import pytest
from django.utils import timezone

from annotate.labelling.item_sets import TAKEN_STATES
from annotate.models import FitState, Item, ItemSet, Label, Membership, Presentation, PresentedItem, Project, User
from models_engine.models import Fit
from tests.cases import each_case
from tests.load.client import AnnotatorClient
from tests.load.database import ALIAS, own_database, production_environment
from tests.load.servers import engine, free_port, wait_until_it_answers, web
from tests.site.processes import wait_for

N_ANNOTATORS = 20
ANSWERS = ["a", "b", "a", "b", "tie", "skip", "cant_judge"]
ANSWERS_OF_SETS = ["a", "b", "c", "skip", "cant_judge"]


@pytest.fixture
def fire(tmp_path, django_db_blocker):
    """As in production: with DEBUG, Django asks SQLite to write every query down, by a further one."""
    with django_db_blocker.unblock(), own_database(tmp_path) as url:
        yield production_environment(url, tmp_path), tmp_path


def make_project(overlap: int, n_items: int, estimator: str = "CrowdBT", **task) -> Project:
    user, _ = User.objects.using(ALIAS).get_or_create(username="alice", email="alice@example.org")
    project = Project.objects.using(ALIAS).create(
        name="Under fire",
        question="Which?",
        state="open",
        overlap=overlap,
        estimator=estimator,
        outcomes=["skip", "cant_judge"] if task else ["tie", "skip", "cant_judge"],
        **task,
    )
    Membership.objects.using(ALIAS).create(project=project, user=user, role="owner")
    Item.objects.using(ALIAS).bulk_create(Item(project=project, key=f"i{i}", body=f"Item {i}") for i in range(n_items))
    FitState.objects.using(ALIAS).create(project=project)
    return project


def give_chain(project: Project) -> None:
    """Has the pairs of neighbours asked and no others, in order: everybody wants the same one first."""
    items = list(Item.objects.using(ALIAS).filter(project=project).order_by("pk").values_list("pk", flat=True))
    pairs = enumerate(pairwise(items), 1)
    ItemSet.objects.using(ALIAS).bulk_create(
        ItemSet(project=project, key=f"{left}-{right}", number=n, place=n) for n, (left, right) in pairs
    )
    project.given_order = "in_order"
    project.save(using=ALIAS)


class Crowd:
    """Annotators in threads; each remembers what it was told is stored."""

    def __init__(self, port: int, project: Project, n: int = N_ANNOTATORS, think: float = 0.025) -> None:
        self.port, self.project, self.think = port, project, think
        self.answers = ANSWERS if project.k == 2 else ANSWERS_OF_SETS
        self.over = threading.Event()
        self.confirmed: dict[str, int] = {}  # presentation token -> answers confirmed
        self.failures: list[str] = []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.annotate, args=(i,)) for i in range(n)]

    def annotate(self, number: int) -> None:
        rng = random.Random(number)
        client = AnnotatorClient("127.0.0.1", self.port, waits_if_busy=True)
        try:
            client.join(self.project.join_token, f"Annotator {number:02d}")
            while not self.over.is_set() and (client.token or client.look()):
                self.one_answer(client, rng)
        except Exception as error:  # a thread's failure must reach the test, not the console
            self.failures.append(f"annotator {number}: {error!r}")
        finally:
            client.close()

    def one_answer(self, client: AnnotatorClient, rng: random.Random) -> None:
        token, answer = client.token, rng.choice(self.answers)
        if rng.random() < 0.2:  # a double click: the same presentation twice at once
            twin = AnnotatorClient("127.0.0.1", self.port, cookies=dict(client.cookies), waits_if_busy=True)
            double = threading.Thread(target=twin.answer, args=(answer, True, token))
            double.start()
            reply = client.answer(answer)
            double.join()
            twin.close()
        else:
            reply = client.answer(answer)
        if rng.random() < 0.1:  # the back button: an answered presentation answered otherwise
            client.answer(rng.choice(self.answers), True, token)
        if reply.status == 200:
            with self.lock:
                self.confirmed[token] = self.confirmed.get(token, 0) + 1
        elif reply.status not in (409,):  # 409: nothing left to compare
            self.failures.append(f"status {reply.status} from {token}: {reply.text[:300]}")
        time.sleep(rng.random() * 2 * self.think)

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        self.over.set()
        self.join()

    def join(self) -> None:
        for thread in self.threads:
            thread.join(120)
        assert not any(thread.is_alive() for thread in self.threads)


def nothing_lost_or_doubled(project: Project, crowd: Crowd) -> None:
    labels = Label.objects.using(ALIAS).filter(project=project)
    by_token = Counter(labels.values_list("presentation__token", flat=True))
    assert max(by_token.values()) == 1, "a presentation was answered twice"
    missing = set(crowd.confirmed) - set(by_token)
    assert not missing, f"{len(missing)} confirmed answers are not stored"
    taken = Presentation.objects.using(ALIAS).filter(project=project, state__in=TAKEN_STATES)
    distinct = Counter(taken.values_list("item_set_id", "annotator_id"))
    assert max(distinct.values()) == 1, "an annotator got the same set twice"
    by_set = Counter(taken.values_list("item_set_id", flat=True))
    assert max(by_set.values()) <= project.overlap, "overlap was exceeded"
    for item_set in ItemSet.objects.using(ALIAS).filter(project=project):
        assert item_set.n_taken == by_set[item_set.pk]
    by_item = Counter(
        PresentedItem.objects.using(ALIAS).filter(presentation__in=taken).values_list("item_id", flat=True)
    )
    for item in Item.objects.using(ALIAS).filter(project=project):
        assert item.n_taken == by_item[item.pk]


def wait_for_answers(crowd: Crowd, n: int, seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while len(crowd.confirmed) < n:
        assert time.monotonic() < deadline, f"{len(crowd.confirmed)} answers instead of {n}; {crowd.failures[:3]}"
        time.sleep(0.05)


def wait_for_fit_of_everything(project: Project, seconds: float = 90) -> Fit:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        state = FitState.objects.using(ALIAS).get(project=project)
        fit = Fit.objects.using(ALIAS).filter(project_id=project.pk, published=True).first()
        if fit and state.wanted == state.fitted:
            return fit
        time.sleep(0.2)
    raise AssertionError(f"no fit of version {state.wanted} after {seconds} s; the engine is at {state.fitted}")


@pytest.mark.process
def test_a_crowd_with_server_and_engine_killed(fire):
    env, folder = fire
    project = make_project(overlap=3, n_items=60, estimator="BradleyTerry")  # soon fitted
    port = free_port()
    server, worker = web(env, port, folder).start(), engine(env, folder).start()
    try:
        wait_until_it_answers(port)
        crowd = Crowd(port, project)
        crowd.start()
        wait_for_answers(crowd, 60)
        server.kill()
        server.start()
        wait_for_answers(crowd, 120)
        worker.kill()
        server.kill()
        server.start()
        worker.start()
        wait_for_answers(crowd, 180)
        crowd.stop()
        assert not crowd.failures, crowd.failures[:5]
        nothing_lost_or_doubled(project, crowd)
        fit = wait_for_fit_of_everything(project)
        counted = Label.objects.using(ALIAS).filter(
            project=project, voided_at=None, outcome__in=["choice", "tie", "both_good", "both_bad"]
        )
        assert fit.n_labels == counted.count()
    finally:
        server.stop()
        worker.stop()


@pytest.mark.process
def test_a_crowd_under_a_policy_with_the_engine_killed(fire):
    """Suggestions are replaced while people take them; without an engine the questions are balanced in the end."""
    env, folder = fire
    project = make_project(overlap=3, n_items=40, estimator="BradleyTerry")
    Project.objects.using(ALIAS).filter(pk=project.pk).update(policy="best", top_k=10)
    asked = Presentation.objects.using(ALIAS).filter(project=project)
    port = free_port()
    server, worker = web(env, port, folder).start(), engine(env, folder).start()
    try:
        wait_until_it_answers(port)
        crowd = Crowd(port, project, n=8, think=0.2)  # room for the engine, whose suggestions must come meanwhile
        crowd.start()
        wait_for(lambda: asked.filter(asked_by="adaptive").count() > 40, seconds=90)
        worker.kill()
        wait_for_answers(crowd, len(crowd.confirmed) + 50)
        worker.start()
        n_fits = asked.filter(asked_by="adaptive").values("asked_fit").distinct().count()
        wait_for(lambda: asked.values("asked_fit").distinct().count() > n_fits + 1, seconds=90)
        crowd.stop()
        assert not crowd.failures, crowd.failures[:5]
        nothing_lost_or_doubled(project, crowd)
        assert asked.filter(asked_by="control").count() > 20
    finally:
        server.stop()
        worker.stop()


FINISHED = {  # items, task, sets in the end, what is done before
    "pairs": (9, {}, 36, None),
    "sets of three": (6, {"task_type": "best", "k": 3}, 20, None),
    "given questions": (13, {}, 12, give_chain),
}


@pytest.mark.process
def test_overlap_is_met_exactly_when_the_crowd_has_finished(fire):
    """One server for all cases: starting one takes as long as a crowd."""
    env, folder = fire
    port = free_port()
    server = web(env, port, folder).start()
    try:
        wait_until_it_answers(port)
        with each_case() as case:
            for name, values in FINISHED.items():
                with case(name):
                    answered_by_a_crowd(port, *values)
    finally:
        server.stop()


def answered_by_a_crowd(port: int, n_items: int, task: dict, n_sets: int, prepare) -> None:
    """A project of this task, whose crowd answers until there is nothing left."""
    project = make_project(overlap=4, n_items=n_items, **task)
    if prepare:
        prepare(project)
    crowd = Crowd(port, project)
    crowd.start()
    crowd.join()
    # Presentations of those who were refused meanwhile are open until their lease ends: none may be left over.
    open_now = Presentation.objects.using(ALIAS).filter(project=project, state="open", leased_until__gt=timezone.now())
    assert not crowd.failures, crowd.failures[:5]
    assert not open_now.exists()
    nothing_lost_or_doubled(project, crowd)
    sets = ItemSet.objects.using(ALIAS).filter(project=project)
    assert sets.count() == n_sets
    assert set(sets.values_list("n_taken", flat=True)) == {4}
