"""The database and the connections to it."""

from annotate.core.folders import DATA
from annotate.settings.base import TESTING, env

DATABASES = {"default": env.database("DATABASE_URL", default=f"sqlite:///{DATA / 'db.sqlite3'}")}
database = DATABASES["default"]
if database["ENGINE"] == "django.db.backends.sqlite3":
    # Readers never wait for writers; a writer takes its lock at BEGIN, so that two of them queue, not fail. What is
    # acknowledged is on the disk (ADR 0022), and what is deleted is overwritten by every build of SQLite.
    database["CONN_MAX_AGE"] = 600
    # Each thread's connection has its own cache: with 64 MB, no faster, large exports would come to hold a gigabyte.
    database["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": (
            f"PRAGMA journal_mode=WAL; PRAGMA synchronous={'OFF' if TESTING else 'FULL'}; PRAGMA busy_timeout=20000; "
            "PRAGMA secure_delete=ON; PRAGMA cache_size=-16384; PRAGMA mmap_size=268435456; PRAGMA temp_store=MEMORY;"
        ),
    }
else:
    from annotate.core.watched_connections import WatchedConnection  # psycopg takes a fifth of a second to import

    # A request waits no longer for a connection, nor for a server that answers nobody (database_silence.py) or has
    # vanished with its machine: that acknowledges nothing, and is asked every second whether it is there.
    wait_ms = env.number("DATABASE_CONNECT_MS", default=1200)
    statement_seconds = env.number("DATABASE_STATEMENT_SECONDS", default=600)
    pool = {"min_size": 1, "max_size": env.number("DATABASE_POOL", default=24), "timeout": wait_ms / 1000}
    database["OPTIONS"] = {
        "pool": pool | {"connection_class": WatchedConnection},
        "connect_timeout": max(2, round(wait_ms / 1000)),
        "options": f"-c statement_timeout={statement_seconds}s",
    } | {"tcp_user_timeout": wait_ms, "keepalives_idle": 1, "keepalives_interval": 1}
    # Asked before each use whether it still lives: else a restart of the server fails a request for every one pooled.
    database["CONN_HEALTH_CHECKS"] = True
