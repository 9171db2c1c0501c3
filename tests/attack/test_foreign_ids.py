"""Ids of another project's rows: every address with an id, asked in one's own project with a stranger's row.

Generated from the URL tables of pages and API; tests/site/test_access.py and tests/site/api/test_api_access.py try each
role in the project itself. Answers must be 404 (or 405), and nothing may have been written.
"""

import pytest
from django.core.cache import cache
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.api_urls import urlpatterns
from annotate.models import Membership, Project, User
from tests.conftest import make_token, make_user
from tests.routes import ROUTES
from tests.site.api.test_api_access import RULES as API_RULES
from tests.site.api.test_api_access import arguments as api_arguments  # noqa: F401  (fixtures)
from tests.site.api.test_api_access import people  # noqa: F401
from tests.site.pages import signed_in
from tests.site.test_access import address, arguments, cast  # noqa: F401

# Parts of an address that name no row.
NO_ROWS = {"project_id", "name", "number", "table", "file_format", "language", "provider_id", "token"}
WRITES = ("INSERT", "UPDATE", "DELETE")


@pytest.fixture
def elsewhere(db) -> tuple[User, Project]:
    mallory = make_user("mallory")
    own = Project.objects.create(name="Elsewhere", question="Which?", state="open")
    Membership.objects.create(project=own, user=mallory, role="owner")
    return mallory, own


def written(queries: CaptureQueriesContext) -> list[str]:
    tables = ("django_session", "annotate_apitoken")  # when a token was last used
    return [
        one["sql"][:120]
        for one in queries.captured_queries
        if one["sql"].startswith(WRITES) and not any(f'"{table}"' in one["sql"] for table in tables)
    ]


def refused(response, queries: CaptureQueriesContext, request: str, secret: str) -> str:
    """What is wrong with the answer; empty where nothing is."""
    if response.status_code not in (404, 405):
        return f"{request}: {response.status_code}"
    if secret in response.content.decode():
        return f"{request}: names the project"
    return f"{request}: wrote {written(queries)}" if written(queries) else ""


@pytest.mark.embedded
@pytest.mark.slow
def test_pages_find_no_row_of_another_project(cast, arguments, project, elsewhere):  # noqa: F811
    mallory, own = elsewhere
    common, tokens = arguments
    client, wrong, n = signed_in(mallory), [], 0
    for route in ROUTES:
        found = route.pattern.converters
        if "project_id" not in found or not set(found) - NO_ROWS:
            continue
        url = address(route.name, ({**common, "project_id": own.pk}, tokens))
        for method in ("get", "post"):
            with transaction.atomic(), CaptureQueriesContext(connection) as queries:
                response = getattr(client, method)(url)
                wrong.append(refused(response, queries, f"{method} {route.name}", project.name))
                transaction.set_rollback(True)
            n += 1
    assert [one for one in wrong if one] == []
    assert n > 40


@pytest.mark.embedded
@pytest.mark.slow
def test_the_api_finds_no_row_of_another_project(project, people, api_arguments, elsewhere):  # noqa: F811
    mallory, own = elsewhere
    client, secret, wrong, n = signed_in(mallory), make_token(mallory)[1], [], 0
    for route in urlpatterns:
        found = route.pattern.converters
        if route.name not in API_RULES or "project_id" not in found or not set(found) - NO_ROWS:
            continue
        values = {key: api_arguments[key] for key in found} | {"project_id": own.pk}
        if route.name == "api-entry-link":
            values["link_id"] = api_arguments["entry_link_id"]
        for method, (_scope, _roles, body) in API_RULES[route.name].items():
            with transaction.atomic(), CaptureQueriesContext(connection) as queries:
                response = getattr(client, method)(
                    reverse(route.name, kwargs=values),
                    body,
                    content_type="application/json",
                    headers={"Authorization": f"Bearer {secret}"},
                )
                wrong.append(refused(response, queries, f"{method} {route.name}", project.name))
                transaction.set_rollback(True)
            n += 1
    assert [one for one in wrong if one] == []
    assert n > 20


@pytest.mark.embedded
@pytest.mark.slow
def test_a_token_of_one_kind_opens_no_door_of_another(cast, arguments):  # noqa: F811
    """Every token that there is, tried wherever an address takes one of another kind."""
    _, tokens = arguments
    same = [{"resume", "own-data", "own-export"}, {"submit", "known"}, {"personal"}, {"join"}, {"platform"}]
    same += [{name for name in tokens if name.startswith("results")}, {"entry-page"}, {"invited"}]
    same += [{name for name in tokens if name.startswith("lti-")}]
    wrong, n = [], 0
    for route in ROUTES:
        if "token" not in route.pattern.converters:
            continue
        [kind] = [kinds for kinds in same if route.name in kinds]
        values = {"item_id": arguments[0]["item_id"], "number": 1}
        values = {key: value for key, value in values.items() if key in route.pattern.converters}
        for name, token in tokens.items():
            if name not in kind:
                for method in ("get", "post"):
                    cache.clear()  # of so many tries the limits would soon refuse each
                    with transaction.atomic():
                        response = getattr(cast["annotator"], method)(
                            reverse(route.name, kwargs={**values, "token": token})
                        )
                        transaction.set_rollback(True)
                    n += 1
                    if response.status_code not in (403, 404, 405, 410):
                        wrong.append(f"{method} {route.name} with the token of {name}: {response.status_code}")
    assert wrong == []
    assert n > 100
