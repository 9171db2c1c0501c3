"""What the API says and does: the screens' figures, filters, pages, idempotency, errors in one shape."""

import json
import math

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.core.numbers import format_number
from annotate.models import FitState, Item, Membership, Project, StoredResponse
from models_engine.models import Estimate
from tests.conftest import answer_one, make_annotator, make_items, make_user
from tests.site.api_client import Api
from tests.site.factories import estimate_annotator, make_labels, spread_fit


@pytest.fixture
def api(alice, project) -> Api:
    return Api(alice, project)


def test_figures_are_those_of_the_page_and_of_the_export(api, client, alice, project):
    annotators = [make_annotator(project, f"Annotator {i}") for i in range(3)]
    make_labels(project, annotators, 24)
    fit = spread_fit(project, list(project.items.order_by("pk")))
    estimate_annotator(fit, annotators[0])
    client.force_login(alice)

    rows = api("get", "ranking").json()["results"]
    lines = exported(client, project, "ranking")
    shared = set(rows[0]) - {"tags", "p_first"}
    assert [{name: row[name] for name in shared} for row in rows] == [{n: line[n] for n in shared} for line in lines]
    html = client.get(reverse("ranking", args=[project.pk])).content.decode()
    places = [html.index(row["title"]) for row in rows]
    assert places == sorted(places)
    for row in rows:
        assert f">{format_number(row['score'], 0)}<" in html

    people = {row["pseudonym"]: row for row in api("get", "annotators").json()["results"]}
    lines = {line["annotator"]: line for line in exported(client, project, "annotators")}
    for name, line in lines.items():
        for column in ("n_labels", "n_skips", "n_voided", "median_seconds", "agreement", "reliability"):
            assert people[name][column] == line[column]

    labels = api("get", "labels").json()["results"]
    lines = exported(client, project, "labels")
    same = ("label", "annotator", "outcome", "winner", "loser", "ranking", "shown_order", "valid", "response_seconds")
    assert [[row[name] for name in same] for row in labels] == [[line[name] for name in same] for line in lines]
    context = client.get(reverse("progress", args=[project.pk])).context["progress"]
    told = api("get", "progress").json()
    assert (told["n_given"], told["n_counting"], told["n_items"]) == (24, 24, 6)
    assert [one["n"] for one in told["coverage"]] == [one.n for one in context.coverage]


def exported(client, project, table) -> list[dict]:
    response = client.get(reverse("export", args=[project.pk, table, "jsonl"]))
    return [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]


def test_downloads_are_the_exports(api, client, alice, project):
    answer_one(make_annotator(project, "Otter"))
    client.force_login(alice)
    tables = {row["table"]: row for row in api("get", "exports").json()}
    assert set(tables["labels"]["downloads"]) >= {"csv", "jsonl"}
    here = api("get", "export", args=["labels", "csv"])
    there = client.get(reverse("export", args=[project.pk, "labels", "csv"]))
    assert b"".join(here.streaming_content) == b"".join(there.streaming_content)
    assert api("get", "export", args=["secrets", "csv"]).status_code == 404


def test_figures_that_are_none_are_null(api, project):
    fit = spread_fit(project, list(project.items.order_by("pk")))
    Estimate.objects.filter(fit=fit).update(divisiveness=math.inf)
    row = api("get", "ranking").json()["results"][0]
    assert row["divisiveness"] is None


def test_pages_cover_everything_once(api, project):
    make_items(project, 0)
    keys, url_query = [], {"page_size": 4}
    for page in (1, 2):
        answer = api("get", "items", page=page, **url_query).json()
        keys += [row["key"] for row in answer["results"]]
        assert (answer["next"] is None) == (page == 2)
    assert keys == [item.key for item in project.items.order_by("pk")]
    beyond = api("get", "items", page=3, page_size=4)
    assert (beyond.status_code, beyond.json()["detail"]) == (404, "There is no page 3; the last is 2.")


def test_labels_by_cursor_and_filters(api, project):
    otter, newt = make_annotator(project, "Otter"), make_annotator(project, "Newt")
    first = answer_one(otter)
    answer_one(newt, outcome="tie", chosen=None)
    answer_one(newt, outcome="skip", chosen=None)
    page = api("get", "labels", page_size=2).json()
    rest = api.client.get(page["next"], headers={"Authorization": f"Bearer {api.secret}"}).json()
    assert [row["annotator"] for row in page["results"] + rest["results"]] == ["Otter", "Newt", "Newt"]
    assert rest["next"] is None
    assert api("get", "labels", cursor=rest["cursor"]).json()["results"] == []

    def n(**query) -> int:
        return len(api("get", "labels", **query).json()["results"])

    shown = first.presentation.presented.first().item.key
    assert n(annotator=str(otter.key)) == 1
    assert n(outcome="tie") == 1
    assert n(item=shown) >= 1
    assert n(item="none of them") == 0
    assert n(voided="true") == 0
    assert n(since="2026-11-20T12:00:00Z") == 3
    assert n(until="2026-11-20T12:00:00Z") == 0


