"""Sends one request to an address that others gave: never into our own network, no redirects, within seconds."""

import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.utils.translation import gettext_noop

from annotate.core.stored_messages import render_message, store_message

STEP_TIMEOUT = 5.0  # seconds for one step
MAX_SECONDS = 15.0  # seconds for all of it
MAX_REASON_LENGTH = 100  # of what is stored, so that the message fits its column
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Unreachable(Exception):
    """`str(error)` tells the owner why, and nothing about what else is at the address; `stored` is kept of it."""

    def __init__(self, msgid: str, **arguments: int | str) -> None:
        self.stored = store_message(msgid, **arguments)
        super().__init__(render_message(self.stored))


@dataclass(frozen=True)
class Answer:
    """headers: by their names in lower case; body: its first bytes."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


def post(url: str, body: bytes, headers: dict[str, str]) -> int:
    """Return the status of the answer, whose body is not read. Raises Unreachable."""
    return exchange(url, body, headers)[0]


def exchange(url: str, body: bytes, headers: dict[str, str], *, max_bytes: int = 0) -> tuple[int, bytes]:
    """Return the status of the answer to a POST and the first bytes of its body. Raises Unreachable."""
    answer = send("POST", url, body, headers, max_bytes=max_bytes)
    return answer.status, answer.body


def fetch(url: str, headers: dict[str, str], *, max_bytes: int) -> Answer:
    """Return the answer to a GET. Raises Unreachable."""
    return send("GET", url, None, headers, max_bytes=max_bytes)


def send(method: str, url: str, body: bytes | None, headers: dict[str, str], *, max_bytes: int) -> Answer:
    parts = parse_url(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    host = str(parts.hostname)
    family, address = resolve(host, port)
    connection = http.client.HTTPConnection(host, port)
    try:
        connection.sock = connect(family, address, parts)
        with ended_after(MAX_SECONDS, connection.sock):
            if isinstance(connection.sock, ssl.SSLSocket):
                connection.sock.do_handshake()
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request(method, target, body, {"Host": parts.netloc, "Connection": "close", **headers})
            answer = connection.getresponse()
            named = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, named, answer.read(max_bytes) if max_bytes else b"")
    except ssl.SSLError as error:
        raise Unreachable(
            gettext_noop("The certificate was not accepted: %(reason)s"),
            reason=str(error.reason or error)[:MAX_REASON_LENGTH],
        ) from error
    except TimeoutError as error:
        raise Unreachable(gettext_noop("No answer within %(n)d seconds."), n=int(STEP_TIMEOUT)) from error
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(gettext_noop("The connection failed (%(reason)s)."), reason=type(error).__name__) from error
    finally:
        connection.close()


def parse_url(url: str) -> SplitResult:
    """Split an address that may be called into its parts; raise Unreachable."""
    try:
        parts = urlsplit(url)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        raise Unreachable(gettext_noop("This is not a web address. Write it like https://example.org/hook.")) from None
    allowed = {"https", "http"} if settings.WEBHOOKS_ALLOW_HTTP else {"https"}
    if parts.scheme not in allowed:
        raise Unreachable(gettext_noop("The address has to begin with https://."))
    if not parts.hostname or not has_port or parts.username is not None or parts.fragment:
        raise Unreachable(gettext_noop("Remove the user name, the password and the part after “#” from the address."))
    if not url.isascii() or not url.isprintable() or " " in url:
        raise Unreachable(
            gettext_noop(
                "Use only ASCII characters in the address; encode others with percent signs or, in the host name, as "
                "punycode."
            )
        )
    if not may_call_literal(parts.hostname):
        raise Unreachable(gettext_noop("Addresses inside the site's own network can't be called. Use a public one."))
    return parts


def may_call_literal(host: str) -> bool:
    """Tells whether the name itself may be public; a name in the DNS is looked up before each call."""
    if settings.WEBHOOKS_ALLOW_PRIVATE:
        return True
    if host == "localhost" or host.endswith(".localhost"):
        return False
    try:
        return is_public(ipaddress.ip_address(host))
    except ValueError:
        return True


def is_public(address: Address) -> bool:
    """Tells whether the address is public, also looking into IPv6 addresses that stand for an IPv4 one."""
    if isinstance(address, ipaddress.IPv6Address):
        teredo = address.teredo[1] if address.teredo else None
        inner = address.ipv4_mapped or address.sixtofour or teredo
        if inner is None and address in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not address.is_multicast and not address.is_reserved


def resolve(host: str, port: int) -> tuple[socket.AddressFamily, tuple]:
    """Look the name up; every one of its addresses has to be public. What was checked is what is called."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Unreachable(
            gettext_noop("The host name “%(host)s” could not be found. Check the spelling."),
            host=host[:MAX_REASON_LENGTH],
        ) from None
    if not settings.WEBHOOKS_ALLOW_PRIVATE:
        for *_more, place in found:
            if not is_public(ipaddress.ip_address(str(place[0]).partition("%")[0])):
                raise Unreachable(
                    gettext_noop(
                        "This host name points into the site's own network, which can't be called. "
                        "Use a public address."
                    )
                )
    family, _type, _protocol, _name, place = found[0]
    return family, place


def connect(family: socket.AddressFamily, address: tuple, parts: SplitResult) -> socket.socket:
    """Open the socket; for TLS before its handshake."""
    plain = socket.socket(family, socket.SOCK_STREAM)
    try:
        plain.settimeout(STEP_TIMEOUT)
        plain.connect(address)
        if parts.scheme == "http":
            return plain
        context = ssl.create_default_context()
        return context.wrap_socket(plain, server_hostname=parts.hostname, do_handshake_on_connect=False)
    except OSError:
        plain.close()
        raise


@contextmanager
def ended_after(seconds: float, sock: socket.socket) -> Iterator[None]:
    """End a call whose other side drips its answer: closing alone would wait for whoever reads from the socket.

    Raises TimeoutError where the answer was cut off. Of TLS it is the plain socket below that ends, since the TLS above
    is being read by another thread.
    """
    ended = threading.Event()

    def end() -> None:
        ended.set()
        with suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)

    clock = threading.Timer(seconds, end)
    clock.daemon = True
    clock.start()
    try:
        yield
    finally:
        clock.cancel()
    if ended.is_set():
        raise TimeoutError
