"""Images as items: known by their content, stored without metadata, refused with a reason, never half imported."""

import io
import zlib

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from PIL import Image, ImageCms

from annotate.files.limits import BadFile
from annotate.imports import media_wizard as media_views
from annotate.items.actions import KeyTaken
from annotate.items.media import images
from annotate.models import Item, Project

EXIF_ORIENTATION, EXIF_ARTIST = 0x0112, 0x013B
LOGIN = "allauth.account.auth_backends.AuthenticationBackend"


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)


@pytest.fixture
def owner(client, alice):
    client.force_login(alice, LOGIN)
    return client


def picture(form="PNG", size=(40, 30), mode="RGB", **options) -> bytes:
    out = io.BytesIO()
    Image.effect_mandelbrot(size, (-2, -1.5, 1, 1.5), 40).convert(mode).save(out, form, **options)
    return out.getvalue()


def read(content: bytes, name="picture.png") -> images.Picture:
    return images.read_picture(SimpleUploadedFile(name, content))


def send(client, project, *files, **more):
    data = {"way": "pictures", "pictures": [SimpleUploadedFile(name, content) for name, content in files], **more}
    return client.post(reverse("items-import", args=[project.pk]), data, follow=True)


def confirm(client, project, preview, **more):
    """Sends what the preview's form holds, with changes."""
    rows = preview.context["rows"]
    fields = {f"{row.place}-{name}": row.form[name].value() or "" for row in rows for name in ("key", "description")}
    data = {"upload": preview.context["upload"].id, **fields, **more}
    return client.post(reverse("items-import", args=[project.pk]), data, follow=True)


@pytest.mark.parametrize(
    ("form", "mode", "stored_as"),
    [
        ("PNG", "RGB", "PNG"),
        ("PNG", "RGBA", "PNG"),
        ("PNG", "P", "PNG"),
        ("PNG", "L", "PNG"),
        ("GIF", "P", "PNG"),
        ("WEBP", "RGB", "WEBP"),
        ("WEBP", "RGBA", "WEBP"),
        ("JPEG", "RGB", "JPEG"),
        ("JPEG", "L", "JPEG"),
        ("JPEG", "CMYK", "JPEG"),
        ("MPO", "RGB", "JPEG"),
    ],
)
def test_each_format_is_stored_with_its_pixels(form, mode, stored_as):
    original = picture(form, mode=mode)
    read_one = read(original, "picture.bin")
    assert not read_one.problem
    stored, before = Image.open(io.BytesIO(read_one.content)), Image.open(io.BytesIO(original))
    assert stored.format == stored_as
    assert (read_one.width, read_one.height) == stored.size == (40, 30)
    assert stored.convert("RGB").tobytes() == before.convert("RGB").tobytes()


def test_metadata_is_left_behind():
    exif = Image.Exif()
    exif[EXIF_ARTIST] = "Jane Doe"
    jpeg = picture("JPEG", exif=exif, comment=b"Jane's secret")
    assert b"Jane" in jpeg
    assert b"Jane" not in read(jpeg).content
    webp = picture("WEBP", exif=exif, xmp=b"<x:xmpmeta>Jane</x:xmpmeta>")
    assert b"Jane" in webp
    assert b"Jane" not in read(webp).content
    tagged = picture("JPEG", xmp=b"<x:xmpmeta>Jane</x:xmpmeta>")
    assert b"Jane" in tagged
    assert b"Jane" not in read(tagged).content


def test_what_stands_behind_a_picture_is_cut_off():
    jpeg = picture("JPEG", progressive=True, restart_marker_blocks=2)
    read_one = read(jpeg + b"<script>alert(1)</script>")
    assert not read_one.problem
    assert b"script" not in read_one.content
    assert Image.open(io.BytesIO(read_one.content)).tobytes() == Image.open(io.BytesIO(jpeg)).tobytes()


def test_the_colour_profile_stays():
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for form in ("PNG", "JPEG", "WEBP"):
        stored = read(picture(form, icc_profile=profile)).content
        assert Image.open(io.BytesIO(stored)).info["icc_profile"] == profile


def test_a_turned_photograph_stands_upright():
    exif = Image.Exif()
    exif[EXIF_ORIENTATION] = 6
    assert (read(picture("JPEG", exif=exif)).width, read(picture("JPEG", exif=exif)).height) == (30, 40)


