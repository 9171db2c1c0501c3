"""Items from a table or text: how it is read, which rows have errors, and storing those that are right."""

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.errors import UserError
from annotate.files.decoding import decode_upload
from annotate.files.layout import Layout, guess_layout, named_columns, read_sheet
from annotate.files.limits import SMALL, BadFile
from annotate.files.parquet_reader import is_parquet, read_parquet
from annotate.files.sheets import Sheet
from annotate.files.workbooks import SheetText, is_workbook, read_head, read_workbook
from annotate.imports.forms import LayoutForm, PasteForm, Reading, layout_of, reading_of
from annotate.imports.guessing import items_mapping
from annotate.imports.uploads import Upload
from annotate.imports.wizard import Contents, RowsChanged, Wizard
from annotate.items import queries
from annotate.items.actions import import_items
from annotate.items.rows import Checked, check
from annotate.models import ImportJob

SHOWN_ITEMS = 20


def file_contents(file: UploadedFile) -> Contents:
    """Raise BadFile."""
    name = file.name or _("a file")
    if is_workbook(name, head := read_head(file)):
        return workbook_contents(read_workbook(file, name), name)
    if is_parquet(name, head):
        return table_contents(read_parquet(file, name), Layout("jsonlines"), name)
    decoded = decode_upload(file)
    return table_contents(decoded.text, guess_layout(decoded.text, name), name, encoding=decoded.encoding)


def workbook_contents(sheets: list[SheetText], name: str) -> Contents:
    """Stage every sheet as a text of its own: text, text-1, text-2."""
    first = table_contents(sheets[0].text, guess_layout(sheets[0].text, ""), name)
    more = {f"text-{n}": sheet.text.encode() for n, sheet in enumerate(sheets[1:], 1)}
    details = first.details | {"sheets": [sheet.name for sheet in sheets]}
    return first._replace(details=details, files={**first.files, **more})


def paste_contents(text: str, written: str) -> Contents:
    layout = Layout("lines") if written == "lines" else guess_layout(text, "")
    return table_contents(text, layout, _("pasted text"), pasted=written)


def table_contents(text: str, layout: Layout, name: str, **details: str) -> Contents:
    guessed = {"format": layout.format, "delimiter": layout.delimiter, "header": layout.header}
    return Contents(name, {**details, **guessed}, {"text": text.encode()})


@dataclass(frozen=True)
class ParsedTable:
    """What reading the upload gave; `problem`: why all of it can't be read this way, and then nothing else."""

    layout: Layout
    reading: Reading | None = None
    checked: Checked | None = None
    problem: str = ""
    is_whole: bool = True  # else these are the first rows alone; a worker checks all of them
    n_read: int = SMALL


def sheet_number(upload: Upload, data: Mapping[str, Any]) -> int:
    """Return the sheet that was chosen, from 0; the first where none was, or there is none such."""
    sheet = str(data.get("sheet", "0"))
    number = int(sheet) if sheet.isdecimal() and len(sheet) < 4 else 0
    return number if number < len(upload.details.get("sheets", [])) else 0


def text_name(upload: Upload, data: Mapping[str, Any]) -> str:
    number = sheet_number(upload, data)
    return f"text-{number}" if number else "text"


class TableWizard(Wizard[ParsedTable]):
    kind = "table"
    template = "imports/table.html"
    texts: Collection[int] = ()  # hashes of the project's; the preview alone warns of repeated ones

    def parse(self, upload: Upload, data: Mapping[str, Any]) -> ParsedTable:
        text, details = upload.read(text_name(upload, data)).decode(), upload.details
        guessed = Layout(details["format"], details["delimiter"], details["header"])
        if sheet_number(upload, data):
            guessed = guess_layout(text, "")
        layout = layout_of(guessed, data)
        try:
            reading = reading_of(text, layout, data)
            sheet = read_sheet(text, layout)
            rows = iter(sheet.rows)
            checked = check(
                Sheet(sheet.columns, islice(rows, SMALL)),
                reading.columns,
                kind=reading.kind,
                keys=queries.keys(self.project),
                known_text=lambda body: hash(body) in self.texts,
            )
            return ParsedTable(layout, reading, checked, is_whole=next(rows, None) is None)
        except BadFile as refusal:
            return ParsedTable(layout, problem=str(refusal))

    def preview(self, upload: Upload, data: Mapping[str, Any]) -> HttpResponseBase:
        self.texts = queries.text_hashes(self.project)
        return super().preview(upload, data)

    def context(self, upload: Upload, parsed: ParsedTable) -> dict[str, Any]:
        layout_form = parsed.reading.layout_form if parsed.reading else LayoutForm(initial=vars(parsed.layout))
        context: dict[str, Any] = {"parsed": parsed, "n_shown": SHOWN_ITEMS, "layout_form": layout_form}
        data = self.request.POST if self.request.method == "POST" else self.request.GET
        context["sheet"] = sheet_number(upload, data)
        if written := upload.details.get("pasted"):
            text = upload.read("text").decode()
            context["paste"] = PasteForm(initial={"text": text, "written": written})
            context["seen_table"] = named_columns(text) if parsed.layout.format == "lines" else None
        if parsed.checked:
            context["items"] = parsed.checked.items[:SHOWN_ITEMS]
            context["errors"] = parsed.checked.errors
            context["warnings"] = parsed.checked.warnings
            context["n_contexts"] = len({item.context for item in parsed.checked.items} - {""})
            context["n_competitors"] = len({item.competitor for item in parsed.checked.items} - {""})
        return context

    def store(self, upload: Upload, parsed: ParsedTable) -> HttpResponseBase:
        reading, checked = parsed.reading, parsed.checked
        if reading and not parsed.is_whole:
            mapping = items_mapping(reading.layout, reading.columns, reading.kind)
            job = self.start_job(upload, ImportJob.Kind.ITEMS, mapping, text=text_name(upload, self.request.POST))
            return redirect("import-job", self.project.pk, job.pk)
        leaves_out = self.request.POST.get("action") == "good"
        if reading is None or checked is None or not checked.items or (checked.errors and not leaves_out):
            raise UserError(_("Nothing was imported: some rows have errors. Correct them or leave them out."))
        if self.request.POST.get("n") != str(len(checked.items)):
            raise RowsChanged(_("Nothing was imported: the project has changed in the meantime. Check the rows again."))
        n = import_items(
            project=self.project,
            actor=self.request.user,
            rows=checked.items,
            features=[name for _place, name in reading.columns.features],
            upload=upload.id,
            source=upload.name,
            now=timezone.now(),
            rng=random.SystemRandom(),
        )
        messages.success(self.request, count_imported(n, len(checked.errors)))
        return redirect("items", self.project.pk)


def count_imported(n: int, left_out: int) -> str:
    text = ngettext("%(n)d item is imported.", "%(n)d items are imported.", n) % {"n": n}
    if left_out:
        text += " " + ngettext("%(n)d row was left out.", "%(n)d rows were left out.", left_out) % {"n": left_out}
    return text
