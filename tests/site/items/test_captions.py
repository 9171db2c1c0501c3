"""Captions of recordings: checked by content, uploaded with them or later, served safely, shown to annotators."""

import random

import pytest
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotate.core.languages import language_name
from annotate.files.limits import MAX_CAPTIONS_BYTES, Unusable
from annotate.items.captions.webvtt import named, text_of
from annotate.labelling import assignment
from annotate.models import Captions, Item
from tests.conftest import NOW, make_annotator
from tests.site.imports.test_images import confirm, send
from tests.site.labelling.test_labelling import as_annotator, task_of
from tests.site.pages import page, signed_in
from tests.site.recordings import mp4, wav

GOOD = "WEBVTT - a talk\n\n00:00.000 --> 00:01.500\nHello.\n\n1\n01:00:02.000 --> 01:00:03.000 align:start\n[bell]\n"


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)


@pytest.fixture
def owner(alice):
    return signed_in(alice)


@pytest.fixture
def recordings(project) -> list[Item]:
    """The project's only two items: sound, and a video."""
    project.items.update(retired_at=NOW)
    items = [Item(project=project, key=kind, kind=kind, body=f"The {kind}") for kind in ("audio", "video")]
    for item, content in zip(items, (wav(), mp4()), strict=True):
        item.media.save("file", ContentFile(content), save=True)
    return items


def file(content: str | bytes, name: str = "talk.en.vtt") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)


@pytest.mark.parametrize(
    "content", [GOOD, GOOD.replace("\n", "\r\n"), "\ufeff" + GOOD, "WEBVTT\n\n00:00.000 --> 00:01.000"]
)
def test_captions_are_known_by_their_content(content):
    assert text_of(file(content)).startswith("WEBVTT")
    assert "\r" not in text_of(file(content))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "begin with “WEBVTT”"),
        ("WEBVTTX\n\n00:00.000 --> 00:01.000\n", "begin with “WEBVTT”"),
        ("<script>alert(1)</script>", "begin with “WEBVTT”"),
        ("1\n00:00:01,000 --> 00:00:02,000\nSubRip", "begin with “WEBVTT”"),
        ("WEBVTT\n\nHello.", "have no times"),
        ("WEBVTT\n\n00:00.000 --> 00:99.000\nx", "have no times"),
        (GOOD + "\0", "begin with"),
        (GOOD.encode("utf-16"), "not UTF-8"),
        (GOOD + "x" * MAX_CAPTIONS_BYTES, "the limit is 500 KiB"),
    ],
    ids=range(9),
)
def test_what_is_no_captions_says_why(content, words):
    with pytest.raises(Unusable, match=words):
        text_of(file(content))


def test_the_name_tells_the_recording_and_the_language():
    assert named("a.talk.pt-BR.vtt") == ("a.talk", "pt-BR")
    for name in ("talk.vtt", ".en.vtt", "talk.english!.vtt"):
        with pytest.raises(Unusable, match="language"):
            named(name)
    assert (language_name("de"), language_name("tlh")) == ("Deutsch", "tlh")


def test_the_owner_gives_replaces_and_removes_captions(owner, project, recordings):
    url = reverse("captions", args=[project.pk, recordings[0].pk])
    assert url in page(owner, project, "items")
    assert "no captions yet" in owner.get(url).content.decode()
    for sent, words in (
        ({"file": file("no"), "language": "en"}, "begin with “WEBVTT”"),
        ({"file": file(GOOD), "language": "e"}, "not a language code"),
        ({"file": file(GOOD), "language": 'en" onx=1'}, "not a language code"),
        ({"language": "en"}, "This field is required"),
    ):
        refused = owner.post(url, sent)
        assert refused.status_code == 400
        assert words in refused.content.decode()
    for language in ("en", "de"):
        assert owner.post(url, {"file": file(GOOD), "language": language}).status_code == 302
        assert Captions.objects.get().language == language
    shown = owner.get(url).content.decode()
    assert "It has captions: Deutsch." in shown
    assert 'srclang="de" label="Deutsch" default' in shown
    owner.post(url, {"remove": ""})
    assert not Captions.objects.exists()
    text = project.items.filter(kind="text").first()
    assert owner.get(reverse("captions", args=[project.pk, text.pk])).status_code == 404


def test_annotators_get_them_with_the_task_and_nobody_else_does(client, project, recordings, charlie):
    Captions.objects.create(item=recordings[0], language="en", text=GOOD)
    address = reverse("item-captions", args=[recordings[0].pk])
    otter = make_annotator(project, "Quiet Otter")
    mine = as_annotator(otter)
    for other in (client, signed_in(charlie), mine):
        assert other.get(address).status_code == 404  # not shown to them, or nobody's business
    assignment.next_presentation(annotator=otter, now=NOW, rng=random.Random(1))
    task = mine.get(task_of(project)).content.decode()
    assert task.count("<track ") == 1
    assert f'<track kind="captions" src="{address}" srclang="en" label="English" default>' in task
    served = mine.get(address)
    assert served.content.decode() == GOOD
    assert served["Content-Type"] == "text/vtt; charset=utf-8"
    assert served["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in served["Content-Security-Policy"]
    assert mine.get(reverse("item-captions", args=[recordings[1].pk])).status_code == 404


def test_captions_come_with_the_recording_of_their_name(owner, project):
    names = ["talk.en.vtt", "lost.en.vtt", "song.vtt", "bad.en.vtt"]
    captions = [(name, GOOD.encode()) for name in names[:3]] + [(names[3], b"no")]
    preview = send(owner, project, ("talk.wav", wav()), ("film.mp4", mp4()), *captions)
    told = " ".join(preview.content.decode().split())
    assert 'Captions: <bdi class="break-anywhere">talk.en.vtt</bdi>' in told
    for words in ("No sound or video called “lost”", "does not say the language", "begin with “WEBVTT”"):
        assert words in told
    confirm(owner, project, preview, **{"0-description": "A talk", "1-description": "A film"})
    stored = Captions.objects.get()
    assert (stored.item.key, stored.language, stored.text) == ("talk.wav", "en", GOOD)
