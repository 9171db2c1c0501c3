"""Makes run records: the project's labels and a cold fit of them as a folder, or as a .zip kept for download."""

import tempfile
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

from django.utils import timezone
from django.utils.text import slugify

from annotate.asked_for import AskedFor
from annotate.criteria import seen_by
from annotate.fitting import Progress
from annotate.fitting_rows import LEVEL, read_labels
from annotate.models import Annotator, EngineState, Item, Project, RunRecord, RunRecordPart
from annotate.queries.project import published_fit
from annotate.reconciler import LostClaim, died
from annotate.stored_words import TooLittle
from annotate.writing import room_for_others
from models_engine.records import Recipe, write_record

Status = RunRecord.Status
PART_BYTES = 2**19  # SQLite's one write lock is held for a few milliseconds each
OF_THE_SITE = ("level", "top_k", "tie_margin")  # in Fit.settings, besides the estimator's own
README = """A run record of Crowdrank: all it takes to repeat the fit that gave ranking.csv.

    pip install crowdrank
    python -m models_engine reproduce {folder}

labels.csv        every label that counts: who, the items in the order shown, the rank given to each, its weight
items.csv         the items        annotators.csv   the annotators, by pseudonym, and numbers of the questionnaire
record.json       estimator, settings, seed, hash of the data, versions of everything
ranking.csv       the ranking of a fit that started from nothing but these files

Names are percent-encoded where a spreadsheet would run them or a list would break (Python: urllib.parse.unquote).
"""


def write(project: Project, folder: Path, *, progress: Progress, now: datetime) -> dict[str, Any]:
    """The record of the labels as they are, by the published fit's estimator and settings, into `folder`; what
    record.json says. Raises TooLittle before the first fit."""
    version = EngineState.objects.filter(project=project).values_list("wanted", flat=True).first()
    fit = published_fit(project)
    labels = read_labels(project)
    if fit is None or labels is None or not fit.n_items:
        raise TooLittle("nothing to record")
    keys = dict(Item.objects.filter(project=project).values_list("pk", "key"))
    people = dict(Annotator.objects.filter(project=project).values_list("pk", "pseudonym"))
    items = [keys[pk] for pk in labels.item_ids.tolist()]
    recipe = Recipe(
        estimator=fit.estimator,
        settings={name: value for name, value in fit.settings.items() if name not in OF_THE_SITE},
        seed=fit.seed,
        level=LEVEL,
        k=fit.settings.get("top_k", project.top_k),
        unranked=[key for key, ranked in zip(items, labels.ranked.tolist(), strict=True) if not ranked],
    )
    about = {
        "project": project.name,
        "project_id": str(project.pk),
        "question": project.question_asked,
        **({"criterion": project.criterion_name} if project.criteria else {}),
        "task_type": project.task_type,
        "made_at": now.isoformat(),
        "data_version": version,
        "published_fit": fit.number,
        "published_fit_data_version": fit.data_version,
    }
    annotators = [people[pk] for pk in labels.annotator_ids.tolist()]
    record = write_record(folder, labels.data, items, annotators, recipe, about=about, progress=progress)
    (folder / "README.txt").write_text(README.format(folder=folder.name), encoding="utf-8")
    return record


queue = AskedFor(RunRecord, died)
owed, claim_next, held = queue.owed, queue.claim_next, queue.held
renew, give_back, record_failure = queue.renew, queue.give_back, queue.record_failure


def make(row: RunRecord, *, progress: Progress) -> None:
    """Makes the claimed record and keeps it in place of the project's earlier ones. Raises what the fit raises, and
    LostClaim."""
    project, now = seen_by(row.project, row.criterion), timezone.now()
    with tempfile.TemporaryDirectory(prefix="run-record-") as place:
        criterion = f"-{project.criterion}" if project.criteria else ""
        folder = Path(place) / f"{slugify(project.name)[:60] or 'project'}{criterion}-run-record"
        made = write(project, folder, progress=progress, now=now)
        archive = Path(place) / "record.zip"
        pack(folder, archive)
        keep(row, archive)
        size = archive.stat().st_size
    ready = held(row).update(
        status=Status.READY,
        owner="",
        lease_until=None,
        message="",
        finished_at=timezone.now(),
        data_version=made["about"]["data_version"],
        fit_number=made["about"]["published_fit"],
        n_labels=made["n_labels"],
        n_bytes=size,
    )
    if not ready:
        raise LostClaim(str(row.pk))
    earlier = RunRecord.objects.filter(project=project, criterion=row.criterion, pk__lt=row.pk)
    for pk in RunRecordPart.objects.filter(record__in=earlier).values_list("pk", flat=True):
        with room_for_others():
            RunRecordPart.objects.filter(pk=pk).delete()
    earlier.delete()


def pack(folder: Path, archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(folder.iterdir()):
            file.write(path, f"{folder.name}/{path.name}")


def keep(record: RunRecord, archive: Path) -> None:
    """The file as rows, each in a transaction of its own; those of an earlier attempt go first."""
    RunRecordPart.objects.filter(record=record).delete()
    with archive.open("rb") as file:
        number = 0
        while data := file.read(PART_BYTES):
            if not held(record).exists():
                raise LostClaim(str(record.pk))
            with room_for_others():
                RunRecordPart.objects.create(record=record, number=number, data=data)
            number += 1
