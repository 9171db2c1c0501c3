"""Child processes that are started again when they die and never outlive their parent, however it ends.

Each runs `annotate/core/run_child.py`.
"""

import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

from django.conf import settings

from annotate.core.clocks import pause

logger = logging.getLogger("annotate.core.child_processes")
PR_SET_PDEATHSIG = 1
WATCH_EVERY = 0.5
FIRST_PAUSE, MAX_PAUSE = 0.5, 60.0
# A child that ran this long was well: its next death is met with the first pause again.
MIN_HEALTHY_SECONDS = 60.0
MAX_STOP_SECONDS = 10.0


def end_with_parent(parent: int) -> None:
    """Have this process, a Child, killed when process `parent` has ended, even by kill -9.

    On Linux the kernel does it. A thread also watches: it covers the moment before this call, and other systems.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    _watch(parent, signal.SIGKILL)


def stop_with_starter() -> None:
    """Ask this process to stop once whoever started it, a shell or make, has ended.

    The kernel's help is not for this case: it goes by the thread that started us, which may end before its process.
    """
    _watch(os.getppid(), signal.SIGTERM)


def _watch(parent: int, number: signal.Signals) -> None:
    def wait() -> None:
        while os.getppid() == parent:
            pause(WATCH_EVERY)
        os.kill(os.getpid(), number)

    threading.Thread(target=wait, name="parent watch", daemon=True).start()


class Child:
    """One `manage.py` command kept running in a process of its own."""

    def __init__(self, *arguments: str, name: str = "", inherits: Sequence[int] = ()) -> None:
        """`inherits`: file descriptors of ours that the child gets too, under the same numbers."""
        self.name = name or arguments[0]
        self.inherits = inherits
        self.command = [sys.executable, "-m", "annotate.core.run_child", str(os.getpid()), *arguments]
        self.process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        # The kernel ends a child with the thread that started it, so this thread lives as long as the child.
        self._thread = threading.Thread(target=self._keep_running, name=f"keeps {self.name} running", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Asks the child to end, and kills it if it has not within ten seconds."""
        self.ask_to_stop()
        self._thread.join(MAX_STOP_SECONDS)
        if self._thread.is_alive() and self.process:
            logger.warning("%s did not end within %.0f s and is killed.", self.name, MAX_STOP_SECONDS)
            self.process.kill()
            self._thread.join()

    def ask_to_stop(self) -> None:
        with self._lock:
            self._stopping.set()
            if self.process and self.process.poll() is None:
                self.process.terminate()

    def _keep_running(self) -> None:
        pause = FIRST_PAUSE
        while process := self._start_process():
            started = time.monotonic()
            code = process.wait()
            if self._stopping.is_set():
                return
            if time.monotonic() - started > MIN_HEALTHY_SECONDS:
                pause = FIRST_PAUSE
            logger.warning("The %s ended with code %d; it starts again in %.1f s.", self.name, code, pause)
            self._stopping.wait(pause)
            pause = min(2 * pause, MAX_PAUSE)

    def _start_process(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._stopping.is_set():
                return None
            # Ctrl-C reaches a terminal's foreground group: out of it, only the parent decides when the child ends.
            self.process = subprocess.Popen(  # noqa: S603
                self.command, cwd=settings.BASE_DIR, process_group=0, pass_fds=self.inherits
            )
            return self.process


def stop_all(children: Sequence[Child]) -> None:
    for child in children:
        child.ask_to_stop()
    for child in children:
        child.stop()
