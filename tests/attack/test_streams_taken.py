"""Streams of the projector view: nobody takes those of others, multiplies the work for one, or stops all the others."""

import asyncio

import pytest
from django.urls import reverse

from annotate.models import ResultsLink
from annotate.publishing.results_links import stream
from annotate.publishing.results_links.live import current_version
from tests.conftest import NOW
from tests.site.factories import spread_fit
from tests.websockets import StreamReader

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(stream, "LOOK_SECONDS", 0.02)


@pytest.fixture
def link(project) -> ResultsLink:
    spread_fit(project, list(project.items.order_by("pk")), sd=0.3)
    return ResultsLink.objects.create(project=project, made_at=NOW)


def path(link: ResultsLink) -> str:
    return reverse("results-live", args=[link.token]) + "stream/"


def statuses(link: ResultsLink, *headers: dict[str, str], query: str = "") -> list[int]:
    """Of streams opened one after the other and all kept open."""

    async def run() -> list[int]:
        readers = [StreamReader(path(link), query, one) for one in headers]
        found = [await reader.connect() for reader in readers]
        for reader, status in zip(readers, found, strict=True):
            if status == 200:
                await reader.disconnect()
        return found

    return asyncio.run(run())


def test_one_address_leaves_half_of_the_streams_to_others(link, monkeypatch, settings):
    monkeypatch.setattr(stream, "MAX_STREAMS", 4)
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "NUM_PROXIES": 1}
    ours, theirs = {"x-forwarded-for": "198.51.100.1"}, {"x-forwarded-for": "198.51.100.2"}
    assert statuses(link, ours, ours, ours, theirs, theirs, theirs) == [200, 200, 503, 200, 200, 503]


def test_streams_leave_half_of_the_files_to_all_other_requests(monkeypatch):
    monkeypatch.setattr(stream.resource, "getrlimit", lambda _kind: (1024, 4096))
    assert stream.most_streams() == 512


def test_a_link_is_not_drawn_for_every_port_that_somebody_names(link, monkeypatch):
    monkeypatch.setattr(stream, "MAX_SCREENS", 2)
    hosts = [{"host": f"localhost:{port}"} for port in (1001, 1002, 1003, 1001)]
    assert statuses(link, *hosts) == [200, 200, 503, 200]


def test_a_view_that_cannot_be_shown_stops_no_other(link, project, monkeypatch):
    """Whatever one project's data do to its view: the streams of all others go on."""
    other = ResultsLink.objects.create(project=project, made_at=NOW)
    event_for = stream.event_for

    def fails_for_one(screen, seen):
        if screen.token == link.token:
            raise ZeroDivisionError
        return event_for(screen, seen)

    monkeypatch.setattr(stream, "event_for", fails_for_one)

    async def run() -> str:
        broken, whole = StreamReader(path(link), "seen=0", {}), StreamReader(path(other), "seen=0", {})
        assert [await broken.connect(), await whole.connect()] == [200, 200]
        event = await whole.receive()
        for reader in (broken, whole):
            await reader.disconnect()
        return event["id"]

    assert asyncio.run(run()) == current_version(other)
