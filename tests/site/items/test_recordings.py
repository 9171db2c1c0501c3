"""Sound and video as items: known by their content, kept whole, sent by parts, on a folder or an object store."""

import io
from datetime import UTC, datetime

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.files.base import ContentFile, File
from django.core.files.storage import Storage, default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotate.core import http_ranges
from annotate.core.storage import FOLDER_STORAGE, parse_storage_url
from annotate.items.media import images, recordings
from annotate.models import Item
from tests.site.imports.test_images import confirm, picture, send
from tests.site.pages import signed_in
from tests.site.recordings import box, flac, mp3, mp4, ogg, wav, webm

SCRIPT = b"<script>alert(1)</script>"
GOOD = {
    "wav": (wav(), "audio", "audio/wav"),
    "mp3": (mp3(), "audio", "audio/mpeg"),
    "mp3 with a tag": (mp3(b"TIT2" + bytes(300)), "audio", "audio/mpeg"),
    "ogg": (ogg(), "audio", "audio/ogg"),
    "flac": (flac(), "audio", "audio/flac"),
    "m4a": (mp4(b"soun", b"M4A "), "audio", "audio/mp4"),
    "mp4": (mp4(), "video", "video/mp4"),
    "webm": (webm(), "video", "video/webm"),
    "webm with sound": (webm(b"A_OPUS"), "audio", "audio/webm"),
}
BAD = {
    "html": (SCRIPT, "not a picture"),
    "svg": (b"<svg xmlns='http://www.w3.org/2000/svg'>" + SCRIPT + b"</svg>", "SVG"),
    "html behind a tag": (b"ID3\x04\0\0\0\0\0\x0a" + bytes(10) + SCRIPT, "looks like MP3"),
    "one frame": (mp3()[:420], "looks like MP3"),
    "wav without data": (wav()[:36], "looks like WAV"),
    "wav of an unknown format": (wav().replace(b"fmt \x10\0\0\0\x01", b"fmt \x10\0\0\0\x99"), "looks like WAV"),
    "film in ogg": (ogg(b"\x80theora"), "looks like OGG"),
    "mp4 cut off": (mp4()[:-1], "looks like MP4"),
    "mp4 with html behind": (mp4() + SCRIPT, "looks like MP4"),
    "mp4 without tracks": (box(b"ftyp", b"isom\0\0\0\0") + box(b"mdat", SCRIPT), "looks like MP4"),
    "matroska": (webm().replace(b"webm", b"matr"), "looks like WEBM"),
    "flac cut off": (flac()[:20], "looks like FLAC"),
}


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)


@pytest.fixture
def owner(alice):
    return signed_in(alice)


def recording(project, content: bytes, kind: str, key="recording", name="items/page.html") -> Item:
    item = Item(project=project, key=key, kind=kind, body="Words")
    item.media.save(name, ContentFile(content), save=True)
    return item


def address(item: Item) -> str:
    return reverse("item-media", args=[item.pk])


@pytest.mark.parametrize(("content", "kind", "content_type"), GOOD.values(), ids=GOOD)
def test_each_is_known_by_its_content_and_served_with_a_fixed_type(owner, project, content, kind, content_type):
    read = images.read_picture(SimpleUploadedFile("picture.png", content, "image/png"))
    assert (read.problem, read.kind) == ("", kind)
    response = owner.get(address(recording(project, content, kind)))
    assert response.getvalue() == content
    assert response["Content-Type"] == content_type
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert response["Content-Disposition"].startswith('inline; filename="item-')


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_what_is_mislabelled_or_damaged_says_why_it_is_refused(content, message):
    assert message in images.read_picture(SimpleUploadedFile("song.mp3", content, "audio/mpeg")).problem


def test_too_large_a_file_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr(recordings, "MAX_RECORDING_BYTES", 2**20)
    problem = images.read_picture(SimpleUploadedFile("song.wav", wav() + bytes(2**20))).problem
    assert "the limit is 1 MB" in problem


def test_pictures_and_recordings_come_together_with_one_context(owner, project):
    files = [("../../a song.png", wav()), ("film.mp4", mp4()), ("dot.png", picture(size=(1, 1))), ("x.mp3", SCRIPT)]
    preview = send(owner, project, *files, context="Sing.")
    page = preview.content.decode()
    assert "Only 1 × 1 pixels" in page
    assert "x.mp3" in page
    assert '<audio class="picture-preview"' in page
    heard = owner.get(reverse("items-import", args=[project.pk]) + f"?upload={preview.context['upload'].id}&picture=0")
    assert heard.getvalue() == wav()
    words = "Sang\nsung " * 300
    done = confirm(owner, project, preview, **{"0-description": words, "1-description": "A film"})
    assert "3 items are imported" in done.content.decode()
    items = {item.kind: item for item in project.items.exclude(media="")}
    assert {item.context.body for item in items.values()} == {"Sing."}
    assert items["audio"].body == words.strip()
    assert "song" not in items["audio"].media.name
    assert items["audio"].media.name.endswith(".wav")
    with default_storage.open(items["video"].media.name) as file:
        assert file.read() == mp4()


