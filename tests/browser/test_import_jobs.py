"""The page of an import in a real browser: it follows the engine's work, is carried out by keyboard, accessible."""

import pytest
from django.core.files.base import ContentFile
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from annotate.imports import job as imports_job
from annotate.imports.actions import start_import
from annotate.imports.guessing import guess_items
from tests.browser.annotating import sideways

# Every fourth row has no text.
TABLE = "key,text\n" + "".join(f"k{n},{'Some words' if n % 4 else ''}\n" for n in range(24))


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)


def begin(project, alice, content: str, **values):
    return start_import(
        project=project, actor=alice, file=ContentFile(content.encode()), now=timezone.now(), source="t.csv", **values
    )


def test_an_import_is_followed_and_carried_out_by_keyboard(live_site, page, sign_in, axe, project, alice):
    job = begin(project, alice, TABLE, kind="items", mapping=guess_items(TABLE, "t.csv"))
    sign_in(alice)

    def reads(state: str, *schemes: str) -> None:
        expect(page.locator("#job-state")).to_have_text(state)
        for scheme in schemes:
            page.emulate_media(color_scheme=scheme)
            axe(page)

    page.goto(live_site + reverse("import-job", args=[project.pk, job.pk]))
    reads("Waiting to be checked")
    imports_job.import_now(job)
    reads("Checked: waiting for you to confirm", "light", "dark")  # the page has seen it by itself
    expect(page.locator(".row-errors li")).to_have_text(
        ["Rows 2, 6, 10, 14, 18, 22. The text is missing. Fill the cell or remove the row."]
    )
    page.get_by_role("button", name="Import the 18 good rows, leave out 6").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("progressbar")).to_be_visible()
    reads("Being imported", "dark")
    imports_job.import_now(job)
    reads("Done", "light")
    expect(page.get_by_text("18 rows are imported. 6 rows were left out.")).to_be_visible()
    assert project.items.filter(body="Some words").count() == 18

    failed = begin(project, alice, "no matrix", kind="features", mapping={"prefix": "f"})
    imports_job.import_now(failed)
    page.goto(live_site + reverse("import-job", args=[project.pk, failed.pk]))
    reads("Failed", "dark")
    page.get_by_role("link", name="Upload another file").click()
    expect(page).to_have_url(live_site + reverse("features-import", args=[project.pk]))


def test_the_page_of_annotators_features_is_accessible_on_a_phone(live_site, open_page, sign_in, axe, project, alice):
    page = open_page(viewport={"width": 320, "height": 700})
    sign_in(alice, page)
    page.goto(live_site + reverse("annotators-import", args=[project.pk]))
    expect(page.get_by_role("heading", level=1)).to_have_text("Features of annotators")
    assert not sideways(page)
    axe(page, in_dark=True)
