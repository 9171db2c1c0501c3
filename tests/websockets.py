"""A websocket visitor for tests, spoken to the ASGI application directly.

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
