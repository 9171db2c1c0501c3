"""The client and its command line, against a server that answers as the site does."""

import csv
import io
import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from annotate.client import ApiError, Client, Table
from annotate.client import __main__ as command_line
from annotate.models import Label, Membership, new_token
from tests.conftest import answer_one, make_annotator, make_token
from tests.paths import ROOT
from tests.site.factories import spread_fit


@pytest.fixture
def site(live_server, alice, project) -> Client:
    return Client(live_server.url, make_token(alice)[1])


@pytest.mark.embedded
@pytest.mark.slow
def test_from_a_new_project_to_its_figures(site, live_server, alice):
    made = site.create_project("Essays", "Which is better?", overlap=2)
    project = made["id"]
    assert [row["name"] for row in site.projects()] == ["Essays", "Convincing arguments"]
    keys = site.add_items(project, ({"text": f"Essay {i}", "tags": ["spring"]} for i in range(1, 1004)))
    assert len(keys) == 1003
    assert [item["text"] for item in site.items(project, tag="spring")][::1002] == ["Essay 1", "Essay 1003"]
    site.change_project(project, name="Essays of spring")
    assert site.set_state(project, "open")["state"] == "open"

    joined = site.join(site.project(project)["join_link"].rstrip("/").rpartition("/")[2], "Brave Newt")
    step = joined.next(project)
    following = joined.answer(step["task"]["token"], "choice", chosen=1, response_ms=800)
    assert following["n_done"] == 1
    assert joined.undo(project, step["task"]["token"])["n_done"] == 0
    joined.answer(
        joined.next(project)["task"]["token"], "tie" if "tie" in step["task"]["others"] else "choice", chosen=0
    )
    [first, second] = site.labels(project, page_size=1)
    assert (first["annotator"], first["valid"], second["valid"]) == ("Brave Newt", False, True)
    file = io.BytesIO()
    site.export(project, "labels", "csv", file)
    rows = list(csv.DictReader(io.StringIO(file.getvalue().decode())))
    assert [row["winner"] for row in rows] == [first["winner"], second["winner"]]
    assert site.progress(project)["n_given"] == 2
    assert [row["pseudonym"] for row in site.annotators(project)] == ["Brave Newt"]


def test_a_notebook_shows_a_ranking_as_a_table(site, project):
    items = list(project.items.order_by("pk"))
    items[0].name = "<script>"
    items[0].save()
    spread_fit(project, items)
    table = Table(site.ranking(str(project.pk)))
    html = table._repr_html_()
    assert html.count("<tr>") == 1 + len(items)
    assert html.count("<svg") == len(items)
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    assert table.to_pandas()["item"].tolist() == table.to_arrow()["item"].to_pylist() == table.column("item")


def test_refusals_say_what_is_wrong(site, live_server, project):
    with pytest.raises(ApiError) as caught:
        site.add_items(str(project.pk), [{"text": "One", "key": "item-0"}])
    assert (caught.value.status, caught.value.kind, set(caught.value.errors)) == (422, "invalid", {"items.0"})
    with pytest.raises(ApiError) as caught:
        next(Client(live_server.url, "crk_wrong").projects())
    assert caught.value.status == 401
    with pytest.raises(ValueError, match="no address"):
        Client("file:///etc/passwd")


def test_no_token_looks_like_an_option():
    # One in 64 URL-safe tokens begins with a dash, which a command line takes for an option.
    tokens = [new_token() for _draw in range(2000)]
    assert all(token.isalnum() for token in tokens)
    assert len(set(tokens)) == len(tokens)


