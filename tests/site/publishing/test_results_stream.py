"""The stream of the projector view: what is pushed to whom, what a page that comes back gets, what ends it."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from channels.db import database_sync_to_async
from django.db import DatabaseError, transaction
from django.urls import reverse
from django.utils import timezone

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
    return ResultsLink.objects.create(project=project, made_at=NOW, shows_join=True)


@asynccontextmanager
async def reading(link: ResultsLink, query: str = "", **headers: str):
    reader = StreamReader(reverse("results-live", args=[link.token]) + "stream/", query, headers)
    assert await reader.connect() == 200
    try:
        yield reader
    finally:
        await reader.disconnect()


async def joined(n_streams: int) -> None:
    while sum(map(len, stream.audience.streams.values())) < n_streams:
        await asyncio.sleep(0.01)


@database_sync_to_async
def refit(link: ResultsLink) -> None:
    with transaction.atomic():  # as the worker stores a fit
        spread_fit(link.project, list(link.project.items.order_by("-pk")))


@database_sync_to_async
def change(link: ResultsLink, **values) -> None:
    ResultsLink.objects.filter(pk=link.pk).update(**values)


def test_what_is_new_is_pushed_to_all_who_watch_from_one_rendering(link, monkeypatch):
    seen = f"seen={current_version(link)}"
    rendered, live_context = [], stream.live_context
    monkeypatch.setattr(stream, "live_context", lambda *given: rendered.append(given) or live_context(*given))

    async def run() -> list[dict[str, str]]:
        async with reading(link, seen) as first, reading(link, seen) as second:
            await joined(2)
            await refit(link)
            return [await first.receive(), await second.receive()]

    first, second = asyncio.run(run())
    assert first == second
    assert 'id="projector"' in first["data"]
    assert first["data"].index("Text number 5") < first["data"].index("Text number 0")
    assert first["id"] == current_version(link)
    assert len(rendered) == 1
    assert len(first["data"].encode()) < 20_000


def test_a_page_that_comes_back_gets_what_it_missed_and_only_that(link):
    old = current_version(link)

    async def run() -> list[str]:
        await refit(link)
        async with reading(link, f"seen={old}") as behind:
            newest = (await behind.receive())["id"]
        async with reading(link, f"seen={old}", **{"last-event-id": newest}) as current:
            await change(link, hides_names=True)
            return [newest, (await current.receive())["data"]]

    newest, html = asyncio.run(run())
    assert newest != old
    assert "Not revealed yet" in html
    assert "Text number" not in html


def test_who_joins_late_gets_what_is_missed_and_the_others_nothing_twice(link):
    now = current_version(link)

    async def run() -> tuple[dict[str, str], dict[str, str]]:
        async with reading(link, f"seen={now}") as current:
            await joined(1)
            async with reading(link, "seen=0") as behind:
                missed = await behind.receive()
            await change(link, hides_names=True)
            return missed, await current.receive()

    missed, hidden = asyncio.run(run())
    assert missed["id"] == now
    assert hidden["id"] != now


def test_the_stream_is_in_the_language_and_of_the_address_that_the_page_has(link):
    async def run() -> str:
        async with reading(link, "lang=de&seen=0") as reader:
            return (await reader.receive())["data"]

    html = asyncio.run(run())
    assert "Mitmachen" in html
    assert f"localhost{reverse('join', args=[link.project.join_token])}" in html


def test_a_link_that_ends_ends_its_stream_and_is_not_streamed_again(link):
    async def run() -> tuple[dict[str, str], dict[str, str], int]:
        async with reading(link, f"seen={current}") as reader:
            await change(link, revoked_at=timezone.now())
            ended, after = await reader.receive(), await reader.receive()
        late = StreamReader(reverse("results-live", args=[link.token]) + "stream/")
        return ended, after, await late.connect()

    current = current_version(link)
    ended, after, status = asyncio.run(run())
    assert ended["event"] == "ended"
    assert after == {}
    assert status == 404


@pytest.mark.parametrize(("token", "headers"), [("guessed", {}), ("", {"host": "evil.example"})])
def test_a_guessed_token_and_a_foreign_host_get_no_stream(link, settings, token, headers):
    settings.ALLOWED_HOSTS = ["localhost"]
    settings.DEBUG = False

    async def run() -> int:
        path = reverse("results-live", args=[token or link.token]) + "stream/"
        return await StreamReader(path, headers=headers).connect()

    assert asyncio.run(run()) == 404


def test_beyond_the_limits_a_page_is_told_to_ask_instead(link, settings, monkeypatch):
    path = reverse("results-live", args=[link.token]) + "stream/"

    async def status() -> int:
        return await StreamReader(path).connect()

    monkeypatch.setattr(stream, "MAX_STREAMS", 0)
    assert asyncio.run(status()) == 503
    monkeypatch.setattr(stream, "MAX_STREAMS", 10)
    rates = {**settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"], "results-live": "0/min"}
    monkeypatch.setattr("rest_framework.throttling.SimpleRateThrottle.THROTTLE_RATES", rates)
    assert asyncio.run(status()) == 429


def test_nothing_is_kept_of_those_who_have_left(link):
    async def run() -> None:
        async with reading(link) as reader:
            await reader.receive()

    asyncio.run(run())
    assert stream.audience.streams == {}
    assert stream.audience.sent == {}


def test_a_page_that_takes_nothing_for_long_is_cut_off(link, monkeypatch):
    monkeypatch.setattr(stream, "UNREAD_SECONDS", 0.05)

    async def run() -> int:
        async def never(_message) -> None:
            await asyncio.sleep(3600)

        one = stream.ResultsStream()
        one.base_send, one.screen = never, stream.Screen("token", "en", "http://localhost")
        one.unsent, one.wake = b"data: x\n\n", asyncio.Event()
        one.wake.set()
        stream.audience.streams[one.screen] = {one}
        await asyncio.wait_for(one.send_events(), 30)
        return len(stream.audience.streams)

    assert asyncio.run(run()) == 0


def test_who_comes_while_the_database_is_away_is_served_by_the_relay(link, monkeypatch):
    event_for, failures = stream.event_for, [DatabaseError("away")]

    def failing_once(*given):
        if failures:
            raise failures.pop()
        return event_for(*given)

    monkeypatch.setattr(stream, "event_for", failing_once)

    async def run() -> str:
        async with reading(link, "seen=0") as reader:
            return (await reader.receive())["id"]

    assert asyncio.run(run()) == current_version(link)
    assert stream.audience.streams == {}


def test_what_is_rendered_for_those_who_have_left_is_not_kept():
    screen = stream.Screen("token", "en", "http://localhost")
    stream.audience.publish(screen, stream.Event("1", b"data: x\n\n"))
    assert stream.audience.sent == {}
