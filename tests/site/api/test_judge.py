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

from annotate import command_line as installed
from annotate.client import __main__ as command_line
from annotate.client import judging
from annotate.client.replies import NoAnswer, Question, Reply, Unusable, read_reply
from annotate.models import MachineAnswer
from tests.conftest import answer_one, make_annotator, make_token
from tests.paths import ROOT
from tests.site.processes import wait_for
from tests.site.task_types import set_task

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


@pytest.mark.embedded
@pytest.mark.slow
def test_each_pair_is_judged_in_both_orders_and_never_twice(judge, project, stub, capsys):
    assert judge("--price-in", "10", "--price-out", "100", "--currency", "EUR", "--prompt-version", "v2") == 0
    assert len(stub.asked) == len(set(stub.asked)) == MachineAnswer.objects.count() == 30
    told = capsys.readouterr()
    assert told.out == "30 answers stored, 0 skipped, 3060 tokens, 0.0360 EUR\n"
    assert KEY not in told.out + told.err
    assert stub.keys == {f"Bearer {KEY}"}
    one = MachineAnswer.objects.select_related("machine", "item_set", "chosen").earliest("pk")
    first, second = (project.items.get(pk=pk) for pk in shown_items(one))
    assert f"[{first.body}]\n[{second.body}]" in stub.asked[0]
    assert (one.chosen, one.prompt_version, one.tokens_in) == (first, "v2", 100)
    assert (float(one.cost), one.machine.prompt, one.machine.program) == (0.0012, PROMPT, "m-1")
    assert judge() == 0
    assert len(stub.asked) == 30


@pytest.mark.embedded
def test_only_pairs_that_people_answered_unless_more_are_asked_for(judge, project, stub):
    answer_one(make_annotator(project, "Quiet Otter"))
    assert judge(sets="answered") == 0
    assert len(stub.asked) == 2


@pytest.mark.parametrize("command", ["judge", "machines"])
@pytest.mark.parametrize("site", [True, False])
def test_the_installed_command_has_it_with_the_site_and_without(command, site, monkeypatch, capsys):
    monkeypatch.setattr(installed, "SITE_INSTALLED", site)
    monkeypatch.setattr(sys, "argv", ["crowdrank", command, "--help"])
    with pytest.raises(SystemExit) as ended:
        installed.main()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: crowdrank {command}")


@pytest.mark.embedded
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


@pytest.mark.embedded
def test_it_stops_where_nothing_is_answered(judge, stub, capsys):
    stub.replies = ["?"]
    assert judge("--tries", "1") == 1
    assert len(stub.asked) == 10
    assert "Stopped: 10 questions in a row without an answer." in capsys.readouterr().err
    assert not MachineAnswer.objects.exists()


@pytest.mark.embedded
@pytest.mark.parametrize("status", [401, 404, 302])
def test_a_refusal_ends_it_and_names_no_key(judge, stub, capsys, status):
    stub.replies = [status]
    assert judge() == 1
    told = capsys.readouterr().err
    assert f"status {status}" in told
    assert KEY not in told
    assert len(stub.asked) == 1


@pytest.mark.embedded
def test_another_prompt_is_another_machine(judge, stub, tmp_path, capsys):
    assert judge("--most", "1") == 0
    other = tmp_path / "other.txt"
    other.write_text(PROMPT + "!")
    assert judge("--prompt", str(other)) == 1
    assert "Choose another --name." in capsys.readouterr().err


@pytest.mark.embedded
def test_a_missing_key_is_said_before_anything_is_asked(judge, stub, monkeypatch, capsys):
    monkeypatch.delenv("STUB_KEY")
    assert judge() == 1
    assert "The environment has no STUB_KEY." in capsys.readouterr().err
    assert stub.asked == []


@pytest.mark.embedded
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


@pytest.mark.embedded
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


def asked(k: int = 2, **more) -> Question:
    return Question("Which?", [f"text {n}" for n in range(k)], **more)


RANKING = {"task": "ranking", "is_ordered": True, "n_named": 4}
WEAK = {**RANKING, "shares_places": True}
BEST_WORST = {"task": "best_worst", "is_ordered": True, "n_named": 2}


@pytest.mark.parametrize(
    ("text", "chosen"), [("A", 0), (" b.\n", 1), ("**B**", 1), ('{"chosen": "a"}', 0), ("Tie", None)]
)
def test_replies_that_choose(text, chosen):
    assert read_reply(text, asked(ties=True)) == Reply(chosen)


@pytest.mark.parametrize(
    ("text", "task", "order", "shared"),
    [
        ("B, A, D, C", RANKING, (1, 0, 3, 2), ()),
        ("b > a > d > c.", RANKING, (1, 0, 3, 2), ()),
        ('["B", "A", "D", "C"]', RANKING, (1, 0, 3, 2), ()),
        ('{"order": ["B", ["A", "D"], "C"]}', WEAK, (1, 0, 3, 2), (2,)),
        ("B = A, D = C", WEAK, (1, 0, 3, 2), (1, 3)),
        ("D, A", BEST_WORST, (3, 0), ()),
        ('{"best": "D", "worst": "A"}', BEST_WORST, (3, 0), ()),
    ],
)
def test_replies_in_order(text, task, order, shared):
    assert read_reply(text, asked(4, **task)) == Reply(None, order=order, shared=shared)


