"""PDF and DOCX as items: pages and pictures, shown one below the other; what is too large or can't be read says so."""

import io
import random

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse
from PIL import Image

from annotate.files.limits import Unusable
from annotate.imports import queue as imports_queue
from annotate.imports.media import documents
from annotate.imports.media.documents import read_document
from annotate.items.actions import delete_item
from annotate.management.commands.worker import create_worker
from annotate.models import ImportJob, Item, ItemPage
from annotate.projects.actions import delete_project
from annotate.projects.copies.cloning import clone_project
from tests.conftest import NOW
from tests.site.documents import docx, pdf
from tests.site.imports.test_archives import damaged, media, packed, png
from tests.site.pages import signed_in

__all__ = ["media"]


def upload(owner, project, *files, way="documents", field="documents"):
    """Upload, check and confirm; returns the import."""
    named = [ContentFile(content, name) for name, content in files]
    page = owner.post(reverse("items-import", args=[project.pk]), {"way": way, field: named}, follow=True)
    assert page.status_code == 200, page.content.decode()
    create_worker("test").run_job(imports_queue.QUEUE)
    job = ImportJob.objects.latest("pk")
    if job.state == "checked" and job.n_lines:
        owner.post(reverse("import-job", args=[project.pk, job.pk]), {"action": "go"})
        create_worker("test").run_job(imports_queue.QUEUE)
        job.refresh_from_db()
    return job


def test_each_document_becomes_an_item_with_its_pages(project, alice):
    owner = signed_in(alice)
    script = docx("<w:p><w:r><w:t>My essay &lt;on&gt; cats</w:t></w:r></w:p>", png())
    job = upload(owner, project, ("Anna_Berg.pdf", pdf("One cat", "Two cats", "Three")), ("Ben.docx", script))
    assert (job.state, job.message, job.errors) == ("done", "", [])
    anna, ben = Item.objects.get(key="Anna_Berg.pdf"), Item.objects.get(key="Ben.docx")
    assert (anna.name, anna.kind, anna.body, anna.n_pages) == ("Anna Berg", "image", "One cat\n\nTwo cats\n\nThree", 3)
    assert anna.media.name == anna.pages.get(number=1).media.name
    with anna.pages.get(number=2).media.open() as file:
        assert Image.open(file).size == (900, 600)
    assert (ben.name, ben.kind, ben.n_pages) == ("Ben", "html", 1)
    assert ben.body == "<p>My essay &lt;on&gt; cats</p><p>[Picture 1: A map]</p>"
    assert not default_storage.exists(f"{job.folder}/pages.zip")
    page = owner.get(reverse("item-page", args=[anna.pk, 3]))
    assert page["Content-Type"] == "image/webp"
    assert owner.get(reverse("item-page", args=[anna.pk, 4])).status_code == 404
    assert Client().get(reverse("item-page", args=[anna.pk, 3])).status_code == 404


def test_a_manifest_names_documents_of_a_zip_file(project, alice):
    content = packed({"manifest.csv": "file,key,title,tags\na.pdf,E1,Anna,8b\n", "a.pdf": pdf("Hello")})
    job = upload(signed_in(alice), project, ("class.zip", content), way="archive", field="archive")
    assert job.state == "done"
    item = Item.objects.get(key="E1")
    assert (item.name, item.n_pages, [tag.name for tag in item.tags.all()]) == ("Anna", 1, ["8b"])


def test_annotators_see_pages_one_below_the_other(project, alice, client):
    Item.objects.filter(project=project).delete()
    upload(signed_in(alice), project, ("Anna.pdf", pdf("One", "Two", "Three")), ("Ben.pdf", pdf("Four")))
    client.post(reverse("join", args=[project.join_token]), {"pseudonym": "Heron"})
    html = client.get(reverse("label", args=[project.pk])).content.decode()
    if "Page 2 of 3" not in html:
        html = client.post(reverse("label", args=[project.pk]), follow=True).content.decode()
    anna = Item.objects.get(key="Anna.pdf")
    for number in (1, 2, 3):
        assert f'alt="Page {number} of 3"' in html
        address = reverse("item-page", args=[anna.pk, number])
        assert f'src="{address}" loading="lazy"' in html
        assert client.get(address).status_code == 200
    assert "Anna" not in html, "the file's name is the pupil's"


