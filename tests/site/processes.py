"""Looking at real processes by /proc: who is left, who is whose child."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from tests.pace import is_within


def with_environment(text: str) -> set[int]:
    """The ids of running processes whose environment holds this text; zombies have none."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if text.encode() in (entry / "environ").read_bytes():
                    found.add(int(entry.name))
            except OSError:  # it ended meanwhile
                continue
    return found - {os.getpid()}


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def wait_for(what: Callable[[], object], seconds: float = 120, why: str = "it never came to be") -> object:
    """The first true value of `what`."""
    began, pause = time.monotonic(), 0.05
    while not (value := what()):
        assert is_within(time.monotonic() - began, seconds, time.monotonic), f"{why} within {seconds} s"
        time.sleep(pause)
        pause = min(1.3 * pause, 0.4)  # asking takes CPU that what is waited for needs
    return value