def png_of(width: int, height: int) -> bytes:
    """A PNG that says it has so many pixels and holds none."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)

    header = width.to_bytes(4) + height.to_bytes(4) + bytes([8, 2, 0, 0, 0])
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def moving() -> bytes:
    out = io.BytesIO()
    frames = [Image.new("RGB", (8, 8), color) for color in ("red", "teal")]
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "The file is empty"),
        (b"text,key\n", "not a picture (PNG, JPEG, WebP, GIF)"),
        (b"%PDF-1.7", "not a picture (PNG, JPEG, WebP, GIF)"),
        (b'<?xml version="1.0"?><SVG xmlns="http://www.w3.org/2000/svg"/>', "SVG pictures can contain scripts"),
        (picture()[:200], "is damaged"),
        (picture("JPEG")[:300], "is damaged"),
        (picture("TIFF"), "not a picture (PNG, JPEG, WebP, GIF)"),
        (picture("BMP"), "not a picture (PNG, JPEG, WebP, GIF)"),
        (moving(), "The picture is animated"),
        (png_of(6000, 5000), "6000 × 5000 pixels; the limit is 25 megapixels"),
        (png_of(12_000, 12_000), "the limit of 25 megapixels"),
        (png_of(60_000, 60_000), "the limit of 25 megapixels"),
    ],
)
def test_what_is_no_usable_picture_is_refused_with_the_reason(content, message):
    refused = read(content)
    assert message in refused.problem
    assert not refused.content


def test_a_file_over_the_limit_says_its_size(monkeypatch):
    monkeypatch.setattr(images, "MAX_IMAGE_BYTES", 100)
    assert "MB; the limit is" in read(picture()).problem


def test_too_many_pictures_are_refused(monkeypatch):
    monkeypatch.setattr(images, "MAX_IMAGES", 2)
    files = [SimpleUploadedFile(f"{i}.png", picture()) for i in range(3)]
    with pytest.raises(BadFile, match="You chose 3 pictures; the limit is 2"):
        images.read_pictures(files)
    monkeypatch.setattr(images, "MAX_IMAGES", 9)
    monkeypatch.setattr(images, "MAX_PIXELS_TOGETHER", 2000)
    with pytest.raises(BadFile, match=r"megapixels\. Upload them in several parts"):
        images.read_pictures([SimpleUploadedFile(f"{i}.png", picture()) for i in range(3)])


def test_it_previews_and_then_imports(owner, project):
    preview = send(
        owner, project, ("red_fox-1.png", picture()), ("notes.txt", b"not a picture"), ("b.jpg", picture("JPEG"))
    )
    page = preview.content.decode()
    assert "2 files can be imported" in page
    assert "notes.txt" in page
    assert 'value="red fox 1"' in page
    assert project.items.count() == 6
    done = confirm(owner, project, preview, **{"0-description": "A fox in the snow"})
    assert "2 items are imported" in done.content.decode()
    fox = project.items.get(key="red_fox-1.png")
    assert (fox.kind, fox.body) == ("image", "A fox in the snow")
    assert fox.media.name.startswith("items/")
    assert "fox" not in fox.media.name
    with default_storage.open(fox.media.name) as file, Image.open(file) as stored:
        assert stored.size == (40, 30)
    assert default_storage.listdir("imports") == ([], [])


def test_the_preview_shows_the_pictures_to_their_owner_alone(owner, client, project, manuel):
    preview = send(owner, project, ("a.png", picture()))
    url, upload = reverse("items-import", args=[project.pk]), preview.context["upload"].id
    image = owner.get(url, {"upload": upload, "picture": "0"})
    assert (image["Content-Type"], image["X-Content-Type-Options"]) == ("image/png", "nosniff")
    assert Image.open(io.BytesIO(image.content)).size == (40, 30)
    for place in ("1", "-1", "x", "../upload.json", "0.png"):
        assert owner.get(url, {"upload": upload, "picture": place}).status_code == 404
    client.force_login(manuel, LOGIN)
    assert client.get(url, {"upload": upload, "picture": "0"}).status_code == 302


@pytest.mark.parametrize(("captions", "seen"), [("none", False), ("text", False), ("title", True), ("both", True)])
def test_the_preview_says_whether_annotators_see_titles(owner, project, captions, seen):
    Project.objects.filter(pk=project.pk).update(media_captions=captions)
    shown = send(owner, project, ("a.png", picture())).content.decode()
    assert ("Annotators see it below the file." in shown) == seen
    assert ("For you; annotators never see it." in shown) != seen


def test_a_key_that_is_taken_is_corrected_or_left_out(owner, project):
    Item.objects.create(project=project, key="a.png", body="There before")
    preview = send(owner, project, ("a.png", picture()), ("b.png", picture()), ("b.png", picture()))
    page = preview.content.decode()
    assert "The key “a.png” is already used" in page
    assert "2 files need another key" in page
    refused = confirm(owner, project, preview)
    assert "Nothing was imported" in refused.content.decode()
    done = confirm(owner, project, preview, **{"0-key": "a2.png", "2-leave_out": "on"})
    assert "2 items are imported" in done.content.decode()
    assert set(project.items.filter(kind="image").values_list("key", flat=True)) == {"a2.png", "b.png"}


def test_a_description_is_needed_and_what_was_typed_is_kept(owner, project):
    preview = send(owner, project, ("a.png", picture()), ("b.png", picture()))
    page = confirm(owner, project, preview, **{"0-description": " ", "1-description": "Typed with care"})
    assert "Nothing was imported" in page.content.decode()
    assert 'value="Typed with care"' in page.content.decode()
    assert project.items.count() == 6


def test_sent_twice_it_is_imported_once(owner, project):
    preview = send(owner, project, ("a.png", picture()))
    confirm(owner, project, preview)
    again = confirm(owner, project, preview)
    assert "These 1 items have been imported already" in again.content.decode()
    assert project.items.filter(kind="image").count() == 1
    assert len(default_storage.listdir("items")[1]) == 1


def test_a_failed_import_leaves_no_file_behind(owner, project, alice):
    preview = send(owner, project, ("a.png", picture()))
    Item.objects.create(project=project, key="taken", body="There before")
    rows = media_views.rows_of(project, preview.context["upload"], None)
    assert rows[0].form.is_valid()
    rows[0].form.cleaned_data["key"] = "taken"  # as if somebody else had been quicker
    with pytest.raises(KeyTaken):
        media_views.import_rows(alice, project, preview.context["upload"], rows)
    assert default_storage.listdir("items")[1] == []


def test_no_file_at_all_is_told(owner, project):
    page = owner.post(reverse("items-import", args=[project.pk]), {"way": "pictures"})
    assert page.status_code == 400
    assert "This field is required" in page.content.decode()
