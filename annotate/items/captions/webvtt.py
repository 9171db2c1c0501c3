"""Captions for sound and video: WebVTT files, known by what is in them, and the language that their names tell."""

import re
from pathlib import PurePath

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _

from annotate.files.limits import MAX_CAPTIONS_BYTES, Unusable

SUFFIX = ".vtt"
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,4}")
TIME = r"(\d{2,}:)?[0-5]\d:[0-5]\d\.\d{3}"
CUE = re.compile(rf"^{TIME}[ \t]+-->[ \t]+{TIME}([ \t].*)?$", re.MULTILINE)


def text_of(file: UploadedFile) -> str:
    """Return the captions in the file; raises Unusable for what is no WebVTT, empty or too large."""
    size = file.size or 0
    if size > MAX_CAPTIONS_BYTES:
        raise Unusable(
            _(
                "The captions have %(size)d KiB; the limit is %(limit)d KiB. Remove everything that is not speech "
                "or sound."
            )
            % {"size": size // 1024, "limit": MAX_CAPTIONS_BYTES // 1024}
        )
    try:
        return checked_text(file.read().decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Unusable(_("The captions are not UTF-8 text. Save them as UTF-8 and upload them again.")) from None


def checked_text(text: str) -> str:
    """Return the captions with plain ends of lines; raises Unusable for what is no WebVTT."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not re.match(r"WEBVTT([ \t\n]|$)", text) or "\0" in text:
        raise Unusable(_("Captions are WebVTT: the file has to begin with “WEBVTT”. Save them in that format."))
    if not CUE.search(text):
        raise Unusable(_("The captions have no times, such as 00:01.000 --> 00:04.000. Add a time to each caption."))
    return text


def named(name: str) -> tuple[str, str]:
    """Return the recording that a file of captions is for, and their language: “talk.en.vtt” is for “talk”,
    in English."""
    stem, _dot, language = PurePath(name).stem.rpartition(".")
    if not stem or not LANGUAGE.fullmatch(language):
        raise Unusable(
            _("The file name does not say the language of the captions. Put it before the ending, as in talk.en.vtt.")
        )
    return stem, language
