"""The client has a method for every operation of the API, which asks for that operation; the newer commands."""

import inspect
import io
import json
import random
import re
import threading
import time
import zipfile

import pytest
from django.utils import timezone

from annotate.annotators.cohorts import queue as cohorts_queue
from annotate.api.schema import METHODS, schema
from annotate.client import Client
from annotate.client import __main__ as command_line
from annotate.fitting import run as fitting_run
from annotate.fitting import scheduling
from annotate.imports import queue as imports_queue
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.management.commands.worker import create_worker
from annotate.models import FitState, Item, RunRecord
from annotate.publishing.run_records import queue as run_records_queue
from tests.conftest import NOW, make_annotator, make_token
from tests.site.annotators.test_by_criterion import crossed  # noqa: F401  (a fixture)
from tests.site.factories import forecast_made, spread_fit
from tests.site.fitting.test_run import fit_now

pytestmark = pytest.mark.embedded

NOT_OPERATIONS = {
    "call",
    "upload",
    "download",
    "wait_for_import",
    "wait_for_record",
    "wait_for_ranking",
}  # how it is asked, and the same asked repeatedly
ARGUMENTS = {"int": 1, "str": "x", "IO[bytes]": io.BytesIO(b"x"), "bool": True, "int | None": 1}


class Asked(Exception):
    """A request that would have been sent."""


class Read(Exception):
    """What was looked for in the reply."""


class Reply(dict):
    """An empty page, which tells what else is looked for in it."""

    def __missing__(self, name):
        raise Read(name)


class Listening(Client):
    def _send(self, method, path, **sent):
        raise Asked(method, path)


class Reading(Client):
    def call(self, *given, **sent):
        return Reply(results=[])

    def upload(self, *given, **sent):
        return Reply()

    def download(self, *given, **sent):
        return None


def use(client: Client, name: str) -> None:
    method = getattr(client, name)
    given = {
        one.name: ARGUMENTS.get(inspect.formatannotation(one.annotation), ["x"])
        for one in inspect.signature(method).parameters.values()
        if one.default is one.empty and one.kind is not one.VAR_KEYWORD
    }
    made = method(**given)
    if inspect.isgenerator(made):  # lists ask when they are read
        list(made)


def asked_by(name: str) -> dict:
    """The operation that a method of the client asks for."""
    with pytest.raises(Asked) as caught:
        use(Listening("http://127.0.0.1"), name)
    verb, path = caught.value.args
    [found] = [
        methods[verb.lower()]
        for template, methods in schema()["paths"].items()
        if verb.lower() in methods and matches(template, f"/api/v1/{path}")
    ]
    return found


def names_in_reply(operation: dict) -> set[str]:
    """The names in what an operation returns where it succeeds."""
    [success] = [reply for status, reply in operation["responses"].items() if status.startswith("2")]
    found = success["content"]["application/json"]["schema"]
    if "$ref" in found:
        found = schema()["components"]["schemas"][found["$ref"].rpartition("/")[2]]
    return set(found["properties"])


def operation_methods() -> list[str]:
    names = [name for name, _it in inspect.getmembers(Client, inspect.isfunction) if not name.startswith("_")]
    return [name for name in names if name not in NOT_OPERATIONS]


def matches(template: str, path: str) -> bool:
    """Where an address fits two templates, such as annotators/tags/, `x` stands for what is no word of ours."""
    return re.fullmatch(re.sub(r"\{\w+\}", r"(x|1)", template), path) is not None


@pytest.mark.embedded
def test_every_operation_has_a_method():
    found = {name: asked_by(name)["operationId"] for name in operation_methods()}
    operations = {
        methods[method]["operationId"]
        for methods in schema()["paths"].values()
        for method in METHODS
        if method in methods
    }
    assert operations - set(found.values()) == set()
    assert len(set(found.values())) == len(found), "two methods for one operation"


