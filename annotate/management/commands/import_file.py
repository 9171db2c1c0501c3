"""manage.py import_file KIND PROJECT FILE: a file read and checked as on the site, whatever it holds."""

import os
import secrets
import signal
import time
from argparse import ArgumentParser
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.checks import Tags
from django.core.files.base import ContentFile, File
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from annotate.core.errors import UserError
from annotate.core.stored_messages import render_message
from annotate.files.decoding import decode
from annotate.files.layout import read_sheet
from annotate.files.parquet_reader import is_parquet, read_parquet
from annotate.files.row_errors import grouped
from annotate.files.workbooks import is_workbook, read_workbook
from annotate.imports import job as imports_job
from annotate.imports import queue as imports_queue
from annotate.imports.actions import start_import, stop_import
from annotate.imports.annotator_table import annotators_given
from annotate.imports.counts.columns import Counting, check_count_columns, guess_counts
from annotate.imports.counts.columns import layout_of as layout_of_counts
from annotate.imports.feature_table import features_given
from annotate.imports.guessing import check_votes, guess_items, guess_votes, sheet_of
from annotate.imports.questions.columns import Asking, check_columns, guess_questions, layout_of
from annotate.models import ImportJob, Membership, Project
from annotate.models.leased_jobs import LeaseLost
from models_engine.errors import Cancelled

Kind = ImportJob.Kind
SHOWN_ERRORS = 20


