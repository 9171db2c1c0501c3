"""Server and engine as real processes on a free port of 127.0.0.1, to be killed."""

import http.client
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.paths import ROOT


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Process:
    """One process of the site, its output kept in a file."""

    command: list[str]
    env: dict[str, str]
    log: Path
    child: subprocess.Popen | None = None

    def start(self) -> "Process":
        with self.log.open("ab") as out:
            self.child = subprocess.Popen(self.command, cwd=ROOT, env=self.env, stdout=out, stderr=out)
        return self

    def kill(self) -> None:
        """As a power cut would."""
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()

    def stop(self) -> None:
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()


def web(env: dict[str, str], port: int, folder: Path, workers: int = 1) -> Process:
    command = [sys.executable, "manage.py", "serve", "--no-worker", "--port", str(port), "--workers", str(workers)]
    return Process(command, env, folder / "web.log")


def engine(env: dict[str, str], folder: Path) -> Process:
    return Process([sys.executable, "manage.py", "worker"], env, folder / "engine.log")


def wait_until_it_answers(port: int, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/accounts/login/")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing answered on port {port} within {seconds} seconds")
        time.sleep(0.1)
