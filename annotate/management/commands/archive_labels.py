"""Moves the labels of an archived project into a Parquet file: `manage.py archive_labels PROJECT`."""

import time
from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from annotate.models import Project
from annotate.operations.label_archives.errors import LabelArchiveError
from annotate.operations.label_archives.moving import archive_labels

SECONDS = 1.0  # between two lines of progress


class Progress:
    """Says at most once a second how far the work is, to somebody who watches."""

    def __init__(self, stdout: Any) -> None:
        self.stdout, self.said_at = stdout, 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        if self.stdout.isatty() and (time.monotonic() - self.said_at > SECONDS or done >= total):
            self.said_at = time.monotonic()
            self.stdout.write(f"\r{done:,} of {total:,} {what}", ending=" ")
            self.stdout.flush()


class Command(BaseCommand):
    help = (
        "Writes what was shown and answered in an archived project to a file beside the items' files, checks it, and "
        "deletes the rows. Stopped, it goes on where it was when it is run again. restore_labels brings them back."
    )
    requires_system_checks = (Tags.models,)  # no page is shown: checking addresses would import every one

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", type=UUID, help="the project's id, as in its address")

    def handle(self, *, project: UUID, **options: Any) -> None:
        found = Project.objects.filter(pk=project).first()
        if found is None:
            raise CommandError(f"There is no project {project}; its id is part of the address of its pages.")
        try:
            archive = archive_labels(found, timezone.now(), Progress(self.stdout))
        except LabelArchiveError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{archive.n_labels:,} labels are in {archive.file.name}, {archive.file.size / 1e6:,.1f} MB.")
