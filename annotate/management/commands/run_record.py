"""Writes a project's run record into a folder: `manage.py run_record PROJECT FOLDER`."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from uuid import UUID

# One BLAS thread, before numpy is imported, so that `reproduce` can match the ranking to the last bit.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from django.core.checks import Tags
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from annotate.core.stored_messages import render_message
from annotate.criteria import Criterion, n_criteria
from annotate.models import Project
from annotate.publishing.run_records import job as run_records_job
from models_engine.errors import EngineError


class Command(BaseCommand):
    help = (
        "Writes all it takes to repeat a project's fit into a folder; check it by `python -m models_engine reproduce`."
    )
    requires_system_checks = (Tags.models,)  # no page is shown: checking addresses would import every one

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", type=UUID, help="the project's id, as in its address")
        parser.add_argument("folder", type=Path, help="a folder that is empty or does not exist yet")
        parser.add_argument("--criterion", type=int, default=1, help="of a project with several, its number (1)")

    def handle(self, *, project: UUID, folder: Path, criterion: int, **options: Any) -> None:
        found = Project.objects.filter(pk=project).first()
        if found is None:
            raise CommandError(f"There is no project {project}; its id is part of the address of its pages.")
        if not 1 <= criterion <= n_criteria(found):
            raise CommandError(f"There is no criterion {criterion}; the project has {n_criteria(found)}.")
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CommandError(f"{folder} is not empty; name a new folder.")
        try:
            made = run_records_job.write_run_record(
                Criterion(found, criterion), folder, progress=lambda *_: True, now=timezone.now()
            )
        except EngineError as error:
            raise CommandError(render_message(str(error))) from error
        self.stdout.write(f"{made['n_labels']:,} labels, {made['estimator']}, hash {made['data_hash'][:12]}: {folder}")
