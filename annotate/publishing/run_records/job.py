"""Makes run records: a project's labels and a cold fit of them, as a folder or a stored .zip file."""

import tempfile
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext_noop

from annotate.core.stored_messages import NotEnoughData
from annotate.core.transactions import yielding_write_transaction
from annotate.criteria import Criterion
from annotate.fitting.counts import read_counts
from annotate.fitting.estimates import LEVEL
from annotate.fitting.leaderboard.reading import competitor_rows
from annotate.fitting.machines import counts_machines
from annotate.fitting.predictions import record_of_predictions
from annotate.fitting.published import published_fit
from annotate.fitting.reading import Labels, read_labels
from annotate.jobs.queues import Progress
from annotate.labelling.asked_tasks import is_mixed, tasks_of
from annotate.models import Annotator, FitState, Item, Machine, RunRecord, RunRecordPart
from annotate.models.leased_jobs import LeaseLost
from annotate.publishing.run_records.analysis import write_analysis
from models_engine.io.reports import write_csv, write_json
from models_engine.io.run_records import FitSpec, write_record
from models_engine.models import Fit, Leaderboard

Status = RunRecord.Status
PART_BYTES = 2**19  # SQLite's one write lock is held for a few milliseconds each
SITE_SETTINGS = ("level", "top_k", "tie_margin", "count_machines")  # in Fit.settings, besides the estimator's own
README = """A run record of Crowdrank: all it takes to repeat the fit that gave ranking.csv, and to analyse the answers.

    pip install .                    in a checkout of the source of Crowdrank, or with the path of its wheel
    python -m models_engine reproduce {folder}

This installs numpy and scipy and nothing of the site. The version that made the record is in record.json.

labels.csv        every label that counts: who, the items in the order shown, the rank given to each, its weight
counts.csv        in place of labels.csv where the ranking is by imported counts: annotator, item, count, exposure
items.csv         the items        annotators.csv   the annotators, by pseudonym, and numbers of the questionnaire
record.json       estimator, settings, seed, hash of the data, versions of everything; which annotators are machines;
                  where questions were chosen by the ranking, the rule and how many (answers.csv: which)
ranking.csv       the ranking of a fit that started from nothing but these files
predicted.csv     where there are any: places of items that nobody compared, which the same fit predicts from items.csv
competitors.csv   only where every item names who made it: item, competitor, context, tag. For the leaderboard:
                  python -m models_engine fit labels.csv --competitors competitors.csv
leaderboard.json  the leaderboard that was published with the fit, where there is one

analysis.py       repeats the ranking by the same engine and compares it with the published one
analysis.R        fits the Bradley-Terry model in base R and compares it with ranking.csv
answers.csv       every answer, void ones marked      item_texts.csv   the items      published.csv   the site's ranking
codebook.csv      every column of every file: type, unit, meaning, and the words that annotators read
methods.txt       how the ranking was computed, for a paper      references.bib   its references
deviations.csv    changes since the plan was frozen; preregistration.json, where it was

Names are percent-encoded where a spreadsheet would run them or a list would break (Python: urllib.parse.unquote).
"""


