"""The answers asked of each annotator: the owner's number or a share of the items, shown and never a limit."""

import pytest
from django.urls import reverse

from annotate.labelling.targets import answer_target, target_reached
from annotate.models import Project
from tests.conftest import answer_one, make_annotator
from tests.site.api_client import Api
from tests.site.factories import make_labels
from tests.site.pages import page, signed_in


@pytest.fixture
def asked(project) -> Project:
    """Six items by pairs: 60 answers show each of them 20 times."""
    Project.objects.filter(pk=project.pk).update(annotators_expected=25, overlap=1000)
    project.refresh_from_db()
    return project


def test_the_target_is_a_share_of_the_items_or_the_owners_number(asked):
    assert answer_target(asked) == 3, "60 answers of 25 people: 2.4, rounded up"
    asked.target = 7
    assert answer_target(asked) == 7
    asked.cap = 5
    assert answer_target(asked) == 5, "a limit is never exceeded"
    asked.target = asked.annotators_expected = None
    assert answer_target(asked) is None


def test_a_task_says_how_many_are_asked_and_goes_on_beyond(asked, client):
    client.post(reverse("join", args=[asked.join_token]), {"pseudonym": "Heron"})
    heron = asked.annotators.get(pseudonym="Heron")
    task = reverse("label", args=[asked.pk])
    assert "0 of 3" in client.get(task).content.decode()
    for seed in range(3):
        answer_one(heron, seed=seed)
    html = " ".join(client.get(task).content.decode().split())
    assert "3 of 3: all that was asked of you. You may go on." in html
    answer_one(heron, seed=3)
    assert "4 of 3" in client.get(task).content.decode()


def test_progress_people_and_api_say_who_has_reached_it(asked, alice):
    make_labels(asked, [make_annotator(asked, "Otter")], 4)
    make_labels(asked, [make_annotator(asked, "Heron")], 2, seed=1)
    found = target_reached(asked)
    assert (found.n, found.n_annotators, found.n_reached) == (3, 2, 1)
    assert "1 of 2 people have given as many" in page(signed_in(alice), asked, "progress")
    assert '4 <span class="muted">of 3</span>' in page(signed_in(alice), asked, "annotators")
    told = Api(alice, asked)("get", "progress").json()
    assert told["target"] == {"n": 3, "n_annotators": 2, "n_reached": 1}
