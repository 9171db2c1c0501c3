"""Writing the checked lines of an import, a chunk in each transaction of the caller's."""

import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import IO, Any

from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.files.cells import shortened
from annotate.imports.actions import PAGES
from annotate.imports.comparisons.actions import Comparison, annotators_called, next_repeats, with_ids
from annotate.imports.comparisons.rows import raise_overlap, write_labels
from annotate.imports.counts.actions import count_rows, write_counts
from annotate.imports.media.archives import Entry, store
from annotate.imports.media.pages import store_pages
from annotate.imports.prepared import Line
from annotate.imports.queue import UPLOAD, fit_imported_labels
from annotate.items.actions import add_items, record_import, request_fit_if_labelled
from annotate.items.features import add_features
from annotate.items.rows import NewItem
from annotate.labelling.plan.actions import draw_plan
from annotate.labelling.plan.given import NewQuestion, plan_has_changed, write_questions
from annotate.locks import lock_project
from annotate.models import Annotator, EventVerb, ImportJob, Item
from annotate.participation.questionnaire.imported import save_numbers

IMPORTED = Annotator.Source.IMPORT
# Lines in one transaction: others' writes wait for it about a third of a second on SQLite.
CHUNK = {
    "item": 2000,
    "question": 2000,
    "comparison": 2000,
    "count": 2000,
    "features": 500,
    "media": 20,
    "annotator": 200,
}


class ItemGone(UserError):
    def __init__(self, key: str) -> None:
        super().__init__(
            _(
                "The item “%(key)s” has been deleted in the meantime. Upload the file again so that its rows are "
                "checked again."
            )
            % {"key": shortened(key)}
        )


