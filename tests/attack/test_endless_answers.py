"""Servers that the site asks and that never stop answering, or unpack to a thousand times as much: little is read."""

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from annotate.accounts import id_tokens
from annotate.accounts.id_tokens import MAX_BYTES, TokenRefused, fetch_json
from annotate.webhooks import http_client

pytestmark = pytest.mark.embedded
PIECE = b" " * 2**16
FAR_TOO_MUCH = 2**26  # bytes; a reader without a limit would take them


class Endless(BaseHTTPRequestHandler):
    """Sends /plain and /packed until the reader goes."""

    server: "Server"

    def do_GET(self) -> None:
        packed = gzip.compress(b" " * 2**22) if self.path == "/packed" else b""
        self.send_response(200)
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        try:
            while self.server.sent < FAR_TOO_MUCH:
                self.wfile.write(packed or PIECE)
                self.server.sent += len(packed or PIECE)
        except OSError:
            pass
        finally:
            self.server.done.set()

    def log_message(self, *arguments) -> None:
        pass


class Server(ThreadingHTTPServer):
    sent = 0
    done: threading.Event


@pytest.fixture
def endless() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Endless)
    server.done = threading.Event()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def address(server: Server, path: str) -> str:
    return f"http://127.0.0.1:{server.server_port}/{path}"


def check_sent(server: Server) -> None:
    """What the system's buffers hold comes on top of what was read."""
    assert server.done.wait(30)
    assert server.sent < FAR_TOO_MUCH / 2


def test_a_description_that_never_ends_is_refused_before_it_is_read(endless):
    with pytest.raises(TokenRefused, match="more than is read"):
        fetch_json(address(endless, "plain"))
    check_sent(endless)


def test_a_packed_description_is_measured_unpacked(endless, monkeypatch):
    pieces, read = [], id_tokens.read_limited

    def measured(answer):
        own = answer.iter_content
        monkeypatch.setattr(answer, "iter_content", lambda size: (pieces.append(len(one)) or one for one in own(size)))
        return read(answer)

    monkeypatch.setattr(id_tokens, "read_limited", measured)
    with pytest.raises(TokenRefused, match="more than is read"):
        fetch_json(address(endless, "packed"))
    assert sum(pieces) < MAX_BYTES + 2 * id_tokens.CHUNK


def test_a_description_that_trickles_is_given_up(endless, monkeypatch):
    monkeypatch.setattr(id_tokens, "MAX_SECONDS", 0.0)
    with pytest.raises(TokenRefused, match="more than is read"):
        fetch_json(address(endless, "plain"))


def test_of_a_learning_platforms_answer_only_the_first_bytes_are_read(endless, settings):
    settings.WEBHOOKS_ALLOW_PRIVATE = settings.WEBHOOKS_ALLOW_HTTP = True
    answer = http_client.fetch(address(endless, "plain"), {}, max_bytes=1000)
    assert len(answer.body) == 1000
    check_sent(endless)
