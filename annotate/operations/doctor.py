"""Looks at everything that a site needs and says what to do where something is missing: `manage.py doctor`."""

import os
import shutil
import smtplib
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core import checks
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, default_storage
from django.core.mail import get_connection
from django.db import DatabaseError, ProgrammingError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Max
from django.utils import timezone
from redis import Redis
from redis.exceptions import RedisError

from annotate.core.database_outages import probe_server
from annotate.core.folders import COMMAND
from annotate.models import Label, WorkerProcess
from annotate.operations.health import MIN_FREE_BYTES, check_health

GOOD, WARNING, PROBLEM = "good", "warning", "problem"
ENOUGH_BYTES = 2**30
MAX_CLOCK_SECONDS = 5.0
MAIL_SECONDS = 10
OTHERS = 0o007
# Django's own checks that this site answers in its own way: HTTPS has a setting, and so has each thing below.
HANDLED_HERE = {"security.W004", "security.W005", "security.W008", "security.W012", "security.W016", "security.W018"}
HANDLED_HERE |= {"security.W020", "security.W021"}


@dataclass(frozen=True)
class Finding:
    """What one check found; `advice` says what to do about it."""

    topic: str
    level: str
    text: str
    advice: str = ""


def examine(*topics: str) -> Iterator[Finding]:
    """Yield the findings of every check, or of those named; an unexpected failure is a finding too."""
    for topic in topics or CHECKS:
        try:
            for level, text, advice in CHECKS[topic]():
                yield Finding(topic, level, text, advice)
        except DatabaseError as error:
            yield Finding(topic, PROBLEM, *explain_database_error(error))
        except Exception as error:
            yield Finding(topic, PROBLEM, f"{type(error).__name__}: {first_line(error)}", "Report this as a fault.")


def explain_database_error(error: DatabaseError) -> tuple[str, str]:
    """Return why a check got no answer from the database, and where to read on."""
    if isinstance(error, ProgrammingError) or "no such " in str(error):
        return f"The database is not as this version needs it ({first_line(error)}).", "See Migrations."
    return f"The database did not answer ({first_line(error)}).", "See Database."


Found = Iterator[tuple[str, str, str]]


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def check_settings() -> Found:
    if settings.DEBUG:
        yield PROBLEM, "DEBUG is on: errors show secrets to visitors.", "Unset DEBUG on every site that others reach."
    if len(settings.SECRET_KEY) < 50:
        advice = "Take one from `python -c 'import secrets; print(secrets.token_urlsafe(50))'`; people sign in again."
        yield WARNING, f"SECRET_KEY has {len(settings.SECRET_KEY)} characters.", advice
    if len(settings.ALLOWED_HOSTS) <= 3:
        advice = "Put the site's host name into ALLOWED_HOSTS."
        yield WARNING, "Only this machine may ask: ALLOWED_HOSTS is empty.", advice
    if not settings.HTTPS:
        yield WARNING, "HTTPS is off: passwords travel in the open.", "Unset HTTPS once a proxy ends TLS."
    behind = bool(getattr(settings, "SECURE_PROXY_SSL_HEADER", None))
    if behind and not settings.REST_FRAMEWORK["NUM_PROXIES"]:
        advice = "Set NUM_PROXIES to the number of proxies; else all visitors share one rate limit."
        yield PROBLEM, "BEHIND_PROXY is on, but NUM_PROXIES is 0.", advice
    if settings.HTTPS and behind and not settings.CSRF_TRUSTED_ORIGINS:
        advice = "Set it to the site's address, such as https://rank.example.org."
        yield WARNING, "CSRF_TRUSTED_ORIGINS is empty: forms may be refused behind a proxy.", advice
    for found in checks.run_checks(include_deployment_checks=not settings.DEBUG):
        if found.id not in HANDLED_HERE:
            level = PROBLEM if found.is_serious() else WARNING
            yield level, f"{found.id}: {first_line(Exception(found.msg))}", str(found.hint or "")


def check_database() -> Found:
    began = time.perf_counter()
    try:
        probe_server()
    except DatabaseError as error:
        yield PROBLEM, f"It cannot be reached ({first_line(error)}).", "Start it, or correct DATABASE_URL."
        return
    milliseconds = 1000 * (time.perf_counter() - began)
    yield GOOD, f"{connection.display_name} answers in {milliseconds:.0f} ms.", ""
    path = Path(str(connection.settings_dict["NAME"]))
    if connection.vendor == "sqlite" and path.is_file() and path.stat().st_mode & OTHERS:
        yield WARNING, f"Every user of this machine may read {path}.", f"Run `chmod 600 {path}`."


def check_migrations() -> Found:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        advice = f"Make a backup, then run `{COMMAND} migrate`."
        yield PROBLEM, f"{len(plan)} migrations are pending, the first is {plan[0][0]}.", advice


