"""Formats numbers as the language of the page writes them."""

import math
from typing import Any

from django.utils.formats import get_format, number_format
from django.utils.translation import gettext as _

MINUS = "\N{MINUS SIGN}"


def format_number(value: float, decimals: int = 2) -> str:
    """Format a number with a true minus sign, never "-0.00", and the decimal sign of the language."""
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", MINUS).replace(".", get_format("DECIMAL_SEPARATOR"))


def format_two_digits(value: float) -> str:
    """Format a positive number with its first two digits, such as 0.0042, 0.42 or 4.2, and a whole one from 10 on."""
    decimals = 1 - math.floor(math.log10(value)) if 0 < value < 1 else 1
    return format_number(value, decimals) if value < 10 else format_integer(value)


def format_integer(value: float) -> str:
    """Format a whole number with the thousands separator of the language."""
    return number_format(round(value), force_grouping=True)


def format_percent(share: float, decimals: int = 0) -> str:
    """Format a share of 1 as a percentage, with a space before the sign where the language has one."""
    return _("%(n)s%%") % {"n": format_number(100 * share, decimals)}


def is_unknown(value: Any) -> bool:
    """Tells whether it is None, or the empty text that templates make of an attribute of None."""
    return value is None or value == ""


def _without_leading_zero(value: float) -> str:
    """Format a number below 1: without the zero before a decimal point, with it before a comma."""
    text = format_number(value)
    return text.removeprefix("0") if text.startswith("0.") else text


def is_near_zero(probability: float) -> bool:
    """Return whether a probability is shown as <.01."""
    return probability < 0.005


def is_near_one(probability: float) -> bool:
    """Return whether a probability is shown as >.99."""
    return probability >= 0.995


def format_probability(value: Any) -> str:
    """Format a probability as .98, or 0,98 in German.

    Draws that all agree prove no certainty, so 0 and 1 are never shown.
    """
    if is_unknown(value):
        return "-"
    if is_near_zero(value):
        return "<" + _without_leading_zero(0.01)
    if is_near_one(value):
        return ">" + _without_leading_zero(0.99)
    return _without_leading_zero(value)
