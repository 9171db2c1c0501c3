"""Texts and numbers that no column of a database holds, wherever something is read: refused in words, never an error.

Zero characters, halves of characters, digits of other scripts, numbers beyond every column: SQLite and PostgreSQL
refuse different ones. No answer takes long either. Which names a view reads is found by looking on while it reads.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.urls import reverse
from django.utils.datastructures import MultiValueDict

from annotate.api_urls import urlpatterns
from tests.attack.cpu import limited_cpu
from tests.conftest import make_token
from tests.routes import ROUTES
from tests.site.api.test_api_access import RULES as API_RULES
from tests.site.api.test_api_access import address as api_address
from tests.site.api.test_api_access import arguments as api_arguments  # noqa: F401  (fixtures)
from tests.site.api.test_api_access import people  # noqa: F401
from tests.site.test_access import RULES, address, arguments, as_it_was, cast  # noqa: F401

pytestmark = pytest.mark.slow
DATABASE_TEXTS = ["a\0b", "\ud800", "9" * 40, '{"a": "\\u0000"}']  # which one database takes and another refuses
TEXTS = [*DATABASE_TEXTS, "٣٤", "-1", "NaN", "[", "a" * 70_000]
IN_PAGES = ["%D9%A3", "9" * 40, "-1"]
# Read by what stands around every page, whose view does not see them: each value once as each kind of visitor.
AROUND_PAGES = {"lang", "tour"}
IN_ADDRESSES = ["a%00b", "%ed%a0%80", "%D9%A3", "9" * 40, "-1", "NaN", ")%25" * 2000]
IN_BODIES: list[Any] = ["a\0b", "\ud800", "9" * 40, -1, 2**31, 2**63, 10**40, 1e308, [], {}, [[]], {"a\0": "b\0"}, None]
IN_BODIES += [["\0"], {"\ud800": ["\ud800"]}, True]
IN_EACH_VALUE = ["a\0b", "\ud800", 2**63, {"a\0": "b\0"}]
SECONDS = 5.0  # of CPU for an answer: a page takes a tenth, what grows with a text's square would take minutes
COOKIES = [settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME, settings.LANGUAGE_COOKIE_NAME, "messages"]
COOKIES += ["lti_state", "embedded_vote"]


@contextmanager
def looking_on(monkeypatch) -> Iterator[set[str]]:
    """The names that views and forms read out of addresses and of what was sent."""
    names, own, has = set[str](), MultiValueDict.__getitem__, MultiValueDict.getlist

    def one(self, key):
        names.add(key)
        return own(self, key)

    def several(self, key, default=None):
        names.add(key)
        return has(self, key, default)

    with monkeypatch.context() as patch:
        patch.setattr(QueryDict, "__getitem__", one, raising=False)
        patch.setattr(QueryDict, "getlist", several, raising=False)
        patch.setattr(QueryDict, "__contains__", lambda self, key: names.add(key) or dict.__contains__(self, key))
        yield names


def failed(client: Client, ask: Callable[[], Any], what: str) -> list[str]:
    client.raise_request_exception = False
    with as_it_was(client), limited_cpu(SECONDS):
        status = ask().status_code
    return [f"{what}: {status}"] if status >= 500 and "healthz" not in what else []


def who_may(roles: set[str]) -> str:
    return "owner" if "owner" in roles else sorted(roles)[0]


def test_in_every_parameter_that_a_page_reads(cast, arguments, monkeypatch):  # noqa: F811
    found, n, tried = [], 0, set()
    for name, (get, _) in RULES.items():
        if not get:
            continue
        who = who_may(get)
        client, url = cast[who], address(name, arguments)
        with looking_on(monkeypatch) as names:
            found += failed(client, lambda: client.get(url), url)  # noqa: B023
        zeros = f"{url}?{'&'.join(f'{one}=a%00b' for one in sorted(names) or ['none'])}"
        found += failed(client, lambda: client.get(zeros), zeros)  # noqa: B023
        around = {(who, one) for one in names & AROUND_PAGES}
        for parameter in sorted(names - {one for _, one in around & tried}):
            for value in IN_PAGES:
                asked = f"{url}?{parameter}={value}"
                found += failed(client, lambda: client.get(asked), asked)  # noqa: B023
                n += 1
        tried |= around
    assert found == []
    assert n > 300


def test_in_every_field_that_a_form_reads(cast, arguments, monkeypatch):  # noqa: F811
    texts = TEXTS if connection.vendor == "sqlite" else DATABASE_TEXTS  # the others are read without any database
    found, n = [], 0
    for name, (_, post) in RULES.items():
        if not post:
            continue
        client, url = cast[who_may(post)], address(name, arguments)
        with looking_on(monkeypatch) as names:
            found += failed(client, lambda: client.post(url, {"none": ""}), url)  # noqa: B023
        for value in texts:
            body = "&".join(f"{quote(one)}={quote(value, errors='surrogatepass')}" for one in sorted(names))
            kind = "application/x-www-form-urlencoded"
            found += failed(client, lambda: client.post(url, body, content_type=kind), f"{url} {value[:9]!r}")  # noqa: B023
            n += 1
    assert found == []
    assert n > 60 * len(texts)


def test_in_every_cookie(cast, arguments):  # noqa: F811
    url = reverse("label", args=[arguments[0]["project_id"]])
    found = []
    for cookie in COOKIES:
        for value in ("\\000", "a" * 5000, "\xd9\xa3", "\xff", "1:2:3", "{}", "../../x", "%00"):
            found += failed(Client(), lambda: Client().get(url, HTTP_COOKIE=f"{cookie}={value}"), f"{cookie} {value!r}")  # noqa: B023
    assert found == []


def bodies(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The body with one of its values replaced, those within lists and objects too, and with all of them replaced.

    What takes no fields refuses any, whatever it holds: one with all these values.
    """
    if not body:
        yield "a field unasked", {"unasked": IN_BODIES}
        return
    for bad in IN_BODIES:
        yield f"all {bad!r}", dict.fromkeys(body, bad)
    for bad in IN_EACH_VALUE:
        for key, value in body.items():
            yield f"{key} {bad!r}", {**body, key: bad}
            if isinstance(value, list) and value and isinstance(value[0], dict):
                for inner in value[0]:
                    yield f"{key}.{inner} {bad!r}", {**body, key: [{**value[0], inner: bad}]}
            if isinstance(value, dict):
                for inner in value:
                    yield f"{key}.{inner} {bad!r}", {**body, key: {**value, inner: bad}}