@pytest.mark.parametrize(
    "query",
    [
        {"annotator__user__password__startswith": "pbkdf2"},
        {"outcome": "chosen"},
        {"page_size": 5000},
        {"since": "yesterday"},
        {"item": "a\0b"},
    ],
)
def test_filters_are_an_allow_list(api, query):
    answer = api("get", "labels", **query)
    assert answer.status_code == 400
    assert set(answer.json()["errors"]) == set(query)


def test_a_refused_choice_names_those_there_are(api, project):
    wrong = api("post", "members", {"address": "new@example.org", "role": "boss {0}"}).json()["errors"]
    assert wrong == {"role": ["“boss {0}” is not possible here. Use one of: owner, manager, annotator, viewer."]}
    wrong = api("post", "webhooks", {"url": "https://example.org/", "events": ["fit.published", "x"]}).json()["errors"]
    assert list(wrong) == ["events.1"]
    assert "“x”" in wrong["events.1"][0]
    assert "fit.published" in wrong["events.1"][0]


def test_items_are_added_all_or_none(api, project):
    new = [{"text": "One", "key": "one", "tags": ["a", "b"]}, {"text": "# Two", "kind": "markdown"}]
    made = api("post", "items", {"items": new})
    assert made.status_code == 201, made.json()
    assert made.json()["n_items"] == 2
    one = project.items.get(key="one")
    assert sorted(one.tags.values_list("name", flat=True)) == ["a", "b"]
    assert project.events.filter(verb="items imported").count() == 1

    prompted = {"items": [{"text": "Yes", "context": "Why?"}, {"kind": "link", "link": "https://example.org/a"}]}
    assert api("post", "items", prompted).status_code == 201
    last = api("get", "items").json()["results"][-2:]
    assert [(row["context"], row["link"]) for row in last] == [("Why?", ""), (None, "https://example.org/a")]
    project.items.filter(pk__in=[row["id"] for row in last]).delete()

    bad = [{"text": "Three"}, {"text": "Again", "key": "one"}, {"text": " "}, {"text": "x", "colour": "red"}]
    refused = api("post", "items", {"items": bad})
    assert refused.status_code == 400
    assert set(refused.json()["errors"]) == {"items.3.colour"}
    refused = api("post", "items", {"items": bad[:2]})
    assert "already used by an item of this project" in refused.json()["errors"]["items.1"][0]
    assert "text is missing" in api("post", "items", {"items": bad[:3]}).json()["errors"]["items.2"][0]
    assert project.items.count() == 8


def test_an_item_is_retired_tagged_and_brought_back(api, project):
    item = project.items.first()
    change = api("patch", "item", {"retired": True, "tags": ["old"]}, args=[item.pk]).json()
    assert (change["tags"], change["retired_at"] is None) == (["old"], False)
    assert [row["key"] for row in api("get", "items", tag="old", state="retired").json()["results"]] == [item.key]
    assert api("patch", "item", {"retired": False, "tags": []}, args=[item.pk]).json()["retired_at"] is None
    assert api("delete", "item", args=[item.pk]).status_code == 204
    assert not Item.objects.filter(pk=item.pk).exists()


