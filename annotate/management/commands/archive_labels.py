"""Moves the labels of an archived project into a Parquet file: `manage.py archive_labels PROJECT`."""

import time
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from annotate.core.database_outages import outages_told
from annotate.models import LabelArchive, Project
from annotate.operations.label_archives.errors import LabelArchiveError, deletion_told
from annotate.operations.label_archives.moving import archive_labels

SECONDS = 1.0  # between two words of progress to somebody who watches
WIDTH = 60  # characters of the longest line of progress
SECONDS_IN_LOG = 30.0  # and between two lines of it in a file or a log


class Progress:
    """Says now and then how far the work is: in one line that changes to somebody who watches, else in lines."""

    def __init__(self, stdout: Any) -> None:
        self.stdout, self.is_watched = stdout, stdout.isatty()
        self.said_at = 0.0 if self.is_watched else time.monotonic()

    def __call__(self, what: str, done: int, total: int) -> None:
        pause = SECONDS if self.is_watched else SECONDS_IN_LOG
        if time.monotonic() - self.said_at > pause or (self.is_watched and done >= total):
            self.said_at = time.monotonic()
            start, end = ("\r", " ") if self.is_watched else ("", "\n")
            self.stdout.write(f"{start}{done:,} of {total:,} {what}", ending=end)
            self.stdout.flush()

    def end(self) -> None:
        """Leave an empty line to the sentence that says what was done."""
        if self.is_watched and self.said_at:
            self.stdout.write(f"\r{' ' * WIDTH}\r", ending="")


class Command(BaseCommand):
    help = (
        "Writes what was shown and answered in an archived project to a file beside the items' files, checks it, and "
        "deletes the rows. Stopped, it goes on where it was when it is run again. restore_labels brings them back."
    )
    requires_system_checks = (Tags.models,)  # no page is shown: checking addresses would import every one

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", type=UUID, help="the project's id, as in its address")

    def handle(self, *, project: UUID, **options: Any) -> None:
        with outages_told("Nothing is lost. Once it is back, run this command again: it goes on where it was."):
            self.archive(project)

    def archive(self, project: UUID) -> None:
        found = Project.objects.filter(pk=project).first()
        if found is None:
            raise CommandError(f"There is no project {project}; its id is part of the address of its pages.")
        progress = Progress(self.stdout)
        was_done = LabelArchive.objects.filter(project=found, state=LabelArchive.State.ARCHIVED).exists()
        try:
            with deletion_told():
                archive = archive_labels(found, timezone.now(), progress)
        except LabelArchiveError as error:
            raise CommandError(str(error)) from error
        progress.end()
        where = f"in {archive.file.name}, {archive.file.size / 1e6:,.1f} MB"
        already = "already " if was_done else ""
        self.stdout.write(f"{archive.n_labels:,} labels are {already}{where}.")
