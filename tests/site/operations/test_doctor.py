"""manage.py doctor: what is missing is named with what to do about it, and only a problem fails the command."""

import io
from datetime import timedelta

import pytest
from django.core.files.storage import default_storage
from django.core.management import call_command
from django.db import OperationalError, connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from annotate.fitting import scheduling
from annotate.models import Label
from annotate.operations import doctor
from annotate.operations.doctor import PROBLEM, WARNING, examine
from tests.conftest import answer_one, make_annotator
from tests.load.servers import free_port
from tests.site.factories import engine_is_up

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path / "media")


def found(topic: str) -> list[tuple[str, str]]:
    return [(one.level, one.text) for one in examine(topic)]


@pytest.mark.slow
def test_a_site_that_is_well_has_no_problem(settings):
    engine_is_up(timezone.now())
    settings.REDIS_URL = ""
    out = io.StringIO()
    call_command("doctor", stdout=out, no_color=True)
    assert "\n0 problems.\n" in out.getvalue()
    assert f"Database: good. {connection.display_name} answers" in out.getvalue()
    assert not default_storage.exists("doctor/written")


def test_a_problem_is_the_exit_code():
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", stdout=out, no_color=True)
    assert ended.value.code == 1
    assert "Engine: problem. No worker has been heard of: nothing is fitted.\n    Start" in out.getvalue()


def test_settings_that_endanger_people_are_named(settings):
    settings.DEBUG, settings.SECRET_KEY, settings.HTTPS = True, "short", False
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    text = str(found("Settings"))
    for name in ("DEBUG is on", "SECRET_KEY has 5", "HTTPS is off", "NUM_PROXIES is 0"):
        assert name in text


def test_what_cannot_be_written_is_named(settings, tmp_path):
    (tmp_path / "file").write_text("")
    settings.MEDIA_ROOT = str(tmp_path / "file" / "media")
    assert found("Permissions")[0][0] == PROBLEM


def test_a_full_disk_is_named(monkeypatch):
    monkeypatch.setattr(doctor, "ENOUGH_BYTES", 2**62)
    assert {level for level, _ in found("Disk")} == {WARNING}
    monkeypatch.setattr(doctor, "MIN_FREE_BYTES", 2**62)
    assert {level for level, _ in found("Disk")} == {PROBLEM}


def test_an_answer_from_the_future_is_a_clock_that_is_wrong(project):
    answer_one(make_annotator(project, "Otter"), now=timezone.now())
    assert not found("Clock")
    Label.objects.update(created_at=timezone.now() + timedelta(hours=2))
    assert found("Clock")[0][0] == PROBLEM


def test_a_mail_server_and_a_redis_that_do_not_answer_are_named(settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", free_port()
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    assert found("Mail")[0][0] == PROBLEM
    assert found("Redis")[0][0] == PROBLEM


def test_a_pending_migration_is_named():
    [(app, newest)] = [node for node in MigrationLoader(connection).graph.leaf_nodes() if node[0] == "annotate"]
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = %s AND name = %s", [app, newest])
    [(level, text)] = found("Migrations")
    assert level == PROBLEM
    assert newest in text


def test_a_database_that_is_away_is_said_once_for_each_topic(monkeypatch):
    def away():
        raise OperationalError("no route\nto host")

    monkeypatch.setattr(doctor, "probe_server", away)
    monkeypatch.setattr(doctor, "check_health", lambda now: away())
    assert found("Database") == [(PROBLEM, "It cannot be reached (no route).")]
    assert found("Engine") == [(PROBLEM, "The database did not answer (no route).")]


def test_a_database_without_its_tables_leads_to_the_migrations():
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE annotate_engineprocess RENAME TO gone")
    with transaction.atomic():
        [one] = examine("Engine")
        transaction.set_rollback(True)
    assert one.text.startswith("The database is not as this version needs it (")
    assert "annotate_engineprocess" in one.text
    assert one.advice == "See Migrations."


def test_a_worker_that_is_gone_is_named_with_its_last_sign():
    gone = timezone.now() - timedelta(hours=3)
    scheduling.record_heartbeat("dead", started_at=gone, now=gone)
    assert f"since {gone:%Y-%m-%d %H:%M} UTC" in found("Engine")[0][1]
