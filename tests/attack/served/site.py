"""A served site as an attacker speaks to it: byte by byte, so that no client tidies up what is sent."""

import http.client
import io
import re
import socket
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from tests.load.servers import Process

SECRET = b"What only members may see"
# What must never be sent to anybody: files of the site, of the machine, of others.
NEVER = [SECRET, b"SQLite format 3", b"root:x:", b"DJANGO_SETTINGS_MODULE", b"SECRET_KEY", b"Traceback", b"annotate/"]


def picture() -> bytes:
    """A picture with the secret in it."""
    said, out = PngInfo(), io.BytesIO()
    said.add_text("Comment", SECRET.decode())
    Image.new("RGB", (2, 2)).save(out, "PNG", pnginfo=said)
    return out.getvalue()


@dataclass(frozen=True)
class Answer:
    """status: 0 where the server hung up without a word.  rest: what it sent after this answer."""

    status: int
    headers: Message
    body: bytes
    rest: bytes = b""

    @property
    def location(self) -> str:
        return self.headers.get("Location", "")


@dataclass(frozen=True)
class Served:
    port: int
    folder: Path
    log: Path
    project: str
    join_token: str
    session: str
    secret: str
    process: Process

    def memory(self) -> int:
        """Megabytes that the web process has held at most."""
        status = Path(f"/proc/{self.process.child.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) // 1024

    def send(self, request: bytes, seconds: float = 30) -> Answer:
        """Sends these bytes and nothing else, and reads until the server is done."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            try:
                connection.sendall(request)
            except OSError:
                pass  # refused before all was sent
            reply = http.client.HTTPResponse(connection)
            try:
                reply.begin()
                body = reply.read()
                return Answer(reply.status, reply.msg, body, read_on(connection))
            except (http.client.HTTPException, OSError):
                return Answer(0, Message(), b"")

    def get(self, target: str | bytes, *headers: str, method: str = "GET") -> Answer:
        path = target if isinstance(target, bytes) else target.encode()
        lines = [f"Host: 127.0.0.1:{self.port}", "Connection: close", *headers]
        return self.send(method.encode() + b" " + path + b" HTTP/1.1\r\n" + "\r\n".join(lines).encode() + b"\r\n\r\n")

    def as_owner(self, target: str | bytes) -> Answer:
        return self.get(target, f"Cookie: sessionid={self.session}")

    def post(self, target: str, body: bytes, kind: str, *headers: str) -> Answer:
        lines = [f"Host: 127.0.0.1:{self.port}", "Connection: close", f"Content-Type: {kind}"]
        lines += [f"Content-Length: {len(body)}", *headers]
        return self.send(f"POST {target} HTTP/1.1\r\n".encode() + "\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def upload(self, target: str, secret: str, *headers: str, **fields: str | tuple[str, bytes]) -> Answer:
        """A form in parts, files as (name, content): as its page sends it or, where there is a secret, a client."""
        token, boundary = "c" * 32, "6b1f0c4e"
        sent = dict(fields) if secret else {"csrfmiddlewaretoken": token, **fields}
        who = (
            [f"Authorization: Bearer {secret}"] if secret else [f"Cookie: sessionid={self.session}; csrftoken={token}"]
        )
        parts = []
        for name, value in sent.items():
            file, content = value if isinstance(value, tuple) else ("", value.encode())
            named = f'; filename="{file}"' if file else ""
            head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n'
            parts.append(head.encode() + content + b"\r\n")
        body = b"".join(parts) + f"--{boundary}--\r\n".encode()
        return self.post(target, body, f"multipart/form-data; boundary={boundary}", *who, *headers)


def read_on(connection: socket.socket) -> bytes:
    try:
        return connection.recv(65536)
    except OSError:
        return b""


def told(answer: Answer) -> list[bytes]:
    """What an answer tells that no answer may."""
    said = answer.body + str(answer.headers).encode()
    return [one for one in NEVER if one in said]
