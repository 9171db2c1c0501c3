"""Writes a backup of the whole site: `manage.py backup FOLDER`, while it is running."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from annotate.operations.backups import back_up
from annotate.operations.database_dumps import DumpError


class Command(BaseCommand):
    help = "Writes one archive of the database and the items' files into a folder; the site may go on meanwhile."
    requires_system_checks = (Tags.models,)  # no page is shown: checking addresses would import every one

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="the folder for the archive, which is named by the time")

    def handle(self, *, folder: Path, **options: Any) -> None:
        now = timezone.now()
        target = folder / f"crowdrank-{now:%Y%m%dT%H%M%SZ}.tar.gz"
        try:
            manifest = back_up(target, now=now)
        except (DumpError, OSError) as error:
            raise CommandError(f"No backup was made: {error}") from error
        n_files = sum(name.startswith("media/") for name in manifest["sha256"])
        n_labels = manifest["rows"].get("annotate_label", 0)
        self.stdout.write(f"{target}: {n_labels:,} labels, {n_files:,} files, {target.stat().st_size / 1e6:,.1f} MB")
        for name in manifest["missing_files"]:
            self.stderr.write(f"The file {name} is missing: deleted in the meantime, or lost.")
