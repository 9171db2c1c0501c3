"""The owner's set-up in a real browser: from an empty page to an open project; every page accessible at every size."""

import io
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from PIL import Image
from playwright.sync_api import expect

from annotate.models import Item, Membership, Project, Tag
from tests.conftest import NOW, answer_one, make_annotator

PHONE = {"width": 390, "height": 844}
SIZES = [PHONE, {"width": 820, "height": 1180}, {"width": 1440, "height": 900}]
PASTED = "key,text\na,Uniforms save time.\nb,\na,Uniforms cost money.\n"
CORRECTED = "key,text\na,Uniforms save time.\nb,Uniforms are itchy.\nc,Uniforms cost money.\n"


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)


def png(color: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (60, 40), color).save(out, "PNG")
    return out.getvalue()


def make_project(live_site, page) -> None:
    page.goto(live_site)
    page.get_by_role("link", name="Create your first project").click()
    page.get_by_role("link", name="Blank").click()
    page.get_by_label("Name", exact=True).fill("Uniforms")
    page.get_by_label("Question", exact=True).fill("Which argument is more convincing?")
    page.locator("summary", has_text="Other kinds, answers, comments and words").click()
    page.get_by_role("checkbox", name="Both bad").check()
    page.get_by_role("button", name="Create the project").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Import items")


def paste_correct_and_import(page) -> None:
    """A paste with two errors, told row by row; corrected where it stands; nothing is stored before the last click."""
    page.get_by_label("Items", exact=True).fill(PASTED)
    page.get_by_role("radio", name="A table").check()
    page.get_by_role("button", name="Preview the items").click()
    errors = page.get_by_role("region", name="Rows with errors")
    expect(errors).to_contain_text("Row 3. The text is missing.")
    expect(errors).to_contain_text("Row 4. The key “a” is already used in row 2.")
    assert not Item.objects.exists()
    page.get_by_label("Items", exact=True).fill(CORRECTED)
    page.get_by_role("button", name="Preview again").click()
    expect(page.locator(".lead")).to_contain_text("3 items are ready")
    assert not Item.objects.exists()
    page.get_by_role("button", name="Import 3 items").click()
    expect(page.get_by_role("status").filter(has_text="Done.")).to_contain_text("3 items are imported")


def open_project(page) -> None:
    page.get_by_role("link", name="Preview and open").click()
    page.get_by_role("button", name="Open the project").click()
    expect(page.get_by_role("status").filter(has_text="Done.")).to_contain_text("The project is open")


def test_from_nothing_to_an_open_project_and_its_link(live_site, open_page, sign_in, alice):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    sign_in(alice, page=page)
    make_project(live_site, page)
    paste_correct_and_import(page)
    open_project(page)
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    project = Project.objects.get()
    link = f"{live_site}/join/{project.join_token}/"
    assert page.evaluate("navigator.clipboard.readText()") == link
    assert (project.state, project.outcomes) == ("open", ["tie", "both_bad", "skip"])
    assert list(project.items.order_by("pk").values_list("key", flat=True)) == ["a", "b", "c"]

    annotator = open_page(viewport=PHONE)
    annotator.goto(link)
    expect(annotator.get_by_text("Which argument is more convincing?").first).to_be_visible()


def test_it_all_works_on_a_phone_without_javascript(live_site, open_page, sign_in, alice):
    page = open_page(viewport=PHONE, java_script_enabled=False)
    sign_in(alice, page=page)
    make_project(live_site, page)
    paste_correct_and_import(page)
    open_project(page)
    expect(page.get_by_label("Join link")).to_have_value(re.compile(f"^{live_site}/join/"))
    page.locator("summary", has_text="Close the project").click()
    page.get_by_role("button", name="Close it now").click()
    expect(page.locator(".lead")).to_have_text("Closed: nobody can answer any more.")
    page.get_by_role("button", name="Reopen the project").click()
    assert Project.objects.get().state == "open"


def test_a_step_back_loses_nothing(live_site, open_page, sign_in, alice):
    """Without scripts: another start keeps what was typed, and each step leads to the next and back."""
    page = open_page(java_script_enabled=False)
    sign_in(alice, page=page)
    page.goto(live_site + reverse("project-create"))
    page.get_by_role("link", name="Jury").click()
    page.get_by_label("Name", exact=True).fill("School essays")
    page.get_by_label("A higher place means").fill("finer")
    page.locator("summary", has_text="Start from something else").click()
    page.get_by_role("button", name="Essays").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("School essays")
    expect(page.get_by_label("A higher place means")).to_have_value("finer")
    expect(page.get_by_label("Question", exact=True)).to_have_value("Which essay is the better piece of writing?")
    page.get_by_role("button", name="Create the project").click()
    steps = page.get_by_role("navigation", name="Set-up")
    expect(steps.get_by_role("link", name="Items")).to_have_attribute("aria-current", "step")
    paste_correct_and_import(page)
    for following in ("Quality checks", "People", "Preview and open"):
        steps.get_by_role("link", name=f"Next: {following}").click()
    steps.get_by_role("link", name="Question and answers").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("School essays")
    project = Project.objects.get()
    assert (project.state, project.more_means, project.min_seconds, project.outcomes) == ("draft", "finer", 10, [])