@pytest.mark.parametrize("text", ["", "C", "A or B", "Answer: A and B", "tie", '{"chosen": 1}', "[]", "7", "null"])
def test_replies_that_choose_nothing(text):
    with pytest.raises(NoAnswer):
        read_reply(text, asked())


@pytest.mark.parametrize(
    ("text", "task", "why"),
    [
        ("E", {"task": "best"}, r"not shown \(shown were A to D\)"),
        ("tie", {"task": "best"}, "a tie, which is no answer here"),
        ("A, B, C, E", RANKING, "not shown"),
        ("A, B, C", RANKING, "3 letters where 4 are needed"),
        ("A, B, C, A", RANKING, "named twice"),
        ("A, B = C, D", RANKING, "share a place"),
        ("BADC", RANKING, "names no order"),
        ("I rank them all alike", RANKING, "names no order"),
        ('{"order": [["A"], 7]}', WEAK, "names no order"),
        ('{"chosen": "A"}', RANKING, "names no order"),
        ("A", BEST_WORST, "1 letters where 2 are needed"),
    ],
)
def test_replies_about_sets_that_say_nothing_usable(text, task, why):
    with pytest.raises(NoAnswer, match=why) as found:
        read_reply(text, asked(4, **task))
    assert found.value.excerpt


GRADED = {"task": "graded", "grades": ("slightly", "clearly"), "ties": True}


@pytest.mark.parametrize(
    ("text", "chosen", "grade"),
    [
        ("A clearly", 0, "clearly"),
        ("**B**, slightly.\n", 1, "slightly"),
        ("Clearly B", 1, "clearly"),
        ('{"chosen": "b", "grade": "Slightly"}', 1, "slightly"),
        ('{"chosen": "A clearly"}', 0, "clearly"),
        ("A", 0, ""),
        ("tie", None, ""),
        ('{"chosen": "tie", "grade": null}', None, ""),
    ],
)
def test_replies_say_how_much_better(text, chosen, grade):
    assert read_reply(text, asked(**GRADED)) == Reply(chosen, grade=grade)
    assert read_reply(text, asked(**GRADED)).as_row() == {"chosen": chosen, **({"grade": grade} if grade else {})}


@pytest.mark.parametrize(
    "text", ["A clearly slightly", "clearly", "A or B clearly", '{"chosen": "A", "grade": "hugely"}', "C clearly"]
)
def test_grades_that_were_not_asked_are_no_answer(text):
    with pytest.raises(NoAnswer):
        read_reply(text, asked(**GRADED))
    with pytest.raises(NoAnswer):
        read_reply("A clearly", asked())


def test_a_graded_pair_says_so_in_the_prompt_and_to_a_program():
    pair = asked(**GRADED)
    assert pair.fill_in("{answer}") == (
        "Reply with one letter, A or B, and “slightly” or “clearly” for how much better it is, as in “A slightly”, "
        "or “tie” if they are equally good, and nothing else."
    )
    assert pair.as_json()["grades"] == ["slightly", "clearly"]
    assert "grades" not in asked().as_json()


@pytest.mark.embedded
@pytest.mark.slow
def test_a_model_grades_pairs(judge, project, stub, tmp_path):
    set_task(project, "graded", 2)
    prompt = tmp_path / "graded.txt"
    prompt.write_text("{question}\n{items}\n{answer}")
    stub.replies = ["A clearly", "B slightly", "A"]
    assert judge("--prompt", str(prompt), "--most", "3") == 0
    assert "“slightly” or “clearly”" in stub.asked[0]
    assert list(MachineAnswer.objects.order_by("pk").values_list("grade", flat=True)) == ["clearly", "slightly", ""]


@pytest.mark.embedded
@pytest.mark.slow
def test_each_kind_of_task_of_a_size_is_judged(judge, project, stub, tmp_path):
    further = {"task_type": "graded", "k": 2, "m": None, "shared_places": False, "percent": 40}
    set_task(project, "pair", 2, further_tasks=[further])
    prompt = tmp_path / "both.txt"
    prompt.write_text("{items}\n{answer}")
    assert judge("--prompt", str(prompt)) == 0
    told = MachineAnswer.objects.values_list("task", flat=True)
    assert sorted(told) == ["graded:2"] * 30 + ["pair:2"] * 30
    assert judge("--prompt", str(prompt)) == 0
    assert len(stub.asked) == 60


def test_braces_in_texts_stay_as_they_are():
    pair = Question("Q", ["{b}", "{0} {a}"])
    assert pair.fill_in("{question}|{a}|{b}{or_tie}") == "Q|{b}|{0} {a}"
    assert pair.fill_in("{items}") == "A:\n{b}\n\nB:\n{0} {a}"


