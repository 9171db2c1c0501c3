"""Comparisons made elsewhere: how the file is read and what its first rows give, then the import."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import islice
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from annotate.files.limits import SMALL, BadFile
from annotate.files.row_errors import RowError
from annotate.files.workbooks import decode_table
from annotate.imports import job as imports_job
from annotate.imports.comparisons.forms import VotingForm, initial_of, voting_of
from annotate.imports.comparisons.tables import FORMATS
from annotate.imports.comparisons.tools import PLACES
from annotate.imports.guessing import check_votes, first_rows, guess_votes, sheet_of
from annotate.imports.prepared import NothingToImport, Read
from annotate.imports.sources import Votes
from annotate.imports.uploads import Upload
from annotate.imports.wizard import Contents, Wizard
from annotate.models import ImportJob


def comparisons_contents(file: UploadedFile) -> Contents:
    """Raise BadFile."""
    name = file.name or _("a file")
    text = decode_table(file)
    return Contents(name, {"mapping": guess_votes(text, name)}, {"text": text.encode()})


@dataclass
class ParsedComparisons:
    """What the first rows give; `problem`: why they can't be read this way."""

    mapping: dict[str, Any]
    names: list[str] = field(default_factory=list)
    problem: str = ""
    n_rows: int = 0
    n_comparisons: int = 0
    n_new: int = 0
    n_weighted: int = 0  # of the rows, those with a weight other than 1
    errors: list[Read] = field(default_factory=list)
    is_whole: bool = True

    @property
    def n_good(self) -> int:
        return self.n_rows - len(self.errors)


class ComparisonsWizard(Wizard[ParsedComparisons]):
    kind = "comparisons"
    template = "imports/comparisons_check.html"

    def stage(self, contents: Contents) -> HttpResponseBase:
        contents.details["mapping"]["voting"]["create"] = not self.project.items.exists()
        return super().stage(contents)

    def parse(self, upload: Upload, data: Mapping[str, Any]) -> ParsedComparisons:
        text, voting = upload.read("text").decode(), upload.details["mapping"]["voting"]
        if data.get("format") in FORMATS:
            voting = voting | {"format": data["format"]}
        if voting["format"] == "tools":
            voting = voting | {"columns": PLACES}
        parsed = ParsedComparisons(upload.details["mapping"] | {"voting": voting})
        try:
            parsed.names = sheet_of(text, parsed.mapping).columns
            parsed.mapping["voting"] = voting_of(parsed.names, voting, data)
            check_votes(parsed.mapping, parsed.names)
            self.count(text, upload, parsed)
        except BadFile as refusal:
            parsed.problem = str(refusal)
        return parsed

    def count(self, text: str, upload: Upload, parsed: ParsedComparisons) -> None:
        """Read the first rows. Raises BadFile."""
        items = dict(self.project.items.order_by("pk").values_list("key", "pk"))
        source = Votes(StringIO(text, newline=""), self.project, parsed.mapping, items, seed=upload.id)
        rows = iter(source.sheet.rows)
        source.sheet = replace(source.sheet, rows=islice(rows, SMALL))
        for read in source.rows():
            parsed.n_rows += 1
            parsed.n_comparisons += len(read.lines)
            parsed.n_weighted += read.is_weighted
            if read.problem:
                parsed.errors.append(read)
        parsed.is_whole, parsed.n_new = next(rows, None) is None, len(source.new)
        if not parsed.n_rows:
            raise BadFile(_("The file contains no comparisons when read this way. Read it another way below."))

    def context(self, upload: Upload, parsed: ParsedComparisons) -> dict[str, Any]:
        voting = parsed.mapping["voting"]
        form = VotingForm(parsed.names, voting["format"], initial=initial_of(voting))
        first = first_rows(sheet_of(upload.read("text").decode(), parsed.mapping)) if parsed.names else []
        return {
            "parsed": parsed,
            "form": form,
            "errors": [RowError(read.place, read.problem) for read in parsed.errors],
            "first": first,
            "fields": fields_of(form, voting),
            "perhaps_annotators": perhaps_annotators(parsed),
        }

    def store(self, upload: Upload, parsed: ParsedComparisons) -> HttpResponseBase:
        if parsed.problem:
            raise NothingToImport
        # Only who has seen how many rows are left out can have said so.
        leave_out = parsed.is_whole and self.request.POST.get("left_out") == str(len(parsed.errors))
        job = self.start_job(upload, ImportJob.Kind.COMPARISONS, parsed.mapping, leave_out)
        if parsed.is_whole:
            imports_job.import_now(job)
        return redirect("import-job", self.project.pk, job.pk)


def perhaps_annotators(parsed: ParsedComparisons) -> list[str]:
    """Return the columns that may name annotators, where none is read as such and all rows would be one person's."""
    voting = parsed.mapping["voting"]
    if parsed.problem or voting["format"] not in ("pairs", "winners") or "annotator" in voting["columns"]:
        return []
    return [name for place, name in enumerate(parsed.names) if place not in voting["columns"].values()]


def fields_of(form: VotingForm, voting: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the same reading as fields of a form."""
    values = initial_of(voting)
    named = [(name, values.get(name)) for name in form.fields]
    return [
        ("cut", voting["format"]),
        *((name, str(value)) for name, value in named if value is not None and value is not False and value != ""),
    ]
