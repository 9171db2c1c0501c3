"""Puts what people wrote into the quotation marks of the reader's language."""

from django.utils.translation import gettext as _


def quoted(text: str) -> str:
    return _("“%(text)s”") % {"text": text}
