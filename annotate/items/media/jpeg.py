"""A JPEG file without its metadata, its picture data untouched: storing it again would change what is compared."""

import re
from collections.abc import Iterator

# ITU T.81, table B.1. FF00 and restarts belong to the picture's data; FFFF is filling.
START, END, SCAN = 0xD8, 0xD9, 0xDA
NEXT_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]", re.DOTALL)
# Application segments that say how to read the colours: JFIF, ICC profile, Adobe. Comments and the others go.
KEPT_APPLICATION = {0xE0: b"JFIF\0", 0xE2: b"ICC_PROFILE\0", 0xEE: b"Adobe"}
APPLICATION, COMMENT = range(0xE0, 0xF0), 0xFE


def count_scans(data: bytes) -> int:
    """Return how many scans the picture has, and pictures within it; within picture data the marker never occurs."""
    return data.count(bytes([0xFF, SCAN]))


def without_metadata(data: bytes) -> bytes:
    """Return everything up to the end of the (first) picture, but for metadata. Raises ValueError if the segments don't
    add up."""
    if data[:2] != bytes([0xFF, START]):
        raise ValueError("no start of a JPEG picture")
    return data[:2] + b"".join(segments(data)) + bytes([0xFF, END])


def segments(data: bytes) -> Iterator[bytes]:
    place = 2
    while True:
        found = NEXT_MARKER.search(data, place)
        if not found:
            raise ValueError("no end of the JPEG picture")
        place = found.start()
        marker = data[place + 1]
        if marker == END:
            return
        stop = place + 2 + int.from_bytes(data[place + 2 : place + 4])
        if marker == SCAN:
            following = NEXT_MARKER.search(data, stop)
            stop = following.start() if following else len(data)
        if stop <= place + 3 or stop > len(data):
            raise ValueError("a segment of the JPEG picture has the wrong length")
        if is_kept(marker, data[place + 4 : stop]):
            yield data[place:stop]
        place = stop


def is_kept(marker: int, content: bytes) -> bool:
    if marker in APPLICATION:
        return marker in KEPT_APPLICATION and content.startswith(KEPT_APPLICATION[marker])
    return marker != COMMENT
