"""Labels of an archived project in a Parquet file and back: nothing lost, nothing kept of those who were erased."""

import io
import random
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pyarrow.parquet as parquet
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.core.management.base import OutputWrapper
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.core.errors import LabelsArchived
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.labelling.undo import undo_label
from annotate.management.commands import archive_labels as archive_command
from annotate.models import (
    Annotator,
    AnswerNotice,
    ConflictOfInterest,
    CriterionAnswer,
    FitState,
    ItemComment,
    Label,
    LabelArchive,
    Presentation,
    PresentedItem,
    Webhook,
)
from annotate.operations.daily_cleanup import clean_up
from annotate.operations.label_archives import moving, rows
from annotate.operations.label_archives.layout import KEPT_RELATIONS
from annotate.privacy.erasure.actions import BY_OWNER, erase_annotator
from annotate.privacy.retention.actions import drop_personal_data
from annotate.projects.actions import delete_project
from annotate.projects.copies.archiving import archive_project, unarchive_project
from models_engine.models import AnnotatorEstimate, Fit
from tests.conftest import make_annotator
from tests.site.factories import make_fit
from tests.site.labelling.test_labels import counts_are_true
from tests.site.labelling.test_released_meanwhile import Once

TABLES = (Presentation, Label, CriterionAnswer, ItemComment)
SHOWN = ("presentation_id", "item_id", "position")


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch, settings, tmp_path):
    monkeypatch.setattr(rows, "CHUNK", 3)
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def archived(project, alice):
    """Two people's answers with whatever can hang on one: undone and asked again, by two criteria, comments."""
    rng = random.Random(1)
    project.comments = True
    project.save()
    for name in ("Otter", "Heron"):
        person = make_annotator(project, name)
        for number in range(5):
            now = timezone.now()
            shown = assignment.next_presentation(annotator=person, now=now, rng=rng)
            answer = Answer("choice", chosen=number % 2, comment=f"{name} says “{number}”\tß\\N")
            record_label(presentation=shown, answer=answer, now=now)
        undo_label(annotator=person, now=timezone.now())
        label = Label.objects.filter(annotator=person).latest("pk")
        item = PresentedItem.objects.filter(presentation=label.presentation).first().item
        CriterionAnswer.objects.create(label=label, criterion=2, outcome="choice", chosen=item)
        ItemComment.objects.create(label=label, item=item, text=f"{name} knows it")
        ConflictOfInterest.objects.create(annotator=person, item=item, declared_in=label.presentation)
    archive_project(project=project, actor=alice, now=timezone.now())
    AnswerNotice.objects.all().delete()
    project.refresh_from_db()
    return project


def everything() -> dict[str, list[tuple]]:
    found = {model.__name__: list(model.objects.order_by("pk").values_list()) for model in TABLES}
    found["shown"] = list(PresentedItem.objects.order_by(*SHOWN).values_list(*SHOWN))
    found["declared"] = list(ConflictOfInterest.objects.order_by("pk").values_list())
    return found


def archive(project) -> LabelArchive:
    call_command("archive_labels", str(project.pk), verbosity=0)
    return LabelArchive.objects.get()


def restore(project) -> None:
    call_command("restore_labels", str(project.pk), verbosity=0)


@pytest.mark.slow
def test_what_comes_back_is_what_there_was_to_the_last_column(archived, capsys):
    before = everything()
    assert [len(before[name]) for name in ("Label", "CriterionAnswer", "ItemComment")] == [10, 2, 2]
    kept = archive(archived)
    assert (kept.state, kept.n_labels, kept.n_unvoided) == ("archived", 10, 8)
    assert not any(model.objects.exists() for model in (*TABLES, PresentedItem))
    assert not ConflictOfInterest.objects.exclude(declared_in=None).exists()
    restore(archived)
    assert everything() == before
    assert not LabelArchive.objects.exists()
    assert not default_storage.exists(kept.file.name)


def test_every_relation_to_a_presentation_or_label_is_kept():
    """A table that refers to one of them later has to be given a place in the file."""
    relations = [
        (one.related_model, one.field.name)
        for model in (Presentation, Label)
        for one in model._meta.get_fields(include_hidden=True)
        if one.auto_created and not one.concrete and not one.many_to_many
    ]
    notices = {(AnswerNotice, "label")}  # until these are told nothing is archived
    assert set(relations) == set(KEPT_RELATIONS) | notices


