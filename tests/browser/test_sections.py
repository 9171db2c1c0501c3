"""Items of several sections on the task page: in order, wide and narrow, light and dark, without JavaScript too."""

import io
import json

import pytest
from django.core.files.base import ContentFile
from PIL import Image
from playwright.sync_api import expect

from annotate.core.sections import parse_sections, write_sections
from annotate.models import Item, ItemPage
from tests.browser.annotating import WITHOUT, come_in, expect_done, long_enough, look, sideways, snap

SECTIONS = [
    {"kind": "markdown", "text": "The answer has **three** parts: $x^2$ and a picture.", "heading": "Answer"},
    {"kind": "image", "file": 1, "text": "A teal square"},
    {"kind": "code", "text": "def square(x):\n    return x ** 2  # " + "long " * 30, "language": "python"},
    {"kind": "chat", "text": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because."}]},
    {"kind": "link", "link": "https://example.org/page"},
]


@pytest.fixture
def project(project, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    project.items.all().delete()
    out = io.BytesIO()
    Image.new("RGB", (400, 300), "teal").save(out, "PNG")
    for key in "abcd":
        body = write_sections(parse_sections(json.dumps(SECTIONS)))
        item = Item.objects.create(project=project, key=key, kind="sections", body=body, n_pages=1)
        ItemPage(item=item, number=1).media.save("1.png", ContentFile(out.getvalue()), save=True)
    return long_enough(project)


def test_every_section_is_shown_and_told(live_site, open_page, project, axe):
    page = open_page(viewport={"width": 1280, "height": 900})
    come_in(page, live_site, project)
    sections = page.locator(".option").first.locator(".item-section")
    expect(sections).to_have_count(5)
    expect(sections.nth(1).get_by_role("img", name="A teal square")).to_be_visible()
    snap(page, "sections-1280")
    look(page, axe, "sections")
    assert not sideways(page)
    page.keyboard.press("1")
    expect_done(page, 1)
    told = page.locator("#announcer")
    expect(told).to_contain_text("A teal square")
    expect(told).to_contain_text("Because.")


def test_without_javascript(live_site, open_page, project):
    page = open_page(**WITHOUT, viewport={"width": 320, "height": 700})
    come_in(page, live_site, project)
    assert not sideways(page)
    expect(page.get_by_text("Because.").first).to_be_visible()
    page.get_by_role("button", name="A is").click()
    expect_done(page, 1)
