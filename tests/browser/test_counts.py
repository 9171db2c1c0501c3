"""The pages of an import of counts on a phone: by axe, light and dark, and never wider than the screen."""

from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.annotating import sideways


def test_counts_are_imported_on_a_phone(live_site, open_page, sign_in, axe, project, alice, tmp_path):
    project.state = "draft"
    project.save()
    page = open_page(viewport={"width": 320, "height": 700})
    sign_in(alice, page)
    page.goto(live_site + reverse("counts-import", args=[project.pk]))
    expect(page.get_by_role("heading", level=1)).to_have_text("Import counts")
    assert not sideways(page)
    axe(page, in_dark=True)
    file = tmp_path / "plays.csv"
    file.write_text("annotator,item,count,exposure\nu,item-0,5,10\nu,item-1,-1,10\n")
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Preview the counts").click()
    expect(page.get_by_text("is not a whole number from 0")).to_be_visible()
    assert not sideways(page)
    axe(page, in_dark=True)
    page.get_by_role("button", name="Import 1 good row, leave out 1").click()
    expect(page.get_by_role("heading", name="Done")).to_be_visible()
