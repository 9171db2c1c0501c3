"""Whatever owners and annotators do, in whatever order: fits go on, pages open, the database holds together.

Each history is drawn from a seed. What the rules of a project refuse is refused, and that is all; anything else fails.
"""

import logging
import random
from collections import Counter
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from annotate.core.errors import UserError
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.labelling.undo import undo_label
from annotate.management.commands.worker import create_worker
from annotate.models import Annotator, Item, Project
from annotate.participation.consent.actions import give_consent
from annotate.privacy.erasure.actions import BY_THEMSELF, erase_annotator
from annotate.projects.actions import delete_project
from annotate.projects.copies.archiving import archive_project, unarchive_project
from annotate.projects.copies.cloning import clone_project
from models_engine.models import Fit
from tests.conftest import make_annotator
from tests.site.api_client import Api
from tests.site.factories import make_labels
from tests.site.labelling.test_labels import counts_are_true
from tests.site.pages import signed_in

SEEDS = [3, 4, 8, 10]  # those before 60 went well, too
N_STEPS, BETWEEN_FITS = 36, 6
ESTIMATORS = ["BradleyTerry", "CrowdBT", "PlackettLuce"]
PAGES = ["ranking", "annotators", "progress", "trust", "methods", "report", "engine", "exports", "log"]
POSSIBLE = {200, 201, 202, 204, 302, 400, 404, 409, 422}


class History:
    """One project and what happens to it; each method named `do_…` is a step."""

    def __init__(self, project: Project, owner, seed: int) -> None:
        self.project, self.owner, self.rng = project, owner, random.Random(seed)
        self.api, self.client = Api(owner, project), signed_in(owner)
        self.worker, self.now = create_worker("test"), timezone.now()
        self.refused = False
        self.steps = [getattr(self, name) for name in dir(self) if name.startswith("do_")]
        self.done: Counter[str] = Counter()  # steps that were not refused

    def go(self) -> None:
        for number in range(1, N_STEPS + 1):
            self.step()
            if number % BETWEEN_FITS == 0:
                self.work()
                self.look()

    def step(self) -> None:
        step = self.rng.choice([*self.steps, *[self.do_answer] * 6])
        self.now += timedelta(minutes=1)
        self.refused = False
        try:
            step()
        except UserError:
            self.refused = True
        self.done[step.__name__] += not self.refused
        connection.check_constraints()  # as a commit would

    def work(self) -> None:
        """Does all that a worker has to do now."""
        while self.worker.run_fit(pause=timedelta(0)) is not None:
            pass
        for queue in self.worker.jobs.queues:
            self.worker.run_job(queue)
        connection.check_constraints()

    def look(self) -> None:
        for name in PAGES:
            response = self.client.get(reverse(name, args=[self.project.pk]))
            assert response.status_code == 200, name
        for event in self.project.events.order_by("-pk")[:3]:
            response = self.client.get(reverse("compare", args=[self.project.pk]), {"event": event.pk})
            assert response.status_code == 200, event

    def ask(self, method: str, route: str, body=None, /, **given):
        response = self.api(method, route, body, **given)
        assert response.status_code in POSSIBLE, response.content
        self.refused = response.status_code >= 400
        return response

    def one(self, rows):
        found = list(rows.order_by("pk"))
        return self.rng.choice(found) if found else None

    def someone(self) -> Annotator:
        return self.one(self.project.annotators) or self.do_join()

    def an_item(self) -> Item:
        return self.one(self.project.items)

    # --- Annotators ---------------------------------------------------------------------------------------------------

    def do_join(self) -> Annotator:
        return make_annotator(self.project, f"Guest {self.rng.random()}")

    def do_answer(self) -> None:
        who = self.someone()
        for _answer in range(self.rng.randrange(1, 6)):
            shown = assignment.next_presentation(annotator=who, now=self.now, rng=self.rng)
            outcome = self.rng.choice(["choice"] * 8 + ["tie", "skip"])
            chosen = self.rng.randrange(2) if outcome == "choice" else None
            record_label(presentation=shown, answer=Answer(outcome, chosen=chosen, response_ms=900), now=self.now)

    def do_undo(self) -> None:
        undo_label(annotator=self.someone(), now=self.now)

    def do_leave_for_good(self) -> None:
        erase_annotator(annotator=self.someone(), by=BY_THEMSELF, now=self.now)

    # --- Owners -------------------------------------------------------------------------------------------------------

    def do_exclude(self) -> None:
        self.ask("post", "annotator-exclude", {"reason": "Quick"}, args=[self.someone().key])

    def do_readmit(self) -> None:
        if excluded := self.one(self.project.annotators.exclude(excluded_at=None)):
            self.ask("post", "annotator-readmit", args=[excluded.key])

    def do_erase(self) -> None:
        who = self.one(self.project.annotators.exclude(excluded_at=None)) or self.someone()
        self.ask("post", "annotator-erase", {"pseudonym": who.pseudonym}, args=[who.key])

    def do_retire(self) -> None:
        item = self.an_item()
        self.ask("patch", "item", {"retired": item.retired_at is None}, args=[item.pk])

    def do_add_items(self) -> None:
        new = [{"text": f"New {self.rng.random()}"} for _item in range(2)]
        keys = self.ask("post", "items", {"items": new}).json()["keys"]
        pair = list(self.project.items.filter(key__in=keys).values_list("pk", flat=True))
        shown = assignment.reopen_presentation(
            annotator=self.do_join(), items=pair, now=self.now
        )  # apart from all others
        record_label(presentation=shown, answer=Answer("choice", chosen=0, response_ms=900), now=self.now)

    def do_change_competitor(self) -> None:
        self.ask("patch", "item", {"competitor": self.rng.choice(["", "One", "Two"])}, args=[self.an_item().pk])

    def do_tag(self) -> None:
        self.ask("patch", "item", {"tags": self.rng.sample(["a", "b"], 1)}, args=[self.an_item().pk])

    def do_change_settings(self) -> None:
        changes = [{"estimator": name} for name in ESTIMATORS] + [{"overlap": 2}, {"overlap": 5}, {"top_k": 2}]
        self.ask("patch", "project", self.rng.choice(changes))

    def do_choose_questions(self) -> None:
        self.ask("patch", "policy", self.rng.choice([{"policy": "best", "top_k": 2}, {"policy": "whole"}]))

    def do_set_goal(self) -> None:
        self.ask("patch", "goal", self.rng.choice([{"goal": "top"}, {"goal": "width", "goal_width": 2}]))

    def do_grade(self) -> None:
        self.ask("put", "grades", {"by": "score", "grades": [{"name": "A", "limit": 60}, {"name": "B", "limit": None}]})

    def do_record(self) -> None:
        self.ask("post", "records")


