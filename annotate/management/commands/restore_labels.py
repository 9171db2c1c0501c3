"""Brings the labels of a project back from its file: `manage.py restore_labels PROJECT`."""

from argparse import ArgumentParser
from typing import Any
from uuid import UUID

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError

from annotate.core.database_outages import outages_told
from annotate.management.commands.archive_labels import Progress
from annotate.models import LabelArchive
from annotate.operations.label_archives.errors import LabelArchiveError, deletion_told
from annotate.operations.label_archives.moving import restore_labels


class Command(BaseCommand):
    help = (
        "Checks the file of archive_labels, writes its rows back into the database and deletes it. Stopped, it goes on "
        "where it was when it is run again."
    )
    requires_system_checks = (Tags.models,)  # no page is shown: checking addresses would import every one

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", type=UUID, help="the project's id, as in its address")

    def handle(self, *, project: UUID, **options: Any) -> None:
        with outages_told("Nothing is lost. Once it is back, run this command again: it goes on where it was."):
            self.restore(project)

    def restore(self, project: UUID) -> None:
        archive = LabelArchive.objects.select_related("project").filter(project=project).first()
        if archive is None:
            raise CommandError(f"No labels of a project {project} are in a file.")
        progress = Progress(self.stdout)
        try:
            with deletion_told():
                n = restore_labels(archive, progress)
        except LabelArchiveError as error:
            raise CommandError(str(error)) from error
        progress.end()
        self.stdout.write(f"{n:,} presentations are back, and the file is deleted.")
