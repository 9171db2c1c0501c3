"""Live pages of who lost the right to them: nothing more is heard, nothing opens again, no other site listens.

How soon and with which code a socket is closed: tests/site/live/test_live.py.
"""

import asyncio

import pytest
from channels.db import database_sync_to_async
from django.utils import timezone

from annotate.live import consumers
from annotate.models import FitState, Membership, Project, User
from annotate.privacy.erasure.accounts import erase_account
from tests.conftest import make_user
from tests.site.live.test_live import change, cookies_of, demote, new_password, quick, remove, visitor  # noqa: F401

pytestmark = pytest.mark.django_db(transaction=True)
LATER = 777  # a fit that is published after the rights are gone


def delete_project(project: Project, user: User) -> None:
    Membership.objects.filter(project=project).delete()
    Project.objects.filter(pk=project.pk).delete()


def erase(project: Project, user: User) -> None:
    erase_account(user=user, now=timezone.now())


@pytest.mark.parametrize("end", [demote, remove, new_password, delete_project, erase])
@pytest.mark.slow
def test_nothing_is_heard_and_nothing_opens_again(project, vera, end):
    cookies = cookies_of(vera)
    FitState.objects.create(project=project, published_fit=1)

    async def run() -> tuple[list[dict], bool]:
        socket, heard = visitor(cookies, project), []
        assert await socket.connect()
        await socket.receive()
        await database_sync_to_async(end)(project, vera)
        while (message := await socket.receive(10)).get("type") != "websocket.close":
            heard.append(message)
        assert message["code"] == consumers.FORBIDDEN
        if end is not delete_project:
            await change(project, published_fit=LATER)
        assert await socket.receive_nothing(0.3)
        return heard, await visitor(cookies, project).connect()

    heard, opened = asyncio.run(run())
    assert [one for one in heard if one.get("fit") == LATER] == []
    assert not opened


ORIGINS = [
    *("http://evil.example", "https://evil.example", "http://localhost.evil.example", "http://evil.example/localhost"),
    *(
        "http://localhost@evil.example",
        "null",
        "",
        "file://",
        "http://evil-localhost",
        "javascript:alert(1)",
        "localhost",
    ),
]


@pytest.mark.parametrize("origin", ORIGINS)
def test_no_other_site_listens_with_the_cookies_of_a_member(project, alice, origin):
    cookies = cookies_of(alice)
    assert not asyncio.run(visitor(cookies, project, origin=origin).connect())


def test_a_browser_always_names_an_origin(project, alice):
    """A request without one is no browser's page; it is refused as well."""
    socket = visitor(cookies_of(alice), project)
    socket.scope["headers"] = [one for one in socket.scope["headers"] if one[0] != b"origin"]
    assert not asyncio.run(socket.connect())


def forged_cookies(alice: User) -> list[dict[str, str]]:
    real = cookies_of(alice)["sessionid"]
    values = ["", "0" * 32, real[:-1], real + "a", real.upper(), f'"{real}x"', "a" * 4000]
    return [{"sessionid": value} for value in values] + [{"session": real}, cookies_of(make_user("stranger"))]


def test_forged_cookies_open_nothing(project, alice):
    opened = []
    for cookies in forged_cookies(alice):
        if asyncio.run(visitor(cookies, project).connect()):
            opened.append(cookies)
    assert opened == []