def test_a_key_makes_a_request_safe_to_repeat(api, project):
    body = {"items": [{"text": "Once"}]}
    answers = [api("post", "items", body, key="k1") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [201] * 3
    assert len({answer.content for answer in answers}) == 1
    assert [answer.get("Idempotency-Replayed") for answer in answers] == [None, "true", "true"]
    assert project.items.count() == 7
    other = api("post", "items", {"items": [{"text": "Twice"}]}, key="k1")
    assert (other.status_code, other.json()["type"]) == (409, "urn:crowdrank:problem:conflict")
    assert project.items.count() == 7
    spread_fit(project, list(project.items.order_by("pk")))
    FitState.objects.update_or_create(project=project, defaults={"published_fit": 1})
    statuses = [api("post", "records", {}, key="k2", criterion=criterion).status_code for criterion in (1, 1, 2)]
    assert statuses == [202, 202, 409]  # the address's parameters are of the request


def test_a_refused_request_leaves_its_key_free(api, project):
    assert api("post", "items", {"items": []}, key="k1").status_code == 400
    assert not StoredResponse.objects.exists()
    assert api("post", "items", {"items": [{"text": "Now"}]}, key="k1").status_code == 201


def test_keys_of_different_people_never_meet(api, alice, project):
    charlie = Api(make_user("charlie"), project)
    body = {"name": "Mine", "question": "Which?"}
    mine, theirs = (one("post", "projects", body, key="same").json()["id"] for one in (api, charlie))
    assert mine != theirs


def test_a_project_from_draft_to_deletion(api, project):
    made = api("post", "projects", {"name": "Essays", "question": "Which is better?", "task_type": "ranking", "k": 3})
    assert made.status_code == 201, made.json()
    new = Api(Membership.objects.get(project_id=made.json()["id"]).user, Project.objects.get(pk=made.json()["id"]))
    assert (made.json()["state"], made.json()["role"], made.json()["k"]) == ("draft", "owner", 3)
    assert new("patch", "project", {"overlap": 5}).json()["overlap"] == 5
    wrong = new("patch", "project", {"k": 11, "overlap": 0})
    assert set(wrong.json()["errors"]) == {"k", "overlap"}
    assert new("patch", "project", {"owner": "me"}).status_code == 400
    assert new("post", "project-state", {"state": "open"}).status_code == 409
    new("post", "items", {"items": [{"text": text} for text in "abc"]})
    assert new("post", "project-state", {"state": "open"}).json()["state"] == "open"
    assert new("delete", "project", name="Essay").status_code == 422
    assert new("delete", "project", name="Essays").status_code == 204
    assert not Project.objects.filter(name="Essays").exists()


def test_what_labels_answer_stays(api, project):
    answer_one(make_annotator(project, "Otter"))
    refused = api("patch", "project", {"question": "Which is worse?"})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:crowdrank:problem:fixed-by-labels")
    assert api("patch", "project", {"name": "A better name"}).json()["name"] == "A better name"


def test_members_come_change_and_go(api, project, charlie, mailoutbox):
    made = api("post", "members", {"address": "charlie@example.org", "role": "viewer"})
    assert (made.status_code, made.json()["message_sent"], len(mailoutbox)) == (202, True, 1)
    unknown = api("post", "members", {"address": "nobody@example.org", "role": "viewer"})
    assert unknown.json().keys() == made.json().keys()
    rows = api("get", "members").json()["results"]
    charlies = next(row for row in rows if row["address"] == "charlie@example.org")
    assert api("put", "member", {"role": "manager"}, args=[charlies["id"]]).json()["role"] == "manager"
    assert api("delete", "member", args=[charlies["id"]]).status_code == 204
    owner = next(row for row in rows if row["role"] == "owner")
    assert api("delete", "member", args=[owner["id"]]).json()["type"] == "urn:crowdrank:problem:last-owner"


def test_excluding_and_readmitting(api, project):
    otter = make_annotator(project, "Otter")
    answer_one(otter)
    assert api("post", "annotator-exclude", {"reason": "Too fast"}, args=[otter.key]).json() == {"n_voided": 1}
    assert api("post", "annotator-exclude", {}, args=[otter.key]).status_code == 409
    assert api("get", "annotator", args=[otter.key]).json()["excluded_at"]
    assert api("post", "annotator-readmit", args=[otter.key]).json() == {"n_restored": 1, "n_kept_voided": 0}


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        ("{", 400),
        ("[]", 400),
        ('{"name": NaN}', 400),
        ("[" * 100_000, 400),
        ('{"name": "a\\u0000", "question": "b"}', 400),
        ('{"name": "a\\ud800", "question": "b"}', 400),
        (b"\xff", 400),
    ],
)
def test_bad_bodies_are_problems(api, raw, status):
    answer = api("post", "projects", raw=raw)
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert answer.json()["detail"]


def test_only_json_is_understood(api, project):
    url, headers = reverse("api-projects"), {"Authorization": f"Bearer {api.secret}"}
    assert api.client.post(url, "a=b", content_type="text/plain", headers=headers).status_code == 415
    assert api.client.put(url, "{}", content_type="application/json", headers=headers).status_code == 405


def test_too_many_requests_wait(api, monkeypatch):
    monkeypatch.setattr("annotate.api.throttling.ApiThrottle.THROTTLE_RATES", {"api": "2/day"})
    answers = [api("get", "projects") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert int(answers[2]["Retry-After"]) > 0
    assert answers[2].json()["type"] == "urn:crowdrank:problem:throttled"


def test_queries_do_not_grow_with_rows(api, project):
    def counts() -> dict[str, int]:
        found = {}
        for name in ("projects", "items", "members", "annotators", "labels", "ranking", "fits", "progress"):
            with CaptureQueriesContext(connection) as queries:
                assert api("get", name).status_code == 200
            found[name] = len(queries)
        return found

    def grow(n: int) -> None:
        items = [Item(project=project, key=f"{n}-{i}", body=f"Text {n} {i}") for i in range(n)]
        Item.objects.bulk_create(items)
        people = [make_annotator(project, f"Crowd {n}-{i}") for i in range(n)]
        make_labels(project, people, 2 * n)
        fit = spread_fit(project, list(project.items.order_by("pk")))
        for person in people:
            estimate_annotator(fit, person)
        for i in range(n):
            user = make_user(f"user-{n}-{i}")
            Membership.objects.create(project=project, user=user, role="viewer")

    grow(2)
    api("get", "projects")
    small = counts()
    grow(12)
    assert counts() == small