def test_what_refers_to_a_presentation_or_label_is_found_by_an_index():
    """The database looks for it at each row that is deleted: without one, a million times through a whole table."""
    for model, name in KEPT_RELATIONS:
        field, meta = model._meta.get_field(name), model._meta
        first = [index.fields[0] for index in meta.indexes if index.fields]
        first += [one.fields[0] for one in meta.total_unique_constraints]
        assert field.db_index or field.unique or name in first, f"{model.__name__}.{name}"


@pytest.mark.slow
@pytest.mark.parametrize("n_pieces", [1, 2])
def test_a_command_that_is_killed_goes_on_where_it_was(archived, n_pieces):
    before = everything()

    def kill(what: str, done: int, total: int) -> None:
        if what != "written" and done >= 3 * n_pieces:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        moving.archive_labels(archived, timezone.now(), kill)
    assert 0 < Presentation.objects.count() < len(before["Presentation"])
    assert LabelArchive.objects.get().state == "removing"
    kept = archive(archived)
    with pytest.raises(KeyboardInterrupt):
        moving.restore_labels(kept, kill)
    assert 0 < Presentation.objects.count() < len(before["Presentation"])
    with pytest.raises(CommandError, match="being brought back"):
        archive(archived)
    restore(archived)
    assert everything() == before


@contextmanager
def database_that_fails() -> Iterator[None]:
    """SQLite takes no changes; a server ends the connection, as where it is stopped."""
    connection.ensure_connection()
    if connection.vendor == "sqlite":
        connection.connection.execute("PRAGMA query_only = 1")
        yield
        connection.connection.execute("PRAGMA query_only = 0")
    else:
        with connection.copy().cursor() as other:
            other.execute("SELECT pg_terminate_backend(%s)", [connection.connection.info.backend_pid])
        yield
        connection.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("command", ["archive_labels", "restore_labels"])
def test_a_database_that_fails_is_told_in_words(archived, command):
    before = everything()
    if command == "restore_labels":
        archive(archived)
    with (
        database_that_fails(),
        pytest.raises(CommandError, match=r"The database failed \(.+\)\. .*run this command again"),
    ):
        call_command(command, str(archived.pk), verbosity=0)
    archive(archived)
    restore(archived)
    assert everything() == before


@pytest.mark.parametrize("command", ["archive_labels", "restore_labels"])
def test_a_project_deleted_meanwhile_is_told_in_words(archived, command):
    if command == "restore_labels":
        archive(archived)
    words = '"annotate_labelarchive"' if command == "restore_labels" else '"annotate_presentation"'
    meanwhile = Once("SELECT", words, lambda: delete_project(project=archived))
    with connection.execute_wrapper(meanwhile), pytest.raises(CommandError, match="deleted meanwhile"):
        call_command(command, str(archived.pk), verbosity=0)


def test_two_commands_at_once_are_told_in_words(archived):
    meanwhile = Once("SELECT", '"annotate_presentation"', lambda: archive(archived))
    with connection.execute_wrapper(meanwhile), pytest.raises(CommandError, match="Another command has begun"):
        call_command("archive_labels", str(archived.pk), verbosity=0)
    meanwhile = Once("SELECT", '"annotate_labelarchive"', lambda: restore(archived))
    with connection.execute_wrapper(meanwhile), pytest.raises(CommandError, match="brought the labels back"):
        restore(archived)
    assert Label.objects.count() == 10


def test_keys_may_lie_far_apart_as_other_projects_have_those_between(archived, monkeypatch):
    monkeypatch.setattr(rows, "CHUNK", 100)
    last = Presentation.objects.filter(state="voided").latest("pk")
    last.pk, last.token, last.repeat, last._state.adding = last.pk + 3_000_000, "far-away", 7, True
    last.save(force_insert=True)
    before = everything()
    archive(archived)
    restore(archived)
    assert everything() == before


@pytest.mark.slow
def test_a_stopped_removal_can_be_taken_back(archived):
    before = everything()

    def kill(what: str, done: int, total: int) -> None:
        if what == "removed":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        moving.archive_labels(archived, timezone.now(), kill)
    restore(archived)
    assert everything() == before


