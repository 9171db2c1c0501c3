"""The rows of an import that were left out, as a file: each with the reason."""

from collections.abc import Iterator

from django.core.files.storage import default_storage
from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, HttpRequest, StreamingHttpResponse

from annotate.files.downloads import stepwise
from annotate.imports.actions import LEFT_OUT
from annotate.models import ImportJob


def has_left_out(job: ImportJob) -> bool:
    return bool(job.n_bad and job.folder and default_storage.exists(f"{job.folder}/{LEFT_OUT}"))


def left_out_file(request: HttpRequest, job: ImportJob) -> StreamingHttpResponse:
    if not has_left_out(job):
        raise Http404
    name = f"{job.folder}/{LEFT_OUT}"
    content = stepwise(blocks(name)) if isinstance(request, ASGIRequest) else blocks(name)
    response = StreamingHttpResponse(content, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{LEFT_OUT}"'
    response["Cache-Control"] = "no-store"
    response["X-Content-Type-Options"] = "nosniff"
    return response


def blocks(name: str) -> Iterator[bytes]:
    with default_storage.open(name) as file:
        while block := file.read(2**16):
            yield block
