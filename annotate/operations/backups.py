"""One archive of everything a site holds: a consistent copy of the database, the items' files, and a manifest."""

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from annotate.core.sqlite_file import has_other_connections
from annotate.fitting import scheduling
from annotate.models import WorkerProcess
from annotate.operations import database_dumps

FORMAT = 1
MANIFEST, MEDIA = "manifest.json", "media/"
NEEDED = {"version", "made_at", "database", "migrations", "rows", "sha256"}


class BackupError(database_dumps.DumpError):
    """Its message is for the operator."""


def back_up(target: Path, *, now: datetime) -> dict[str, Any]:
    """Write the archive, whole or not at all; its manifest. The site may go on meanwhile."""
    if target.exists():
        raise BackupError(f"{target} already exists. Choose another file name.")
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f"{target.name}.part")
    try:
        with tempfile.TemporaryDirectory(prefix="crowdrank-backup-") as place:
            copy = Path(place) / database_dumps.file_name()
            counts, media = database_dumps.dump(copy)
            manifest = write_archive(unfinished, copy, counts, media, now)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)
    return manifest


def write_archive(target: Path, copy: Path, counts: dict[str, int], media: list[str], now: datetime) -> dict[str, Any]:
    """Return the manifest comes last: what was deleted while the files were read is named in it."""
    hashes: dict[str, str] = {}
    missing = []
    # Items' files may be private: nobody but the operator reads the archive.
    with target.open("xb") as file, tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as archive:
        target.chmod(0o600)
        with copy.open("rb") as content:
            hashes[copy.name] = add(archive, copy.name, content, copy.stat().st_size)
        for name in media:
            try:
                with default_storage.open(name) as content:
                    hashes[MEDIA + name] = add(archive, MEDIA + name, content, content.size)
            except FileNotFoundError:
                missing.append(name)
        manifest = {
            "format": FORMAT,
            "version": settings.VERSION,
            "made_at": now.isoformat(),
            "database": connection.vendor,
            "migrations": sorted(map(list, MigrationLoader(connection).applied_migrations)),
            "rows": counts,
            "sha256": hashes,
            "missing_files": missing,
        }
        data = json.dumps(manifest, indent=1, sort_keys=True).encode()
        add(archive, MANIFEST, io.BytesIO(data), len(data))
    return manifest


def add(archive: tarfile.TarFile, name: str, content: IO[bytes], size: int) -> str:
    """Add a file while hashing it."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o600
    hashed = Hashing(content)
    archive.addfile(entry, hashed)
    return hashed.hash.hexdigest()


class Hashing:
    """A file that hashes what is read from it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.hash = file, hashlib.sha256()

    def read(self, n: int = -1) -> bytes:
        data = self.file.read(n)
        self.hash.update(data)
        return data


@contextmanager
def unpacked(source: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Unpack the archive's files into a folder, every one checked against the manifest; raises BackupError."""
    with tempfile.TemporaryDirectory(prefix="crowdrank-restore-") as place:
        folder = Path(place)
        try:
            with tarfile.open(source, "r:*") as archive:
                archive.extractall(folder, filter="data")
            manifest = json.loads((folder / MANIFEST).read_text())
        except FileNotFoundError as error:
            missing = source if not source.exists() else f"{MANIFEST} in {source}"
            raise BackupError(f"There is no {missing}; nothing was changed.") from error
        except (tarfile.TarError, EOFError, OSError, ValueError) as error:
            raise BackupError(
                f"{source} is not a complete backup ({error}); nothing was changed. Use another backup."
            ) from error
        check(folder, manifest)
        yield folder, manifest


def check(folder: Path, manifest: dict[str, Any]) -> None:
    if not isinstance(manifest, dict) or "format" not in manifest:
        raise BackupError(f"{MANIFEST} does not belong to a backup; nothing was changed.")
    if manifest["format"] != FORMAT:
        raise BackupError(f"The backup's format is {manifest['format']}; this version reads {FORMAT}.")
    if missing := NEEDED - manifest.keys():
        raise BackupError(f"{MANIFEST} does not belong to a backup ({min(missing)} is missing); nothing was changed.")
    for name, expected in manifest["sha256"].items():
        path = folder / name
        if not path.is_file() or hash_of(path) != expected:
            raise BackupError(f"{name} in the backup is damaged; nothing was changed. Use another backup.")
    if manifest["database"] != connection.vendor:
        raise BackupError(
            f"The backup is of {manifest['database']}, and DATABASE_URL names {connection.vendor}. Restore it to a "
            f"database of its own kind."
        )
    known = MigrationLoader(None).disk_migrations
    newer = [f"{app}.{name}" for app, name in manifest["migrations"] if app in own_apps() and (app, name) not in known]
    if newer:
        raise BackupError(
            f"The backup is of a newer version ({manifest['version']}; it has {', '.join(newer)}). Install that one."
        )


def own_apps() -> set[str]:
    return {"annotate", "models_engine"}


def hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def restore(source: Path, *, force: bool) -> dict[str, Any]:
    """Put the archive's data in place of what there is; refuse where that holds anything, unless forced.

    Migrating forward is left to the caller. Raises BackupError, with nothing changed.
    """
    with unpacked(source) as (folder, manifest):
        full = database_dumps.filled_tables()
        if full and not force:
            raise BackupError(
                f"The database is not empty ({', '.join(full[:3])}{' …' if len(full) > 3 else ''}), so nothing was "
                "changed. Back it up, then restore with FORCE=1 (--force) to put the backup in its place."
            )
        check_site_stopped()
        database_dumps.load(folder / database_dumps.file_name())
        for name in manifest["sha256"]:
            if name.startswith(MEDIA):
                restore_file(name.removeprefix(MEDIA), folder / name)
    return manifest


def check_site_stopped() -> None:
    """Raise BackupError where a worker was seen within its lease or another process has SQLite's file open."""
    tables = connection.introspection.table_names()
    workers = list(scheduling.live_workers(timezone.now())) if WorkerProcess._meta.db_table in tables else []
    if workers or has_other_connections():
        seen = f" (worker {workers[0].name} was seen a moment ago)" if workers else ""
        raise BackupError(
            f"The site is running{seen}; nothing was changed. Stop the site and its workers, wait half a minute and "
            "restore again."
        )


def restore_file(name: str, path: Path) -> None:
    """Store the file under its own name, whatever was there: stores would choose another."""
    if default_storage.exists(name):
        default_storage.delete(name)
    with path.open("rb") as content:
        default_storage.save(name, File(content))