@pytest.mark.parametrize(
    ("asked", "size", "part"),
    [
        ("bytes=0-", 10, (0, 10)),
        ("bytes=0-1", 10, (0, 2)),
        ("bytes=4-99", 10, (4, 6)),
        ("bytes=-3", 10, (7, 3)),
        ("bytes=-99", 10, (0, 10)),
        ("bytes=9-9", 10, (9, 1)),
        ("bytes=10-", 10, None),
        ("bytes=-0", 10, None),
        ("bytes=5-4", 10, (0, 10)),
        ("bytes=-", 10, (0, 10)),
        ("bytes=0-1,3-4", 10, (0, 10)),
        ("items=0-1", 10, (0, 10)),
        ("bytes=²-3", 10, (0, 10)),
        ("", 10, (0, 10)),
    ],
)
def test_the_part_that_a_range_names(asked, size, part):
    assert http_ranges.parse_range(asked, size) == part


def check_parts(owner, project):
    content = mp4()
    item = recording(project, content, "video", name="items/film.mp4")
    whole = owner.get(address(item))
    assert whole.getvalue() == content
    assert (whole.status_code, whole["Accept-Ranges"]) == (200, "bytes")
    part = owner.get(address(item), headers={"Range": "bytes=100-199", "If-Range": whole["ETag"]})
    assert part.getvalue() == content[100:200]
    assert (part.status_code, part["Content-Length"]) == (206, "100")
    assert part["Content-Range"] == f"bytes 100-199/{len(content)}"
    changed = owner.get(address(item), headers={"Range": "bytes=100-199", "If-Range": '"another"'})
    assert (changed.status_code, changed.getvalue()) == (200, content)
    beyond = owner.get(address(item), headers={"Range": "bytes=999999-"})
    assert (beyond.status_code, beyond["Content-Range"]) == (416, f"bytes */{len(content)}")
    head = owner.head(address(item))
    assert (head["Content-Length"], head.content) == (str(len(content)), b"")
    assert owner.get(address(item), headers={"If-None-Match": whole["ETag"]}).status_code == 304


@pytest.mark.parametrize("at_once", [10, 2**20])
def test_players_get_the_parts_they_ask_for(owner, project, monkeypatch, at_once):
    monkeypatch.setattr(http_ranges, "MAX_BYTES_UNSTREAMED", at_once)
    check_parts(owner, project)


def test_a_file_that_is_not_of_its_items_kind_is_not_served(owner, project):
    for n, (content, kind) in enumerate([(SCRIPT, "audio"), (wav(), "video"), (picture(), "audio"), (wav(), "image")]):
        item = recording(project, content, kind, key=f"{n}")
        assert owner.get(address(item)).status_code == 404


class Objects(Storage):
    """An object store: no paths, no folders, only names; shared by the whole process."""

    objects: dict[str, bytes] = {}

    def _open(self, name: str, mode: str = "rb") -> File:
        if name not in self.objects:
            raise FileNotFoundError(name)
        return File(io.BytesIO(self.objects[name]), name)

    def _save(self, name: str, content: File) -> str:
        self.objects[name] = b"".join(content.chunks())
        return name

    def delete(self, name: str) -> None:
        self.objects.pop(name, None)

    def exists(self, name: str) -> bool:
        return name in self.objects

    def listdir(self, path: str) -> tuple[list[str], list[str]]:
        inside = [name[len(path) + 1 :] for name in self.objects if name.startswith(f"{path}/")]
        return sorted({name.split("/")[0] for name in inside if "/" in name}), [n for n in inside if "/" not in n]

    def size(self, name: str) -> int:
        return len(self.objects[name])

    def get_modified_time(self, name: str) -> datetime:
        if name not in self.objects:
            raise FileNotFoundError(name)
        return datetime(2026, 11, 20, tzinfo=UTC)


@pytest.fixture
def objects(settings):
    settings.STORAGES = {**settings.STORAGES, "default": {"BACKEND": f"{__name__}.Objects"}}
    Objects.objects.clear()
    return Objects.objects


def test_an_object_store_does_all_that_a_folder_does(owner, project, objects):
    check_parts(owner, project)
    preview = send(owner, project, ("fox.png", picture()), ("song.wav", wav()))
    confirm(owner, project, preview, **{"1-description": "A song"})
    assert not [name for name in objects if name.startswith("imports/")]
    item = project.items.get(kind="audio")
    with pytest.raises(NotImplementedError):
        item.media.path  # noqa: B018
    owner.post(reverse("items", args=[project.pk]), {"item": item.pk, "action": "delete"})
    assert owner.get(address(project.items.get(kind="image")))["Content-Type"] == "image/png"
    for _ in range(7):  # of which the last five wait
        send(owner, project, ("fox.png", picture()))
    assert len([name for name in objects if name.endswith("upload.json")]) == 5


def test_where_files_are_kept_is_one_variable():
    assert parse_storage_url("") == FOLDER_STORAGE
    bucket = parse_storage_url("s3://my-bucket/rank?endpoint=https://objects.example.org&region=eu")
    assert bucket["BACKEND"] == "storages.backends.s3.S3Storage"
    assert bucket["OPTIONS"] == {
        "bucket_name": "my-bucket",
        "location": "rank",
        "endpoint_url": "https://objects.example.org",
        "region_name": "eu",
        "default_acl": None,
        "file_overwrite": False,
        "querystring_auth": True,
    }
    for url in ("ftp://host", "s3://", "s3://key:secret@bucket", "/srv/media"):
        with pytest.raises(ImproperlyConfigured):
            parse_storage_url(url)