@pytest.mark.slow
def test_the_command_line(site, live_server, project, alice, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CROWDRANK_URL", live_server.url)
    monkeypatch.setenv("CROWDRANK_TOKEN", make_token(alice)[1])
    here = str(project.pk)

    def run(*arguments: str) -> str:
        assert command_line.main(list(arguments)) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    assert json.loads(run("projects"))["id"] == here
    table = tmp_path / "items.csv"
    table.write_text("key,text,tags,author\nnew-1,One more,a;b,Ann\nnew-2,Another,,Bea\n")
    assert run("items", "import", here, str(table)) == "2 items added.\n"
    assert sorted(project.items.get(key="new-1").tags.values_list("name", flat=True)) == ["a", "b"]
    spread_fit(project, list(project.items.order_by("pk")))
    assert run("ranking", here, "--top", "1").startswith("0\t1 (1-")
    assert json.loads(run("ranking", here, "--top", "1", "--json"))["item"] == "item-0"
    run("join", here)
    task = json.loads(run("next", here))["task"]
    assert json.loads(run("answer", task["token"], "choice", "--chosen", "0"))["n_done"] == 1
    assert Label.objects.get().annotator.user == alice
    output = tmp_path / "labels.jsonl"
    run("labels", "export", here, "--format", "jsonl", "--output", str(output))
    assert json.loads(output.read_text())["label"] == Label.objects.get().pk

    assert command_line.main(["items", "import", here, str(table)]) == 1
    said = capsys.readouterr().err.splitlines()
    assert [line.partition("”")[0] for line in said] == ["items.0: The key “new-1", "items.1: The key “new-2"]
    table.write_text("Pupil,Essay\nAda,One day\n")
    assert command_line.main(["items", "import", here, str(table)]) == 1
    assert "no column text" in (told := capsys.readouterr().err)
    assert "--column text=Essay" in told
    Membership.objects.filter(user=alice).delete()
    assert command_line.main(["ranking", here]) == 1
    monkeypatch.delenv("CROWDRANK_TOKEN")
    assert command_line.main(["projects"]) == 1
    assert "CROWDRANK_TOKEN" in capsys.readouterr().err


class Moody(BaseHTTPRequestHandler):
    """Refuses first, then answers; or sends whoever asks elsewhere."""

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append((self.path, self.headers))  # type: ignore[attr-defined]
        status = self.server.statuses.pop(0)  # type: ignore[attr-defined]
        body = b'{"n_items": 1, "keys": ["a"]}'
        self.send_response(status)
        self.send_header("Retry-After", "0.01")
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments) -> None:
        pass


@pytest.fixture
def moody():
    server = HTTPServer(("127.0.0.1", 0), Moody)
    server.asked, server.statuses = [], []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_what_may_be_sent_twice_is_tried_again_under_one_key(moody):
    moody.statuses = [503, 429, 201]
    client = Client(f"http://127.0.0.1:{moody.server_port}", "crk_x")
    assert client.add_items("p", [{"text": "One"}]) == ["a"]
    keys = {headers["Idempotency-Key"] for _path, headers in moody.asked}
    assert (len(moody.asked), len(keys)) == (3, 1)


def test_files_wait_where_too_many_were_asked_for(moody):
    client, file = Client(f"http://127.0.0.1:{moody.server_port}", "crk_x"), io.BytesIO()
    moody.statuses = [429, 503, 200]
    client.export("p", "labels", "csv", file)
    assert file.getvalue() == b'{"n_items": 1, "keys": ["a"]}'
    moody.statuses = [429, 201, 503]
    assert client.add_item_file("p", io.BytesIO(b"picture"))["keys"] == ["a"]
    with pytest.raises(ApiError):  # it may have been taken
        client.add_item_file("p", io.BytesIO(b"picture"))
    assert (len(moody.asked), moody.statuses) == (6, [])


def test_a_token_follows_no_redirect(moody):
    moody.statuses = [302]
    with pytest.raises(ApiError):
        Client(f"http://127.0.0.1:{moody.server_port}", "crk_x").set_state("p", "open")
    assert [path for path, _headers in moody.asked] == ["/api/v1/projects/p/state/"]


@pytest.mark.process
def test_it_needs_nothing_but_the_standard_library():
    code = (
        "import sys; import annotate.client.__main__;"
        "found = {name.split('.')[0] for name in sys.modules} & {'django', 'numpy', 'rest_framework', 'models_engine'};"
        "found |= {name for name in sys.modules if name.startswith('annotate.')"
        " and not name.startswith('annotate.client')};"
        "sys.exit(str(found) if found else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    helped = subprocess.run(
        [sys.executable, "-m", "annotate.client", "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert "CROWDRANK_TOKEN" in helped.stdout


def test_a_fit_and_its_ranking_are_the_same_rows(site, project):
    answer_one(make_annotator(project, "Otter"))
    spread_fit(project, list(project.items.order_by("pk")))
    ranks = [(row["item"], row["rank"]) for row in site.ranking(str(project.pk))]
    assert ranks == [(f"item-{i}", i + 1) for i in range(6)]
    assert [fit["number"] for fit in site.fits(str(project.pk))] == [1]
