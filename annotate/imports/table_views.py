"""The preview of a table or text: how it is read, which rows have errors; and importing it on the owner's word."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.access import SignedInRequest
from annotate.core.errors import UserError
from annotate.files.decoding import decode_upload
from annotate.files.layout import Layout, guess_layout, read_sheet
from annotate.files.limits import SMALL, BadFile
from annotate.files.sheets import Sheet
from annotate.imports import uploads
from annotate.imports.actions import start_import
from annotate.imports.forms import LayoutForm, PasteForm, Reading, layout_of, reading_of
from annotate.imports.guessing import items_mapping
from annotate.imports.uploads import Upload
from annotate.items import queries
from annotate.items.actions import ImportedBefore, import_items
from annotate.items.rows import Checked, check
from annotate.models import ImportJob, Project, User

SHOWN_ITEMS, SHOWN_ERRORS = 20, 100


def keep_file(user: User, project: Project, file: UploadedFile) -> Upload:
    """Raises BadFile."""
    name = file.name or _("a file")
    decoded = decode_upload(file)
    return keep(user, project, decoded.text, guess_layout(decoded.text, name), name, encoding=decoded.encoding)


def keep_paste(user: User, project: Project, text: str, written: str) -> Upload:
    layout = Layout("lines") if written == "lines" else guess_layout(text, "")
    return keep(user, project, text, layout, _("pasted text"), pasted=written)


def keep(user: User, project: Project, text: str, layout: Layout, name: str, **details: str) -> Upload:
    return uploads.keep(
        user=user,
        project=project,
        kind="table",
        name=name,
        details={**details, "format": layout.format, "delimiter": layout.delimiter, "header": layout.header},
        files={"text": text.encode()},
        now=timezone.now(),
    )


def address(project: Project, upload: Upload, **more: str) -> str:
    return f"{reverse('items-import', args=[project.pk])}?{urlencode({'upload': upload.id, **more})}"


@dataclass(frozen=True)
class Look:
    """What reading the upload gave; `problem`: why all of it can't be read this way, and then nothing else."""

    layout: Layout
    reading: Reading | None = None
    checked: Checked | None = None
    problem: str = ""
    is_whole: bool = True  # else only the first rows were looked at; the engine checks all of them
    n_looked: int = SMALL


def look(project: Project, text: str, upload: Upload, data: Mapping[str, Any], known: Callable[[str], bool]) -> Look:
    details = upload.details
    layout = layout_of(Layout(details["format"], details["delimiter"], details["header"]), data)
    try:
        reading = reading_of(text, layout, data)
        sheet = read_sheet(text, layout)
        rows = iter(sheet.rows)
        first = Sheet(sheet.columns, islice(rows, SMALL))
        checked = check(first, reading.columns, kind=reading.kind, keys=queries.keys(project), known_text=known)
        return Look(layout, reading, checked, is_whole=next(rows, None) is None)
    except BadFile as refusal:
        return Look(layout, problem=str(refusal))


def preview(
    request: SignedInRequest, project: Project, upload: Upload, data: Mapping[str, Any] | None = None
) -> HttpResponse:
    text = upload.read("text").decode()
    known = queries.text_hashes(project)
    seen = look(project, text, upload, request.GET if data is None else data, lambda body: hash(body) in known)
    context: dict[str, Any] = {"project": project, "upload": upload, "look": seen, "n_shown": SHOWN_ITEMS}
    context["layout_form"] = seen.reading.layout_form if seen.reading else LayoutForm(initial=vars(seen.layout))
    if upload.details.get("pasted"):
        context["paste"] = PasteForm(initial={"text": text, "written": upload.details["pasted"]})
    if seen.checked:
        context["items"] = seen.checked.items[:SHOWN_ITEMS]
        context["errors"] = seen.checked.errors[:SHOWN_ERRORS]
        context["warnings"] = seen.checked.warnings[:SHOWN_ERRORS]
        context["n_contexts"] = len({item.context for item in seen.checked.items} - {""})
        context["n_tags"] = len({tag for item in seen.checked.items for tag in item.tags})
    return render(request, "imports/table.html", context)


def confirm(request: SignedInRequest, project: Project, upload: Upload) -> HttpResponse:
    """Imports what the preview showed; if that is not what the rows give any more, shows the preview again."""
    seen = look(project, upload.read("text").decode(), upload, request.POST, lambda body: False)
    checked = seen.checked
    if checked and seen.reading and not seen.is_whole:
        return hand_over(request, project, upload, seen.reading)
    leaves_out = request.POST.get("action") == "good"
    if checked is None or not checked.items or (checked.errors and not leaves_out):
        messages.error(request, _("Nothing was imported: some rows have errors. Correct them or leave them out."))
        return preview(request, project, upload, request.POST)
    if request.POST.get("n") != str(len(checked.items)):
        messages.warning(
            request, _("Nothing was imported: the project has changed in the meantime. Check the rows again.")
        )
        return preview(request, project, upload, request.POST)
    try:
        n = import_items(
            project=project,
            actor=request.user,
            rows=checked.items,
            features=[name for _place, name in seen.reading.columns.features] if seen.reading else [],
            upload=upload.id,
            source=upload.name,
            now=timezone.now(),
            rng=random.SystemRandom(),
        )
    except ImportedBefore as refusal:
        messages.info(request, str(refusal))
    except UserError as refusal:
        messages.error(request, str(refusal))
        return preview(request, project, upload, request.POST)
    else:
        messages.success(request, told(n, len(checked.errors)))
    uploads.discard(upload.id)
    return redirect("items", project.pk)


def hand_over(request: SignedInRequest, project: Project, upload: Upload, reading: Reading) -> HttpResponse:
    """The engine checks every row of a long table, and imports it if all are right."""
    try:
        with upload.open("text") as file:
            job = start_import(
                project=project,
                actor=request.user,
                kind=ImportJob.Kind.ITEMS,
                source=upload.name,
                file=file,
                mapping=items_mapping(reading.layout, reading.columns, reading.kind),
                now=timezone.now(),
                at_once=True,
            )
    except UserError as refusal:
        messages.error(request, str(refusal))
        return preview(request, project, upload, request.POST)
    uploads.discard(upload.id)
    return redirect("import-job", project.pk, job.pk)


def told(n: int, left_out: int) -> str:
    text = ngettext("%(n)d item is imported.", "%(n)d items are imported.", n) % {"n": n}
    if left_out:
        text += " " + ngettext("%(n)d row was left out.", "%(n)d rows were left out.", left_out) % {"n": left_out}
    return text
