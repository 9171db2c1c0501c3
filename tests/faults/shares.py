"""Ten heavy pages of one project asked for again and again, and what another project's answers then take."""

import statistics
import threading
import time
from dataclasses import dataclass

from django.test import Client
from django.urls import reverse

from annotate.models import FitState, Item, Membership, Project, User
from tests.load.client import AnnotatorClient
from tests.load.database import ALIAS, as_default

ANSWERS = 15
PAGES = 10


@dataclass
class Shares:
    """Median seconds of an answer while nobody else asks and while ten pages are asked for; their statuses; the most
    of them that came while one answer was waited for."""

    idle: float
    busy: float
    statuses: set[int]
    pages: int
    most_pages_in_an_answer: int

    def __str__(self) -> str:
        return (
            f"another project's answer: {1000 * self.idle:.0f} ms idle, {1000 * self.busy:.0f} ms "
            f"({self.busy / self.idle:.1f} times) while {PAGES} heavy pages are asked for; {self.pages} pages came, "
            f"at most {self.most_pages_in_an_answer} during one answer"
        )


def project_of(name: str, n_items: int, body: str) -> Project:
    user, _ = User.objects.using(ALIAS).get_or_create(username="alice", email="alice@example.org")
    project = Project.objects.using(ALIAS).create(name=name, question="Which is better?", state="open")
    Membership.objects.using(ALIAS).create(project=project, user=user, role="owner")
    Item.objects.using(ALIAS).bulk_create(
        Item(project=project, key=f"i{i}", body=f"{i} {body}") for i in range(n_items)
    )
    FitState.objects.using(ALIAS).create(project=project)
    return project


def signed_in(port: int) -> AnnotatorClient:
    with as_default():
        browser = Client()
        browser.force_login(User.objects.get())
    return AnnotatorClient("127.0.0.1", port, cookies={"sessionid": browser.cookies["sessionid"].value})


def seconds_of_answers(client: AnnotatorClient, statuses: list[int]) -> tuple[float, int]:
    """The median of some answers, each stored and answered with the next task, and the most pages during one."""
    took, pages = [], []
    for _ in range(ANSWERS):
        began, before = time.monotonic(), len(statuses)
        assert client.answer("a").status == 200
        took.append(time.monotonic() - began)
        pages.append(len(statuses) - before)
    return statistics.median(took), max(pages)


def measure_shares(port: int) -> Shares:
    """Asks the site on this port, whose database Django knows as `fire`."""
    heavy = project_of("Heavy", 3000, "word " * 400)
    light = project_of("Light", 60, "")
    annotator = AnnotatorClient("127.0.0.1", port)
    annotator.join(light.join_token, "Otter")
    over, statuses = threading.Event(), []
    seconds_of_answers(annotator, statuses)  # all is loaded
    idle, _ = seconds_of_answers(annotator, statuses)

    def read_on(client: AnnotatorClient) -> None:
        while not over.is_set():
            statuses.append(client.request("GET", reverse("items", args=[heavy.pk])).status)
        client.close()

    readers = [threading.Thread(target=read_on, args=[signed_in(port)]) for _ in range(PAGES)]
    for reader in readers:
        reader.start()
    try:
        while len(statuses) < PAGES:
            time.sleep(0.05)
        busy, most = seconds_of_answers(annotator, statuses)
    finally:
        over.set()
        for reader in readers:
            reader.join(60)
        annotator.close()
    return Shares(idle, busy, set(statuses), len(statuses), most)
