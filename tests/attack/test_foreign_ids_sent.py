"""Ids of another project's rows in what is sent: in every field of every form, body and parameter that is read.

In addresses: test_foreign_ids.py. Owners of one project send the ids of another, whose tables number their rows so far
apart that an id tells its table. Nothing of it may be shown, changed, or pointed at from outside.
"""

import json
import re
from collections.abc import Collection, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models
from django.test import Client
from django.utils import timezone

from annotate.models import (
    Annotator,
    AnnotatorTag,
    BulkExclusion,
    CohortComparison,
    ConflictOfInterest,
    Context,
    Deviation,
    EntryLink,
    ExpectedPerson,
    FitState,
    GoldSet,
    Idea,
    ImportJob,
    Item,
    ItemComment,
    LtiCourse,
    MemberInvitation,
    Membership,
    Project,
    QuestionField,
    ResultsLink,
    RunRecord,
    Tag,
    Webhook,
)
from models_engine.models import Fit
from tests.attack.html_forms import forms_of
from tests.attack.test_texts_and_numbers import looking_on
from tests.conftest import make_annotator, make_items, make_token, make_user
from tests.routes import ROUTES
from tests.site.api.test_api_access import RULES as API_RULES
from tests.site.api.test_api_access import address as api_address
from tests.site.api.test_api_access import arguments as api_arguments  # noqa: F401  (fixtures)
from tests.site.api.test_api_access import people  # noqa: F401
from tests.site.factories import make_labels, spread_fit
from tests.site.machines import let_judge, make_machine
from tests.site.participation.lti_platform import lti_platform
from tests.site.test_access import RULES, address, arguments, as_it_was, cast  # noqa: F401

pytestmark = [pytest.mark.slow, pytest.mark.embedded]
SECRET, FIRST, APART = "Zanzibar", 10_000_000, 100_000
MODELS = [one for label in ("annotate", "models_engine") for one in apps.get_app_config(label).get_models()]
WRITES = ("INSERT", "UPDATE", "DELETE")
READS = ("SELECT", "SAVEPOINT", "RELEASE", "ROLLBACK")


def path_to_project(model: type[models.Model], depth: int = 4) -> str:
    """The lookup that leads from a row to its project; empty where none does."""
    if model is Project:
        return "pk"
    if any(one.name == "project_id" for one in model._meta.concrete_fields):
        return "project_id"  # the engine's tables know no projects
    ahead = [one for one in model._meta.concrete_fields if one.is_relation and one.related_model is not model]
    for field in ahead:
        if field.related_model is Project:
            return field.name
    for field in ahead if depth else ():
        if further := path_to_project(field.related_model, depth - 1):
            return f"{field.name}__{further}"
    return ""


@pytest.fixture
def numbered_apart(db) -> None:
    """Every table numbers its rows from a start of its own."""
    with connection.cursor() as cursor:
        for place, model in enumerate(MODELS):
            if not isinstance(model._meta.pk, models.AutoField | models.BigAutoField):
                continue
            table, start = model._meta.db_table, FIRST + place * APART
            if connection.vendor == "sqlite":
                cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table])
                cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, start])
            else:
                column = model._meta.pk.column
                cursor.execute("SELECT setval(pg_get_serial_sequence(%s, %s), %s)", [f'"{table}"', column, start])


