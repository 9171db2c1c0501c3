"""Visitors of websockets and streams for tests, who speak to the ASGI application directly.

channels.testing would do, but importing it takes daphne, which nothing else here needs.
"""

import json

from asgiref.testing import ApplicationCommunicator

from annotate.asgi import application


class Visitor(ApplicationCommunicator):
    def __init__(self, path: str, *, cookies: dict[str, str], origin: str = "http://localhost") -> None:
        cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
        scope = {
            "type": "websocket",
            "path": path,
            "query_string": b"",
            "headers": [(b"cookie", cookie.encode()), (b"origin", origin.encode()), (b"host", b"localhost")],
            "subprotocols": [],
        }
        super().__init__(application, scope)

    async def connect(self, timeout: float = 30) -> bool:
        """Whether the socket was accepted."""
        await self.send_input({"type": "websocket.connect"})
        return (await self.receive_output(timeout))["type"] == "websocket.accept"

    async def receive(self, timeout: float = 30) -> dict:
        """The next message; its type is "websocket.close" when the server hung up, else the decoded text."""
        message = await self.receive_output(timeout)
        return message if message["type"] != "websocket.send" else json.loads(message["text"])

    async def disconnect(self, timeout: float = 30) -> None:
        await self.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.wait(timeout)


class StreamReader(ApplicationCommunicator):
    """A page that reads a stream of server-sent events."""

    def __init__(self, path: str, query: str = "", headers: dict[str, str] | None = None) -> None:
        named = {"host": "localhost", **(headers or {})}
        scope = {
            "type": "http",
            "method": "GET",
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in named.items()],
            "client": ("127.0.0.1", 50000),
        }
        super().__init__(application, scope)
        self.text = ""

    async def connect(self, timeout: float = 30) -> int:
        """The status of the answer."""
        await self.send_input({"type": "http.request"})
        start = await self.receive_output(timeout)
        self.headers = dict(start["headers"])
        return start["status"]

    async def receive(self, timeout: float = 30) -> dict[str, str]:
        """The fields of the next event that holds anything: its id, its kind, its data; {} when the stream ended."""
        while True:
            event, mark, rest = self.text.partition("\n\n")
            if mark:
                self.text = rest
                fields: dict[str, str] = {}
                for line in event.splitlines():
                    name, _colon, value = line.partition(":")
                    fields[name] = "\n".join(filter(None, [fields.get(name), value.removeprefix(" ")]))
                if "data" in fields:
                    return fields
                continue
            message = await self.receive_output(timeout)
            if not message.get("more_body"):
                return {}
            self.text += message["body"].decode()

    async def disconnect(self, timeout: float = 30) -> None:
        await self.send_input({"type": "http.disconnect"})
        await self.wait(timeout)
