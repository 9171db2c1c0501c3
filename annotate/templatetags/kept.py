"""{% load kept %}: a part of a page that is the same for many requests, rendered once and kept by the process."""

from collections.abc import Hashable
from typing import Any

from django import template
from django.template.base import FilterExpression, NodeList, Parser, Token
from django.urls import get_script_prefix
from django.utils.safestring import SafeString
from django.utils.translation import get_language

register = template.Library()
MOST = 500  # texts that one part keeps before it begins anew


class KeptNode(template.Node):
    child_nodelists = ("nodelist",)

    def __init__(self, nodelist: NodeList, values: list[FilterExpression]) -> None:
        self.nodelist, self.values = nodelist, values
        self.texts: dict[Hashable, SafeString] = {}

    def render(self, context: Any) -> SafeString:
        # Addresses begin with the prefix, which of a vote inside another site's page holds the person's ticket.
        key = (get_language(), get_script_prefix(), *[value.resolve(context) for value in self.values])
        text = self.texts.get(key)
        if text is None:
            text = self.nodelist.render(context)
            if len(self.texts) >= MOST:
                self.texts.clear()
            self.texts[key] = text
        return text


@register.tag
def kept(parser: Parser, token: Token) -> KeptNode:
    """Render what comes up to `endkept` once for each language, prefix of addresses and all the values named here.

    {% kept project.pk task.may_stop %}...{% endkept %}: all that the part reads must be told apart by them, and it may
    hold nothing of the request, such as a CSRF token.
    """
    values = [parser.compile_filter(bit) for bit in token.split_contents()[1:]]
    nodelist = parser.parse(("endkept",))
    parser.delete_first_token()
    return KeptNode(nodelist, values)
