"""Stored and reflected markup: in every text of every table and every parameter, seen by everybody on every page."""

import re

import pytest
from django.apps import apps
from django.db import DatabaseError, models, transaction
from django.test import Client
from django.urls import reverse

from annotate.models import Item
from tests.routes import ROUTES
from tests.site.test_access import RULES, address, arguments, as_it_was, cast  # noqa: F401  (fixtures)

pytestmark = [pytest.mark.embedded, pytest.mark.slow]
# Ends an attribute, a script and a comment; both forms must never come back as they were sent.
MARKUP = "\"'>--></script><img src=x onerror=alert(7)>{{7*191}}"
FIELD = re.compile(r"""<(?:input|select|textarea|button)\b[^>]*?\bname="([^"]+)\"""")
RAW = ("<img src=x onerror", "&quot;'><img", "1337")
# Texts that decide whether a page is there at all, or are codes that only the site itself writes.
KEPT = {
    "state",
    "status",
    "kind",
    "purpose",
    "source",
    "role",
    "outcome",
    "language",
    "languages",
    "estimator",
    "media",
}
KEPT |= {"token", "join_token", "resume_token", "platform_token", "folder", "session", "owner", "password", "task_type"}
KEPT |= {"file_format", "verb", "scope", "secret", "digest", "username", "email", "void_reason", "version"}
KEPT |= {"estimator", "private_key", "consent_version", "field", "document"}
PARAMETERS = [
    *("annotator", "archived", "criterion", "event", "item", "lang", "n", "of", "page", "picture", "q", "screen"),
    *("see", "seen", "track", "unsent", "view", "next", "sort", "order", "search", "tag", "error", "message", "by"),
]


def write_everywhere() -> set[str]:
    """Puts the markup into every text column of every row, where a constraint allows it; returns the columns."""
    done = set()
    for model in [*apps.get_app_config("annotate").get_models(), *apps.get_app_config("models_engine").get_models()]:
        for field in model._meta.concrete_fields:
            is_text = isinstance(field, models.CharField | models.TextField) and not field.primary_key
            if not is_text or field.choices or field.name in KEPT:
                continue
            for row in model._default_manager.all():
                text = (f"{row.pk}" if field.unique else "") + MARKUP
                try:
                    with transaction.atomic():
                        model._default_manager.filter(pk=row.pk).update(**{field.name: text[: field.max_length]})
                except DatabaseError:
                    continue
                done.add(f"{model.__name__}.{field.name}")
    return done


def is_page(response) -> bool:
    return response["Content-Type"].startswith(("text/html", "image/svg", "application/xhtml"))


def look(client: Client, url: str, data: dict | None = None) -> str:
    client.raise_request_exception = False
    response = client.get(url, data)
    if response.status_code >= 500 and url != "/healthz":
        return f"{url}: {response.status_code}"
    if not is_page(response):
        return ""
    html = b"".join(response) if response.streaming else response.content
    return next((f"{url}: {raw}" for raw in RAW if raw in html.decode()), "")


def test_stored_markup_is_text_to_everybody(cast, arguments, project):  # noqa: F811
    Item.objects.filter(project=project, key="item-1").update(kind="html")
    Item.objects.filter(project=project, key="item-2").update(kind="markdown")
    done = write_everywhere()
    assert {"Project.name", "Project.question", "Item.body", "Item.key", "Annotator.pseudonym", "Tag.name"} & done
    assert len(done) > 40
    wrong = []
    for name, (get, _) in RULES.items():
        if get:
            for who in sorted(get & {"owner", "pseudonymous"} or get & {"annotator"}):
                wrong.append(look(cast[who], address(name, arguments)))
    assert [one for one in wrong if one] == []


def test_markup_in_an_address_is_never_sent_back(cast, arguments):  # noqa: F811
    data, wrong = dict.fromkeys(PARAMETERS, MARKUP), []
    for name, (get, _) in RULES.items():
        if get:
            wrong.append(look(cast["owner" if "owner" in get else sorted(get)[0]], address(name, arguments), data))
    wrong.append(look(Client(), f"/{MARKUP}/"))
    wrong.append(look(Client(), f"/api/v1/{MARKUP}/"))
    wrong.append(look(Client(), reverse("account_login"), {"next": MARKUP}))
    assert [one for one in wrong if one] == []


def test_markup_in_a_form_comes_back_as_text(cast, arguments):  # noqa: F811
    """Each form of an owner's, sent with markup in every field that its page has."""
    wrong, n = [], 0
    for name, (get, post) in RULES.items():
        if not (get and post and "owner" in post & get) or name in ("set_language", "project-delete"):
            continue
        page = cast["owner"].get(address(name, arguments))
        fields = set(FIELD.findall(page.content.decode())) if is_page(page) else set()
        with as_it_was(cast["owner"]):
            response = cast["owner"].post(address(name, arguments), dict.fromkeys(fields, MARKUP))
        n += len(fields)
        if response.status_code >= 500 or (is_page(response) and RAW[0] in response.content.decode()):
            wrong.append(f"{name}: {response.status_code}")
    assert wrong == []
    assert n > 400


def test_no_route_is_left_out():
    assert {route.name for route in ROUTES} == set(RULES)
