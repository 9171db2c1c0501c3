"""Zero characters, which PostgreSQL stores in no text, are no error page on either database."""

import pytest
from django.db import DataError
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import reverse

from annotate.core.zero_characters import ZeroCharactersMiddleware
from tests.conftest import make_annotator
from tests.site.labelling.test_labelling import as_annotator
from tests.site.pages import signed_in

MIDDLEWARE = ZeroCharactersMiddleware(lambda request: HttpResponse())


def test_a_view_that_looks_for_a_row_by_one_refuses_it(project):
    response = as_annotator(make_annotator(project, "Quiet Otter")).post(
        reverse("undo", args=[project.pk]), {"token": "a\0b"}
    )
    assert 400 <= response.status_code < 500
    assert "Traceback" not in response.content.decode()


@pytest.mark.parametrize("data", [{"q": "a\0b"}, {"a\0": "b"}, {"q": ["fine", "\0"]}])
@pytest.mark.parametrize("error", [ValueError("no number"), DataError("no NUL bytes")])
def test_what_one_breaks_is_a_bad_request(data, error):
    for request in (RequestFactory().get("/", data), RequestFactory().post("/", data)):
        response = MIDDLEWARE.process_exception(request, error)
        assert response is not None
        assert response.status_code == 400


def test_an_address_with_one_is_nothing(client, db):
    assert client.get("/join/%00/").status_code == 404


def test_other_errors_stay_errors():
    request = RequestFactory().get("/", {"q": "0 \\0 %00"})
    assert MIDDLEWARE.process_exception(request, ValueError("ours")) is None
    request = RequestFactory().get("/", {"q": "\0"})
    assert MIDDLEWARE.process_exception(request, KeyError("ours")) is None


def test_a_search_for_one_is_answered(project, alice):
    assert signed_in(alice).get(reverse("items", args=[project.pk]), {"q": "a\0b"}).status_code == 200


def test_the_api_names_the_field(project, alice):
    response = signed_in(alice).post(
        reverse("api-projects"), {"name": "a\0b", "question": "Which?"}, content_type="application/json"
    )
    assert response.status_code == 400
    assert list(response.json()["errors"]) == ["name"]
