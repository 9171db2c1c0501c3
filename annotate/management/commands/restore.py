"""Puts a backup in place of the site's data: `manage.py restore FILE`, with the site stopped."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.checks import Tags
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from annotate.operations.backups import restore
from annotate.operations.database_dumps import DumpError


class Command(BaseCommand):
    help = "Checks a backup, puts it in place of the database and the items' files, and migrates it to this version."
    requires_system_checks = (Tags.models,)  # no page is shown: checking addresses would import every one

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="an archive that `manage.py backup` wrote")
        parser.add_argument("--force", action="store_true", help="replace data that are there")

    def handle(self, *, file: Path, force: bool, **options: Any) -> None:
        try:
            manifest = restore(file, force=force)
        except (DumpError, OSError) as error:
            raise CommandError(str(error)) from error
        call_command("migrate", verbosity=0, interactive=False)
        n_labels = manifest["rows"].get("annotate_label", 0)
        self.stdout.write(f"Restored the backup of {manifest['made_at']}: {n_labels:,} labels.")
