"""A .zip as a stream: files are added one after another, and its bytes come out while they are made."""

import io
import zipfile
from collections.abc import Iterable, Iterator

FLUSHED_AT = 64 * 1024


class Sink(io.RawIOBase):
    """What is written until it is taken away; a file that cannot be wound back, so that a .zip is made in one go."""

    def __init__(self) -> None:
        self.held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.held += data
        return len(data)

    def take(self) -> bytes:
        taken, self.held = bytes(self.held), bytearray()
        return taken


def zip_chunks(files: Iterable[tuple[str, Iterable[bytes]]]) -> Iterator[bytes]:
    """Yield the archive of these files, each a name and its content in chunks; memory stays flat."""
    sink = Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, chunks in files:
            with archive.open(name, "w") as file:
                for chunk in chunks:
                    file.write(chunk)
                    if len(sink.held) >= FLUSHED_AT:
                        yield sink.take()
    yield sink.take()