def test_rows_that_the_file_does_not_hold_are_not_deleted(archived):
    def change(what: str, done: int, total: int) -> None:
        if what == "removed":
            Label.objects.filter(pk=Label.objects.earliest("pk").pk).update(response_ms=12345)

    with pytest.raises(moving.LabelArchiveError, match="differ"):
        moving.archive_labels(archived, timezone.now(), change)
    assert Label.objects.filter(response_ms=12345).exists()


def test_a_damaged_or_missing_file_is_told_and_changes_nothing(archived):
    kept = archive(archived)
    with default_storage.open(kept.file.name) as file:
        content = file.read()
    for other, told in ((content[:-1] + b"x", "damaged"), (None, "missing")):
        default_storage.delete(kept.file.name)
        if other is not None:
            default_storage.save(kept.file.name, ContentFile(other))
        with pytest.raises(CommandError, match=told):
            restore(archived)
    assert not Presentation.objects.exists()
    default_storage.save(kept.file.name, ContentFile(content))
    restore(archived)
    assert Label.objects.count() == 10


def test_only_an_archived_project_whose_webhooks_know_all_is_archived(archived):
    label = Label.objects.first()
    Webhook.objects.create(project=archived, url="https://example.org", created_at=timezone.now())
    AnswerNotice.objects.create(project=archived, label=label, created_at=timezone.now())
    with pytest.raises(CommandError, match="Webhooks"):
        archive(archived)
    AnswerNotice.objects.all().delete()
    type(archived).objects.update(archived_at=None)
    with pytest.raises(CommandError, match="is not archived"):
        archive(archived)
    assert Label.objects.count() == 10


def erase_heron() -> int:
    heron = Annotator.objects.get(pseudonym="Heron")
    erase_annotator(annotator=heron, by=BY_OWNER, now=timezone.now())
    return heron.pk


def test_the_answers_of_who_is_erased_leave_the_file_within_a_day(archived, django_capture_on_commit_callbacks):
    archive(archived)
    heron = erase_heron()
    with django_capture_on_commit_callbacks(execute=True):
        clean_up(timezone.now())
    kept = LabelArchive.objects.get()
    table = parquet.read_table(default_storage.path(kept.file.name))
    assert heron not in table.column("annotator_id").to_pylist()
    assert "Heron" not in str(table.to_pylist())
    assert (kept.n_labels, kept.is_outdated) == (5, False)
    assert len(default_storage.listdir("label-archives")[1]) == 1, "the former file is gone"
    restore(archived)
    assert Label.objects.count() == 5
    counts_are_true(archived)


def test_fits_that_counted_answers_in_the_file_go_with_whom_is_erased(archived):
    fit = make_fit(archived, [[(item, 0.0, 1.0, 2) for item in archived.items.order_by("pk")]], now=timezone.now())
    heron = Annotator.objects.get(pseudonym="Heron")
    AnnotatorEstimate.objects.create(fit=fit, annotator_id=heron.pk, n_labels=5)
    archive(archived)
    wanted = FitState.objects.get(project=archived).wanted
    erase_heron()
    assert not AnnotatorEstimate.objects.filter(annotator_id=heron.pk).exists()
    assert not Fit.objects.filter(pk=fit.pk).exists()
    assert FitState.objects.get(project=archived).wanted > wanted, "once they are back they are fitted without Heron"


def test_who_is_erased_does_not_come_back_even_before_the_file_is_written_anew(archived):
    archive(archived)
    erase_heron()
    restore(archived)
    assert Label.objects.count() == 5
    assert not ItemComment.objects.filter(text__contains="Heron").exists()
    counts_are_true(archived)


def test_somebody_erased_in_the_middle_is_in_neither_place(archived):
    def erase(what: str, done: int, total: int) -> None:
        if what == "removed" and Annotator.objects.filter(pseudonym="Heron").exists():
            erase_heron()

    moving.archive_labels(archived, timezone.now(), erase)
    kept = LabelArchive.objects.get()
    assert (kept.state, kept.n_labels, Presentation.objects.count()) == ("archived", 5, 0)
    restore(archived)
    assert Label.objects.count() == 5


def test_texts_that_name_people_leave_the_file_with_the_retention_period(archived):
    archive(archived)
    drop_personal_data(archived, list(Annotator.objects.order_by("pk")))
    clean_up(timezone.now())
    table = parquet.read_table(default_storage.path(LabelArchive.objects.get().file.name))
    assert "says" not in str(table.to_pylist())
    assert "knows" not in str(table.to_pylist())
    restore(archived)
    assert Label.objects.count() == 10
    assert not Label.objects.exclude(comment="").exists()
    assert not ItemComment.objects.exists()


