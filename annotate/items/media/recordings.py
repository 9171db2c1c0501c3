"""Sound and video, known by what is in the file, whatever its name and the browser say."""

import re
from collections.abc import Callable
from typing import IO

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _

from annotate.files.limits import MAX_RECORDING_BYTES, Unusable

AUDIO, VIDEO = "audio", "video"
LOOKED_AT = 64 * 1024  # bytes at the beginning in which a file must say what it is
MOST_INDEX = 64 * 2**20  # of the part of an MP4 file that names its tracks

EBML, DOCTYPE_WEBM = b"\x1aE\xdf\xa3", b"\x42\x82\x84webm"
OGG_SOUND = (b"OpusHead", b"\x01vorbis", b"\x7fFLAC", b"Speex   ")
BOX = re.compile(rb"[ -~]{4}")
TRACK = re.compile(rb"hdlr.{8}(vide|soun)", re.DOTALL)
WAVE_FORMATS = {1, 3, 6, 7, 0xFFFE}
# ISO 11172-3 and 13818-3, layer III: kbit/s and samples a second by the header's indices, for MPEG-1 and -2.
BITRATES = {3: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)}
BITRATES[2] = BITRATES[0] = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
RATES = {3: (44100, 48000, 32000), 2: (22050, 24000, 16000), 0: (11025, 12000, 8000)}


def container_of(head: bytes) -> str:
    """Return what kind of file begins like this, by the suffix that it is stored with; empty for none of ours."""
    if head[4:8] == b"ftyp":
        return "mp4"
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE":
        return "wav"
    if head[:3] == b"ID3" or frame_length(head):
        return "mp3"
    return {b"OggS": "ogg", b"fLaC": "flac", EBML: "webm"}.get(head[:4], "")


def check(file: UploadedFile, container: str) -> str:
    """Return whether it is sound or video; raises Unusable for what is damaged, too large or neither."""
    size = file.size or 0
    if size > MAX_RECORDING_BYTES:
        raise Unusable(
            _("The file has %(size).1f MB; the limit is %(limit)d MB. Make it shorter or compress it more.")
            % {"size": size / 2**20, "limit": MAX_RECORDING_BYTES // 2**20}
        )
    file.seek(0)
    kind = CHECKS[container](file, size)
    file.seek(0)
    if not kind:
        raise Unusable(
            _("The file looks like %(container)s but contains no sound or video that browsers can play. Save it again.")
            % {"container": container.upper()}
        )
    return kind


def mp4(file: IO[bytes], size: int) -> str:
    """Check an MP4 by its boxes, which must fill the file, and the tracks that the index names."""
    place, index = 0, b""
    while place < size:
        file.seek(place)
        head = file.read(16)
        length = int.from_bytes(head[:4]) or size - place
        if length == 1:
            length = int.from_bytes(head[8:16])
        if length < 8 or place + length > size or not BOX.fullmatch(head[4:8]):
            return ""
        if head[4:8] == b"moov" and length <= MOST_INDEX:
            file.seek(place)
            index = file.read(length)
        place += length
    tracks = set(TRACK.findall(index))
    return VIDEO if b"vide" in tracks else AUDIO if b"soun" in tracks else ""


def webm(file: IO[bytes], size: int) -> str:
    head = file.read(LOOKED_AT)
    if DOCTYPE_WEBM not in head[:64]:
        return ""
    if any(codec in head for codec in (b"V_VP8", b"V_VP9", b"V_AV1")):
        return VIDEO
    return AUDIO if any(codec in head for codec in (b"A_OPUS", b"A_VORBIS")) else ""


def ogg(file: IO[bytes], size: int) -> str:
    head = file.read(27 + 255 + 8)
    if len(head) < 28 or head[4] != 0 or not head[5] & 2:
        return ""
    return AUDIO if head[27 + head[26] :].startswith(OGG_SOUND) else ""


def wav(file: IO[bytes], size: int) -> str:
    place, known = 12, False
    while place + 8 <= size:
        file.seek(place)
        head = file.read(10)
        length = int.from_bytes(head[4:8], "little")
        if head[:4] == b"fmt ":
            known = int.from_bytes(head[8:10], "little") in WAVE_FORMATS
        elif head[:4] == b"data":
            return AUDIO if known else ""
        place += 8 + length + length % 2
    return ""


def flac(file: IO[bytes], size: int) -> str:
    head = file.read(42)
    return AUDIO if len(head) == 42 and head[4] & 0x7F == 0 and int.from_bytes(head[5:8]) == 34 else ""


def mp3(file: IO[bytes], size: int) -> str:
    """Return two frames in a row, behind the tags if there are any."""
    head, place = file.read(10), 0
    if head[:3] == b"ID3":
        if len(head) < 10 or any(byte & 0x80 for byte in head[6:10]):
            return ""
        place = 10 + sum(byte << 7 * (3 - i) for i, byte in enumerate(head[6:10]))
    file.seek(place)
    data = file.read(LOOKED_AT)
    place = len(data) - len(data.lstrip(b"\0"))  # tags may be padded
    length = frame_length(data[place : place + 4])
    return AUDIO if length and frame_length(data[place + length : place + length + 4]) else ""


def frame_length(head: bytes) -> int:
    """Return the length in bytes of the frame of MPEG layer III that begins so; 0 if none does."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE6 != 0xE2:
        return 0
    version, bitrate, rate = head[1] >> 3 & 3, head[2] >> 4, head[2] >> 2 & 3
    if version == 1 or bitrate in (0, 15) or rate == 3:
        return 0
    samples = 144 if version == 3 else 72
    return samples * 1000 * BITRATES[version][bitrate] // RATES[version][rate] + (head[2] >> 1 & 1)


CHECKS: dict[str, Callable[[IO[bytes], int], str]] = {
    "mp4": mp4,
    "webm": webm,
    "ogg": ogg,
    "wav": wav,
    "flac": flac,
    "mp3": mp3,
}
