"""Counts made elsewhere: which column is which and what the first rows give, then the import."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from io import StringIO
from itertools import islice
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from annotate.files.layout import read_sheet
from annotate.files.limits import SMALL, BadFile
from annotate.files.row_errors import RowError
from annotate.files.workbooks import decode_table
from annotate.imports import job as imports_job
from annotate.imports.counts.columns import Counting, check_count_columns, guess_counts, layout_of
from annotate.imports.counts.forms import CountingForm, counting_of, hidden_fields, initial_of
from annotate.imports.counts.reader import CountTable
from annotate.imports.guessing import first_rows
from annotate.imports.prepared import NothingToImport, Read
from annotate.imports.uploads import Upload
from annotate.imports.wizard import Contents, Wizard
from annotate.models import ImportJob


def counts_contents(file: UploadedFile) -> Contents:
    """Raise BadFile."""
    name = file.name or _("a file")
    text = decode_table(file)
    return Contents(name, {"mapping": guess_counts(text, name)}, {"text": text.encode()})


@dataclass
class ParsedCounts:
    """What the first rows give; `problem`: why they can't be read this way."""

    mapping: dict[str, Any]
    counting: Counting
    names: list[str] = field(default_factory=list)
    problem: str = ""
    n_rows: int = 0
    n_new: int = 0
    errors: list[Read] = field(default_factory=list)
    is_whole: bool = True

    @property
    def n_good(self) -> int:
        return self.n_rows - len(self.errors)


class CountsWizard(Wizard[ParsedCounts]):
    kind = "counts"
    template = "imports/counts_check.html"

    def stage(self, contents: Contents) -> HttpResponseBase:
        contents.details["mapping"]["counting"]["create"] = not self.project.items.exists()
        return super().stage(contents)

    def parse(self, upload: Upload, data: Mapping[str, Any]) -> ParsedCounts:
        text, mapping = upload.read("text").decode(), upload.details["mapping"]
        parsed = ParsedCounts(mapping, Counting(**mapping["counting"]))
        try:
            parsed.names = read_sheet(text, layout_of(mapping)).columns
            parsed.counting = counting_of(parsed.names, parsed.counting, data)
            parsed.mapping = mapping | {"counting": asdict(parsed.counting)}
            check_count_columns(parsed.counting, parsed.names)
            self.count(text, parsed)
        except BadFile as refusal:
            parsed.problem = str(refusal)
        return parsed

    def count(self, text: str, parsed: ParsedCounts) -> None:
        """Read the first rows. Raises BadFile."""
        items = dict(self.project.items.order_by("pk").values_list("key", "pk"))
        source = CountTable(StringIO(text, newline=""), self.project, parsed.mapping, items)
        rows = iter(source.sheet.rows)
        source.sheet = replace(source.sheet, rows=islice(rows, SMALL))
        for read in source.rows():
            parsed.n_rows += 1
            if read.problem:
                parsed.errors.append(read)
        parsed.is_whole, parsed.n_new = next(rows, None) is None, len(source.new)
        if not parsed.n_rows:
            raise BadFile(_("The file contains no counts. Its first line names the columns; add rows below it."))

    def context(self, upload: Upload, parsed: ParsedCounts) -> dict[str, Any]:
        sheet = read_sheet(upload.read("text").decode(), layout_of(parsed.mapping)) if parsed.names else None
        return {
            "parsed": parsed,
            "form": CountingForm(parsed.names, initial=initial_of(parsed.counting)),
            "errors": [RowError(read.place, read.problem) for read in parsed.errors],
            "first": first_rows(sheet) if sheet else [],
            "fields": hidden_fields(parsed.counting),
        }

    def store(self, upload: Upload, parsed: ParsedCounts) -> HttpResponseBase:
        if parsed.problem:
            raise NothingToImport
        # Only who has seen how many rows are left out can have said so.
        leave_out = parsed.is_whole and self.request.POST.get("left_out") == str(len(parsed.errors))
        job = self.start_job(upload, ImportJob.Kind.COUNTS, parsed.mapping, leave_out)
        if parsed.is_whole:
            imports_job.import_now(job)
        return redirect("import-job", self.project.pk, job.pk)