class Command(BaseCommand):
    help = (
        "Imports a file into a project: every row is checked before the first is written. Killed, it is taken up by a "
        "running engine, or by --resume."
    )
    requires_system_checks = (Tags.models,)  # no page is shown: checking addresses would import every one

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("kind", choices=[one for one in Kind.values if one not in ImportJob.MEASURED])
        parser.add_argument("project", type=UUID, help="the project's id, as in its address")
        parser.add_argument("file", type=Path, nargs="?", help="CSV, JSON, JSONL, Parquet, text, .zip, .npy, .soc, ...")
        parser.add_argument("--leave-out", action="store_true", help="import the valid rows without those with errors")
        parser.add_argument(
            "--create-items", action="store_true", help="for comparisons and counts: create the items that they name"
        )
        parser.add_argument(
            "--prefix",
            default="",
            help="for comparisons: a prefix for annotators' names; for features in a .npy: their name (f)",
        )
        parser.add_argument("--places", action="store_true", help="numbers are positions in the list of items, from 0")
        parser.add_argument(
            "--keys", type=Path, help="for features in a .npy: the items' keys in its order, one per line"
        )
        parser.add_argument("--resume", action="store_true", help="resume the import of this kind")

    def handle(self, *, kind: str, project: UUID, file: Path | None, resume: bool, **options: Any) -> None:
        settings.DEBUG = False  # with it, Django keeps every query
        found = Project.objects.filter(pk=project).first()
        if found is None:
            raise CommandError(f"There is no project {project}; its id is part of the address of its pages.")
        started = time.perf_counter()
        try:
            job = self.under_way(found, kind) if resume else self.started(found, kind, file, options)
        except UserError as refusal:
            raise CommandError(str(refusal)) from refusal
        self.run(job)
        job.refresh_from_db()
        self.tell(job, time.perf_counter() - started)

    def under_way(self, project: Project, kind: str) -> ImportJob:
        job = imports_queue.claimable_imports(timezone.now()).filter(project=project, kind=kind).first()
        if job is None:
            raise CommandError("There is no import of this kind to resume; a worker may be running it.")
        return job

    def started(self, project: Project, kind: str, path: Path | None, options: dict[str, Any]) -> ImportJob:
        if path is None or not path.is_file():
            raise CommandError(f"{path or 'FILE'} is not a file. Name the file to import.")
        owner = Membership.objects.filter(project=project, role="owner").select_related("user").first()
        values: dict[str, Any] = {
            "project": project,
            "actor": owner and owner.user,
            "kind": kind,
            "source": path.name,
            "now": timezone.now(),
            "at_once": True,
            "leave_out": options["leave_out"],
        }
        if kind == Kind.MEDIA:
            with path.open("rb") as content:
                return start_import(file=File(content), mapping={}, **values)
        if kind == Kind.FEATURES:
            return self.features(path, options["keys"], options["prefix"] or "f", values)
        if kind == Kind.ANNOTATORS:
            with path.open("rb") as content:
                table, mapping = annotators_given(project, File(content, path.name))
            return start_import(file=table, mapping=mapping, **values)
        text = self.text_of(path)
        if kind == Kind.QUESTIONS:
            mapping = self.questions(text, path.name, project)
        elif kind == Kind.COUNTS:
            mapping = self.counts(text, path.name, options)
        else:
            mapping = guess_items(text, path.name) if kind == Kind.ITEMS else self.votes(text, path.name, options)
        return start_import(file=ContentFile(text.encode()), mapping=mapping, **values)

    def features(self, path: Path, keys: Path | None, called: str, values: dict[str, Any]) -> ImportJob:
        with ExitStack() as stack:
            file = File(stack.enter_context(path.open("rb")), path.name)
            named = File(stack.enter_context(keys.open("rb")), keys.name) if keys else None
            content, mapping, given = features_given(file, named, called)
            return start_import(file=content, mapping=mapping, keys=given, **values)

    def text_of(self, path: Path) -> str:
        """Return a table as text, Parquet as JSON lines; of a workbook its first sheet."""
        with path.open("rb") as content:
            head = content.read(4)
            if is_workbook(path.name, head):
                return read_workbook(content, path.name)[0].text
            if is_parquet(path.name, head):
                return read_parquet(content, path.name)
        return decode(path.read_bytes(), path.name).text

    def questions(self, text: str, name: str, project: Project) -> dict[str, Any]:
        mapping = guess_questions(text, name)
        check_columns(Asking(**mapping["asking"]), project.k, read_sheet(text, layout_of(mapping)).columns)
        return mapping

    def counts(self, text: str, name: str, options: dict[str, Any]) -> dict[str, Any]:
        mapping = guess_counts(text, name, prefix=options["prefix"], create=options["create_items"])
        check_count_columns(Counting(**mapping["counting"]), read_sheet(text, layout_of_counts(mapping)).columns)
        return mapping

    def votes(self, text: str, name: str, options: dict[str, Any]) -> dict[str, Any]:
        mapping = guess_votes(text, name)
        check_votes(mapping, sheet_of(text, mapping).columns)
        numbers = "places" if options["places"] else "keys"
        mapping["voting"] |= {"prefix": options["prefix"], "create": options["create_items"], "numbers": numbers}
        return mapping

    def run(self, job: ImportJob) -> None:
        row = imports_queue.claim_next(
            owner=f"import_file:{os.getpid()}#{secrets.token_hex(4)}", now=timezone.now(), only=job.pk
        )
        if row is None:
            self.stdout.write("A worker has taken over the import; see its page for progress.")
            return
        asked_to_stop: list[int] = []
        former = {
            number: signal.signal(number, lambda n, _frame: asked_to_stop.append(n))
            for number in (signal.SIGINT, signal.SIGTERM)
        }

        def progress(step: int, total: int, _objective: float) -> bool:
            if self.stdout.isatty():
                self.stdout.write(
                    f"\r{step:,} of {total:,} imported" if total else f"\r{step:,} rows checked", ending=" "
                )
                self.stdout.flush()
            return not asked_to_stop and row.renew(now=timezone.now())

        try:
            imports_job.work(row, progress=progress, should_yield=False)
        except LeaseLost:
            self.stdout.write("The import was stopped, or a worker has taken it over; see its page.")
        except Cancelled:
            imports_queue.release(row)
            raise CommandError("Interrupted. A running worker resumes it; so does --resume.") from None
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)

    def tell(self, job: ImportJob, seconds: float) -> None:
        shown = grouped(job.errors).groups[:SHOWN_ERRORS]
        for group in shown:
            self.stdout.write(f"  row{'' if group.n_rows == 1 else 's'} {group.places}: {group.message}")
        n_more = job.n_bad - sum(group.n_rows for group in shown)
        if n_more:
            self.stdout.write(f"  and {n_more:,} more row{'' if n_more == 1 else 's'} with errors.")
        if job.state == ImportJob.State.CHECKED:
            stop_import(job=job, actor=job.asked_by, now=timezone.now())
            raise CommandError(
                f"Nothing was imported: {job.n_bad:,} of {job.n_rows:,} rows have errors. Correct them, or --leave-out."
            )
        if job.state == ImportJob.State.FAILED:
            raise CommandError(f"After {job.n_rows_written:,} rows: {render_message(job.message)}")
        if job.state == ImportJob.State.DONE:
            left = f", {job.n_bad:,} left out" if job.n_bad else ""
            new = f", new items: {job.n_new_items:,}" if job.n_new_items else ""
            read = f"{job.n_rows:,} row{'' if job.n_rows == 1 else 's'} read"
            self.stdout.write(f"{read}, {job.n_rows_written:,} imported{left}{new}, {seconds:.1f} s.")
