"""Checking uploaded media by what is in them, and storing pictures anew without their metadata."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from PIL import Image, ImageOps, UnidentifiedImageError

from annotate.files.limits import (
    MAX_IMAGE_BYTES,
    MAX_IMAGE_PIXELS,
    MAX_IMAGES,
    MAX_JPEG_SCANS,
    MAX_KEY,
    MAX_PIXELS_TOGETHER,
    SMALL_SIDE,
    BadFile,
    Unusable,
)
from annotate.items.media.jpeg import count_scans, without_metadata
from annotate.items.media.recordings import check, container_of

# How a picture of each format is stored: with every pixel as it was. An MPO file is a JPEG with more behind it.
STORED_AS = {"PNG": "PNG", "GIF": "PNG", "WEBP": "WEBP", "JPEG": "JPEG", "MPO": "JPEG"}
SUFFIX = {"PNG": "png", "WEBP": "webp", "JPEG": "jpg"}
# A JPEG is only written anew to turn it upright; its old comment would come along.
OPTIONS: dict[str, dict[str, object]] = {
    "PNG": {},
    "WEBP": {"lossless": True},
    "JPEG": {"quality": 95, "subsampling": 0, "comment": b""},
}
EXIF_ORIENTATION = 0x0112
NONE_OF_OURS = gettext_lazy(
    "This is not a picture (PNG, JPEG, WebP, GIF), sound (MP3, Ogg, WAV, FLAC, M4A) or video (MP4, WebM)"
)


@dataclass(frozen=True)
class Picture:
    """A picture as it will be stored, sound or video as it was uploaded, or why it can't be."""

    name: str
    content: bytes = b""
    suffix: str = ""
    width: int = 0
    height: int = 0
    problem: str = ""
    kind: str = "image"
    file: UploadedFile | None = None  # of sound and video, which are stored as they are

    @property
    def is_small(self) -> bool:
        return self.kind == "image" and not self.problem and min(self.width, self.height) < SMALL_SIDE

    @property
    def key(self) -> str:
        return self.name[:MAX_KEY]

    @property
    def description(self) -> str:
        """Return what the file's name says of the picture; better words are the owner's."""
        return " ".join(PurePath(self.name).stem.replace("_", " ").replace("-", " ").split())


def read_pictures(files: Sequence[UploadedFile]) -> list[Picture]:
    """Return every file as a picture, each with its problem if it has one; raises BadFile if there are too many."""
    if len(files) > MAX_IMAGES:
        raise BadFile(
            _("You chose %(n)d pictures; the limit is %(limit)d at a time. Upload them in several parts.")
            % {"n": len(files), "limit": MAX_IMAGES}
        )
    pixels, pictures = 0, []
    for file in files:
        picture = read_picture(file)
        pixels += picture.width * picture.height
        if pixels > MAX_PIXELS_TOGETHER:
            raise BadFile(
                _("Together the pictures have over %(limit)d megapixels. Upload them in several parts.")
                % {"limit": MAX_PIXELS_TOGETHER // 10**6}
            )
        pictures.append(picture)
    return pictures


def read_picture(file: UploadedFile) -> Picture:
    name = file.name or "picture"
    try:
        head = file.read(16)
        file.seek(0)
        if container := container_of(head):
            return Picture(name, suffix=container, kind=check(file, container), file=file)
        return stored(name, file)
    except Unusable as problem:
        return Picture(name, problem=str(problem))


def stored(name: str, file: UploadedFile) -> Picture:
    if not file.size:
        raise Unusable(_("The file is empty. Upload it again."))
    if file.size > MAX_IMAGE_BYTES:
        raise Unusable(
            _("The file has %(size).1f MB; the limit is %(limit)d MB. Make the picture smaller.")
            % {"size": file.size / 2**20, "limit": MAX_IMAGE_BYTES // 2**20}
        )
    data = file.read()
    if b"<svg" in data[:4096].lower():
        raise Unusable(_("SVG pictures can contain scripts and are refused. Save it as PNG and upload that."))
    try:
        return encoded(name, data)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise Unusable(
            _("The picture is far larger than the limit of %(limit)d megapixels. Make it smaller.")
            % {"limit": MAX_IMAGE_PIXELS // 10**6}
        ) from error
    except UnidentifiedImageError as error:
        raise Unusable(_("%(kinds)s. Save it as one of these.") % {"kinds": NONE_OF_OURS}) from error
    except (OSError, SyntaxError, ValueError, EOFError) as error:
        # What Pillow raises on damaged pictures.
        raise Unusable(_("The picture is damaged: %(problem)s. Save it again.") % {"problem": error}) from error


def encoded(name: str, data: bytes) -> Picture:
    with Image.open(io.BytesIO(data), formats=["PNG", "JPEG", "WEBP", "GIF"]) as image:
        check_size(image)
        if getattr(image, "n_frames", 1) > 1 and image.format != "MPO":
            raise Unusable(_("The picture is animated. Only still pictures can be compared: save one frame as PNG."))
        if image.format in ("JPEG", "MPO"):
            check_scans(data)
        image.load()
        stored_as = STORED_AS[str(image.format)]
        turned = image.getexif().get(EXIF_ORIENTATION, 1) != 1
        if stored_as == "JPEG" and not turned:
            return Picture(name, without_metadata(data), SUFFIX[stored_as], image.width, image.height)
        out = io.BytesIO()
        upright = ImageOps.exif_transpose(image)
        options = {"exif": b"", "xmp": b"", "icc_profile": image.info.get("icc_profile"), **OPTIONS[stored_as]}
        upright.save(out, stored_as, **options)
        return Picture(name, out.getvalue(), SUFFIX[stored_as], upright.width, upright.height)


def check_size(image: Image.Image) -> None:
    """Check the size in the header alone, before a bomb could unfold."""
    if image.width * image.height > MAX_IMAGE_PIXELS:
        raise Unusable(
            _("The picture has %(width)d × %(height)d pixels; the limit is %(limit)d megapixels. Make it smaller.")
            % {"width": image.width, "height": image.height, "limit": MAX_IMAGE_PIXELS // 10**6}
        )


def check_scans(data: bytes) -> None:
    """Check how often a decoder would go over the whole picture, before it does."""
    if (n := count_scans(data)) > MAX_JPEG_SCANS:
        raise Unusable(
            _("The picture is stored in %(n)d scans; the limit is %(limit)d. Save it again.")
            % {"n": n, "limit": MAX_JPEG_SCANS}
        )
