"""Marked differences and metadata on the task page: for eyes, for ears and without JavaScript."""

import pytest
from playwright.sync_api import expect

from annotate.models import Item
from tests.browser.annotating import WITHOUT, come_in, long_enough, look, sideways, snap


@pytest.fixture
def project(project):
    project.items.all().delete()
    bodies = ["The council should build a new school on the old field.",
              "The council must build one school on the old field, and soon.",
              "A council should not build a school on that field."]  # fmt: skip
    for key, body in zip("abc", bodies, strict=True):
        metadata = {"Author": f"Writer {key}", "Hidden": "nobody sees it"}
        Item.objects.create(project=project, key=key, body=body, metadata=metadata)
    return long_enough(project, marks_differences=True, shown_metadata=["Author"])


def test_marks_and_metadata_are_seen_and_told(live_site, open_page, project, axe):
    page = open_page(viewport={"width": 1280, "height": 800})
    come_in(page, live_site, project)
    expect(page.locator("mark.differs").first).to_be_visible()
    told = page.locator(".option").first.inner_text()
    assert "[differs:" in page.locator(".option mark").first.text_content()
    assert "Writer" in told
    assert "nobody sees it" not in page.content()
    look(page, axe, "differences")


def test_without_javascript_on_a_narrow_phone(live_site, open_page, project):
    page = open_page(**WITHOUT, viewport={"width": 320, "height": 640})
    come_in(page, live_site, project)
    expect(page.locator("mark.differs").first).to_be_visible()
    assert not sideways(page)
    snap(page, "differences-320")
