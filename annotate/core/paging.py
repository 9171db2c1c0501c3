"""Cuts long lists into pages that are small at first sight."""

from typing import Any

from django.core.paginator import Page, Paginator

PAGE_SIZE = 20


def page_of(rows: Any, number: int | str | None, size: int = PAGE_SIZE) -> Page:
    """Return one page of `size` rows; a list of at most twice as many stays whole, and so does a last page."""
    return Paginator(rows, size, orphans=size).get_page(number)
