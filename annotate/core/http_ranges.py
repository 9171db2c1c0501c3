"""Sends stored files, whole or the range asked for: players seek in sound and video by ranges."""

import re
from typing import IO

from django.core.files.storage import Storage
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

# One part; whoever asks for several gets the whole.
RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})", re.ASCII)

MAX_BYTES_UNSTREAMED = 2**20  # bytes; more are streamed


class Part:
    """Reads so many bytes of an open file, from its current position."""

    def __init__(self, file: IO[bytes], length: int) -> None:
        self.file, self.left = file, length

    def read(self, n: int = -1) -> bytes:
        chunk = self.file.read(self.left if n < 0 else min(n, self.left))
        self.left -= len(chunk)
        return chunk

    def close(self) -> None:
        self.file.close()


def send_stored_file(
    request: HttpRequest, storage: Storage, name: str, content_type: str, etag: str
) -> HttpResponseBase:
    """Answers 206 with the range asked for, 416 if there is no such range, else 200 with all of the file."""
    size = storage.size(name)
    asked = request.headers.get("Range", "")
    if request.headers.get("If-Range", etag) != etag:
        asked = ""
    part = parse_range(asked, size)
    if part is None:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}", "Accept-Ranges": "bytes"})
    first, length = part
    headers = {"Accept-Ranges": "bytes", "Content-Length": str(length)}
    status = 200
    if length != size or RANGE.fullmatch(asked):
        status = 206
        headers["Content-Range"] = f"bytes {first}-{first + length - 1}/{size}"
    if request.method == "HEAD":
        return HttpResponse(status=status, content_type=content_type, headers=headers)
    file = storage.open(name)
    file.seek(first)
    if length <= MAX_BYTES_UNSTREAMED:
        with file:
            return HttpResponse(file.read(length), status=status, content_type=content_type, headers=headers)
    return FileResponse(Part(file, length), status=status, content_type=content_type, headers=headers)


def parse_range(asked: str, size: int) -> tuple[int, int] | None:
    """Parse a Range header to (first byte, length): the whole file where it is malformed, None if it lies outside."""
    found = RANGE.fullmatch(asked)
    if not found or asked == "bytes=-":
        return 0, size
    first, last = found.groups()
    if not first:
        length = min(int(last), size)
        return (size - length, length) if length else None
    start, end = int(first), min(int(last), size - 1) if last else size - 1
    if last and int(last) < start:
        return 0, size
    return (start, end - start + 1) if start < size else None