@pytest.fixture
def theirs(numbered_apart) -> Project:
    """Another owner's project with a row in most tables; every text of it holds SECRET."""
    now = timezone.now()
    owner = make_user("mallory")
    project = Project.objects.create(name=f"{SECRET} project", question=f"{SECRET}?", state="open", language="en")
    Membership.objects.create(project=project, user=owner, role="owner")
    FitState.objects.create(project=project)
    items = make_items(project, 4)
    Item.objects.filter(project=project).update(body=f"{SECRET} item", name=SECRET)
    who = [make_annotator(project, f"{SECRET} {n}") for n in range(2)]
    label = make_labels(project, who, 12)[0]
    items[0].tags.add(Tag.objects.create(project=project, name=SECRET))
    Context.objects.create(project=project, body=SECRET)
    GoldSet.objects.create(project=project, purpose="gold", item_set=label.presentation.item_set, outcome="tie")
    Idea.objects.create(project=project, annotator=who[0], text=SECRET, created_at=now)
    ItemComment.objects.create(label=label, item=items[0], text=SECRET)
    ConflictOfInterest.objects.create(annotator=who[0], item=items[3])
    ExpectedPerson.objects.create(project=project, name=SECRET)
    ResultsLink.objects.create(project=project, made_at=now)
    EntryLink.objects.create(project=project, item=items[0], made_at=now)
    Webhook.objects.create(project=project, url=f"https://{SECRET}.example/", created_at=now)
    ImportJob.objects.create(project=project, kind="items", state="checked", n_lines=1, folder=SECRET, asked_at=now)
    RunRecord.objects.create(project=project, status="ready", asked_at=now)
    CohortComparison.objects.create(project=project, by="source", first=SECRET, asked_at=now)
    MemberInvitation.objects.create(
        project=project, address=f"{SECRET}@x.org", role="viewer", created_at=now, expires_at=now + timedelta(days=1)
    )
    AnnotatorTag.objects.create(annotator=who[0], name=SECRET)
    QuestionField.objects.create(
        project=project, number=1, at_end=False, kind="text", label=SECRET, required=False, position=1
    )
    BulkExclusion.objects.create(project=project, by="tag", value=SECRET, n_labels=0, n_annotators=0, at=now)
    LtiCourse.objects.create(project=project, platform=lti_platform(client_id="2"), memberships_url="-")
    Deviation.objects.create(project=project, field="cap", before=None, after=5, n_labels=0, at=now)
    make_token(owner, project=project)
    let_judge(make_machine(project, f"{SECRET} judge"), lambda first, second: first)
    spread_fit(project, items)
    return project


def pattern_of(name: str) -> Any:
    return next(route for route in ROUTES if route.name == name).pattern


class Theirs:
    """What the other project holds: the first id of each table, and how it was."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.tables = {model: path for model in MODELS if (path := path_to_project(model))}
        self.rows = {model: list(self.of(model).values_list("pk", flat=True)) for model in self.tables}
        self.ids = {str(pk).replace("-", "") for pks in self.rows.values() for pk in pks}
        self.before = self.content(self.tables)
        firsts = [pks[0] for pks in self.rows.values() if pks]
        self.numbers = [pk for pk in firsts if isinstance(pk, int)]
        assert len(self.numbers) > 25
        annotator = Annotator.objects.filter(project=project).earliest("pk")
        self.uuids = [str(project.pk), str(annotator.key)]
        self.texts = self.uuids + [str(self.rows[model][0]) for model in (Item, Fit)]

    def of(self, model: type[models.Model]) -> models.QuerySet:
        return model._default_manager.filter(**{self.tables[model]: self.project.pk}).order_by("pk")

    def content(self, tables: Collection[type[models.Model]]) -> dict[type[models.Model], str]:
        return {model: repr(list(self.of(model).values_list())) for model in tables}

    def named_in(self, statements: list[str]) -> list[type[models.Model]]:
        """The tables that statements which are no queries name: no other can have changed."""
        return [model for model in self.tables if any(f'"{model._meta.db_table}"' in one for one in statements)]

    def alike(self, own: str) -> list[str]:
        """Ids of theirs of the table that numbered `own`; none where that is no id."""
        if re.fullmatch(r"1\d{7}", own):
            place = (int(own) - FIRST) // APART
            return [str(one) for one in self.numbers if (one - FIRST) // APART == place]
        return self.uuids if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", own) else []

    def pointed_at(self, tables: Collection[type[models.Model]]) -> list[str]:
        """The columns of these tables in which rows of other projects point at a row of theirs."""
        found = []
        for model in tables:
            path = self.tables[model]
            for field in model._meta.concrete_fields:
                pks = self.rows.get(field.related_model) if field.is_relation else None
                if not pks or field.related_model is model:
                    continue
                if model._default_manager.filter(**{f"{field.name}__in": pks}).exclude(**{path: self.project.pk}):
                    found.append(f"{model.__name__}.{field.name}")
        return found

    def wrong(self, client: Client, method: str, url: str, body: Any = None, **more: Any) -> list[str]:
        """What came of a request that is taken back afterwards; nothing where all is well."""
        client.raise_request_exception, what = False, f"{method} {url} {body}"[:300]
        writes: list[str] = []
        statements: list[str] = []

        def look_on(execute, sql, params, *others):
            if not sql.startswith(READS):
                statements.append(sql)
            if sql.startswith(WRITES) and any(str(one).replace("-", "") in self.ids for one in params or ()):
                writes.append(sql)
            return execute(sql, params, *others)

        with as_it_was(client), connection.execute_wrapper(look_on):
            response = getattr(client, method)(url, body, **more)
            text = b"".join(response) if response.streaming else response.content
            if response.status_code >= 500:
                return [f"{what}: {response.status_code}"]
            if SECRET.encode() in text:
                return [f"{what}: shows what is theirs"]
            if response.status_code < 400 and writes:
                touched = self.named_in(statements)
                now = self.content(touched)
                changed = ["changes a row of theirs"] if any(now[one] != self.before[one] for one in touched) else []
                return [f"{what}: {one}" for one in changed + self.pointed_at(touched)]
        return []


@pytest.fixture
def foreign(theirs) -> Theirs:
    return Theirs(theirs)


def test_in_every_form_of_a_page(numbered_apart, cast, arguments, foreign):  # noqa: F811
    """Where a form offers an id of one's own project, one of theirs of the same table is sent."""
    client, found, seen = cast["owner"], [], set()
    for name, (get, _) in RULES.items():
        if not get or "owner" not in get:
            continue
        url = address(name, arguments)
        with as_it_was(client):
            response = client.get(url)
        if response.streaming or "text/html" not in response.get("Content-Type", ""):
            continue
        for form in forms_of(response.content.decode(), url):
            for field, values in form.offered.items():
                for other in {other for one in values for other in foreign.alike(one)}:
                    if (form.action, field, other) in seen:
                        continue
                    seen.add((form.action, field, other))
                    found += foreign.wrong(client, "post", form.action, {**form.values, field: other})
    assert found == []
    assert {field for _, field, _ in seen} >= {"project", "annotators", "item"}