def test_pages_say_so_and_offer_no_way_back_and_no_empty_exports(archived, alice):
    archive(archived)
    client = Client()
    client.force_login(alice)
    for page in ("ranking", "project-manage"):
        shown = client.get(reverse(page, args=[archived.pk]))
        assert "Its 8 answers are kept in an archive file since" in shown.content.decode(), page
        assert "Restore the project" not in shown.content.decode(), page
    refused = client.get(reverse("export", args=[archived.pk, "labels", "csv"]))
    assert refused.status_code == 409
    assert "restore_labels" in refused.content.decode()
    assert client.get(reverse("export", args=[archived.pk, "items", "csv"])).status_code == 200
    with pytest.raises(LabelsArchived):
        unarchive_project(project=archived, actor=alice, now=timezone.now())


def test_copies_that_hold_peoples_data_have_no_name(archived, tmp_path, monkeypatch):
    """Of a command that is killed nothing stays, then, but what the archive names."""
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    seen = []

    def look(what: str, done: int, total: int) -> None:
        seen.append((what, list(copies.iterdir())))

    moving.archive_labels(archived, timezone.now(), look)
    moving.restore_labels(LabelArchive.objects.get(), look)
    assert {what for what, _files in seen} == {"written", "removed", "brought back"}
    assert not [files for _what, files in seen if files]


def test_a_file_that_no_archive_names_is_told_of_and_stays(archived, caplog):
    """Of a command that was killed after it had stored one, or before it had deleted the former."""
    clean_up(timezone.now())
    kept = archive(archived)
    left = default_storage.save("label-archives/left.parquet", ContentFile(b"answers"))
    now = timezone.now()
    for later, told in ((timedelta(0), False), (timedelta(days=1, minutes=1), True)):
        clean_up(now + later)
        assert (f"The file {left} holds people's answers" in caplog.text) == told
    assert str(kept.file.name) not in caplog.text
    assert default_storage.exists(left)
    assert default_storage.exists(kept.file.name)


def test_progress_is_told_to_who_watches_and_in_a_log(monkeypatch):
    moments = [100.0]
    monkeypatch.setattr(archive_command.time, "monotonic", lambda: moments[0])
    for is_watched, told in (
        (True, "\r1 of 9 removed \r2 of 9 removed \r9 of 9 removed "),
        (False, "2 of 9 removed\n"),
    ):
        out = io.StringIO()
        out.isatty = lambda is_watched=is_watched: is_watched
        progress = archive_command.Progress(OutputWrapper(out))
        for seconds, done in ((0, 1), (31, 2), (0, 3), (0, 9)):
            moments[0] += seconds
            progress("removed", done, 9)
        assert out.getvalue() == told


def test_who_watches_reads_one_sentence_at_the_end_and_what_was_done_before(archived):
    def told(command: str) -> str:
        out = io.StringIO()
        out.isatty = lambda: True
        call_command(command, str(archived.pk), stdout=out)
        return out.getvalue()

    first, again, back = told("archive_labels"), told("archive_labels"), told("restore_labels")
    n = Presentation.objects.count()
    assert re.search(r"removed \r {60}\r\d+ labels are in label-archives/", first)
    assert re.fullmatch(r"\d+ labels are already in label-archives/.*\n", again)
    assert back.endswith(f"brought back \r{' ' * 60}\r{n} presentations are back, and the file is deleted.\n")


def test_a_deleted_project_takes_its_file_with_it(archived, django_capture_on_commit_callbacks):
    name = archive(archived).file.name
    with django_capture_on_commit_callbacks(execute=True):
        delete_project(project=archived)
    assert not default_storage.exists(name)


def test_later_columns_that_an_older_file_lacks_stay_empty(archived, monkeypatch):
    """Here the file is written without a column, as by a version before it."""
    names = [field for field in rows.label_fields() if field.name != "active_ms"]
    with monkeypatch.context() as older:
        older.setattr("annotate.operations.label_archives.layout.label_fields", lambda: names)
        older.setattr(rows, "label_fields", lambda: names)
        archive(archived)
    restore(archived)
    assert Label.objects.count() == 10
    assert not Label.objects.exclude(active_ms=None).exists()