def check_disk() -> Found:
    places = {"temporary files": Path(tempfile.gettempdir())}
    if isinstance(default_storage, FileSystemStorage):
        places["items' files"] = existing(Path(settings.MEDIA_ROOT))
    if connection.vendor == "sqlite":
        places["the database"] = Path(str(connection.settings_dict["NAME"])).parent
    for name, path in places.items():
        free = shutil.disk_usage(path).free
        if free < ENOUGH_BYTES:
            level = PROBLEM if free < MIN_FREE_BYTES else WARNING
            yield level, f"{free / 2**20:,.0f} MB are free for {name} ({path}).", "Delete what is not needed there."


def existing(path: Path) -> Path:
    return next(one for one in (path, *path.parents) if one.exists())


def check_permissions() -> Found:
    try:
        name = default_storage.save("doctor/written", ContentFile(b"written by the doctor"))
        default_storage.delete(name)
    except Exception as error:  # every kind of storage has its own
        yield PROBLEM, f"Items' files cannot be written ({first_line(error)}).", "Check MEDIA_ROOT or STORAGE_URL."
    if connection.vendor == "sqlite":
        path = Path(str(connection.settings_dict["NAME"]))
        for one in (path, path.parent):
            if one.exists() and not os.access(one, os.W_OK):
                yield PROBLEM, f"{one} cannot be written.", "Give it to the user that runs the site."


def check_clock() -> Found:
    now = timezone.now()
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT now()")
            apart = abs((cursor.fetchone()[0] - now).total_seconds())
        if apart > MAX_CLOCK_SECONDS:
            text = f"This machine and the database's are {apart:.0f} s apart."
            yield PROBLEM, text, "Keep the time of both with NTP."
    newest = Label.objects.aggregate(newest=Max("created_at"))["newest"]
    if newest and newest > now + timedelta(seconds=MAX_CLOCK_SECONDS):
        yield PROBLEM, f"The newest answer is from {newest:%Y-%m-%d %H:%M} UTC, later than now.", "Set the clock."


def check_static_files() -> Found:
    manifest = getattr(staticfiles_storage, "manifest_name", None)
    if manifest and not staticfiles_storage.exists(manifest):
        advice = f"Run `{COMMAND} collectstatic --noinput`."
        yield PROBLEM, f"There are none in {settings.STATIC_ROOT}: pages would lack their style.", advice


def check_mail() -> Found:
    if not settings.EMAIL_BACKEND.endswith("smtp.EmailBackend"):
        advice = "Set EMAIL_URL, so that people can confirm addresses and choose new passwords."
        yield WARNING, "No mail is sent: it is printed or kept.", advice
        return
    mail = get_connection(timeout=MAIL_SECONDS)
    try:
        mail.open()
    except (OSError, smtplib.SMTPException) as error:
        yield PROBLEM, f"{settings.EMAIL_HOST} takes no mail ({first_line(error)}).", "Correct EMAIL_URL."
    finally:
        mail.close()


def check_redis() -> Found:
    if not settings.REDIS_URL:
        if connection.vendor == "postgresql":
            advice = "Set REDIS_URL where there are several web processes; else each counts rate limits for itself."
            yield WARNING, "There is none.", advice
        return
    try:
        Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2).ping()
    except RedisError as error:
        advice = "Start it, or correct REDIS_URL; until then nobody's requests are limited."
        yield PROBLEM, f"It does not answer ({type(error).__name__}).", advice


def check_engine() -> Found:
    found = check_health(timezone.now())
    if not found["engines"]["running"]:
        seen = WorkerProcess.objects.aggregate(last=Max("seen_at"))["last"]
        since = f" since {seen:%Y-%m-%d %H:%M} UTC" if seen else ""
        yield PROBLEM, f"No worker has been heard of{since}: nothing is fitted.", f"Start `{COMMAND} worker`, or serve."
    waited = found["projects"]["longest_wait_seconds"] or 0
    if waited > 600:
        advice = "See the Engine pages of the projects that wait, and start more workers if they are many."
        yield WARNING, f"An answer has waited {waited / 60:.0f} minutes for a fit.", advice
    if found["projects"]["failing"]:
        advice = "The Engine pages of these projects say why."
        yield WARNING, f"The fits of {found['projects']['failing']} projects fail.", advice


CHECKS: dict[str, Callable[[], Found]] = {
    "Settings": check_settings,
    "Database": check_database,
    "Migrations": check_migrations,
    "Disk": check_disk,
    "Permissions": check_permissions,
    "Clock": check_clock,
    "Static files": check_static_files,
    "Mail": check_mail,
    "Redis": check_redis,
    "Engine": check_engine,
}
