"""Runs the site: uvicorn in this process, the worker and further web processes as supervised children."""

import signal
import socket
from collections.abc import Sequence
from types import FrameType

import uvicorn
from django.core.management.base import CommandError

from annotate.core.child_processes import Child, stop_all


def listen(host: str, port: int) -> socket.socket:
    """Binds the socket before anything else is done, so that a port in use is reported at once."""
    try:
        return socket.create_server((host, port), family=address_family(host), backlog=2048)
    except OSError as error:
        raise CommandError(
            f"Port {port} of {host} can't be used: {error.strerror or error}. "
            "Stop what uses it, or choose another with --port (with make: PORT=8001)."
        ) from error


def address_family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def address(host: str, port: int) -> str:
    """Return what to type into a browser on this machine."""
    shown = "127.0.0.1" if host in ("0.0.0.0", "") else f"[{host}]" if ":" in host else host  # noqa: S104
    return f"http://{shown}:{port}/"


class Server(uvicorn.Server):
    """Prints `welcome` once it answers."""

    def __init__(self, config: uvicorn.Config, welcome: str) -> None:
        super().__init__(config)
        self.welcome = welcome

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self.welcome:
            print(self.welcome, flush=True)


def web_processes(listener: socket.socket, n: int) -> list[Child]:
    """Return `n` further web processes that take connections from the same socket."""
    number = listener.fileno()
    arguments = ["serve", "--no-worker", "--socket", str(number)]
    return [Child(*arguments, name=f"web process {i + 2}", inherits=[number]) for i in range(n)]


def run(listener: socket.socket, children: Sequence[Child], welcome: str) -> None:
    """Serve until Ctrl-C or SIGTERM, then end the children; should this process be killed, they end by themselves."""
    config = uvicorn.Config(
        "annotate.asgi:application",
        lifespan="off",
        ws="websockets-sansio",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # settings.BEHIND_PROXY and NUM_PROXIES say whom to believe
        timeout_graceful_shutdown=3,
    )
    signal.signal(signal.SIGTERM, interrupt)
    try:
        for child in children:
            child.start()
        Server(config, welcome).run(sockets=[listener])
    except KeyboardInterrupt:
        pass  # how uvicorn hands a signal on once it has shut down
    finally:
        stop_all(children)


def interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