def test_methods_look_for_what_the_operations_return():
    looked_for = {}
    for name in operation_methods():
        try:
            use(Reading("http://127.0.0.1"), name)
        except Read as read:
            looked_for[name] = read.args[0]
    assert len(looked_for) > 50
    assert {n: it for n, it in looked_for.items() if it not in names_in_reply(asked_by(n))} == {}


@pytest.fixture
def run(live_server, alice, monkeypatch, capsys):
    monkeypatch.setenv("CROWDRANK_URL", live_server.url)
    monkeypatch.setenv("CROWDRANK_TOKEN", make_token(alice)[1])

    def run(*arguments: str) -> str:
        assert command_line.main(list(arguments)) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return run


@pytest.mark.slow
def test_goals_tags_and_data_by_the_command_line(run, project, tmp_path, capsys):
    here, otter = str(project.pk), make_annotator(project, "Otter")
    assert json.loads(run("goal", "set", here, "--goal", "width", "--width", "1.5"))["goal_width"] == 1.5
    assert json.loads(run("goal", "show", here))["verdict"] == "waiting"
    assert json.loads(run("goal", "remove", here))["goal"] == ""
    assert json.loads(run("policy", "set", here, "--policy", "best", "--top", "2"))["in_force"]
    assert json.loads(run("policy", "show", here))["usual_control_percent"] == 30
    assert run("annotators", "tag", here, "experts", "Otter") == "1 tag added.\n"
    assert json.loads(run("annotators", "list", here))["tags"] == ["experts"]
    assert json.loads(run("call", "GET", f"projects/{here}/annotators/tags/")) == [
        {"name": "experts", "n_annotators": 1}
    ]
    output = tmp_path / "otter.zip"
    run("annotators", "data", here, str(otter.key), "--output", str(output))
    assert output.read_bytes()[:2] == b"PK"
    assert run("annotators", "erase", here, str(otter.key), "Otter") == "Erased, with 0 labels.\n"
    assert not project.annotators.exists()
    assert command_line.main(["tastes", here]) == 1
    assert "There is no taste map yet" in capsys.readouterr().err


def test_a_ranking_by_another_criterion(run, project, tmp_path):
    project.criteria = [{"name": "Clear", "question": "?"}, {"name": "Right", "question": "?"}]
    project.save()
    items = list(project.items.order_by("pk"))
    spread_fit(project, items[::-1], criterion=2)
    here = str(project.pk)
    assert run("ranking", here, "--json") == ""
    assert json.loads(run("ranking", here, "--top", "1", "--json", "--criterion", "2"))["item"] == items[-1].key
    output = tmp_path / "ranking.jsonl"
    run("export", here, "--criterion", "2", "--format", "jsonl", "--output", str(output))
    assert json.loads(output.read_text().splitlines()[0])["item"] == items[-1].key


@pytest.fixture
def engine(live_server):
    """Works on imports, run records and cohorts while a command waits for them."""
    ended = threading.Event()

    def work():
        while not ended.is_set():
            create_worker("test").run_job(imports_queue.QUEUE)
            create_worker("test").run_job(run_records_queue.QUEUE)
            create_worker("test").run_job(cohorts_queue.QUEUE)
            time.sleep(0.05)

    worker = threading.Thread(target=work)
    worker.start()
    yield
    ended.set()
    worker.join()


