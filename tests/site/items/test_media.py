"""Images of items: for those who may see them, with a fixed type, and harmless whatever the file holds."""

import io

import pytest
from django.core.files.base import ContentFile
from django.urls import reverse
from PIL import Image

from annotate.models import Item
from tests.site.participation.test_joining import BACKEND


def picture(image_format: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (12, 9), "teal").save(out, image_format)
    return out.getvalue()


def image_item(project, content: bytes, name: str = "picture.png", key: str = "picture") -> Item:
    item = Item(project=project, key=key, kind=Item.Kind.IMAGE, body="A teal rectangle")
    item.media.save(name, ContentFile(content), save=True)
    return item


def url(item: Item) -> str:
    return reverse("item-media", args=[item.pk])


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def as_alice(client, alice):
    client.force_login(alice, BACKEND)
    return client


@pytest.mark.parametrize(
    ("image_format", "content_type"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp"), ("GIF", "image/gif")],
)
def test_an_image_is_sent_whole_with_its_own_type_whatever_its_name(as_alice, project, image_format, content_type):
    content = picture(image_format)
    item = image_item(project, content, name="page.html.png")
    response = as_alice.get(url(item))
    assert response.getvalue() == content
    assert response["Content-Type"] == content_type
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Disposition"] == f'inline; filename="item-{item.pk}.{content_type[6:]}"'
    assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert "private" in response["Cache-Control"]
    assert "public" not in response["Cache-Control"]


@pytest.mark.parametrize(
    "content",
    [
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        b"<!doctype html><script>alert(1)</script>",
        b"",
        b"\x89PNG\r\n\x1a\n",
        picture("BMP"),
        picture("TIFF"),
    ],
    ids=["svg", "html", "empty", "header alone", "bmp", "tiff"],
)
def test_what_is_no_image_of_ours_is_not_served(as_alice, project, content):
    assert as_alice.get(url(image_item(project, content))).status_code == 404


def test_an_unchanged_image_is_not_sent_again_and_a_changed_one_is(as_alice, project):
    item = image_item(project, picture("PNG"))
    etag = as_alice.get(url(item))["ETag"]
    again = as_alice.get(url(item), headers={"If-None-Match": etag})
    assert (again.status_code, again.content, again["ETag"]) == (304, b"", etag)
    item.media.save("picture.png", ContentFile(picture("GIF")), save=True)
    assert as_alice.get(url(item), headers={"If-None-Match": etag}).status_code == 200


def test_knowing_the_etag_opens_no_door(client, as_alice, project, charlie):
    item = image_item(project, picture("PNG"))
    etag = as_alice.get(url(item))["ETag"]
    client.force_login(charlie, BACKEND)
    assert client.get(url(item), headers={"If-None-Match": etag}).status_code == 404


def test_an_annotator_sees_the_images_shown_to_them_and_no_others(client, project):
    project.items.all().delete()
    for key in ("one", "two", "three"):
        image_item(project, picture("PNG"), key=key)
    client.post(reverse("join", args=[project.join_token]), {"pseudonym": "Quiet Otter"})
    annotator = project.annotators.get()
    shown = set(annotator.presentations.get().items.values_list("pk", flat=True))
    assert len(shown) == 2
    for item in project.items.all():
        assert client.get(url(item)).status_code == (200 if item.pk in shown else 404)


def test_anonymous_and_outsiders_see_none(client, project, charlie):
    item = image_item(project, picture("PNG"))
    assert client.get(url(item)).status_code == 404
    client.force_login(charlie, BACKEND)
    assert client.get(url(item)).status_code == 404


def test_text_items_missing_files_and_other_methods(as_alice, project):
    assert as_alice.get(url(project.items.first())).status_code == 404
    item = image_item(project, picture("PNG"))
    assert as_alice.post(url(item)).status_code == 405
    item.media.storage.delete(item.media.name)
    assert as_alice.get(url(item)).status_code == 404
    assert as_alice.get("/media/items/999999/").status_code == 404
    assert as_alice.get("/media/items/../settings/base.py").status_code == 404
