"""Writes a project as a data set: a README.md with the card that data hubs show, and its tables as Parquet files.

The layout is the one of the Hugging Face hub (a YAML head that names each file); people appear by their pseudonyms.
"""

import json
from collections.abc import Iterator
from datetime import datetime

from django.db.models import Max, Min
from django.utils import translation

from annotate.criteria import Criterion
from annotate.files.parquet_writer import parquet_chunks
from annotate.files.zip_stream import zip_chunks
from annotate.labelling.asked_tasks import tasks_of
from annotate.models import Label, Project
from annotate.publishing.exports.registry import TABLES
from annotate.publishing.methods.queries import Methods, methods_of

# The files' names and the tables in them, the first the one that a hub shows.
FILES = {"answers": "labels", "items": "items", "ranking": "ranking", "annotators": "annotators"}
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
LARGEST = "1M<n<10M"


def dataset_chunks(criterion: Criterion, now: datetime) -> Iterator[bytes]:
    """Yield the archive; memory stays flat. The card is in English, whatever the reader's language."""
    with translation.override("en"):
        card = data_card(criterion, now).encode()
        columns = {name: list(TABLES[table].columns(criterion.project)) for name, table in FILES.items()}

    def files() -> Iterator[tuple[str, Iterator[bytes]]]:
        yield "README.md", iter([card])
        for name, table in FILES.items():
            yield f"data/{name}.parquet", parquet_chunks(columns[name], TABLES[table].rows(criterion))

    return zip_chunks(files())


def data_card(criterion: Criterion, now: datetime) -> str:
    project, methods = criterion.project, methods_of(criterion)
    span = Label.objects.filter(project=project).aggregate(first=Min("created_at"), last=Max("created_at"))
    n_labels, n_people, n_items = project.labels.count(), project.annotators.count(), project.items.count()
    ended = "" if project.state == Project.State.CLOSED else "; answers were still welcome then"
    return "\n".join(
        [
            *head(project, n_labels),
            "",
            f"# {one_line(project.name)}",
            "",
            f"People were asked: **{one_line(criterion.question)}**",
            "",
            f"- {n_labels:,} answers by {n_people:,} annotators about {n_items:,} items",
            *(f"- Task: {task.task_type}, {task.k} items at a time" for task in tasks_of(project)),
            *([f"- Answers from {span['first']:%Y-%m-%d} to {span['last']:%Y-%m-%d}"] if span["first"] else []),
            f"- Exported on {now:%Y-%m-%d}{ended}",
            "",
            "## Files",
            "",
            "Items are identified by their key, annotators by a pseudonym. No file holds an e-mail address. Texts that",
            "annotators wrote (comments) are in `answers`: read them before you publish the data.",
            *files_and_columns(project),
            "",
            "## How the ranking was computed",
            "",
            *ranking_of(methods),
            "",
            "## Licence",
            "",
            "Whoever published this data set has not stated a licence here. Add one above and in this section.",
            "",
        ]
    )


def head(project: Project, n_labels: int) -> list[str]:
    size = next((words for limit, words in SIZES if n_labels < limit), LARGEST)
    languages = [project.language, *project.languages] if project.language else []
    configs = [
        line
        for name in FILES
        for line in (
            f"- config_name: {name}",
            f"  data_files: data/{name}.parquet",
            *(["  default: true"] if name == next(iter(FILES)) else []),
        )
    ]
    return [
        "---",
        f"pretty_name: {json.dumps(one_line(project.name), ensure_ascii=False)}",
        *(["language:", *(f"- {json.dumps(code)}" for code in languages)] if languages else []),
        "license: unknown",
        "tags:",
        "- comparisons",
        "- human-feedback",
        "- ranking",
        "size_categories:",
        f"- {size}",
        "configs:",
        *configs,
        "---",
    ]


def files_and_columns(project: Project) -> Iterator[str]:
    for name, table in FILES.items():
        yield from (
            "",
            f"### data/{name}.parquet",
            "",
            str(TABLES[table].about),
            "",
            "| column | meaning |",
            "|---|---|",
        )
        for column in TABLES[table].columns(project):
            yield f"| `{column.name}` | {cell(str(column.meaning))} |"


def ranking_of(methods: Methods | None) -> Iterator[str]:
    if methods is None:
        yield "There was no ranking when this was exported; `ranking` is empty."
        return
    yield next(text for code, _name, text in methods.paragraphs if code == "en")
    yield ""
    yield from (f"- {one_line(line)}" for line in methods.references)


def one_line(text: str) -> str:
    """Return the text without what Markdown would take for a line, a heading or HTML."""
    return " ".join(text.split()).replace("<", "&lt;")


def cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")
