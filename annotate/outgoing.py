"""One POST to an address that a person typed: never into our own network, no redirects, and over within seconds."""

import http.client
import ipaddress
import socket
import ssl
import threading
from contextlib import suppress
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from annotate.stored_words import in_words, stored

TIMEOUT = 5.0  # seconds for one step
AT_MOST = 15.0  # seconds for all of it
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Unreachable(Exception):
    """`str(error)` tells the owner why, and nothing about what else lives at the address; `stored` is kept of it."""

    def __init__(self, why: str, **values: int | str) -> None:
        self.stored = stored(why, **values)
        super().__init__(in_words(self.stored))


def post(url: str, body: bytes, headers: dict[str, str]) -> int:
    """The status of the answer, whose body is not read. Raises Unreachable."""
    parts = split(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    host = str(parts.hostname)
    family, address = resolved(host, port)
    connection = http.client.HTTPConnection(host, port)
    clock = threading.Timer(AT_MOST, cut, [connection])
    clock.daemon = True
    try:
        connection.sock = connected(family, address, parts)
        clock.start()
        if isinstance(connection.sock, ssl.SSLSocket):
            connection.sock.do_handshake()
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", target, body, {"Host": parts.netloc, "Connection": "close", **headers})
        return connection.getresponse().status
    except ssl.SSLError as error:
        raise Unreachable("certificate", reason=str(error.reason or error)[:150]) from error
    except TimeoutError as error:
        raise Unreachable("no answer", n=int(TIMEOUT)) from error
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable("no connection", reason=type(error).__name__) from error
    finally:
        clock.cancel()
        connection.close()


def split(url: str) -> SplitResult:
    """The parts of an address that may be called; raises Unreachable."""
    try:
        parts = urlsplit(url)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        raise Unreachable("no address") from None
    allowed = {"https", "http"} if settings.WEBHOOKS_WITHOUT_TLS else {"https"}
    if parts.scheme not in allowed:
        raise Unreachable("no https")
    if not parts.hostname or not has_port or parts.username is not None or parts.fragment:
        raise Unreachable("more than an address")
    if not url.isascii() or not url.isprintable() or " " in url:
        raise Unreachable("not plain")
    if not may_call_literal(parts.hostname):
        raise Unreachable("inside")
    return parts


def may_call_literal(host: str) -> bool:
    """False where the name itself says that it is not public; a name in the DNS is looked up before each call."""
    if settings.WEBHOOKS_TO_PRIVATE_ADDRESSES:
        return True
    if host == "localhost" or host.endswith(".localhost"):
        return False
    try:
        return is_public(ipaddress.ip_address(host))
    except ValueError:
        return True


def is_public(address: Address) -> bool:
    """Also looks into IPv6 addresses that stand for an IPv4 one."""
    if isinstance(address, ipaddress.IPv6Address):
        teredo = address.teredo[1] if address.teredo else None
        inner = address.ipv4_mapped or address.sixtofour or teredo
        if inner is None and address in ipaddress.ip_network("64:ff9b::/96"):
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(inner)
    return address.is_global and not address.is_multicast and not address.is_reserved


def resolved(host: str, port: int) -> tuple[socket.AddressFamily, tuple]:
    """Where the name leads; every one of its addresses has to be public. What was checked is what is called."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise Unreachable("nowhere", host=host[:100]) from None
    if not settings.WEBHOOKS_TO_PRIVATE_ADDRESSES:
        for *_more, place in found:
            if not is_public(ipaddress.ip_address(str(place[0]).partition("%")[0])):
                raise Unreachable("leads inside")
    family, _type, _protocol, _name, place = found[0]
    return family, place


def connected(family: socket.AddressFamily, address: tuple, parts: SplitResult) -> socket.socket:
    """The socket; of TLS before its handshake."""
    plain = socket.socket(family, socket.SOCK_STREAM)
    try:
        plain.settimeout(TIMEOUT)
        plain.connect(address)
        if parts.scheme == "http":
            return plain
        context = ssl.create_default_context()
        return context.wrap_socket(plain, server_hostname=parts.hostname, do_handshake_on_connect=False)
    except OSError:
        plain.close()
        raise


def cut(connection: http.client.HTTPConnection) -> None:
    """Ends a call whose other side drips its answer: closing alone would wait for whoever reads from the socket.

    Of TLS it is the plain socket below that ends, since the TLS above is being read by another thread.
    """
    if (sock := connection.sock) is not None:
        with suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)
