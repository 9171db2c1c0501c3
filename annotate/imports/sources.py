"""What an import is read from: each kind of file as rows that are right or say what is wrong with them."""

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol, TextIO

from django.core.files.storage import default_storage
from django.utils.translation import gettext as _

from annotate.files.cells import check_key
from annotate.files.column_guessing import Columns
from annotate.files.layout import Layout, read_sheet
from annotate.files.limits import MAX_COMPARISONS, BadFile, Unusable
from annotate.files.sheets import Sheet
from annotate.imports.actions import KEYS
from annotate.imports.annotator_table import AnnotatorTable
from annotate.imports.comparisons.actions import Comparison, problems
from annotate.imports.comparisons.engine_sets import SetReader, side_as_order
from annotate.imports.comparisons.lists import ListReader, indices, orders
from annotate.imports.comparisons.tables import TABLES, TableReader, Voting
from annotate.imports.comparisons.tools import pairs_sheet
from annotate.imports.comparisons.weights import check_weight, weight_column
from annotate.imports.counts.reader import CountTable
from annotate.imports.feature_table import FeatureTable
from annotate.imports.matrix import Matrix
from annotate.imports.media.archives import Archive
from annotate.imports.pictures import MeasuredPictures
from annotate.imports.prepared import EVERY, Line, Read
from annotate.imports.questions.reader import GivenQuestions
from annotate.imports.texts import MeasuredTexts
from annotate.items.rows import NewItem, each_row
from annotate.models import Annotator, ImportJob, Item, Project

Kind = ImportJob.Kind


class Source(Protocol):
    """features: the names of the features that lines hold, known when all rows are read; ahead: what must be written
    first; every: rows between two notes of progress."""

    @property
    def columns(self) -> Sequence[str]: ...
    @property
    def features(self) -> Sequence[str]: ...
    @property
    def every(self) -> int: ...
    def rows(self) -> Iterator[Read]: ...
    def ahead(self) -> Iterable[Line]: ...


@contextmanager
def source_of(job: ImportJob, file: IO[bytes], pages: Path, on_page: Callable[[], None]) -> Iterator[Source]:
    """Yield what the file holds, while it is open. Raises BadFile.

    pages: where pictures of documents go; on_page: called after each, because a document may take long.
    """
    is_table = job.kind == Kind.FEATURES and "layout" in job.mapping
    if job.kind in (Kind.MEDIA, Kind.FEATURES, *ImportJob.MEASURED) and not is_table:
        yield binary_source(job, file, pages, on_page)
        return
    text = io.TextIOWrapper(file, "utf-8", newline="")
    try:
        yield text_source(job, text)
    finally:
        text.detach()  # the file is closed by who has opened it


def text_source(job: ImportJob, text: TextIO) -> Source:
    if job.kind == Kind.QUESTIONS:
        return GivenQuestions(text, job.project, job.mapping, seed=job.digest)
    if job.kind == Kind.ANNOTATORS:
        return AnnotatorTable(text, job.mapping, job.project)
    items = dict(job.project.items.order_by("pk").values_list("key", "pk"))
    if job.kind == Kind.ITEMS:
        return ItemTable(text, job.mapping, items)
    if job.kind == Kind.FEATURES:
        return FeatureTable(text, job.mapping, items)
    if job.kind == Kind.COUNTS:
        return CountTable(text, job.project, job.mapping, items)
    return Votes(text, job.project, job.mapping, items, seed=job.digest)


def binary_source(job: ImportJob, file: IO[bytes], pages: Path, on_page: Callable[[], None]) -> Source:
    if job.kind == Kind.MEASURED:
        return MeasuredPictures(job.project)
    if job.kind == Kind.MEASURED_TEXTS:
        return MeasuredTexts(job.project)
    items = dict(job.project.items.order_by("pk").values_list("key", "pk"))
    if job.kind == Kind.MEDIA:
        return Archive(file, items, pages, on_page)
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    return Matrix(file, size, keys_of(job, items), items, job.mapping.get("prefix", "f"))


def keys_of(job: ImportJob, items: Mapping[str, int]) -> list[str]:
    """Return the items of a matrix's rows: those of the file of keys, else all of the project in the order of their
    import."""
    name = f"{job.folder}/{KEYS}"
    if not default_storage.exists(name):
        return list(items)
    with default_storage.open(name) as file:
        return [line.strip() for line in file.read().decode().splitlines() if line.strip()]


