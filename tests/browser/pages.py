"""What browser tests ask of any page."""

from playwright.sync_api import Page


def is_wide(page: Page) -> bool:
    """Return whether the page scrolls sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
