"""The wizard of every import: stages what was sent, parses it, previews its rows, stores them once confirmed."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from django import forms
from django.contrib import messages
from django.core.files.base import File
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone

from annotate.access import SignedInRequest
from annotate.core.errors import UserError
from annotate.imports import uploads
from annotate.imports.actions import start_import
from annotate.imports.uploads import Upload, UploadGone
from annotate.items.actions import ImportedBefore, n_imported
from annotate.models import ImportJob, Project

Parsed = TypeVar("Parsed")


class Contents(NamedTuple):
    """What is staged of an upload. details: what parsing needs beside the files, as JSON."""

    name: str
    details: dict[str, Any]
    files: dict[str, bytes | File]


class RowsChanged(UserError):
    """The rows that are confirmed are not those of the preview."""


class Wizard(ABC, Generic[Parsed]):
    """The steps of an import, in their order; a kind of import says how it parses, what it shows and how it stores.

    kind: what its uploads are staged as; template: of its preview.
    """

    kind: str
    template: str

    def __init__(self, request: SignedInRequest, project: Project) -> None:
        self.request, self.project = request, project

    @abstractmethod
    def parse(self, upload: Upload, data: Mapping[str, Any]) -> Parsed:
        """Read the upload as the form says."""

    @abstractmethod
    def context(self, upload: Upload, parsed: Parsed) -> dict[str, Any]:
        """Return what the template shows: rows that are right and rows that are not."""

    @abstractmethod
    def store(self, upload: Upload, parsed: Parsed) -> HttpResponseBase:
        """Store a small import at once and leave a long one to a worker. Raises UserError where nothing is stored."""

    def stage(self, contents: Contents) -> HttpResponseBase:
        """Keep the contents until they are confirmed and lead to their preview."""
        upload = uploads.keep(
            user=self.request.user, project=self.project, kind=self.kind, now=timezone.now(), **contents._asdict()
        )
        return redirect(f"{self.request.path}?upload={upload.id}")

    def respond(self, upload: Upload) -> HttpResponseBase:
        return self.confirm(upload) if self.request.method == "POST" else self.preview(upload, self.request.GET)

    def preview(self, upload: Upload, data: Mapping[str, Any]) -> HttpResponseBase:
        context = self.context(upload, self.parse(upload, data))
        return render(self.request, self.template, {"project": self.project, "upload": upload, **context})

    def confirm(self, upload: Upload) -> HttpResponseBase:
        """Store what the preview showed; where that can't be, say why and show the preview again."""
        data = self.request.POST
        try:
            response = self.store(upload, self.parse(upload, data))
        except ImportedBefore as refusal:
            messages.info(self.request, str(refusal))
            response = redirect("items", self.project.pk)
        except UserError as refusal:
            level = messages.WARNING if isinstance(refusal, RowsChanged) else messages.ERROR
            messages.add_message(self.request, level, str(refusal))
            return self.preview(upload, data)
        uploads.discard(upload.id)
        return response

    def start_job(
        self, upload: Upload, kind: str, mapping: dict[str, Any], leave_out: bool = False, text: str = "text"
    ) -> ImportJob:
        """Leaves the upload's text to a worker, which writes as soon as every row is found right."""
        with upload.open(text) as file:
            return start_import(
                project=self.project,
                actor=self.request.user,
                kind=kind,
                source=upload.name,
                file=file,
                mapping=mapping,
                now=timezone.now(),
                at_once=True,
                leave_out=leave_out,
            )


Receive = Callable[[SignedInRequest, Project, dict[str, Any]], HttpResponseBase]


class Start(NamedTuple):
    """A form that an import starts with. field: where a refusal of what it holds is shown; receive: takes that in."""

    form: type[forms.Form]
    field: str
    receive: Receive

    def submit(self, request: SignedInRequest, project: Project) -> tuple[forms.Form, HttpResponseBase | None]:
        """Return the form, and where to go on if it was sent and has no errors."""
        form = self.form(request.POST or None, request.FILES or None)
        if form.is_valid():
            try:
                return form, self.receive(request, project, form.cleaned_data)
            except UserError as refusal:
                form.add_error(self.field, str(refusal))
        return form, None


def staging(wizard: type[Wizard[Any]], contents: Callable[..., Contents]) -> Receive:
    """Return what stages the contents of a form for its preview. contents: takes the form's fields by their names."""
    return lambda request, project, given: wizard(request, project).stage(contents(**given))


def starting(values: Callable[..., dict[str, Any]]) -> Receive:
    """Return what leaves the file of a form to a worker at once. values: those of start_import, from its fields."""

    def receive(request: SignedInRequest, project: Project, given: dict[str, Any]) -> HttpResponseBase:
        taken = values(**given)
        try:
            job = start_import(project=project, actor=request.user, now=timezone.now(), **taken)
        finally:
            taken["file"].close()  # one that was packed here is nobody else's
        return redirect("import-job", project.pk, job.pk)

    return receive


def resume(
    request: SignedInRequest, project: Project, upload_id: str, wizards: Mapping[str, type[Wizard[Any]]], start: str
) -> HttpResponseBase:
    """Goes on with a staged upload. start: the page where an upload that is gone is sent again."""
    try:
        upload = uploads.load(upload_id=upload_id, user=request.user, project=project, now=timezone.now())
    except UploadGone as refusal:
        n = n_imported(project, upload_id) if uploads.ID.fullmatch(upload_id) else None
        if n is not None:  # the confirmation, sent twice
            messages.info(request, str(ImportedBefore(n)))
            return redirect("items", project.pk)
        messages.warning(request, str(refusal))
        return redirect(start, project.pk)
    return wizards[upload.kind](request, project).respond(upload)
