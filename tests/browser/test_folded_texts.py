"""Long texts folded alike: one control opens all of them, by keys, on a phone and without JavaScript."""

import pytest
from playwright.sync_api import expect

from annotate.models import Item
from tests.browser.annotating import WITHOUT, come_in, long_enough, look, sideways

LONG = "A sentence that goes on for a while and says little. " * 120


@pytest.fixture
def project(project):
    project.items.all().delete()
    for key, body in (("long", LONG), ("longer", LONG * 2), ("longest", LONG * 3)):
        Item.objects.create(project=project, key=key, body=body)
    return long_enough(project, folds_long_texts=True)


def heights(page) -> list[int]:
    return [round(body.bounding_box()["height"]) for body in page.locator(".option > .item-body").all()]


def test_both_are_cut_alike_and_opened_by_one_key(live_site, open_page, project, axe):
    page = open_page(viewport={"width": 1280, "height": 800})
    come_in(page, live_site, project)
    folded = heights(page)
    assert folded[0] == folded[1] <= 400
    look(page, axe, "folded")
    control = page.get_by_label("Show the whole texts")
    control.focus()
    page.keyboard.press("Space")
    expect(control).to_be_checked()
    opened = heights(page)
    assert min(opened) > 2 * folded[0]
    assert opened[0] != opened[1]


def test_without_javascript_on_a_narrow_phone(live_site, open_page, project):
    page = open_page(**WITHOUT, viewport={"width": 320, "height": 640})
    come_in(page, live_site, project)
    folded = heights(page)
    assert folded[0] == folded[1] <= 640
    assert not sideways(page)
    page.get_by_label("Show the whole texts").check()
    assert min(heights(page)) > 2 * folded[0]


def test_short_texts_are_not_folded(live_site, open_page, project):
    Item.objects.filter(project=project).update(body="Short.")
    page = open_page()
    come_in(page, live_site, project)
    expect(page.get_by_label("Show the whole texts")).to_have_count(0)
