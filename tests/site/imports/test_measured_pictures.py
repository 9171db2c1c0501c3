"""Measuring pictures: items that are images get 24 features each; what can't be read is left out and named."""

import io

import numpy as np
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.urls import reverse
from PIL import Image

from annotate.fitting.features import item_features
from annotate.imports.actions import measure_pictures
from annotate.imports.pictures import NoPictures, measure
from annotate.models import FeatureNames, ImportJob, Item, ItemFeatures
from models_engine.analysis.picture_features import NAMES
from tests.conftest import NOW, make_user, member
from tests.site.api_client import Api
from tests.site.imports.test_comparison_tables import media  # noqa: F401 (a fixture)
from tests.site.imports.test_jobs import work
from tests.site.pages import page, signed_in

pytestmark = [pytest.mark.usefixtures("media"), pytest.mark.embedded]


def store(colour, form="PNG", size=(60, 30), mode="RGB") -> str:
    out = io.BytesIO()
    Image.new(mode, size, colour).save(out, form)
    return default_storage.save(f"items/x.{form.lower()}", ContentFile(out.getvalue()))


def add(project, key, name) -> Item:
    return Item.objects.create(project=project, key=key, kind="image", media=name, body="")


def test_pictures_become_features_of_their_items(project, alice):
    red, white = add(project, "red", store((255, 0, 0))), add(project, "white", store((255, 255, 255), "JPEG"))
    broken = add(project, "broken", default_storage.save("items/b.png", ContentFile(b"no picture")))
    owner = signed_in(alice)
    assert "Measure 3 pictures" in page(owner, project, "features-import")
    assert owner.post(reverse("features-measure", args=[project.pk])).status_code == 302
    work()
    job = ImportJob.objects.get()
    assert (job.state, job.n_written, job.n_bad) == ("done", 2, 1)
    assert "can't be read" in job.errors[0][1]
    assert FeatureNames.objects.get().names == [f"picture_{name}" for name in NAMES]
    assert not ItemFeatures.objects.filter(item=broken).exists()
    matrix = item_features(project, np.array([red.pk, white.pk]))
    assert matrix[:, 0] == pytest.approx([0.299, 1.0], abs=0.01)
    assert matrix[:, NAMES.index("aspect")] == pytest.approx([np.log(2)] * 2)
    html = owner.get(reverse("import-job", args=[project.pk, job.pk])).content.decode()
    assert "2 pictures are measured" in html


def test_what_is_transparent_stands_on_white():
    assert measure(store((0, 0, 0, 0), mode="RGBA"))[0] == pytest.approx(1.0)


def test_the_api_measures_too_and_a_project_without_pictures_says_so(project, alice):
    api = Api(alice, project)
    refused = api("post", "features-measure")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:crowdrank:problem:no-pictures")
    with pytest.raises(NoPictures, match="no pictures to measure"):
        measure_pictures(project=project, actor=alice, now=NOW)
    add(project, "one", store((1, 2, 3)))
    for who, status in ((Api(member(project, "vi", "viewer"), project), 403), (Api(make_user("x"), project), 404)):
        assert who("post", "features-measure").status_code == status
    assert Client().post(reverse("api-features-measure", args=[project.pk])).status_code == 401
    sent = api("post", "features-measure")
    assert (sent.status_code, sent.json()["kind"]) == (202, "measured")
    work()
    assert api("get", "import", args=[sent.json()["id"]]).json()["n_written"] == 1