@pytest.mark.slow
def test_a_project_is_made_and_opened(run, tmp_path, capsys):
    here = run(
        "project", "create", "Essays", "Which is better?", "--set", "overlap=2", "--set", 'outcomes=["tie"]'
    ).strip()
    table = tmp_path / "items.csv"
    table.write_text("text\nOne\nTwo\n")
    run("items", "import", here, str(table))
    assert run("project", "open", here) == "open\n"
    told = json.loads(run("project", "show", here))
    assert (told["name"], told["state"], told["overlap"], told["outcomes"]) == ("Essays", "open", 2, ["tie"])
    assert run("project", "pause", here) == "paused\n"
    assert run("project", "close", here) == "closed\n"
    assert command_line.main(["project", "create", "Essays", "?", "--set", "colour=red"]) == 1
    assert "colour" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_record_of_either_criterion(run, project, engine, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("annotate.client.results.BETWEEN_LOOKS", 0.05)
    here = str(project.pk)
    assert command_line.main(["record", here]) == 1
    assert "There is no ranking" in capsys.readouterr().err
    project.estimator, project.state = "BradleyTerry", "open"
    project.criteria = [{"name": "Clear", "question": "?"}, {"name": "Right", "question": "?"}]
    project.save()
    otter = make_annotator(project, "Otter")
    for seed in range(6):
        shown = assignment.next_presentation(annotator=otter, now=NOW, rng=random.Random(seed))
        record_label(presentation=shown, answer=Answer("choice", 0, further=(Answer("choice", 1),)), now=NOW)
    FitState.objects.update_or_create(project=project, defaults={"wanted": 9})
    fitting_run.run(scheduling.claim_next(owner="test", now=timezone.now()), progress=lambda *_: True)
    for number in (1, 2):
        output = tmp_path / f"{number}.zip"
        run("record", here, "--criterion", str(number), "--output", str(output))
        with zipfile.ZipFile(output) as file:
            [record] = [json.loads(file.read(name)) for name in file.namelist() if name.endswith("record.json")]
        assert record["about"]["criterion"] == project.criteria[number - 1]["name"]
    RunRecord.objects.all().delete()
    run("call", "POST", f"projects/{here}/records/")  # is made first
    run("record", here, "--criterion", "2", "--output", str(output))
    assert list(RunRecord.objects.order_by("pk").values_list("criterion", flat=True)) == [1, 2]


@pytest.mark.slow
@pytest.mark.usefixtures("quick_draws")
def test_tastes_and_cohorts_of_either_criterion(run, crossed, engine, monkeypatch):  # noqa: F811
    monkeypatch.setattr(command_line, "BETWEEN_LOOKS", 0.05)
    fit_now(crossed)
    forecast_made(crossed)
    assert [create_worker("test").run_idle_job() for _criterion in (1, 2)] == [True, True]
    here = str(crossed.pk)
    for number, n_apart in (("1", 6), ("2", 0)):
        assert json.loads(run("tastes", here, "--criterion", number))["fit"] == int(number)
        told = json.loads(run("cohorts", "compare", here, "source", "platform", "link", "--criterion", number))
        assert (told["criterion"], told["status"], told["n_separated"]) == (int(number), "ready", n_apart)
        kept = json.loads(run("cohorts", "list", here, "--criterion", number))["comparisons"]
        assert [one["id"] for one in kept] == [told["id"]]


def test_a_file_is_imported_and_captioned_from_the_command_line(
    run, project, engine, settings, tmp_path, capsys, monkeypatch
):
    settings.MEDIA_ROOT = str(tmp_path / "media")
    monkeypatch.setattr("annotate.client.items.BETWEEN_LOOKS", 0.05)
    table, here = tmp_path / "essays “1”.csv", str(project.pk)
    table.write_text("id,essay\nitem-1,Taken\nnew-1,One more\n")
    assert command_line.main(["import", "items", here, str(table), "--column", "text=essay"]) == 1
    said = capsys.readouterr()
    assert "row 2:" in said.out
    assert "1 of 2 rows have errors" in said.err
    out = run("import", "items", here, str(table), "--column", "text=essay", "--leave-out")
    assert out.splitlines()[-1] == "2 rows read, 1 imported, 1 left out."
    assert project.items.get(key="new-1").body == "One more"
    talk = Item.objects.create(project=project, key="talk", kind="audio", body="A talk", media="items/x.wav")
    captions = tmp_path / "talk.vtt"
    captions.write_text("WEBVTT\n\n00:01.000 --> 00:02.000\nHello\n")
    run("captions", "set", here, str(talk.pk), str(captions), "--language", "en")
    assert run("captions", "show", here, str(talk.pk)) == captions.read_text()
    run("captions", "remove", here, str(talk.pk))
    assert command_line.main(["captions", "show", here, str(talk.pk)]) == 1
