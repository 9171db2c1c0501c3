"""The OpenAPI document: complete, without warnings, and true of what the addresses answer."""

import re
from io import StringIO

import hypothesis
import hypothesis.strategies as st
import pytest
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse

from annotate.api import problems
from annotate.api.schema import METHODS, schema
from annotate.api_urls import urlpatterns
from annotate.models import Project
from tests.conftest import answer_one, make_annotator, make_token
from tests.site.api.test_api_access import RULES, address, arguments, people  # noqa: F401  (fixtures)
from tests.site.api_client import Api
from tests.site.factories import spread_fit

pytestmark = pytest.mark.embedded


@pytest.mark.slow
def test_the_schema_is_valid_and_gives_no_warning():
    call_command("spectacular", validate=True, fail_on_warn=True, stdout=StringIO())


def test_every_operation_says_how_it_fails_and_who_may_ask():
    for path, methods in schema()["paths"].items():
        assert path.startswith("/api/v1/")
        for method in METHODS:
            operation = methods.get(method)
            if operation:
                assert {"400", "401", "403", "404", "409", "422", "429"} <= set(operation["responses"]), path
                assert operation["description"], f"{method} {path} has no description"


@pytest.mark.slow
def test_the_reference_shows_every_operation(client, db):
    page = client.get(reverse("api-reference"))
    html = page.content.decode()
    for methods in schema()["paths"].values():
        for method in METHODS:
            if method in methods:
                assert f'id="{methods[method]["operationId"]}"' in html
    assert "'unsafe-inline'" not in page["Content-Security-Policy"]
    assert "<script>" not in html


@pytest.mark.slow
def test_what_the_document_says_of_input_holds(alice, project):
    """Texts in lists are texts, keys of requests are printable, and an address without a view answers no method."""
    api = Api(alice, project)
    item = project.items.first()
    assert set(api("patch", "item", {"tags": ["a", 7]}, args=[item.pk]).json()["errors"]) == {"tags.1"}
    assert api("post", "items", {"items": [{"text": "x"}]}, key="a\tb").status_code == 400
    nowhere = api.client.options("/api/v1/nothing/", headers={"Authorization": f"Bearer {api.secret}"})
    assert nowhere.status_code == 404
    document = schema()["components"]["schemas"]["NewItemRequest"]["properties"]
    assert document["text"]["pattern"] == r"^[^\x00]*$"
    assert "pattern" not in document["kind"]


def test_what_must_be_said_is_no_blank(alice, project):
    pattern = schema()["components"]["schemas"]["TaggedRowRequest"]["properties"]["tags"]["items"]["pattern"]
    make_annotator(project, "Otter")
    for tag, status in (("a b", 200), (" ", 400), ("\u2003", 400), ("\x1f", 400)):
        row = {"annotator": "Otter", "tags": [tag]}
        assert Api(alice, project)("post", "annotator-tags", {"action": "tag", "rows": [row]}).status_code == status
        assert bool(re.search(pattern, tag)) == (status == 200)
    assert not re.search(pattern, "\x1f", re.ASCII)  # whose blanks, as JavaScript's, leave the separators out


def test_what_breaks_a_rule_is_told_from_what_is_not_as_the_document_says(alice, project):
    api = Api(alice, project)
    unlike, against = api("patch", "goal", {"goal": "fame"}), api("patch", "goal", {"goal": "plan"})
    assert (unlike.status_code, set(unlike.json()["errors"])) == (400, {"goal"})
    assert (against.status_code, set(against.json()["errors"])) == (422, {"goal"})
    assert api("get", "ranking", criterion=2).status_code == 422


def test_what_has_gone_meanwhile_is_not_found():
    assert problems.handle_exception(Project.DoesNotExist(), {}).status_code == 404


def parameters_of(path: str) -> list[str]:
    operation = schema()["paths"][path]["get"]
    return [one["name"] for one in operation.get("parameters", []) if one["in"] == "query"]


LISTS = {
    name: f"/api/v1/projects/{{project_id}}/{name}/"
    for name in ("items", "labels", "annotators", "ranking", "fits", "members")
}
ODD = st.one_of(
    st.text(max_size=20),
    st.integers().map(str),
    st.datetimes().map(str),
    st.sampled_from(["", "0", "-1", "1e400", "nan", "\0", "2026-01-01T00:00:00+99:99", "9999-12-31T23:59:59-23:59"]),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LISTS))
@hypothesis.settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture, hypothesis.HealthCheck.too_slow],
)
@hypothesis.given(data=st.data())
def test_no_parameter_breaks_a_list(name, data, api_of_a_fitted_project):
    """Whatever the parameters of the document are given, the answer is a page or says what is wrong."""
    known = parameters_of(LISTS[name])
    query = data.draw(st.dictionaries(st.sampled_from([*known, "other"]), ODD, max_size=3))
    get = api_of_a_fitted_project
    answer = get(name, query)
    assert answer.status_code in (200, 400, 404, 422), answer.content
    if answer.status_code != 200:
        assert answer["Content-Type"] == "application/problem+json"
        assert set(answer.json().get("errors", {})) <= set(query)
    if "other" in query:
        assert "other" in answer.json()["errors"]


@pytest.fixture
def api_of_a_fitted_project(alice, project, monkeypatch):
    monkeypatch.setattr("annotate.api.throttling.ApiThrottle.THROTTLE_RATES", {"api": "100000/day"})
    answer_one(make_annotator(project, "Otter"))
    spread_fit(project, list(project.items.order_by("pk")))
    secret, client = make_token(alice)[1], Client()

    def get(name: str, query: dict[str, str]):
        url = reverse(f"api-{name}", args=[project.pk])
        return client.get(url, query, headers={"Authorization": f"Bearer {secret}"})

    return get


@pytest.mark.slow
def test_what_a_patch_may_leave_out_is_as_described(people, arguments, project):  # noqa: F811
    """Each PATCH sent with nothing in it: 400 where the document requires a field, and only there."""
    secret, wrong, n = make_token(people["owner"])[1], [], 0
    for name, methods in RULES.items():
        if "patch" not in methods or name == "api-item":  # nothing to change is 422 there
            continue
        pattern = next(route.pattern for route in urlpatterns if route.name == name)
        path = next(path for path in schema()["paths"] if same_address(path, str(pattern)))
        body = schema()["paths"][path]["patch"].get("requestBody", {})
        with transaction.atomic():
            answer = Client().patch(
                address(name, arguments),
                {},
                content_type="application/json",
                headers={"Authorization": f"Bearer {secret}"},
            )
            transaction.set_rollback(True)
        n += 1
        if (answer.status_code == 400) != body.get("required", False):
            wrong.append(f"{name}: {answer.status_code}, required: {body.get('required', False)}")
    assert wrong == []
    assert n > 8


def same_address(path: str, pattern: str) -> bool:
    """Compares an address of the document with one of the URL table: /api/v1/x/{id}/ and v1/x/<uuid:id>/."""
    return path.removeprefix("/api/") == re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", pattern)
