"""Connections of the pool to PostgreSQL, whose waiting can be ended by another thread."""

from typing import Any

import psycopg

from annotate.core.server_waits import WAITS


class WatchedConnection(psycopg.Connection[Any]):
    """Whatever asks the server goes through `wait`."""

    def wait(self, *args: Any, **options: Any) -> Any:
        WAITS.begin(self)
        try:
            return super().wait(*args, **options)
        finally:
            WAITS.end(self)
