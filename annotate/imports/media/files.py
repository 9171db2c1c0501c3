"""Uploaded media one by one: each file read by what is in it, recordings together with their captions."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _

from annotate.files.limits import MAX_TEXT, Unusable
from annotate.items.captions import webvtt
from annotate.items.media.images import Picture, read_pictures
from annotate.models import Item

LONGEST_DESCRIPTION = 1000


class Medium(NamedTuple):
    """captions: of a recording, their file's name, language and text."""

    picture: Picture
    captions: dict[str, str] | None = None


def read_media(files: Sequence[UploadedFile]) -> list[Medium]:
    """Read every file, then what is wrong with captions. Raises BadFile where all together are too much."""
    texts, problems = read_captions([file for file in files if is_captions(file)])
    media = [
        Medium(picture, None if picture.kind == Item.Kind.IMAGE else texts.pop(PurePath(picture.name).stem, None))
        for picture in read_pictures([file for file in files if not is_captions(file)])
    ]
    unusable = [*problems, *left_over(texts)]
    return media + [Medium(Picture(name, problem=problem)) for name, problem in unusable]


def is_captions(file: UploadedFile) -> bool:
    return (file.name or "").lower().endswith(webvtt.SUFFIX)


def read_captions(files: Sequence[UploadedFile]) -> tuple[dict[str, dict[str, str]], list[tuple[str, str]]]:
    """Return captions by the name of the recording that they are for, and files that are none, with what is wrong."""
    found: dict[str, dict[str, str]] = {}
    problems: list[tuple[str, str]] = []
    for file in files:
        name = file.name or ""
        try:
            stem, language = webvtt.named(name)
            if stem in found:
                raise Unusable(_("This recording already has captions; it can have one language only."))
            found[stem] = {"name": name, "language": language, "text": webvtt.text_of(file)}
        except Unusable as problem:
            problems.append((name, str(problem)))
    return found, problems


def left_over(texts: Mapping[str, Mapping[str, str]]) -> list[tuple[str, str]]:
    """Captions without their recording."""
    words = _("No sound or video called “%(stem)s” is among the files. Upload both together, or add captions later.")
    return [(one["name"], words % {"stem": stem}) for stem, one in texts.items()]


def longest_text(kind: str) -> int:
    """Return how long the text may be: what an image shows is a line, the words of a recording are a text."""
    return LONGEST_DESCRIPTION if kind == Item.Kind.IMAGE else MAX_TEXT
