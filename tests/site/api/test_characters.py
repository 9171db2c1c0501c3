"""Halves of characters in JSON are refused wherever they stand; whole ones, written as two halves, are not."""

import json

import pytest
from django.urls import reverse

from annotate.models import Project
from tests.site.pages import signed_in


@pytest.mark.parametrize(
    "body",
    [
        '{"name": "a\\ud800b", "question": "q"}',
        '{"name": "a", "\\udfff": 1}',
        '{"name": [["\\uDC00"]]}',
        '"\\ud800\\ud800"',
    ],
)
def test_half_of_a_character_is_named(alice, body):
    response = signed_in(alice).post(reverse("api-projects"), body, content_type="application/json")
    assert response.status_code == 400
    assert "half of a character, \\ud" in response.json()["detail"]
    assert not Project.objects.exists()


def test_a_pair_is_one_character(alice):
    body = json.dumps({"name": "😀", "question": "Which?"})
    assert "\\ud83d" in body
    assert signed_in(alice).post(reverse("api-projects"), body, content_type="application/json").status_code == 201
    assert Project.objects.get().name == "😀"


def test_written_out_it_is_text(alice):
    body = '{"name": "\\\\ud800", "question": "Which?"}'
    assert signed_in(alice).post(reverse("api-projects"), body, content_type="application/json").status_code == 201
    assert Project.objects.get().name == "\\ud800"
