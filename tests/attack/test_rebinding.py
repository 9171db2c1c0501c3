"""Names in the DNS that change between check and use: what was checked is what is called, and it is asked once."""

import socket

import pytest

from annotate.webhooks import http_client
from annotate.webhooks.http_client import Unreachable

pytestmark = pytest.mark.embedded
PUBLIC, PRIVATE = "93.184.215.14", ["127.0.0.1", "10.0.0.7", "169.254.169.254", "::1", "fd00::1", "::ffff:127.0.0.1"]


@pytest.fixture
def called(monkeypatch, settings) -> list[str]:
    """The addresses to which a connection was begun; none is ever made."""
    settings.WEBHOOKS_ALLOW_PRIVATE, settings.WEBHOOKS_ALLOW_HTTP, found = False, True, []

    def connect(self, address) -> None:
        found.append(address[0])
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", connect)
    return found


def answers(monkeypatch, *each: list[str]) -> list[int]:
    """Lets the DNS give these addresses, one list at each time it is asked; returns how often that was."""
    asked: list[int] = []

    def getaddrinfo(host, port, *_, **__):
        asked.append(1)
        addresses = each[min(len(asked), len(each)) - 1]
        return [
            (socket.AF_INET6 if ":" in one else socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port))
            for one in addresses
        ]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return asked


@pytest.mark.parametrize("private", PRIVATE)
def test_a_name_that_turns_private_after_the_check_is_not_asked_again(monkeypatch, called, private):
    asked = answers(monkeypatch, [PUBLIC], [private])
    with pytest.raises(Unreachable):
        http_client.post("http://rebind.example/hook", b"{}", {})
    assert called == [PUBLIC]
    assert len(asked) == 1


CALLS = {
    "post": lambda url: http_client.post(url, b"{}", {}),
    "fetch": lambda url: http_client.fetch(url, {}, max_bytes=10),
}


@pytest.mark.parametrize("private", PRIVATE)
@pytest.mark.parametrize("call", CALLS)
def test_one_private_address_among_public_ones_is_enough_to_refuse(monkeypatch, called, private, call):
    answers(monkeypatch, [PUBLIC, private])
    with pytest.raises(Unreachable, match="own network"):
        CALLS[call]("http://both.example/")
    assert called == []


def test_every_call_is_checked_anew(monkeypatch, called):
    answers(monkeypatch, [PUBLIC], [PRIVATE[0]])
    for _ in range(2):
        with pytest.raises(Unreachable):
            http_client.post("http://later.example/", b"{}", {})
    assert called == [PUBLIC]
