"""Small files of sound and video, put together by hand, for tests."""

import io
import wave


def wav(seconds: float = 0.2) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(8000)
        file.writeframes(bytes(128 + (i * 7) % 60 for i in range(int(8000 * seconds))))
    return out.getvalue()


def mp3(tag: bytes = b"") -> bytes:
    """Three frames of 128 kbit/s at 44.1 kHz, 417 bytes each, behind a tag."""
    frame = b"\xff\xfb\x90\x00" + bytes(413)
    size = len(tag)
    id3 = b"ID3\x04\0\0" + bytes([size >> 21 & 127, size >> 14 & 127, size >> 7 & 127, size & 127]) + tag
    return (id3 if tag else b"") + frame * 3


def ogg(codec: bytes = b"OpusHead") -> bytes:
    return b"OggS\0\x02" + bytes(20) + bytes([1, len(codec)]) + codec


def flac() -> bytes:
    return b"fLaC\x00" + (34).to_bytes(3) + bytes(34)


def box(kind: bytes, content: bytes) -> bytes:
    return (8 + len(content)).to_bytes(4) + kind + content


def mp4(track: bytes = b"vide", brand: bytes = b"isom") -> bytes:
    handler = box(b"hdlr", bytes(8) + track + bytes(13))
    return box(b"ftyp", brand + bytes(4)) + box(b"moov", box(b"trak", box(b"mdia", handler))) + box(b"mdat", bytes(400))


def webm(codec: bytes = b"V_VP9") -> bytes:
    return b"\x1aE\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm" + bytes(30) + b"\x86\x85" + codec + bytes(200)
