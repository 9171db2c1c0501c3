"""Zip files of media with a manifest: what is in them becomes items, and what could do harm is refused by name."""

import io
import stat
import zipfile

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.urls import reverse
from PIL import Image

from annotate.files import limits
from annotate.files.limits import BadFile
from annotate.imports import queue as imports_queue
from annotate.imports.actions import start_import
from annotate.imports.media import archives
from annotate.imports.media.archives import Archive
from annotate.management.commands.worker import create_worker
from annotate.models import FeatureNames, ImportJob, Item
from tests.conftest import NOW
from tests.site.pages import page, signed_in
from tests.site.recordings import wav

MANIFEST = (
    "file,key,alt,tags,context,feature_size\n"
    "a.png,first,A teal square,colour;plain,Squares,1.5\n"
    "sub/b.wav,second,A tone,,Squares,2\n"
)


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)


def png() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (40, 40), "teal").save(out, "PNG")
    return out.getvalue()


def packed(files: dict) -> bytes:
    """names (or ZipInfos) to contents."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def rows(content: bytes, keys=()):
    return list(Archive(io.BytesIO(content), keys).rows())


def test_from_the_upload_to_the_items(project, alice):
    content = packed({"set/manifest.csv": MANIFEST, "set/a.png": png(), "set/sub/b.wav": wav(), "set/.DS_Store": b"x"})
    owner = signed_in(alice)
    url = reverse("items-import", args=[project.pk])
    told = owner.post(url, {"way": "archive", "archive": ContentFile(content, "set.zip")}, follow=True)
    assert "Waiting to be checked" in told.content.decode()
    create_worker("test").run_job(imports_queue.QUEUE)
    job = ImportJob.objects.get()
    assert (job.state, job.errors) == ("checked", [])
    assert project.items.count() == 6
    assert "Import 2 rows" in owner.get(reverse("import-job", args=[project.pk, job.pk])).content.decode()
    owner.post(reverse("import-job", args=[project.pk, job.pk]), {"action": "go"})
    create_worker("test").run_job(imports_queue.QUEUE)
    job.refresh_from_db()
    assert (job.state, job.message) == ("done", "")
    first, second = Item.objects.get(key="first"), Item.objects.get(key="second")
    assert (first.kind, first.body, str(first.context)) == ("image", "A teal square", "Squares")
    assert set(first.tags.values_list("name", flat=True)) == {"colour", "plain"}
    assert (second.kind, second.body) == ("audio", "A tone")
    with first.media.open() as file:
        assert Image.open(file).size == (40, 40)
    assert FeatureNames.objects.get().names == ["size"]
    assert not default_storage.exists(f"{job.folder}/upload")


def test_without_a_manifest_each_file_is_an_item():
    found = rows(packed({"red_square.png": png()}))
    assert [(line[1].key, line[1].body) for line in found[0].lines] == [("red_square.png", "red square")]


def test_limits_are_written_with_thousands(project, alice):
    assert "40 pages each, 2,000 pages together" in page(signed_in(alice), project, "items-import")


def test_without_a_manifest_what_is_wrong_is_told_of_files_not_of_rows(project, alice):
    owner = signed_in(alice)
    url = reverse("items-import", args=[project.pk])
    owner.post(url, {"way": "archive", "archive": ContentFile(packed({"a.txt": b"hello"}), "set.zip")})
    create_worker("test").run_job(imports_queue.QUEUE)
    job = ImportJob.objects.get()
    html = owner.get(reverse("import-job", args=[project.pk, job.pk])).content.decode()
    assert "Checked: nothing can be imported" in html
    assert "Checked: nothing can be imported" in owner.get(url).content.decode()
    assert "None of the files can be imported." in html
    assert "“a.txt”: This is not a picture" in html
    assert "Row 1" not in html
    assert "waiting for you to confirm" not in html


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("file,key\na.png,k\ngone.png,l\n", "There is no file “gone.png” in the zip file"),
        ("file,key\na.png,k\na.png,l\n", "is already used in row 2"),
        ("file,key\na.png,taken\n", "The key “taken” is already used"),
        ("file,key,feature_x\na.png,k,nan\n", "The feature “x” is “nan”, which is not a finite number"),
        ('file,features\na.png,"{""x"": 1}"\nb.png,"{""y"": 1}"\n', "Give all items the same features"),
        ("file,key\nb.png,k\n", "No row of the manifest names the file “a.png”"),
        ("file,key\nbad.png,k\na.png,l\nb.png,m\n", "“bad.png”: This is not a picture"),
    ],
)
def test_rows_of_a_manifest_that_fit_no_file_say_so(manifest, message):
    files = {"manifest.csv": manifest, "a.png": png(), "b.png": png(), "bad.png": b"<html>"}
    problems = [row.problem for row in rows(packed(files), {"taken"}) if row.problem]
    assert any(message in problem for problem in problems), problems


def link() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("link.png")
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return info


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"../../etc/passwd": b"x"}, "“../../etc/passwd” in the zip file has a path that leads out of the zip file"),
        ({"/abs.png": b"x"}, "“/abs.png” in the zip file has a path that leads out of the zip file"),
        ({"c:\\a.png": b"x"}, "has a path that leads out of the zip file"),
        ({link(): b"/etc/passwd"}, "“link.png” in the zip file is a link to another file"),
        ({"bomb.png": b"\0" * 2**22}, "“bomb.png” in the zip file unpacks to more than 200 times its size"),
        ({"manifest.csv": "name,key\na,b\n"}, "has no column “file”"),
    ],
)
def test_what_could_do_harm_is_refused_by_name(files, message):
    with pytest.raises(BadFile, match=None) as refused:
        rows(packed(files))
    assert message in str(refused.value)


def test_too_many_too_large_and_none_at_all(monkeypatch):
    monkeypatch.setattr(archives, "MAX_ENTRIES", 2)
    with pytest.raises(BadFile, match="holds 3 files; the limit is 2"):
        rows(packed({f"{n}.png": b"x" for n in range(3)}))
    monkeypatch.setattr(archives, "MAX_UNFOLDED", 10)
    with pytest.raises(BadFile, match=r"has over 0 MB .reached at “b\.png”"):
        rows(packed({"a.png": b"x" * 6, "b.png": b"x" * 6}))
    with pytest.raises(BadFile, match="not a zip file"):
        rows(b"PK\x03\x04 but then nothing")


def test_an_entry_that_lies_about_its_size_is_not_unfolded(monkeypatch):
    monkeypatch.setattr(archives, "MAX_IMAGE_BYTES", 1000)
    monkeypatch.setattr(archives, "MAX_RECORDING_BYTES", 1000)
    (found,) = rows(packed({"large.png": bytes(range(256)) * 8}))
    assert "The file has more than" in found.problem


def damaged(content: bytes, name: str) -> bytes:
    """Return a zip file whose entry of this name can't be unpacked, while its directory is whole."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        info = archive.getinfo(name)
    start = info.header_offset + 30 + len(info.filename.encode())
    assert info.compress_size > 8
    return content[:start] + b"\xff" * info.compress_size + content[start + info.compress_size :]


def test_an_entry_that_can_not_be_unpacked_is_named():
    (found,) = rows(damaged(packed({"a.png": png()}), "a.png"))
    assert "The file is damaged in the zip file" in found.problem


def test_a_damaged_archive_fails_with_its_reason(project):
    job = start_import(
        project=project, actor=None, kind="media", source="a.zip", file=ContentFile(b"PK\x03\x04x"), mapping={}, now=NOW
    )
    create_worker("test").run_job(imports_queue.QUEUE)
    job.refresh_from_db()
    assert job.state == "failed"
    assert "not a zip file" in job.message
    assert limits.MAX_ENTRIES == 10_000