def test_a_clone_shares_pages_and_the_last_one_takes_them_along(project, alice, django_capture_on_commit_callbacks):
    upload(signed_in(alice), project, ("Anna.pdf", pdf("One", "Two")))
    names = list(ItemPage.objects.values_list("media", flat=True))
    clone = clone_project(source=project, actor=alice, name="Again", with_items=True, now=NOW, rng=random.Random(0))
    assert clone.items.get(key="Anna.pdf").pages.count() == 2
    with django_capture_on_commit_callbacks(execute=True):
        delete_project(project=project)
    assert all(default_storage.exists(name) for name in names)
    with django_capture_on_commit_callbacks(execute=True):
        delete_item(item=clone.items.get(key="Anna.pdf"), actor=alice, now=NOW)
    assert not any(default_storage.exists(name) for name in names)


def kept(picture: bytes, suffix: str) -> str:
    return suffix


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("a.pdf", lambda: pdf("One", encrypted=True), "The PDF is encrypted. Save it without a password"),
        ("a.pdf", lambda: b"%PDF-1.4 no more", "The PDF is damaged and can't be read. Save or scan it again."),
        ("a.pdf", lambda: b"", "The file is empty"),
        ("a.pdf", lambda: pdf(*["x"] * 500), "500 pages or pictures; the limit is 40. Divide it"),
        ("a.pdf", lambda: pdf("One", "Two", "Three", "Four"), "With its 4 pages the import has too many; 3 are left"),
        ("a.docx", lambda: b"\xd0\xcf\x11\xe0 old", "encrypted or an old .doc"),
        ("a.docx", lambda: packed({"x": b"y"}), "This is not a DOCX document"),
        ("a.docx", lambda: docx("Hi", **{"word/big.xml": b" " * 3 * 2**20}), "unpacks to more than 200 times its size"),
        ("a.docx", lambda: docx("Hi", **{"word/x.xml": "<!DOCTYPE a []>"}), "declares XML entities"),
        ("a.docx", lambda: docx("<w:p/>"), "has no text and no pictures"),
        ("a.docx", lambda: docx("x" * 100_001), "the limit is 100000. Divide it."),
        ("a.docx", lambda: docx("<w:p><w:r>"), "damaged or unusual"),
        ("a.docx", lambda: damaged(docx("Hi" * 99), "word/document.xml"), "The document is damaged"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_why_and_what_helps(name, make, message):
    with pytest.raises(Unusable, match=message.replace("(", "\\(").replace(".", "\\.")):
        read_document(name, make(), kept, 3)


def test_a_document_that_unfolds_too_far_is_not_read(monkeypatch):
    monkeypatch.setattr(documents, "MAX_DOCUMENT_UNFOLDED", 1000)
    with pytest.raises(Unusable, match="the limit is 0 MB"):
        read_document("a.docx", docx("Hi"), kept, 9)


def test_scripts_and_foreign_addresses_do_not_survive():
    body = "<w:p><w:r><w:t>&lt;script&gt;alert(1)&lt;/script&gt;</w:t></w:r></w:p>"
    found = read_document("a.docx", docx(body), kept, 9)
    assert found.body == "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"


def test_nothing_is_written_where_a_file_is_refused(project, alice):
    owner = signed_in(alice)
    before = project.items.count()
    job = upload(owner, project, ("a.pdf", pdf(*["x"] * 41)))
    assert (job.state, job.n_bad) == ("checked", 1)
    assert "“a.pdf”: The document has 41 pages" in job.errors[0][1]
    refused = owner.post(
        reverse("items-import", args=[project.pk]), {"way": "documents", "documents": [ContentFile(b"x", "a.odt")]}
    )
    assert "“a.odt” is neither PDF nor DOCX" in refused.content.decode()
    assert project.items.count() == before
    assert not ItemPage.objects.exists()


def test_a_page_is_no_larger_than_a_screen_needs():
    pictures = []
    read_document("a.pdf", pdf("One"), lambda picture, _suffix: pictures.append(picture) or "x", 9)
    assert Image.open(io.BytesIO(pictures[0])).width <= documents.PAGE_WIDTH