def test_in_every_value_that_a_program_sends(people, api_arguments):  # noqa: F811
    secrets = {who: make_token(people[who])[1] for who in ("annotator", "owner")}
    client, found, n = Client(), [], 0
    for name, methods in API_RULES.items():
        for method, (_scope, roles, body) in methods.items():
            if not isinstance(body, dict):
                continue
            secret = secrets["annotator" if roles == {"annotator"} else "owner"]
            headers, url = {"Authorization": f"Bearer {secret}"}, api_address(name, api_arguments)
            for what, sent in bodies(body):
                text, kind = json.dumps(sent), "application/json"
                ask = lambda: getattr(client, method)(url, text, content_type=kind, headers=headers)  # noqa: B023, E731
                found += failed(client, ask, f"{method} {name} {what[:60]}")
                n += 1
    assert found == []
    assert n > 1000


def test_in_every_parameter_that_a_program_sends(people, api_arguments, monkeypatch):  # noqa: F811
    secret = make_token(people["owner"])[1]
    client, found, n = Client(headers={"Authorization": f"Bearer {secret}"}), [], 0
    for name, methods in API_RULES.items():
        if "get" not in methods:
            continue
        url = api_address(name, api_arguments)
        with looking_on(monkeypatch) as names:
            found += failed(client, lambda: client.get(url), url)  # noqa: B023
        for parameter in sorted(names):
            for value in IN_ADDRESSES:
                asked = f"{url}?{parameter}={value}"
                found += failed(client, lambda: client.get(asked), asked)  # noqa: B023
                n += 1
    assert found == []
    assert n > 200


def with_numbers(routes, values: dict[str, Any]) -> Iterator[str]:
    """The addresses with a number in them, with numbers beyond every column in its place."""
    for route in routes:
        kinds = {key: type(one).__name__ for key, one in route.pattern.converters.items()}
        for key in (key for key, kind in kinds.items() if kind == "IntConverter"):
            for number in (0, 2**31, 2**63, 10**40):
                yield reverse(route.name, kwargs={one: values.get(one, 1) for one in kinds} | {key: number})


def test_in_every_number_of_a_pages_address(cast, arguments):  # noqa: F811
    """Rows that are not there."""
    wrong, urls = [], list(with_numbers(ROUTES, arguments[0]))
    for url in urls:
        for method in ("get", "post"):
            wrong += failed(cast["owner"], lambda: getattr(cast["owner"], method)(url), f"{method} {url}")  # noqa: B023
    assert wrong == []
    assert len(urls) > 50


def test_in_every_number_of_a_programs_address(people, api_arguments):  # noqa: F811
    client = Client(headers={"Authorization": f"Bearer {make_token(people['owner'])[1]}"})
    wrong, urls = [], list(with_numbers(urlpatterns, api_arguments))
    for url in urls:
        for method in ("get", "post", "patch", "put", "delete"):
            wrong += failed(client, lambda: getattr(client, method)(url), f"{method} {url}")  # noqa: B023
    assert wrong == []
    assert len(urls) > 20
