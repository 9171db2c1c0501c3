"""Makes the response that holds all data about a person."""

from collections.abc import Iterator

from django.core.handlers.asgi import ASGIRequest
from django.db.models import QuerySet
from django.http import HttpRequest, StreamingHttpResponse

from annotate.files.downloads import stepwise
from annotate.files.zip_stream import zip_chunks
from annotate.models import Annotator, User
from annotate.privacy.own_data.export import files_of


def zip_response(
    request: HttpRequest, annotators: QuerySet[Annotator], user: User | None = None, *, for_owner: bool = False
) -> StreamingHttpResponse:
    chunks: Iterator[bytes] = zip_chunks(files_of(annotators, user, for_owner=for_owner))
    content = stepwise(chunks) if isinstance(request, ASGIRequest) else chunks
    response = StreamingHttpResponse(content, content_type="application/zip")
    response["Content-Disposition"] = 'attachment; filename="crowdrank-my-data.zip"'
    response["Cache-Control"] = "no-store"
    response["X-Content-Type-Options"] = "nosniff"
    return response