class PutAway(History):
    """A project whose people are asked to agree, that asks two kinds of task, and whose labels go into a file."""

    def do_join(self) -> Annotator:
        who = super().do_join()
        if version := Project.objects.get(pk=self.project.pk).consent_version:
            give_consent(annotator=who, version=version, now=self.now)
        return who

    def do_ask_to_agree(self) -> None:
        self.ask("patch", "entry", {"consent": self.rng.choice(["", "We keep what you say.", "We publish it."])})

    def do_mix_tasks(self) -> None:
        more = [{"task_type": "best", "k": 3, "percent": 40}]
        self.ask("patch", "project", {"further_tasks": self.rng.choice([[], more, more])})

    def do_put_away(self) -> None:
        archive_project(project=self.project, actor=self.owner, now=self.now)
        call_command("archive_labels", str(self.project.pk), verbosity=0)
        self.do_erase()
        call_command("restore_labels", str(self.project.pk), verbosity=0)
        unarchive_project(project=self.project, actor=self.owner, now=self.now)
        self.ask("post", "project-state", {"state": "open"})


def make_site(project: Project, owner, seed: int) -> list[PutAway]:
    """The project and a copy of it, in which a policy chooses the questions, with one worker and four people each."""
    copy = clone_project(
        source=project, actor=owner, name="Copy", with_items=True, now=timezone.now(), rng=random.Random(seed)
    )
    Project.objects.filter(pk=copy.pk).update(state="open", policy="whole", top_k=2, estimator="BradleyTerry")
    copy.refresh_from_db()
    histories = [PutAway(one, owner, seed + number) for number, one in enumerate([project, copy])]
    histories[1].worker = histories[0].worker
    for history in histories:
        make_labels(history.project, [make_annotator(history.project, f"Otter {n}") for n in range(4)], 20)
    return histories


@pytest.mark.embedded
@pytest.mark.slow
def test_projects_go_on_beside_each_other_and_one_is_deleted(project, alice, caplog, settings, tmp_path):
    settings.MEDIA_ROOT, settings.RATE_LIMIT_API = tmp_path, "100000/min"
    project.estimator, project.overlap = "BradleyTerry", 4
    project.save()
    first, second = histories = make_site(project, alice, seed=54)
    with caplog.at_level(logging.ERROR):
        for number in range(1, N_STEPS + 1):
            for history in histories:
                history.step()
                counts_are_true(history.project)
            if number % (2 * BETWEEN_FITS) == 0:
                first.work()
        delete_project(project=second.project)
        first.step()
        first.work()
        first.look()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert min(len(+history.done) for history in histories) > 8
    assert all(history.done["do_put_away"] for history in histories)
    assert set(Fit.objects.values_list("project_id", flat=True)) == {project.pk}


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_a_project_goes_on_whatever_happens(project, alice, caplog, settings, tmp_path, seed):
    settings.MEDIA_ROOT, settings.RATE_LIMIT_API = tmp_path, "100000/min"
    project.estimator, project.overlap = "BradleyTerry", 5
    project.save()
    crowd = [make_annotator(project, f"Otter {n}") for n in range(4)]
    make_labels(project, crowd, 30)
    history = History(project, alice, seed)
    with caplog.at_level(logging.ERROR):
        history.go()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert Fit.objects.filter(project_id=project.pk, published=True).exists()
    assert len(+history.done) > 8