def write_run_record(criterion: Criterion, folder: Path, *, progress: Progress, now: datetime) -> dict[str, Any]:
    """Write the record of today's labels, by the published fit's estimator and settings; return record.json.

    Raises NotEnoughData before the first fit.
    """
    project = criterion.project
    version = FitState.objects.filter(project=project).values_list("wanted", flat=True).first()
    fit = published_fit(criterion)
    labels = read_counts(project) if project.ranks_counts else read_labels(criterion)
    if fit is None or labels is None or not fit.n_items:
        raise NotEnoughData(
            gettext_noop("There is no ranking yet, so there is nothing to record. Try again once there is one.")
        )
    keys = dict(Item.objects.filter(project=project).values_list("pk", "key"))
    people = dict(Annotator.everyone.filter(project=project).values_list("pk", "pseudonym"))
    items = [keys[pk] for pk in labels.item_ids.tolist()]
    recipe = FitSpec(
        estimator=fit.estimator,
        settings={name: value for name, value in fit.settings.items() if name not in SITE_SETTINGS},
        seed=fit.seed,
        level=LEVEL,
        k=fit.settings.get("top_k", project.top_k),
        unranked=[key for key, ranked in zip(items, labels.ranked.tolist(), strict=True) if not ranked],
        predicted=record_of_predictions(criterion, fit, labels, items) if isinstance(labels, Labels) else {},
    )
    about = {
        "project": project.name,
        "project_id": str(project.pk),
        "question": criterion.question,
        **({"criterion": criterion.name} if project.criteria else {}),
        "task_type": project.task_type,
        **({"tasks": [task.code for task in tasks_of(project)]} if is_mixed(project) else {}),
        **({"given_questions": project.given_order} if project.given_order else {}),
        **(
            {"policy": project.policy, "n_adaptive": labels.n_adaptive}
            if isinstance(labels, Labels) and (project.is_adaptive or labels.n_adaptive)
            else {}
        ),
        "made_at": now.isoformat(),
        "data_version": version,
        "published_fit": fit.number,
        "published_fit_data_version": fit.data_version,
        **({"predictions": fit.diagnostics["predicted"]} if "predicted" in fit.diagnostics else {}),
        **({"machines": machines_counted(labels)} if isinstance(labels, Labels) and counts_machines(project) else {}),
    }
    annotators = [people[pk] for pk in labels.annotator_ids.tolist()]
    record = write_record(folder, labels.data, items, annotators, recipe, about=about, progress=progress)
    write_analysis(criterion, folder, record)
    if isinstance(labels, Labels):
        write_leaderboard_files(folder, criterion, labels, fit)
    (folder / "README.txt").write_text(README.format(folder=folder.name), encoding="utf-8")
    return record


def machines_counted(labels: Labels) -> list[dict[str, str]]:
    """Return which of the annotators of labels.csv are machines, and what they are."""
    found = Machine.objects.filter(pk__in=labels.annotator_ids[labels.n_people :].tolist()).order_by("pk")
    columns = ("annotator__pseudonym", "program", "version", "prompt_hash")
    names = ("annotator", "program", "version", "prompt_sha256")
    return [dict(zip(names, row, strict=True)) for row in found.values_list(*columns)]


def write_leaderboard_files(folder: Path, criterion: Criterion, labels: Labels, fit: Fit) -> None:
    """Write competitors.csv, as the engine's command line reads it, and the published board, where there is one."""
    board = Leaderboard.objects.filter(fit=fit).values_list("board", flat=True).first()
    if board is None:
        return
    write_json(folder / "leaderboard.json", {name: value for name, value in board.items() if name != "posterior"})
    rows = competitor_rows(criterion, labels)
    if rows:
        write_csv(folder / "competitors.csv", ("item", "competitor", "context", "tag"), rows)


def work(row: RunRecord, progress: Progress) -> None:
    """Make the claimed record and keep it in place of the project's earlier ones.

    Raises what the fit raises, and LeaseLost.
    """
    project, criterion, now = row.project, Criterion(row.project, row.criterion), timezone.now()
    with tempfile.TemporaryDirectory(prefix="run-record-") as place:
        number = f"-{criterion.number}" if project.criteria else ""
        folder = Path(place) / f"{slugify(project.name)[:60] or 'project'}{number}-run-record"
        made = write_run_record(criterion, folder, progress=progress, now=now)
        archive = Path(place) / "record.zip"
        zip_folder(folder, archive)
        store_parts(row, archive)
        size = archive.stat().st_size
    row.complete(
        status=Status.READY,
        message="",
        finished_at=timezone.now(),
        data_version=made["about"]["data_version"],
        fit_number=made["about"]["published_fit"],
        n_labels=made["n_labels"],
        n_bytes=size,
    )
    earlier = RunRecord.objects.filter(project=project, criterion=row.criterion, pk__lt=row.pk)
    for pk in RunRecordPart.objects.filter(record__in=earlier).values_list("pk", flat=True):
        with yielding_write_transaction():
            RunRecordPart.objects.filter(pk=pk).delete()
    earlier.delete()


def zip_folder(folder: Path, archive: Path) -> None:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(folder.iterdir()):
            file.write(path, f"{folder.name}/{path.name}")


def store_parts(record: RunRecord, archive: Path) -> None:
    """Store the file as rows, each in its own transaction, after deleting those of an earlier attempt."""
    RunRecordPart.objects.filter(record=record).delete()
    with archive.open("rb") as file:
        number = 0
        while data := file.read(PART_BYTES):
            if not record.held().exists():
                raise LeaseLost(str(record.pk))
            with yielding_write_transaction():
                RunRecordPart.objects.create(record=record, number=number, data=data)
            number += 1
