"""Measuring texts: every text gets its length and its words as features; what has no words is left out and named."""

import numpy as np
import pytest
from django.urls import reverse

from annotate.fitting.features import item_features
from annotate.imports import texts
from annotate.imports.actions import measure_texts
from annotate.imports.texts import NoTexts, TooManyTexts
from annotate.models import FeatureNames, ImportJob, Item, ItemFeatures
from models_engine.analysis.text_features import NAMES
from models_engine.analysis.text_features import measure_texts as measured
from tests.conftest import NOW, member
from tests.site.api_client import Api
from tests.site.imports.test_comparison_tables import media  # noqa: F401 (a fixture)
from tests.site.imports.test_jobs import work
from tests.site.pages import page, signed_in

pytestmark = [pytest.mark.usefixtures("media"), pytest.mark.embedded, pytest.mark.slow]
WORDS = [
    "<p>red apples</p>",
    "green apples",
    "red cars",
    "green cars",
    "rote Autos",
    "苹果很好",
    "red red apples",
    "cars",
]


def add(project, bodies) -> list[Item]:
    kinds = [Item.Kind.HTML if body.startswith("<") else Item.Kind.TEXT for body in bodies]
    rows = [
        Item(project=project, key=f"t{n}", kind=kind, body=body)
        for n, (body, kind) in enumerate(zip(bodies, kinds, strict=True))
    ]
    return Item.objects.bulk_create(rows)


def test_texts_become_features_of_their_items(project, alice):
    project.items.all().delete()
    items = add(project, [*WORDS, "..."])
    Item.objects.filter(pk=items[3].pk).update(retired_at=NOW)
    owner = signed_in(alice)
    assert "Measure 9 texts" in page(owner, project, "features-import")
    sent = owner.post(reverse("features-measure", args=[project.pk]), {"what": "texts"})
    assert sent.status_code == 302
    work()
    job = ImportJob.objects.get()
    assert (job.state, job.n_written, job.n_bad, job.kind) == ("done", 8, 1, "measured_texts")
    assert "no words" in job.errors[0][1]
    assert FeatureNames.objects.get().names == [f"text_{name}" for name in NAMES]
    assert not ItemFeatures.objects.filter(item=items[-1]).exists()
    assert "8 texts are measured" in owner.get(reverse("import-job", args=[project.pk, job.pk])).content.decode()
    matrix = item_features(project, np.array([item.pk for item in items[:8]]))
    expected = measured([item.words for item in items])[:8]
    assert matrix == pytest.approx(expected[:, np.isfinite(expected).any(axis=0)])


def test_measured_again_all_texts_have_the_new_directions(project, alice):
    project.items.all().delete()
    add(project, WORDS)
    measure_texts(project=project, actor=alice, now=NOW)
    work()
    more = Item.objects.create(project=project, key="more", body="blue cars and green apples")
    measure_texts(project=project, actor=alice, now=NOW)
    work()
    items = list(project.items.order_by("pk"))
    assert items[-1] == more
    expected = measured([item.words for item in items])
    matrix = item_features(project, np.array([item.pk for item in items]))
    assert matrix == pytest.approx(expected[:, np.isfinite(expected).any(axis=0)])


def test_too_few_texts_and_too_many_are_named(project, alice, monkeypatch):
    project.items.all().delete()
    api = Api(alice, project)
    refused = api("post", "features-measure", {"what": "texts"})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:crowdrank:problem:no-texts")
    add(project, ["one", "!", "?"])
    measure_texts(project=project, actor=alice, now=NOW)
    work()
    job = ImportJob.objects.get()
    assert (job.state, job.message) == ("failed", str(NoTexts()))
    monkeypatch.setattr("annotate.imports.actions.MAX_TEXTS", 2)
    with pytest.raises(TooManyTexts, match="3 texts"):
        measure_texts(project=project, actor=alice, now=NOW)
    assert texts.texts_of(project).count() == 3


def test_the_api_measures_texts_for_those_who_manage(project, alice):
    project.items.all().delete()
    add(project, WORDS)
    assert (
        Api(member(project, "vi", "viewer"), project)("post", "features-measure", {"what": "texts"}).status_code == 403
    )
    api = Api(alice, project)
    assert api("post", "features-measure", {"what": "sounds"}).status_code == 400
    sent = api("post", "features-measure", {"what": "texts"})
    assert (sent.status_code, sent.json()["kind"]) == (202, "measured_texts")
