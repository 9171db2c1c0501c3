"""What the screens of setting up and taking part do, done by programs: rules, checks, files, records, a whole part."""

import io
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from PIL import Image

from annotate.imports import uploads
from annotate.models import Consent, FitState, ParticipationRules, RunRecord, RunRecordPart
from tests.conftest import answer_one, make_annotator
from tests.site.api_client import Api
from tests.site.factories import make_labels, spread_fit


@pytest.fixture
def api(alice, project) -> Api:
    return Api(alice, project)


def picture(color: str) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (300, 300), color).save(file, "PNG")
    return file.getvalue()


def test_rules_of_entry_hold_and_say_what_is_wrong(api, project, mailoutbox):
    told = api("patch", "entry", {"places": 12, "platform": True, "consent": "You *may* stop."}).json()
    assert (told["places"], told["platform"], told["n_places_taken"]) == (12, True, 0)
    assert reverse("platform", args=[ParticipationRules.objects.get().platform_token]) in told["platform_link"]
    before = told["platform_link"]
    assert api("post", "platform-link").json()["platform_link"] != before
    assert api("post", "join-link").json()["join_link"] != told["join_link"]
    assert api("get", "entry").json()["consent"] == "You *may* stop."
    wrong = api("patch", "entry", {"places": 0, "return_url": "http://example.org/"}).json()["errors"]
    assert set(wrong) == {"places"}
    wrong = api("patch", "entry", {"return_url": "http://example.org/"}).json()["errors"]
    assert "not an https address" in wrong["return_url"][0]
    sent = api("post", "invitations", {"addresses": ["a@example.org", "A@example.org"]}, key="once").json()
    again = api("post", "invitations", {"addresses": ["a@example.org", "A@example.org"]}, key="once").json()
    assert sent == again
    assert ([one["is_sent"] for one in sent["results"]], len(mailoutbox)) == ([True], 1)


def test_questions_are_replaced_as_a_whole_and_kept_where_they_are_the_same(api, project):
    age = {"label": "Age", "kind": "number", "least": 18, "required": True}
    [made] = api("put", "questionnaire", {"questions": [age]}).json()["questions"]
    more = {"label": "Field", "kind": "choice", "choices": ["Law", "Arts"]}
    after = api("put", "questionnaire", {"questions": [more, {**age, "id": made["id"]}]}).json()["questions"]
    assert [(one["label"], one["id"] == made["id"]) for one in after] == [("Field", False), ("Age", True)]
    wrong = api("put", "questionnaire", {"questions": [{**more, "choices": ["Law"]}]})
    assert (wrong.status_code, set(wrong.json()["errors"])) == (422, {"questions.0.choices"})
    gone = api("put", "questionnaire", {"questions": [{**age, "id": 10**6}]})
    assert gone.json()["type"] == "urn:crowdrank:problem:fields-changed"
    assert api("put", "questionnaire", {"questions": []}).json() == {"questions": []}


def test_known_sets_are_added_all_or_none(api, project):
    right = {"purpose": "gold", "items": ["item-0", "item-1"], "answer": "item-0", "why": "It says so."}
    wrong = {"purpose": "practice", "items": ["item-0", "item-1", "item-2"], "answer": "item-0"}
    refused = api("post", "known-sets", {"sets": [right, wrong, {**right, "answer": "item-5"}]})
    assert set(refused.json()["errors"]) == {"sets.1", "sets.2"}
    assert not project.known_sets.exists()
    assert api("post", "known-sets", {"sets": [right]}).json() == {"n_sets": 1}
    [row] = api("get", "known-sets", purpose="gold").json()["results"]
    assert (row["items"], row["named"], row["outcome"]) == (["item-0", "item-1"], ["item-0"], "choice")
    assert api("delete", "known-set", args=[row["id"]]).status_code == 204
    assert api("get", "known-sets").json()["count"] == 0


