"""Shares of the answering threads: what one project or person asks for leaves room for all others."""

import asyncio
from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.labelling.handed_out import HandedOut
from annotate.operations import thread_shares
from annotate.operations.thread_shares import ANSWERS, EXPORTS, FILES, PAGES, REFUSED, ShareThreads, limits_of, use_of
from annotate.operations.turns import Limit, Turns, Use
from tests.routes import ROUTES

LIMITS = limits_of(threads=20, answers=3, of_project=2, of_person=2)
OWN, OTHER = UUID(int=7), UUID(int=8)  # the same in every process that collects the tests


def scope_of(path: str, **headers: str) -> dict:
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http", "path": path, "headers": pairs}


class Site:
    """An application that works on each request until it is told to end."""

    def __init__(self, limits: dict[str, Limit] | None = None) -> None:
        self.inside: list[str] = []
        self.refused: list[str] = []
        self.ends = asyncio.Event()
        self.shares = ShareThreads(self.work, limits or LIMITS)

    async def work(self, scope, receive, send) -> None:
        if scope.get(REFUSED):
            self.refused.append(scope["path"])
            return
        self.inside.append(scope["path"])
        await self.ends.wait()

    def ask(self, path: str, **headers: str) -> asyncio.Task:
        return asyncio.create_task(self.shares(scope_of(path, **headers), None, None))

    async def settle(self, wanted: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not wanted():
                await asyncio.sleep(0.001)


@pytest.mark.parametrize("page", ["", "items/", "trust/", "label/", "export/labels.csv"])
@pytest.mark.slow
def test_ten_pages_of_one_project_leave_room_for_anothers_answers(page):
    """The other project's page begins while eight of the ten still wait."""

    async def run() -> None:
        site = Site()
        heavy = [site.ask(f"/projects/{OWN}/{page}", cookie=f"sessionid=s{n}") for n in range(10)]
        await site.settle(lambda: len(site.inside) == 2)
        answer = site.ask(f"/projects/{OTHER}/label/", cookie="sessionid=other")
        await site.settle(lambda: f"/projects/{OTHER}/label/" in site.inside)
        assert len(site.inside) == 3
        assert len(site.shares.turns.waiting) == 8
        site.ends.set()
        await asyncio.gather(answer, *heavy)
        assert len(site.inside) == 11
        assert not site.shares.turns.running
        assert not site.refused

    asyncio.run(run())


def test_a_second_page_of_a_project_begins_once_the_first_is_done_or_slow():
    """Quick ones one after another: beside each other they would end no sooner and slow down others' answers."""

    async def run() -> None:
        limits = {PAGES: Limit(4, 2, 4, second_after=0.2)}
        turns, use, loop = Turns(limits), Use(PAGES, "A"), asyncio.get_running_loop()
        assert await turns.begin(use)
        began = loop.time()
        second = asyncio.create_task(turns.begin(use))
        assert await turns.begin(Use(PAGES, "B")), "another project's page waits for neither"
        assert not second.done()
        assert await second
        assert 0.19 <= loop.time() - began < 5
        turns.end(use)
        turns.end(use)
        assert await turns.begin(use)
        third = asyncio.create_task(turns.begin(use))
        await asyncio.sleep(0)
        turns.end(use)
        ended = loop.time()
        assert await third
        assert loop.time() - ended < 0.15
        turns.end(use)
        turns.end(Use(PAGES, "B"))
        assert not turns.running
        assert not turns.began

    asyncio.run(run())


def test_answers_are_counted_to_their_project(monkeypatch):
    """Their address names a presentation alone."""
    monkeypatch.setattr(thread_shares, "find_project", lambda token: token.partition("-")[0])

    async def run() -> None:
        site = Site()
        asked = [site.ask(f"/label/one-{n}/") for n in range(10)]
        await site.settle(lambda: len(site.inside) == 2)
        asked.append(site.ask("/api/v1/tasks/two-0/answer/"))
        await site.settle(lambda: "/api/v1/tasks/two-0/answer/" in site.inside)
        assert len(site.inside) == 3
        site.ends.set()
        await asyncio.gather(*asked)

    asyncio.run(run())


@pytest.mark.parametrize("who", [{"cookie": "sessionid=a"}, {"authorization": "Bearer a"}])
@pytest.mark.slow
def test_one_person_leaves_room_for_others_of_the_project(who):
    async def run() -> None:
        site = Site(limits_of(threads=40, answers=8, of_project=5, of_person=2))
        asked = [site.ask(f"/projects/{OWN}/trust/", **who) for _ in range(10)]
        await site.settle(lambda: len(site.inside) == 2)
        asked.append(site.ask(f"/projects/{OWN}/items/", cookie="sessionid=b"))
        await site.settle(lambda: f"/projects/{OWN}/items/" in site.inside)
        assert len(site.inside) == 3
        site.ends.set()
        await asyncio.gather(*asked)

    asyncio.run(run())


def test_who_waits_too_long_is_refused_and_the_place_is_not_lost():
    async def run() -> None:
        site = Site({kind: Limit(1, 1, 1, seconds=0.02) for kind in LIMITS})
        first = site.ask(f"/projects/{OWN}/")
        await site.settle(lambda: len(site.inside) == 1)
        await site.ask(f"/projects/{OWN}/trust/")
        assert site.refused == [f"/projects/{OWN}/trust/"]
        site.ends.set()
        await first
        await site.ask(f"/projects/{OWN}/items/")
        assert site.inside[-1].endswith("/items/")
        assert not site.shares.turns.waiting

    asyncio.run(run())


def test_a_refusal_is_503_in_words_with_the_time_to_try_again(client, db, django_assert_num_queries):
    with django_assert_num_queries(0):
        page = client.get("/", **{"asgi.scope": {REFUSED: True}})
        api = client.get("/api/v1/projects/", **{"asgi.scope": {REFUSED: True}})
    assert (page.status_code, page["Retry-After"]) == (503, "5")
    assert "Wait a few seconds" in page.content.decode()
    assert (api.status_code, api.json()["type"]) == (503, "urn:crowdrank:problem:too-many-at-once")


def test_each_kind_has_threads_of_its_own():
    for threads in range(6, 60):
        for answers in range(1, threads - 4):
            limits = limits_of(threads, answers, of_project=0, of_person=0)
            assert all(one.total >= 1 and one.of_project >= 1 and one.of_person >= 1 for one in limits.values())
            shared = [one for one in limits.values() if one.total > 1]
            assert all(one.of_project < one.total for one in shared), "none is all of one project's"
    assert sum(one.total for one in LIMITS.values()) < 20


@pytest.mark.parametrize(
    ("path", "use"),
    [
        (f"/projects/{OWN}/label/", Use(ANSWERS, str(OWN))),
        (f"/projects/{OWN}/trust/", Use(PAGES, str(OWN))),
        (f"/api/v1/projects/{OWN}/next/", Use(ANSWERS, str(OWN))),
        (f"/projects/{OWN}/export/labels.csv", Use(EXPORTS, str(OWN))),
        ("/results/abc/", Use(PAGES, "abc")),
        ("/media/items/7/", Use(FILES)),
        ("/static/css/base.css", Use(FILES)),
        ("/accounts/login/", Use(PAGES)),
        ("/healthz", None),
    ],
)
def test_what_a_request_is_counted_as(path, use):
    assert asyncio.run(use_of(scope_of(path))) == use


def test_a_ticket_of_an_embedded_vote_stands_for_its_person():
    own = asyncio.run(use_of(scope_of(f"/embed/ticket/projects/{OWN}/label/", cookie="sessionid=x")))
    assert own == asyncio.run(use_of(scope_of(f"/embed/ticket/projects/{OWN}/label/")))
    assert (own.kind, own.project, bool(own.person)) == (ANSWERS, str(OWN), True)
    assert asyncio.run(use_of(scope_of("/embed/new/join/abc/"))) == Use(PAGES, "abc")


def test_the_names_in_the_table_are_those_of_addresses():
    names = {route.name for route in ROUTES}
    assert not [name for name in thread_shares.KIND_OF if not name.startswith("api-") and name not in names]


def test_a_presentation_leads_to_its_project(presentation):
    assert thread_shares.find_project(presentation.token) == str(presentation.annotator.project_id)
    assert thread_shares.find_project("none") == ""


def test_what_this_process_handed_out_leads_to_its_project_without_the_database(presentation):
    """Another thread's connection would not see what this test has not committed."""
    project = str(presentation.annotator.project_id)
    assert asyncio.run(use_of(scope_of(f"/label/{presentation.token}/"))) == Use(ANSWERS, project)


def test_the_oldest_of_what_was_handed_out_are_forgotten():
    handed_out, project = HandedOut(most=2), OWN
    for token in "abc":
        handed_out.add(token, project)
    assert [handed_out.project_of(token) for token in "abc"] == [None, project, project]


@given(
    st.lists(
        st.tuples(st.sampled_from("AB"), st.sampled_from("xyz"), st.sampled_from("pq"), st.integers(0, 3)), max_size=30
    )
)
def test_limits_hold_and_all_get_their_turn(asked):
    limits = {"p": Limit(4, 2, 1), "q": Limit(1, 1, 1)}

    async def run() -> None:
        turns, most = Turns(limits), []

        async def one(project: str, person: str, kind: str, pauses: int) -> bool:
            use = Use(kind, project, person)
            went = await turns.begin(use)
            most.append(dict(turns.running))
            for _ in range(pauses):
                await asyncio.sleep(0)
            turns.end(use)
            return went

        assert all(await asyncio.gather(*(one(*each) for each in asked)))
        assert not turns.running
        assert not turns.waiting
        for running in most:
            for counted, n in running.items():
                limit = limits[counted[0]]
                of = {"project": limit.of_project, "person": limit.of_person}
                assert n <= (of[counted[1]] if len(counted) > 1 else limit.total)

    asyncio.run(run())


def test_whoever_gives_up_leaves_no_trace():
    async def run() -> None:
        turns = Turns({"p": Limit(1, 1, 1)})
        use = Use("p", "A", "x")
        assert await turns.begin(use)
        waiting = [asyncio.create_task(turns.begin(use)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        turns.end(use)  # the second's turn comes in the moment in which it gives up
        waiting[1].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert await waiting[2]
        turns.end(use)
        assert not turns.running
        assert not turns.waiting

    asyncio.run(run())
