"""Fields that nobody offered: the API refuses them by name, forms do nothing with them."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotate.api.schema import METHODS, schema
from annotate.models import Membership, Project, User
from tests.attack.html_forms import Form, forms_of
from tests.conftest import make_token
from tests.site.api.test_api_access import RULES as API_RULES
from tests.site.api.test_api_access import address as api_address
from tests.site.api.test_api_access import arguments as api_arguments  # noqa: F401  (fixtures)
from tests.site.api.test_api_access import people  # noqa: F401
from tests.site.test_access import RULES, address, arguments, as_it_was, cast  # noqa: F401


def objects(node: Any, where: str, seen: frozenset[str] = frozenset()) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object that a description allows, the ones within others and the ones behind names too."""
    if isinstance(node, list):
        for one in node:
            yield from objects(one, where, seen)
    if not isinstance(node, dict):
        return
    name = str(node.get("$ref", "")).rpartition("/")[2]
    if name and name not in seen:
        yield from objects(schema()["components"]["schemas"][name], f"{where} {name}", seen | {name})
    if "properties" in node:
        yield where, node
    for key, value in node.get("properties", {}).items():
        yield from objects(value, f"{where}.{key}", seen)
    for key in ("items", "allOf", "oneOf", "anyOf", "additionalProperties"):
        yield from objects(node.get(key), where, seen)


@pytest.mark.embedded
def test_every_object_that_a_program_sends_is_closed():
    """As the API describes itself, and refuses what is not described: tests/site/api/test_api_schema.py."""
    found = []
    for path, operations in schema()["paths"].items():
        for method in set(METHODS) & set(operations):
            for kind, content in operations[method].get("requestBody", {}).get("content", {}).items():
                found += list(objects(content["schema"], f"{method} {path} {kind}"))
    assert [where for where, node in found if node.get("additionalProperties") is not False] == []
    assert len(found) > 80


def with_unasked(value: Any) -> Iterator[Any]:
    """The value with a field more in one of its objects, in each of them in turn."""
    if isinstance(value, dict):
        yield {**value, "unasked": 1}
        for key, inner in value.items():
            for changed in with_unasked(inner):
                yield {**value, key: changed}
    if isinstance(value, list):
        for place, inner in enumerate(value):
            for changed in with_unasked(inner):
                yield [*value[:place], changed, *value[place + 1 :]]


# Objects whose names are the sender's own: languages, fields of metadata, criteria, answers to questionnaires.
OWN_NAMES = {
    "metadata",
    "translations",
    "weights",
    "mapping",
    "columns",
    "answers",
    "statements",
    "context_translations",
}


@pytest.mark.embedded
@pytest.mark.slow
def test_the_api_names_an_unknown_field(people, api_arguments):  # noqa: F811
    secrets = {who: make_token(people[who])[1] for who in ("annotator", "owner")}
    taken, n = [], 0
    for name, methods in API_RULES.items():
        for method, (_scope, roles, body) in methods.items():
            if not body or name == "api-undo":  # what takes nothing reads nothing
                continue
            secret = secrets["annotator" if roles == {"annotator"} else "owner"]
            for sent in with_unasked(body):
                if any("unasked" in str(sent.get(own)) for own in OWN_NAMES & set(sent)):
                    continue
                with transaction.atomic():
                    response = getattr(Client(), method)(
                        api_address(name, api_arguments),
                        sent,
                        content_type="application/json",
                        headers={"Authorization": f"Bearer {secret}"},
                    )
                    transaction.set_rollback(True)
                n += 1
                if response.status_code != 400 or "unasked" not in response.content.decode():
                    taken.append(f"{method} {name}: {response.status_code} {sent}")
    assert taken == [], "\n".join(taken)
    assert n > 30


TEXT, NUMBER, DAY = "zq7unasked", "918273645", "1987-06-05"


def columns() -> dict[str, str]:
    """Every column of every table, as a form would name it, with a value that nothing else has."""
    found = {}
    for model in [*apps.get_app_config("annotate").get_models(), *apps.get_app_config("models_engine").get_models()]:
        for column in model._meta.concrete_fields:
            value = TEXT
            if isinstance(column, models.BooleanField):
                value = "on"
            elif isinstance(column, models.IntegerField | models.FloatField | models.ForeignKey):
                value = NUMBER
            elif isinstance(column, models.DateField):
                value = DAY
            found |= {column.name: value, column.attname: value}
    return found


def written(queries: CaptureQueriesContext) -> list[str]:
    return [one["sql"] for one in queries.captured_queries if one["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]


# What an owner posts to read something, or to be gone.
LEFT_ALONE = {"project-delete", "account-erase", "set_language", "detail"}


def owners_forms(client: Client, arguments) -> Iterator[tuple[str, Form]]:  # noqa: F811
    for name, (get, _post) in RULES.items():
        if get and "owner" in get and name not in LEFT_ALONE:
            url = address(name, arguments)
            response = client.get(url)
            if response["Content-Type"].startswith("text/html") and not response.streaming:
                for form in forms_of(response.content.decode(), url):
                    yield name, form


@pytest.mark.embedded
@pytest.mark.slow
def test_forms_write_nothing_that_they_do_not_ask(cast, arguments):  # noqa: F811
    """Each form of an owner's pages as it stands there, sent with a value for every column of every table beside."""
    client, unasked, wrong, n, tried = cast["owner"], columns(), [], 0, set()
    for name, form in list(owners_forms(client, arguments)):
        key = (form.action, tuple(sorted(form.names)))
        if key in tried:
            continue
        tried.add(key)
        more = {one: value for one, value in unasked.items() if one not in form.names}
        with as_it_was(client), CaptureQueriesContext(connection) as queries:
            before = rights(arguments)
            response = client.post(form.action, {**more, **form.values})
            after = rights(arguments)
        sent = written(queries)
        n += bool(sent)
        if response.status_code >= 500 or before != after:
            wrong.append(f"{name} {form.action}: {response.status_code}")
        wrong += [
            f"{name} {form.action}: {sql[:300]}" for sql in sent if any(one in sql for one in (TEXT, NUMBER, DAY))
        ]
    assert wrong == [], "\n".join(wrong)
    assert n > 15, "forms are taken as they stand"


def rights(arguments) -> tuple:  # noqa: F811
    """What no form gives: who owns the project, who operates the site, by which link people join."""
    pk = arguments[0]["project_id"]
    return (
        list(Membership.objects.filter(project=pk, role="owner").values_list("user")),
        list(User.objects.filter(is_staff=True) | User.objects.filter(is_superuser=True)),
        list(Project.objects.filter(pk=pk).values_list("simulated", "created_at")),
    )
