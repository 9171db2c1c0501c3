"""Makes the response that holds a run record."""

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse
from django.utils.http import content_disposition_header
from django.utils.text import slugify

from annotate.files.downloads import stepwise
from annotate.models import Project, RunRecord
from annotate.publishing.run_records.files import read_chunks


def record_response(request: HttpRequest, project: Project, record: RunRecord) -> StreamingHttpResponse:
    content = stepwise(read_chunks(record)) if isinstance(request, ASGIRequest) else read_chunks(record)
    response = StreamingHttpResponse(content, content_type="application/zip")
    criterion = f"-{record.criterion}" if project.criteria else ""
    name = f"{slugify(project.name)[:60] or 'project'}{criterion}-run-record-{record.pk}.zip"
    response["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    response["Content-Length"] = str(record.n_bytes)
    response["Cache-Control"] = "no-store"
    response["X-Content-Type-Options"] = "nosniff"
    return response