def test_conflicts_of_interest(api, project):
    make_annotator(project, "Quiet Otter")
    rows = [{"annotator": "Quiet Otter", "item": "item-1"}, {"annotator": "Nobody", "item": "item-1"}]
    assert set(api("post", "never-shown", {"rows": rows}).json()["errors"]) == {"rows.1"}
    assert api("post", "never-shown", {"rows": rows[:1]}).json() == {"n_rows": 1, "n_answers": 0, "n_voided": 0}
    [row] = api("get", "never-shown").json()["results"]
    assert (row["annotator"], row["item"], row["tag"]) == ("Quiet Otter", "item-1", None)
    assert api("delete", "never-shown-row", args=[row["id"]]).status_code == 204
    assert api("get", "never-shown").json()["count"] == 0


def test_a_run_record_is_asked_for_waited_for_and_taken(api, project):
    assert api("post", "records").json()["type"] == "urn:crowdrank:problem:nothing-to-record"
    spread_fit(project, list(project.items.all()))
    FitState.objects.update(published_fit=1)
    first = api("post", "records")
    assert (first.status_code, first.json()["status"], first.json()["download"]) == (202, "asked", None)
    assert api("post", "records").json()["id"] == first.json()["id"]
    record = RunRecord.objects.get()
    RunRecordPart.objects.create(record=record, number=0, data=b"PK")
    RunRecord.objects.update(status="ready", n_bytes=2)
    url = api("get", "record", args=[record.pk]).json()["download"]
    file = api.client.get(url, headers={"Authorization": f"Bearer {api.secret}"})
    assert (b"".join(file.streaming_content), file["Content-Type"]) == (b"PK", "application/zip")


def test_exports_that_are_no_tables(api, project):
    make_labels(project, [make_annotator(project, "Otter")], 8)
    kinds = {row["table"]: set(row["downloads"]) for row in api("get", "exports").json()}
    assert kinds["matrix"] == {"csv"}
    assert kinds["comparisons"] == {"csv", "jsonl", "json", "parquet", "preflib", "labelstudio"}
    assert "svg" not in kinds["ranking"]  # no fit yet
    assert api("get", "export", args=["ranking", "svg"]).status_code == 404
    votes = b"".join(api("get", "export", args=["comparisons", "preflib"]).streaming_content).decode()
    assert "# NUMBER VOTERS: 8" in votes
    matrix = b"".join(api("get", "export", args=["matrix", "csv"]).streaming_content).decode()
    assert matrix.startswith("item,item-0,item-1")


def test_a_file_becomes_an_item_once(api, project, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path

    def send(content: bytes, **more):
        data = {"file": SimpleUploadedFile("teal square.png", content), **more}
        return api.client.post(
            reverse("api-item-files", args=[project.pk]), data, headers={"Authorization": f"Bearer {api.secret}"}
        )

    made = send(picture("teal"), text="A teal square", context="Which is greener?")
    assert (made.status_code, made.json()) == (201, {"key": "teal square.png", "kind": "image"})
    item = project.items.get(key="teal square.png")
    assert (item.kind, item.body, item.context.body) == ("image", "A teal square", "Which is greener?")
    assert "teal square" in send(picture("red")).json()["errors"]["key"][0]
    assert send(picture("red"), key="red").json()["key"] == "red"
    assert "not a picture" in send(b"text").json()["errors"]["file"][0]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and "items" not in path.parts]
    stranger = Client().post(reverse("api-item-files", args=[project.pk]), {"file": SimpleUploadedFile("a.png", b"x")})
    assert stranger.status_code == 401


