"""Remembers of which project each presentation is that this process has handed out lately.

An answer is counted by its project before it has a thread and a connection to ask the database.
"""

import threading
from collections import OrderedDict
from uuid import UUID

MOST = 20_000  # presentations, some 4 MB


class HandedOut:
    """A presentation never changes its project, so that nothing here is ever out of date."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._projects: OrderedDict[str, UUID] = OrderedDict()

    def add(self, token: str, project_id: UUID) -> None:
        with self._lock:
            self._projects[token] = project_id
            if len(self._projects) > self.most:
                self._projects.popitem(last=False)

    def project_of(self, token: str) -> UUID | None:
        """Return None for what another process has handed out, or this one long ago."""
        return self._projects.get(token)


HANDED_OUT = HandedOut()
