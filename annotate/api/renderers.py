"""JSON in and out, and nothing else: no NaN either way, no nesting that exhausts the stack."""

import io
import re
from typing import IO, Any

from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser
from rest_framework.renderers import JSONRenderer

# Written out, a lone surrogate or a pair of them, which is a whole character.
HALF = re.compile(rb"\\u[dD][89a-fA-F]")


class Parser(JSONParser):
    strict = True

    def parse(self, stream: IO[Any], *args: Any, **kwargs: Any) -> Any:
        try:
            sent = stream.read()
            found = super().parse(io.BytesIO(sent), *args, **kwargs)
            if HALF.search(sent):
                check_characters(found)
        except RecursionError:
            raise ParseError(_("The JSON is nested too deeply.")) from None
        return found


def check_characters(value: Any) -> None:
    """Raise ParseError for half of a character (a lone surrogate): no text can be stored or answered with it."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            text = _("The JSON holds half of a character, %(half)s. Send it whole.")
            raise ParseError(text % {"half": f"\\u{ord(value[error.start]):04x}"}) from None
    elif isinstance(value, dict):
        for name, one in value.items():
            check_characters(name)
            check_characters(one)
    elif isinstance(value, list):
        for one in value:
            check_characters(one)


class Renderer(JSONRenderer):
    strict = True
    charset = None
