"""crowdrank judge: a model behind a stub of an endpoint, a program of one's own; rubbish, refusals, kill -9."""

import json
import os
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

import pytest

from annotate.client import __main__ as command_line
from annotate.client import judging
from annotate.client.judges import NoAnswer, fill_in, read_reply
from annotate.models import MachineAnswer
from tests.conftest import answer_one, make_annotator, make_token
from tests.paths import ROOT
from tests.site.processes import wait_for

KEY = "sk-never-to-be-seen"
PROMPT = "{question}\n[{a}]\n[{b}]\n"


class Stub(ThreadingHTTPServer):
    """An endpoint in the OpenAI chat layout. replies: what it says, the last again and again; a number is a status."""

    def __init__(self) -> None:
        self.replies: list[str | int] = ["A"]
        self.asked: list[str] = []
        self.keys: set[str | None] = set()
        self.waits = threading.Event()
        self.waits.set()
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/chat/completions"


class Handler(BaseHTTPRequestHandler):
    server: Stub

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        stub = self.server
        stub.asked.append(body["messages"][0]["content"])
        stub.keys.add(self.headers["Authorization"])
        said = stub.replies.pop(0) if len(stub.replies) > 1 else stub.replies[0]
        if len(stub.asked) > 3:
            stub.waits.wait(30)
        choices = [{"message": {"role": "assistant", "content": said}}]
        reply = json.dumps({"choices": choices, "usage": {"prompt_tokens": 100, "completion_tokens": 2}}).encode()
        try:
            self.send_response(said if isinstance(said, int) else 200)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)
        except OSError:  # who asked was killed
            pass

    def log_message(self, *_told) -> None:
        pass


@pytest.fixture
def stub():
    server = Stub()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.waits.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def judge(live_server, alice, project, monkeypatch, stub, tmp_path):
    """Runs the command on all fifteen pairs of the project; returns its exit code."""
    monkeypatch.setenv("CROWDRANK_URL", live_server.url)
    monkeypatch.setenv("CROWDRANK_TOKEN", make_token(alice)[1])
    monkeypatch.setenv("STUB_KEY", KEY)
    monkeypatch.setattr(judging, "FIRST_PAUSE", 0.01)
    prompt = tmp_path / "prompt.txt"
    prompt.write_text(PROMPT)
    given = ["--endpoint", stub.url, "--model", "m-1", "--key-variable", "STUB_KEY", "--prompt", str(prompt)]

    def judge(*more: str, source=given, sets="all") -> int:
        return command_line.main(["judge", str(project.pk), "--name", "Judge", "--sets", sets, *source, *more])

    judge.arguments = ["judge", str(project.pk), "--name", "Judge", "--sets", "all", *given]
    return judge


@pytest.mark.slow
def test_each_pair_is_judged_in_both_orders_and_never_twice(judge, stub, capsys):
    assert judge("--price-in", "10", "--price-out", "100", "--currency", "EUR", "--prompt-version", "v2") == 0
    assert len(stub.asked) == len(set(stub.asked)) == MachineAnswer.objects.count() == 30
    told = capsys.readouterr()
    assert told.out == "30 answers stored, 0 skipped, 3060 tokens, 0.0360 EUR\n"
    assert KEY not in told.out + told.err
    assert stub.keys == {f"Bearer {KEY}"}
    one = MachineAnswer.objects.select_related("machine", "first", "second").earliest("pk")
    assert f"[{one.first.body}]\n[{one.second.body}]" in stub.asked[0]
    assert (one.chosen, one.prompt_version, one.tokens_in) == (one.first, "v2", 100)
    assert (float(one.cost), one.machine.prompt, one.machine.program) == (0.0012, PROMPT, "m-1")
    assert judge() == 0
    assert len(stub.asked) == 30


def test_only_pairs_that_people_answered_unless_more_are_asked_for(judge, project, stub):
    answer_one(make_annotator(project, "Quiet Otter"))
    assert judge(sets="answered") == 0
    assert len(stub.asked) == 2