def test_in_every_parameter_of_a_page(numbered_apart, cast, arguments, foreign, monkeypatch):  # noqa: F811
    client, found, n = cast["owner"], [], 0
    for name, (get, _) in RULES.items():
        if "owner" not in (get or ()) or "project_id" not in pattern_of(name).converters:
            continue
        url = address(name, arguments)
        with looking_on(monkeypatch) as names, as_it_was(client):
            client.get(url)
        for parameter in sorted(names):
            found += foreign.wrong(client, "get", url, {parameter: foreign.texts[2]})
            n += 1
    assert found == []
    assert n > 100


# Bodies with ids that are not among those of the table of access.
FURTHER = {
    ("api-given-questions-withdraw", "post"): {"numbers": [1]},
    ("api-questionnaire", "put"): {"questions": [{"id": 1, "label": "Age", "kind": "number"}]},
    ("api-questions", "post"): {"questions": [{"id": 1, "answer": "1"}]},
    ("api-never-shown", "post"): {"rows": [{"annotator": "Target", "item": "item-1"}]},
}


def changed(value: Any, theirs: Theirs, is_id: bool = False) -> Iterator[Any]:
    """The value with one of its texts, or of its numbers that are no counts, replaced by an id of theirs."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from ({**value, key: other} for other in changed(one, theirs, key == "id"))
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from ([*value[:place], other, *value[place + 1 :]] for other in changed(one, theirs, True))
    elif isinstance(value, str):
        yield from theirs.texts[1:3]
    elif is_id and isinstance(value, int):
        yield from theirs.numbers


def test_in_every_body_of_the_api(numbered_apart, people, api_arguments, foreign):  # noqa: F811
    secrets = {who: make_token(people[who])[1] for who in ("annotator", "owner")}
    client, found, n = Client(), [], 0
    for name, methods in API_RULES.items():
        for method, (_scope, roles, body) in methods.items():
            headers = {"Authorization": f"Bearer {secrets['annotator' if roles == {'annotator'} else 'owner']}"}
            url = api_address(name, api_arguments)
            for sent in changed(FURTHER.get((name, method), body), foreign):
                more = {"content_type": "application/json", "headers": headers}
                found += foreign.wrong(client, method, url, json.dumps(sent), **more)
                n += 1
    assert found == []
    assert n > 200


def test_in_every_parameter_of_the_api(numbered_apart, people, api_arguments, foreign, monkeypatch):  # noqa: F811
    client, found, n = Client(headers={"Authorization": f"Bearer {make_token(people['owner'])[1]}"}), [], 0
    for name, methods in API_RULES.items():
        if "get" not in methods:
            continue
        url = api_address(name, api_arguments)
        with looking_on(monkeypatch) as names, as_it_was(client):
            client.get(url)
        for parameter in sorted(names):
            for value in foreign.texts:
                found += foreign.wrong(client, "get", url, {parameter: value})
                n += 1
    assert found == []
    assert n > 200