class ItemTable:
    """A table or a list of items, in UTF-8."""

    every = EVERY

    def __init__(self, text: TextIO, mapping: Mapping[str, Any], keys: Mapping[str, int]) -> None:
        self.sheet = read_sheet(text, Layout(**mapping["layout"]))
        self.columns = self.sheet.columns
        places = mapping["columns"]
        named = tuple((place, name) for place, name in places.get("features") or ())
        self.places = Columns(**{**places, "features": named})
        self.features = [name for _place, name in named]
        self.kind, self.keys = mapping["kind"], keys

    def rows(self) -> Iterator[Read]:
        for row, item, problem in each_row(self.sheet, self.places, kind=self.kind, keys=self.keys):
            yield Read(row.place, row.cells, [("item", item)] if item else [], problem)

    def ahead(self) -> Iterable[Line]:
        return ()


class Votes:
    """Comparisons of any format; items that are not there are made where that is wished."""

    every = EVERY
    features: Sequence[str] = ()

    def __init__(
        self, text: TextIO, project: Project, mapping: Mapping[str, Any], items: dict[str, int], seed: str
    ) -> None:
        self.project, self.items, self.new = project, items, dict[str, int]()
        self.voting = Voting(**mapping["voting"])
        self.sheet = sheet_of(text, self.voting, mapping)
        self.columns = self.sheet.columns
        self.weight = weight_column(self.columns, self.voting)
        is_table = self.voting.format in TABLES
        self.reader: TableReader | ListReader | SetReader
        if self.voting.format == "sets":
            self.reader = SetReader(self.voting, seed, project, self.sheet.is_csv)
        elif is_table:
            self.reader = TableReader(self.voting, seed, self.columns, self.sheet.is_csv)
        else:
            self.reader = ListReader(self.voting, seed, project, list(items))
        people = Annotator.everyone.filter(project=project).exclude(source=Annotator.Source.IMPORT)
        self.taken = set(people.values_list("pseudonym", flat=True))
        self.contexts = dict(project.items.exclude(context=None).values_list("key", "context"))

    def rows(self) -> Iterator[Read]:
        n_lines = 0
        for row in self.sheet.rows:
            try:
                found = [side_as_order(self.project, one) for one in self.reader.comparisons(row)]
                for one in found:
                    self.check(one)
                is_weighted = check_weight(row, self.weight)
            except Unusable as problem:
                yield Read(row.place, row.cells, problem=str(problem))
                continue
            n_lines += len(found)
            if n_lines > MAX_COMPARISONS:
                raise BadFile(
                    _("The file contains more than %(limit)d comparisons. Split it and import the parts one by one.")
                    % {"limit": MAX_COMPARISONS}
                )
            self.note_new(found)
            lines = [("comparison", one) for one in found]
            yield Read(row.place, row.cells, lines, is_weighted=is_weighted)

    def check(self, one: Comparison) -> None:
        """Raise Unusable."""
        known = self.items
        missing = [key for key in one.shown if key not in known]
        if missing and self.voting.create:
            for key in missing:
                check_key(key)
            known = {**dict.fromkeys(one.shown, 0)}
        if problem := next(problems(self.project, one, known, self.taken), ""):
            raise Unusable(problem)
        if len({self.contexts.get(key) for key in one.shown}) > 1:
            raise Unusable(
                _("The items of this row have different contexts; only items of the same context are shown together.")
            )

    def note_new(self, found: Sequence[Comparison]) -> None:
        if self.voting.create:
            for one in found:
                for key in one.shown:
                    if key not in self.items:
                        self.items[key] = 0
                        self.new[key] = one.row

    def ahead(self) -> Iterable[Line]:
        for key, place in self.new.items():
            text = self.reader.texts.get(key) or key
            yield "item", NewItem(place, key, text.strip() or key, Item.Kind.TEXT)


def sheet_of(text: TextIO, voting: Voting, mapping: Mapping[str, Any]) -> Sheet:
    if voting.format == "indices":
        return indices(text.read())
    if voting.format == "orders":
        return orders(text.read())
    sheet = read_sheet(text, Layout(**mapping["layout"]))
    return pairs_sheet(sheet) if voting.format == "tools" else sheet
