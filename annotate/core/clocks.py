"""Notices when the machine's clock jumps; pauses that no jump disturbs."""

import threading
import time

MIN_JUMP = 2.0  # seconds; what is less is the clock being set right


class ClockWatch:
    """Compares the clock on the wall with the one that only goes forward."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def jump(self) -> float:
        """Return by how many seconds the clock has jumped since the last call, below 0 for back; 0.0 if it has not."""
        offset = time.time() - time.monotonic()
        jump, self._offset = offset - self._offset, offset
        return jump if abs(jump) >= MIN_JUMP else 0.0


def pause(seconds: float) -> None:
    """Sleeps, in another way where the kernel refuses the moment to wake at, as it may while the clock is changed."""
    try:
        time.sleep(max(0.0, seconds))
    except OSError:
        threading.Event().wait(seconds)
