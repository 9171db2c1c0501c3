"""JSON in and out, and nothing else: no NaN either way, no nesting that exhausts the stack."""

from typing import IO, Any

from django.utils.translation import gettext as _
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser
from rest_framework.renderers import JSONRenderer


class Parser(JSONParser):
    strict = True

    def parse(self, stream: IO[Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return super().parse(stream, *args, **kwargs)
        except RecursionError:
            raise ParseError(_("The JSON is nested too deeply.")) from None


class Renderer(JSONRenderer):
    strict = True
    charset = None
