"""The settings a demo runs with: files in .demo/, secrets drawn at random, never anybody's real database."""

import os
import secrets
from pathlib import Path

from annotate.core.folders import DATA

# The project whose duel visitors meet on the first page.
LANDING_PROJECT = "5d0a3c1e-7b52-4c0f-9f0e-2f6f0c9f4a11"


def folder() -> Path:
    """Return where the demo keeps its database and pictures; git ignores it."""
    return Path(os.environ.get("DEMO_FOLDER") or DATA / ".demo").resolve()


def set_environment() -> None:
    """Overrule what is set of databases and secrets; call it before Django reads its settings."""
    path = folder()
    path.mkdir(parents=True, exist_ok=True)
    os.environ.update(
        {
            "DEBUG": "false",
            "SECRET_KEY": secret_key(path / "secret_key"),
            "HTTPS": "false",  # it listens on this machine only
            "BEHIND_PROXY": "false",
            "DATABASE_URL": f"sqlite:///{path / 'db.sqlite3'}",
            "REDIS_URL": "",
            "MEDIA_ROOT": str(path / "media"),
            "STATIC_ROOT": str(path / "staticfiles"),
            "EMAIL_URL": "consolemail://",
            "ACCOUNT_EMAIL_VERIFICATION": "none",
            "SIGNUP_OPEN": "true",
            "LANDING_PROJECT": LANDING_PROJECT,
        }
    )
    os.environ.setdefault("LOG_LEVEL", "WARNING")


def secret_key(file: Path) -> str:
    """Return the demo's own, so that a demo kept from last time still knows its visitors."""
    if not file.exists():
        file.touch(mode=0o600)
        file.write_text(secrets.token_urlsafe(50))
    return file.read_text()
