"""Files that are small and unfold without end, or keep a decoder busy for hours; each written by hand."""

import io
import struct
import zipfile
import zlib

from PIL import Image

MEGABYTE = b" " * 2**20
METHODS = {"deflate": zipfile.ZIP_DEFLATED, "LZMA": zipfile.ZIP_LZMA, "bzip2": zipfile.ZIP_BZIP2}


def understated(package: bytes, part: str, method: int, megabytes: int = 256) -> bytes:
    """The package with megabytes of blanks behind one part, whose size is stated as before, with the right sum."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(package)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name != part:
                new.writestr(name, data)
                continue
            info = zipfile.ZipInfo(name)
            info.compress_type = method
            with new.open(info, "w") as file:
                file.write(data)
                for _ in range(megabytes):
                    file.write(MEGABYTE)
            info.file_size, info.CRC, place = len(data), zlib.crc32(data), new.fp.tell()
            new.fp.seek(info.header_offset + 14)
            new.fp.write(struct.pack("<LLL", info.CRC, info.compress_size, info.file_size))
            new.fp.seek(place)
    return out.getvalue()


def honest(name: str, megabytes: int) -> bytes:
    """A zip file with one file of blanks, its size as it is."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file, file.open(name, "w") as part:
        for _ in range(megabytes):
            part.write(MEGABYTE)
    return out.getvalue()


def overlapping(n: int, megabytes: int) -> bytes:
    """A zip file whose directory names one file of blanks again and again (Fifield 2019)."""
    content = honest("0.png", megabytes)
    start = content.rindex(b"PK\x05\x06")
    at = struct.unpack("<L", content[start + 16 : start + 20])[0]
    entry = content[at:start]
    entries = b"".join(
        entry[:28] + struct.pack("<H", 9) + entry[30:46] + f"{k:05}.png".encode() + entry[51:] for k in range(n)
    )
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, n, n, len(entries), at, 0)
    return content[:at] + entries + end


def chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)


def blanks(megabytes: int) -> bytes:
    packer = zlib.compressobj(9)
    return b"".join(packer.compress(MEGABYTE) for _ in range(megabytes)) + packer.flush()


def png(width: int, height: int, *between: bytes) -> bytes:
    """Rows of zeros, no more than 256 megabytes of them; `between`: chunks before them."""
    header = width.to_bytes(4) + height.to_bytes(4) + bytes([8, 2, 0, 0, 0])
    data = chunk(b"IDAT", blanks(min(width * height * 3 // 2**20 + 1, 256)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(between) + data + chunk(b"IEND", b"")


def jpeg(scans: int, side: int = 5000) -> bytes:
    """A grey picture whose last scan, some bytes long, is there again and again: each goes over every pixel."""
    out = io.BytesIO()
    Image.new("L", (side, side), 128).save(out, "JPEG", progressive=True)
    data = out.getvalue()
    last = data.rindex(b"\xff\xda")
    return data[:last] + data[last:-2] * scans + data[-2:]


def webp(width: int, height: int) -> bytes:
    """The header of a lossless picture of this size, with nothing in it."""
    size = (width - 1) | (height - 1) << 14
    data = b"\x2f" + struct.pack("<L", size) + bytes(32)
    body = b"WEBP" + b"VP8L" + struct.pack("<L", len(data)) + data + b"\0" * (len(data) % 2)
    return b"RIFF" + struct.pack("<L", len(body)) + body


def gif(width: int, height: int, frames: int) -> bytes:
    """Frames of one pixel on a canvas of this size."""
    screen = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    frame = b"," + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\x00"
    return screen + frame * frames + b";"


def long_text() -> bytes:
    return chunk(b"zTXt", b"Comment\0\0" + blanks(256))


def long_profile() -> bytes:
    return chunk(b"iCCP", b"profile\0\0" + blanks(256))
