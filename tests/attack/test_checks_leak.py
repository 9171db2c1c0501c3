"""Gold questions, attention checks and repeats: nothing that an annotator takes away or asks by program names them.

What their page says and by which statements it is made: tests/site/labelling/test_special_tasks.py.
"""

import io
import json
import re
import zipfile
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from annotate.models import Annotator, Item, Presentation, Project, Purpose
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.gold_sets import make_known
from tests.site.labelling.test_api import post
from tests.site.labelling.test_eligibility import set_up
from tests.site.labelling.test_labelling import as_annotator

pytestmark = pytest.mark.slow
WORDS = ("gold", "attention", "repeat", "purpose", "right_answer")
CHECKS = {Purpose.GOLD, Purpose.ATTENTION, Purpose.REPEAT}


@pytest.fixture
def checked(project) -> Annotator:
    """An annotator who has answered tasks of every kind."""
    set_up(project, gold_every=4, attention_every=5, repeat_percent=100, overlap=50)
    Item.objects.bulk_create(Item(project=project, key=f"more-{i}", body=f"More {i}") for i in range(8))
    make_known(project, "gold", 6)
    make_known(project, "attention", 6)
    for item in Item.objects.filter(project=project):  # whose own words would be found
        item.key, item.body = f"k{item.pk}", f"Words {item.pk}"
        item.save()
    otter = make_annotator(project, "Quiet Otter")
    for n in range(20):
        answer_one(otter, now=NOW + timedelta(minutes=n), seed=n)
    assert set(otter.presentations.values_list("purpose", flat=True)) >= CHECKS
    return otter


def told(text: str) -> list[str]:
    """The words that the text holds, outside tokens, in which they may stand by chance."""
    words = re.sub(r"[\w-]{20,}", "", text).lower()
    return [word for word in WORDS if word in words]


@pytest.mark.embedded
def test_ones_own_data_name_no_check(checked):
    response = Client().get(reverse("own-export", args=[checked.resume_token]))
    content = b"".join(response) if response.streaming else response.content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert texts
    assert {name: told(name + text) for name, text in texts.items() if told(name + text)} == {}


@pytest.mark.embedded
def test_ones_own_answers_name_no_check(checked, project):
    page = as_annotator(checked).get(reverse("own-answers", args=[project.pk])).content.decode()
    main = page.partition("<main")[2].partition("</main>")[0]
    assert main.count("own-answer") > 10
    assert told(main) == []


def test_a_program_is_told_the_same_of_each_task(project, checked):
    """The same fields of the same kinds, whatever the task is, and no word of checks."""
    secret = post(reverse("api-join", args=[project.join_token]), {"pseudonym": "Robot"}).json()["secret"]
    step, shapes = post(reverse("api-next", args=[project.pk]), secret=secret).json(), {}
    for _ in range(20):
        token = step["task"]["token"]
        purpose = Presentation.objects.get(token=token).purpose
        shapes.setdefault(purpose, set()).add(json.dumps(shape(step)))
        assert told(json.dumps(step)) == []
        reply = post(reverse("api-answer", args=[token]), {"outcome": "choice", "chosen": 0}, secret)
        assert reply.status_code == 200, reply.content
        step = reply.json()["next"]
    assert set(shapes) >= CHECKS
    assert len(set.union(*shapes.values())) == 1


def shape(value):
    """What kinds of values there are, without the values."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items()}
    return [shape(one) for one in value] if isinstance(value, list) else type(value).__name__


@pytest.mark.embedded
def test_an_annotator_reaches_neither_right_answers_nor_the_ranking(checked, project):
    client = as_annotator(checked)
    for name in ("ranking", "known-sets", "quality", "trust", "exports", "items", "annotators"):
        assert client.get(reverse(name, args=[project.pk])).status_code in (302, 403, 404), name
    for name in ("api-ranking", "api-items", "api-annotators", "api-known-sets"):
        assert client.get(reverse(name, args=[project.pk])).status_code in (401, 403, 404), name
    assert Project.objects.get().pk == project.pk
