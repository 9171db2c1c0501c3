"""Sends generated files piece by piece."""

from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse


async def stepwise(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the chunks for an asynchronous server, each made in the request's own thread when the one before is sent.

    Given the plain iterator, Django would first gather all of it.
    """

    def following() -> bytes | None:
        return next(chunks, None)

    while (chunk := await sync_to_async(following)()) is not None:
        yield chunk


def sent(request: HttpRequest, chunks: Iterator[bytes], content_type: str) -> StreamingHttpResponse:
    content = stepwise(chunks) if isinstance(request, ASGIRequest) else chunks
    return StreamingHttpResponse(content, content_type=content_type)