class Sink:
    """Where one import's lines go. It remembers between chunks what it need not ask for again."""

    def __init__(
        self, job: ImportJob, stored: Callable[[str], AbstractContextManager[IO[bytes]]], now: datetime
    ) -> None:
        self.job, self.project, self.stored, self.now = job, job.project, stored, now
        self.rng = random.SystemRandom()
        self.names: list[str] = job.mapping.get("features", [])
        self.items: dict[str, int] | None = None
        self.people: dict[str, int] = {}
        self.repeats: dict[tuple[int, str], int] | None = None

    def write(self, lines: Sequence[Line]) -> None:
        values = [line[1] for line in lines]
        write = {
            "item": self.add,
            "question": self.ask,
            "comparison": self.label,
            "count": self.count,
            "features": self.measure,
            "media": self.unpack,
            "annotator": self.describe,
        }
        write[lines[0][0]](values)

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        add_items(self.project, [NewItem(*row) for row in rows], self.now, self.rng, self.names)
        self.items = None

    def unpack(self, rows: Sequence[Sequence[Any]]) -> None:
        """Media of an archive: the files under names that a second attempt writes over."""
        entries = [Entry(*row) for row in rows]
        prefix, pages = self.job.folder.rpartition("/")[2], dict[int, tuple[str, ...]]()
        with self.stored(UPLOAD) as archive:
            stored = store(archive, entries, prefix)
        if documents := {entry.place: entry.pages for entry in entries if entry.pages}:
            with self.stored(PAGES) as archive:
                pages = store_pages(archive, documents, prefix)
        new = [
            NewItem(
                one.place,
                one.key,
                one.body,
                one.kind,
                tuple(one.tags),
                pages[one.place][0] if one.kind == Item.Kind.IMAGE and one.pages else name,
                one.context,
                features=tuple(one.features),
                title=one.title,
                pages=pages.get(one.place, ()),
                competitor=one.competitor,
                metadata=tuple((name, value) for name, value in one.metadata),
            )
            for one, name in zip(entries, stored, strict=True)
        ]
        add_items(self.project, new, self.now, self.rng, self.names)

    def known(self) -> dict[str, int]:
        if self.items is None:
            self.items = dict(self.project.items.values_list("key", "pk"))
        return self.items

    def measure(self, rows: Sequence[Sequence[Any]]) -> None:
        items = self.known()
        try:
            add_features(self.project, self.names, [(items[key], values) for key, values in rows])
        except KeyError as error:
            raise ItemGone(error.args[0]) from error

    def describe(self, rows: Sequence[Sequence[Any]]) -> None:
        numbers = [(int(pk), values) for pk, values in rows]
        save_numbers(self.project, self.job.asked_by, self.names, numbers, self.now)

    def ask(self, rows: Sequence[Sequence[Any]]) -> None:
        items = self.known()
        try:
            found = [NewQuestion(tuple(items[key] for key in keys), priority) for keys, priority in rows]
        except KeyError as error:
            raise ItemGone(error.args[0]) from error
        write_questions(lock_project(self.project.pk), found, self.job.mapping["asking"]["order"])

    def label(self, rows: Sequence[Sequence[Any]]) -> None:
        items, found = self.known(), [comparison_of(row) for row in rows]
        try:
            checked = [with_ids(row, items) for row in found]
        except KeyError as error:
            raise ItemGone(error.args[0]) from error
        if self.repeats is None:
            self.repeats = next_repeats(self.project, IMPORTED)
        self.meet(row.annotator for row in checked)
        write_labels(self.project, checked, self.people, self.repeats, self.now, self.rng, wanted=False)

    def count(self, rows: Sequence[Sequence[Any]]) -> None:
        items = self.known()
        self.meet(row[0] for row in rows)
        try:
            found = count_rows([(row[0], row[1], row[2], row[3]) for row in rows], self.people, items)
        except KeyError as error:
            raise ItemGone(error.args[0]) from error
        write_counts(self.project, self.job.asked_by, found, self.now)

    def meet(self, names: Iterable[str]) -> None:
        """Learn the primary keys of these annotators; those who are new are created."""
        new = dict.fromkeys(name for name in names if name not in self.people)
        if new:
            self.people |= annotators_called(self.project, new, self.now, IMPORTED)

    def record_rows(self, verb: EventVerb, n_refused: int, **details: Any) -> None:
        job = self.job
        record_event(
            self.project,
            job.asked_by,
            verb,
            self.now,
            source=job.source,
            rows=job.n_rows,
            new_items=job.n_new_items,
            refused=n_refused,
            **details,
        )

    def complete(self) -> None:
        """Do what follows from the whole import."""
        job, actor = self.job, self.job.asked_by
        n_refused = job.n_bad if job.leave_out else 0
        if job.kind == ImportJob.Kind.COMPARISONS:
            raise_overlap(self.project)
            if job.n_new_items:
                draw_plan(self.project)
            self.record_rows(
                EventVerb.COMPARISONS_IMPORTED,
                n_refused,
                labels=job.n_rows_to_write,
                refusals=job.errors if n_refused else [],
            )
            fit_imported_labels(job)
        elif job.kind == ImportJob.Kind.QUESTIONS:
            self.complete_questions(n_refused)
        elif job.kind == ImportJob.Kind.COUNTS:
            self.record_rows(EventVerb.COUNTS_IMPORTED, n_refused, counts=job.n_rows_to_write)
            fit_imported_labels(job)
        elif job.kind in (ImportJob.Kind.FEATURES, *ImportJob.MEASURED):
            record_event(
                self.project, actor, EventVerb.FEATURES_IMPORTED, self.now, items=job.n_written, source=job.source
            )
            request_fit_if_labelled(self.project)
        elif job.kind == ImportJob.Kind.ANNOTATORS:
            verb = EventVerb.ANNOTATOR_FEATURES_IMPORTED
            record_event(self.project, actor, verb, self.now, annotators=job.n_written, source=job.source)
            request_fit_if_labelled(self.project)
        else:
            upload = f"job {job.pk}"
            record_import(self.project, actor, self.now, upload=upload, n=job.n_written, source=job.source)

    def complete_questions(self, n_refused: int) -> None:
        """Do what follows from questions, and from the items and votes that came with them."""
        job, actor, kinds = self.job, self.job.asked_by, self.job.mapping["kinds"]
        if kinds.get("item"):
            record_import(self.project, actor, self.now, upload=f"job {job.pk}", n=kinds["item"], source=job.source)
        if kinds.get("comparison"):
            raise_overlap(self.project)
            numbers = {"rows": job.n_rows, "labels": kinds["comparison"], "refused": n_refused}
            refusals = job.errors if n_refused else []
            record_event(
                self.project,
                actor,
                EventVerb.COMPARISONS_IMPORTED,
                self.now,
                source=job.source,
                refusals=refusals,
                **numbers,
            )
            fit_imported_labels(job)
        draw_plan(self.project)  # an item may have been retired since it was checked
        record_event(
            self.project,
            actor,
            EventVerb.QUESTIONS_ADDED,
            self.now,
            questions=kinds.get("question", 0),
            merged=job.mapping["merged"],
            source=job.source,
        )
        plan_has_changed(self.project)


def comparison_of(values: Sequence[Any]) -> Comparison:
    row = Comparison(*values)
    at = None if row.at is None else datetime.fromisoformat(str(row.at))
    return row._replace(shown=tuple(row.shown), order=tuple(row.order), at=at)