def test_pictures_are_described_and_imported(live_site, page, sign_in, project, alice):
    sign_in(alice)
    page.goto(live_site + reverse("items-import", args=[project.pk]))
    page.get_by_label("Image, sound and video files").set_input_files(
        [
            {"name": "red.png", "mimeType": "image/png", "buffer": png("firebrick")},
            {"name": "teal.png", "mimeType": "image/png", "buffer": png("teal")},
            {
                "name": "drawing.svg",
                "mimeType": "image/svg+xml",
                "buffer": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
            },
        ]
    )
    page.get_by_role("button", name="Preview the files").click()
    expect(page.get_by_text("SVG pictures can contain scripts")).to_be_visible()
    expect(page.get_by_role("img", name="The file red.png")).to_have_js_property("naturalWidth", 60)
    page.get_by_label("What it shows").first.fill("A red field")
    page.get_by_role("button", name="Import these files").click()
    expect(page.get_by_role("row", name="A red field")).to_be_visible()
    assert project.items.get(key="red.png").body == "A red field"


def test_columns_are_chosen_in_the_preview(live_site, page, sign_in, project, alice):
    sign_in(alice)
    page.goto(live_site + reverse("items-import", args=[project.pk]))
    table = "nr\tthema\twas\nx1\tSchule\tErster Text\nx2\tSport\tZweiter Text\n"
    page.get_by_label("File", exact=True).set_input_files(
        {"name": "tabelle.tsv", "mimeType": "text/tab-separated-values", "buffer": table.encode("utf-16")}
    )
    page.get_by_role("button", name="Preview the table").click()
    expect(page.get_by_label("Tags").locator("option:checked")).to_have_text("thema")
    page.get_by_label("Tags").select_option("none")
    page.get_by_role("button", name="Preview with these columns").click()
    expect(page.get_by_role("form", name="Which column is which")).to_contain_text("Not imported: the column thema")
    page.get_by_label("Title").select_option("thema")
    page.get_by_role("button", name="Preview with these columns").click()
    expect(page.get_by_text("Not imported:")).to_have_count(0)
    page.get_by_role("button", name="Import 2 items").click()
    expect(page.get_by_role("row", name="Zweiter Text")).to_contain_text("Sport")
    item = project.items.get(key="x2")
    assert (item.body, item.name, item.tags.count()) == ("Zweiter Text", "Sport", 0)


def test_deleting_asks_for_the_name(live_site, page, sign_in, project, alice):
    sign_in(alice)
    page.goto(live_site + reverse("project-manage", args=[project.pk]))
    page.get_by_role("link", name="Delete the project").click()
    page.get_by_label("The project's name").fill("Something else")
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_role("alert")).to_contain_text("“Something else” is not the project's name")
    page.get_by_label("The project's name").fill("Convincing arguments")
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Your projects")
    assert not Project.objects.exists()


def addresses(project, alice) -> list[str]:
    """Every page of the set-up, with little, much, long and foreign data, and with errors."""
    empty = Project.objects.create(name="مشروع بالعربية", question="?")
    Membership.objects.create(project=empty, user=alice, role="owner")
    answer_one(make_annotator(project, "Quiet Otter"))
    tag = Tag.objects.create(project=project, name="a rather long tag about uniforms")
    for key, body in (("k" * 200, "X" * 300), ("rtl", "سيكون التعليم المجاني مفيدا للجميع")):
        Item.objects.create(project=project, key=key, body=body, retired_at=NOW).tags.add(tag)
    client = Client()
    client.force_login(alice, "allauth.account.auth_backends.AuthenticationBackend")
    upload = reverse("items-import", args=[project.pk])
    bad = client.post(upload, {"way": "paste", "written": "table", "text": PASTED})["Location"]
    latin = SimpleUploadedFile("datei.csv", "key;text;x\na;Größe\nb;Größe\n".encode("cp1252"))
    good = client.post(upload, {"way": "file", "file": latin})["Location"]
    broken = SimpleUploadedFile("kaputt.csv", b'key,text\na,"never closed\n')
    unreadable = client.post(upload, {"way": "file", "file": broken})["Location"]
    files = [SimpleUploadedFile(name, png("teal")) for name in ("a.png", "a.png")]
    pictures = client.post(upload, {"way": "pictures", "pictures": [*files, SimpleUploadedFile("b.svg", b"<svg/>")]})
    pages = [
        "setup",
        "log",
        "project-clone",
        "annotator-tags",
        "bulk-exclusion",
        "project-settings",
        "settings-answers",
        "settings-amount",
        "settings-participants",
        "settings-ranking",
        "ideas",
        "project-manage",
        "items",
        "members",
        "project-delete",
        "entry",
        "participants",
        "share",
    ]
    own = [reverse(name, args=[one.pk]) for one in (project, empty) for name in pages]
    create = reverse("project-create")
    return [
        "/",
        "/?archived=1",
        create,
        f"{create}?start=jury",
        *own,
        upload,
        bad,
        good,
        unreadable,
        pictures["Location"],
    ]


def test_every_page_is_accessible_at_every_size(live_site, page, sign_in, axe, project, alice, bob):
    paths = addresses(project, alice)
    page.goto(live_site)
    axe(page, in_dark=True)  # the landing page
    sign_in(alice)
    for path in paths:
        page.goto(live_site + path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        for size in SIZES:
            page.set_viewport_size(size)
            wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
            assert not wide, f"{path} scrolls sideways at {size['width']}"
        axe(page)
        page.set_viewport_size(PHONE)
        axe(page, in_light=False, in_dark=True)