@pytest.mark.slow
def test_rubbish_is_counted_said_and_skipped_and_asked_again_the_next_time(judge, stub, capsys):
    stub.replies = ["I like both!", "I like both!", 503, 429, "b"]
    assert judge("--tries", "2", "--most", "3") == 1
    told = capsys.readouterr()
    assert told.out.startswith("3 answers stored, 2 skipped, ")
    assert "2 times: a reply that chooses nothing" in told.err
    assert "1 times: status 503" in told.err
    assert MachineAnswer.objects.count() == 3
    assert judge() == 0
    assert MachineAnswer.objects.count() == 30


def test_it_stops_where_nothing_is_answered(judge, stub, capsys):
    stub.replies = ["?"]
    assert judge("--tries", "1") == 1
    assert len(stub.asked) == 10
    assert "Stopped: 10 questions in a row without an answer." in capsys.readouterr().err
    assert not MachineAnswer.objects.exists()


@pytest.mark.parametrize("status", [401, 404, 302])
def test_a_refusal_ends_it_and_names_no_key(judge, stub, capsys, status):
    stub.replies = [status]
    assert judge() == 1
    told = capsys.readouterr().err
    assert f"status {status}" in told
    assert KEY not in told
    assert len(stub.asked) == 1


def test_another_prompt_is_another_machine(judge, stub, tmp_path, capsys):
    assert judge("--most", "1") == 0
    other = tmp_path / "other.txt"
    other.write_text(PROMPT + "!")
    assert judge("--prompt", str(other)) == 1
    assert "Choose another --name." in capsys.readouterr().err


def test_a_missing_key_is_said_before_anything_is_asked(judge, stub, monkeypatch, capsys):
    monkeypatch.delenv("STUB_KEY")
    assert judge() == 1
    assert "The environment has no STUB_KEY." in capsys.readouterr().err
    assert stub.asked == []


def test_it_asks_no_faster_than_told_second_tries_included(judge, stub, monkeypatch):
    moments: list[float] = []
    monkeypatch.setattr(judging, "wait_until", moments.append)
    stub.replies = ["rubbish", "A"]
    assert judge("--most", "3", "--rate", "60") == 0
    assert len(moments) == 4
    assert all(later - one >= 0.999 for one, later in pairwise(moments))


PROGRAM = """
import json, sys
for line in sys.stdin:
    pair = json.loads(line)
    if pair["a"].endswith("0"):
        sys.exit(1)
    print("nonsense" if pair["b"].endswith("5") else json.dumps({"chosen": "A", "tokens_in": 5}), flush=True)
"""


@pytest.mark.process
def test_a_program_reads_and_writes_lines_and_is_started_again_where_it_ended(judge, tmp_path, capsys):
    program = tmp_path / "judge.py"
    program.write_text(PROGRAM)
    assert judge("--tries", "1", source=["--command", f"{sys.executable} {program}"]) == 1
    told = capsys.readouterr()
    assert told.out == "21 answers stored, 9 skipped, 105 tokens\n"
    assert "5 times: the program ended" in told.err
    assert "4 times: a line that is no JSON object" in told.err


@pytest.mark.process
def test_a_killed_one_goes_on_where_it_was(judge, stub):
    stub.waits.clear()
    process = subprocess.Popen([sys.executable, "-m", "annotate.client", *judge.arguments], cwd=ROOT, env=os.environ)
    wait_for(lambda: len(stub.asked) == 4)
    process.send_signal(signal.SIGKILL)
    process.wait()
    stub.waits.set()
    assert MachineAnswer.objects.count() == 3
    assert judge() == 0
    assert MachineAnswer.objects.count() == 30
    assert len(stub.asked) == 31  # the one without an answer stored was asked again


@pytest.mark.parametrize(
    ("text", "chosen"), [("A", 0), (" b.\n", 1), ("**B**", 1), ('{"chosen": "a"}', 0), ("Tie", None)]
)
def test_replies_that_choose(text, chosen):
    assert read_reply(text, ties=True) == chosen


@pytest.mark.parametrize("text", ["", "C", "A or B", "Answer: A and B", "tie", '{"chosen": 1}', "[]", "7", "null"])
def test_replies_that_choose_nothing(text):
    with pytest.raises(NoAnswer):
        read_reply(text, ties=False)


def test_braces_in_texts_stay_as_they_are():
    pair = {"question": "Q", "context": "", "a": "{b}", "b": "{0} {a}", "ties": False}
    assert fill_in("{question}|{a}|{b}{or_tie}", pair) == "Q|{b}|{0} {a}"