def test_a_prompt_for_pairs_is_not_sent_with_larger_sets():
    with pytest.raises(Unusable, match="shows 4 items at a time"):
        asked(4).fill_in("{a} {b}")


def test_each_kind_of_task_says_how_to_reply():
    told = [asked(4, **task).fill_in("{answer}") for task in ({"task": "best"}, BEST_WORST, RANKING, WEAK)]
    assert told[0] == "Choose the best. Reply with one letter, A to D, and nothing else."
    assert told[1].startswith("Reply with two letters of A to D: first the best, then the worst, separated by commas")
    assert told[2] == "Reply with all 4 letters, A to D, the best first, separated by commas, and nothing else."
    assert "put = between items" in told[3]
    best = asked(3, task="best", best="clearest").fill_in("{answer}")
    assert best.startswith("Choose “clearest”.")


SETS_PROGRAM = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    numbers = [int(text.split()[-1]) for text in asked["items"]]
    order = sorted(range(len(numbers)), key=lambda place: numbers[place])
    letters = ["ABCDEFGHIJ"[place] for place in order]
    kinds = {"best": {"chosen": letters[0]}, "best_worst": {"best": letters[0], "worst": letters[-1]}}
    said = kinds.get(asked["task"], {"order": letters[: asked["n_named"]]})
    print(json.dumps({**said, "tokens_in": 5}), flush=True)
"""


@pytest.mark.embedded
@pytest.mark.process
@pytest.mark.parametrize(
    ("task_type", "m", "outcome", "ranks"),
    [("best", None, "choice", ""), ("best_worst", None, "best_worst", "0121"), ("top", 2, "top", "0122")],
)
def test_a_program_judges_sets_in_two_orders_and_goes_on_where_it_was(
    judge, project, tmp_path, capsys, task_type, m, outcome, ranks
):
    """Of six items the fifteen sets of four, in two orders each; ranks: sorted, since each order has its own."""
    set_task(project, task_type, 4, m)
    program = tmp_path / "judge.py"
    program.write_text(SETS_PROGRAM)
    source = ["--command", f"{sys.executable} {program}"]
    assert judge("--most", "7", source=source) == 0
    assert judge(source=source) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "23 answers stored, 0 skipped, 115 tokens"
    answers = list(MachineAnswer.objects.select_related("item_set", "chosen"))
    assert len({(one.item_set_id, one.shown) for one in answers}) == len(answers) == 30
    assert {one.outcome for one in answers} == {outcome}
    assert {"".join(sorted(one.ranks)) for one in answers} == {"".join(sorted(ranks))}
    for one in answers:
        first = min(int(pk) for pk in one.item_set.key.split("-"))
        best = one.chosen_id if one.chosen_id else shown_items(one)[one.ranks.index("0")]
        assert best == first
    assert judge(source=source) == 0
    assert MachineAnswer.objects.count() == 30


def shown_items(answer: MachineAnswer) -> list[int]:
    items = [int(pk) for pk in answer.item_set.key.split("-")]
    return [items[int(place)] for place in answer.shown]


@pytest.mark.embedded
@pytest.mark.slow
def test_a_model_ranks_sets_and_what_it_says_wrong_is_named(judge, project, stub, tmp_path, capsys):
    set_task(project, "ranking", 3, shared_places=True)
    prompt = tmp_path / "sets.txt"
    prompt.write_text("{question}\n{items}\n{answer}")
    stub.replies = ["A, B, E", "A, B", "B = C, A"]
    asked_for = ["--prompt", str(prompt), "--tries", "1", "--most", "2"]
    assert judge(*asked_for) == 1
    told = capsys.readouterr()
    assert "1 times: a letter that was not shown (shown were A to C), as in “E”" in told.err
    assert "1 times: 2 letters where 3 are needed, as in “A, B”" in told.err
    assert "mend the prompt or the program first" in told.err
    assert set(MachineAnswer.objects.values_list("ranks", flat=True)) == {"100"}
    assert "put = between items that are equally good" in stub.asked[0]


@pytest.mark.embedded
def test_a_prompt_for_pairs_stops_before_a_set_is_asked(judge, project, stub, capsys):
    set_task(project, "best", 4)
    assert judge() == 1
    assert "this project shows 4 items at a time. Put {items}" in capsys.readouterr().err
    assert not stub.asked


@pytest.mark.embedded
def test_more_orders_than_two(judge, project, stub, tmp_path):
    set_task(project, "best", 5)
    prompt = tmp_path / "sets.txt"
    prompt.write_text("{items} {answer}")
    assert judge("--prompt", str(prompt), "--orders", "4", "--most", "8") == 0
    orders = MachineAnswer.objects.order_by("pk").values_list("item_set", "shown")
    assert len({one for one, _shown in orders}) == 2
    first = [shown for one, shown in orders if one == orders[0][0]]
    assert len(set(first)) == 4
    assert first[1] == first[0][::-1]
    assert judge("--orders", "1") == 1
