"""Ten heavy pages of one project asked for again and again, and what another project's answers then take."""

import statistics
import threading
import time

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from annotate.models import FitState, Item, Membership, Project, User
from tests.load.client import AnnotatorClient
from tests.load.database import ALIAS, as_default, environment, own_database
from tests.load.servers import free_port, wait_until_it_answers, web

pytestmark = [pytest.mark.process, pytest.mark.alone]
ANSWERS = 15
PAGES = 10


@pytest.fixture
def site(tmp_path, django_db_blocker):
    with django_db_blocker.unblock(), own_database(tmp_path) as url:
        port = free_port()
        served = web({**environment(url, tmp_path), "SECRET_KEY": settings.SECRET_KEY}, port, tmp_path)
        served.start()
        try:
            wait_until_it_answers(port, 180)
            yield port
        finally:
            served.stop()


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


def seconds_of_answers(client: AnnotatorClient) -> float:
    """The median of some answers, each stored and answered with the next task."""
    took = []
    for _ in range(ANSWERS):
        began = time.monotonic()
        assert client.answer("a").status == 200
        took.append(time.monotonic() - began)
    return statistics.median(took)


def test_anothers_answers_hardly_notice_ten_heavy_pages(site):
    """What is asserted of times is generous; tests/site/operations/test_thread_shares.py asserts who has a thread."""
    heavy = project_of("Heavy", 3000, "word " * 400)
    light = project_of("Light", 60, "")
    annotator = AnnotatorClient("127.0.0.1", site)
    annotator.join(light.join_token, "Otter")
    seconds_of_answers(annotator)  # all is loaded
    idle = seconds_of_answers(annotator)
    over, statuses = threading.Event(), []

    def read_on(client: AnnotatorClient) -> None:
        while not over.is_set():
            statuses.append(client.request("GET", reverse("items", args=[heavy.pk])).status)
        client.close()

    readers = [threading.Thread(target=read_on, args=[signed_in(site)]) for _ in range(PAGES)]
    for reader in readers:
        reader.start()
    try:
        while len(statuses) < PAGES:
            time.sleep(0.05)
        busy = seconds_of_answers(annotator)
    finally:
        over.set()
        for reader in readers:
            reader.join(60)
        annotator.close()
    print(f"\nidle {1000 * idle:.0f} ms, busy {1000 * busy:.0f} ms, {len(statuses)} pages")
    assert set(statuses) == {200}, "all of them come, one after another"
    assert busy < 0.2 or busy < 10 * idle