def test_a_file_whose_words_or_key_do_not_fit_names_the_field(api, project, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path

    def refused(name: str, **more) -> set[str]:
        data = {"file": SimpleUploadedFile(name, picture("teal")), **more}
        url = reverse("api-item-files", args=[project.pk])
        response = api.client.post(url, data, headers={"Authorization": f"Bearer {api.secret}"})
        assert response.status_code == 422
        return set(response.json()["errors"])

    assert refused("a.png", text="x" * 1001) == {"text"}
    assert refused("_.png") == {"text"}
    assert refused("a.png", key="item-0") == {"key"}
    assert not list(tmp_path.rglob("*.png"))
    assert project.items.count() == 6


def test_files_sent_by_the_api_leave_uploads_that_wait_alone(api, alice, project, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    values = {"user": alice, "project": project, "kind": "table", "name": "n", "details": {}, "files": {"text": b"t"}}
    waiting = {uploads.keep(**values, now=timezone.now()).id for _ in range(uploads.PER_USER)}
    data = {"file": SimpleUploadedFile("a.png", picture("teal"))}
    url = reverse("api-item-files", args=[project.pk])
    assert api.client.post(url, data, headers={"Authorization": f"Bearer {api.secret}"}).status_code == 201
    assert {path.name for path in (tmp_path / "imports").iterdir()} == waiting


def test_a_participant_goes_the_whole_way_without_a_page(api, project):
    api("patch", "entry", {"consent": "You may stop.", "codes": "study", "complete_code": "DONE-1", "thanks": "Bye!"})
    ask = {"label": "Age", "kind": "number", "least": 18, "required": True}
    api("put", "questionnaire", {"questions": [ask]})
    project.refresh_from_db()
    joined = Client().post(reverse("api-join", args=[project.join_token]), {}, content_type="application/json").json()
    headers = {"Authorization": f"Annotator {joined['secret']}"}

    def ask_as(method: str, route: str, body=None):
        url = reverse(f"api-{route}", args=[project.pk])
        return getattr(Client(), method)(url, body, content_type="application/json", headers=headers)

    stopped = ask_as("post", "next", {}).json()
    assert stopped["task"] is None
    assert "whether you agree" in stopped["stop"]["text"]
    text = ask_as("get", "consent").json()
    assert (text["text"], text["agreed"]) == ("You may stop.", False)
    assert ask_as("post", "consent", {"version": "0" * 64}).status_code == 409
    assert ask_as("post", "consent", {"version": text["version"]}).json()["agreed"] is True
    assert Consent.objects.get().text.version == text["version"]
    [question] = ask_as("get", "questions").json()["questions"]
    refused = ask_as("post", "questions", {"questions": [{"id": question["id"], "answer": "17"}]})
    assert set(refused.json()["errors"]) == {f"questions.{question['id']}"}
    told = ask_as("post", "questions", {"questions": [{"id": question["id"], "answer": "18"}]}).json()
    assert told == {"at_end": None, "questions": []}
    assert ask_as("post", "next", {}).json()["task"]["token"]
    assert ask_as("post", "finish", {}).json()["type"] == "urn:crowdrank:problem:not-finished"
    annotator = project.annotators.get(pseudonym=joined["pseudonym"])
    type(project).objects.filter(pk=project.pk).update(cap=1)
    answer_one(type(annotator).objects.select_related("project").get(pk=annotator.pk), now=timezone.now())
    end = ask_as("post", "finish", {}).json()
    assert (end["kind"], end["code"], end["thanks"]) == ("complete", "DONE-1", "Bye!")
    assert ask_as("post", "finish", {}).json() == end
    [row] = api("get", "participants").json()["results"]
    assert (row["annotator"], row["ended"], row["code"]) == (joined["pseudonym"], "complete", "DONE-1")
    assert api("post", "codes", {"code": "MADE-UP"}).json()["is_genuine"] is False


def test_own_answers_and_what_owners_look_at(api, project, alice):
    otter = make_annotator(project, "Otter", user=alice, source="account")
    answer_one(otter, now=timezone.now() - timedelta(seconds=5))
    page = api("get", "answers").json()
    assert (page["count"], page["results"][0]["undone"], len(page["results"][0]["shown"])) == (1, False, 2)
    assert api("get", "answers", page=2).status_code == 404
    task = api("get", "preview").json()["task"]
    assert (len(task["items"]), task["token"]) == (2, "preview")
    item = project.items.first()
    assert api("get", "item-figures", args=[item.pk]).json()["fit"] is None
    assert api("get", "trust").status_code == api("get", "report").status_code == 404
    spread_fit(project, list(project.items.order_by("pk")))
    figures = api("get", "item-figures", args=[item.pk]).json()
    assert (figures["fit"], figures["rank"]) == (1, 1)
    report = api("get", "report").json()
    assert (report["fit"], report["estimator"]) == (1, "CrowdBT")
    assert "<" not in report["verdict"]
    assert api("get", "models").json() == {
        "estimator": project.estimator,
        "best": None,
        "advice": None,
        "n_labels": None,
        "fit_number": None,
        "made_at": None,
        "rows": [],
        "predictions": None,
    }
