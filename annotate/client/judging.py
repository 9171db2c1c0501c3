"""crowdrank judge: has a machine answer sets of items, each in several orders, until none is left."""

import argparse
import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotate.client.api import Client
from annotate.client.judges import EndpointJudge, Judge, Paid, ProgramJudge, wait_until
from annotate.client.replies import PROMPT, NoAnswer, Question, Reply, usable_prompt

TEXTS = ("text", "markdown", "html")
MAX_ORDERS = 20  # a set of ten has no more
MAX_IN_A_ROW = 10  # questions without an answer, after which it stops
FIRST_PAUSE = 1.0
MILLION = 1_000_000
BETWEEN_LINES = 5.0  # seconds between lines of progress
Commands = Any


@dataclass
class Tally:
    """What was done so far."""

    stored: int = 0
    skipped: int = 0
    no_text: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    why: Counter[str] = field(default_factory=Counter)
    excerpts: dict[str, str] = field(default_factory=dict)  # by why: what the first of them said

    def note(self, trouble: NoAnswer) -> None:
        self.why[trouble.why] += 1
        self.excerpts.setdefault(trouble.why, trouble.excerpt)

    def troubles(self) -> list[str]:
        return [
            f"{n} times: {why}" + (f", as in “{self.excerpts[why]}”" if self.excerpts[why] else "")
            for why, n in self.why.most_common()
        ]

    def line(self, currency: str) -> str:
        spent = f", {self.cost:.4f} {currency}".rstrip() if self.cost else ""
        left_out = f", {self.no_text} left out (no text)" if self.no_text else ""
        return (
            f"{self.stored} answers stored, {self.skipped} skipped{left_out}, "
            f"{self.tokens_in + self.tokens_out} tokens{spent}"
        )


class Pace:
    """Lets so many questions a minute pass, tries included; 0: as many as there are."""

    def __init__(self, rate: float) -> None:
        self.gap = 60 / rate if rate else 0.0
        self.next_at = 0.0

    def wait(self) -> None:
        moment = max(time.monotonic(), self.next_at)
        self.next_at = moment + self.gap
        wait_until(moment)


def add_judge_command(commands: Commands) -> None:
    one = commands.add_parser("judge", help="let a program or a model judge sets of items, each in several orders")
    one.add_argument("project", help="its id")
    one.add_argument("--name", required=True, help="of the machine, as the site calls it; added if there is none")
    source = one.add_mutually_exclusive_group(required=True)
    source.add_argument("--command", dest="run", help="a program: a line of JSON in, a line of JSON out")
    source.add_argument("--endpoint", help="an address in the OpenAI chat layout; gets the texts of the items")
    one.add_argument("--model", default="", help="for an endpoint: its model")
    one.add_argument("--model-version", default="", help="version of program or model")
    one.add_argument("--prompt", type=Path, help="a file: the prompt, with {question} {context} {items} {answer}")
    one.add_argument("--prompt-version", default="", help="kept with each answer")
    one.add_argument("--key-variable", default="", help="environment variable with the key of the endpoint")
    one.add_argument("--option", action="append", default=[], metavar="NAME=JSON", help="as in temperature=0")
    one.add_argument("--sets", choices=["answered", "plan", "all"], default="answered", help="which sets (answered)")
    one.add_argument("--orders", type=int, default=2, help="in how many orders each set is shown (2); pairs in two")
    one.add_argument("--criterion", type=int, help="its number, if the project has several (1)")
    one.add_argument("--rate", type=float, default=0.0, help="at most so many questions a minute")
    one.add_argument("--tries", type=int, default=3, help="of each question (3)")
    one.add_argument("--timeout", type=float, default=60.0, help="seconds for an answer (60)")
    one.add_argument("--most", type=int, help="stop after so many answers")
    one.add_argument("--price-in", type=float, default=0.0, help="of a million tokens sent")
    one.add_argument("--price-out", type=float, default=0.0, help="of a million tokens received")
    one.add_argument("--currency", default="", help="as in EUR")


def judge(client: Client, options: argparse.Namespace) -> int:
    """Return 0, or 1 where a set was skipped."""
    if options.tries < 1 or options.rate < 0 or options.timeout <= 0:
        raise ValueError("Give at least 1 try, a rate of 0 or more and a timeout above 0.")
    if not 2 <= options.orders <= MAX_ORDERS:
        raise ValueError(f"--orders is {options.orders}; give 2 to {MAX_ORDERS}.")
    prompt = options.prompt.read_text(encoding="utf-8-sig") if options.prompt else PROMPT
    asked = judge_of(options, prompt)
    try:
        key = machine_key(client, options, asked, "" if options.run else prompt)
        tally = judge_all(client, options, asked, key)
    finally:
        asked.close()
    print(tally.line(options.currency))
    for line in tally.troubles():
        print(f"  {line}", file=sys.stderr)
    if tally.skipped:
        print(
            "Run it again to ask about the skipped ones once more; mend the prompt or the program first.",
            file=sys.stderr,
        )
    return 1 if tally.skipped else 0


def judge_of(options: argparse.Namespace, prompt: str) -> Judge:
    if options.run:
        return ProgramJudge(options.run, options.timeout)
    if not options.model:
        raise ValueError("Name the model of the endpoint by --model.")
    usable_prompt(prompt)
    more = {name: json.loads(value) for name, _, value in (one.partition("=") for one in options.option)}
    return EndpointJudge(
        options.endpoint, options.model, prompt, key_variable=options.key_variable, timeout=options.timeout, more=more
    )


def machine_key(client: Client, options: argparse.Namespace, asked: Judge, prompt: str) -> str:
    """Return the key of the machine with this name, added if there is none; another model or prompt is refused."""
    digest = hashlib.sha256(prompt.encode()).hexdigest() if prompt else ""
    for one in client.machines(options.project)["results"]:
        if one["name"].casefold() == options.name.casefold():
            version = (one["program"], one["version"], one["prompt_hash"])
            if version != (asked.program, options.model_version, digest):
                raise ValueError(
                    f"The machine “{options.name}” has another model, version or prompt. Choose another --name."
                )
            return str(one["key"])
    more = {"version": options.model_version, "prompt": prompt, "currency": options.currency}
    return str(client.add_machine(options.project, options.name, asked.program, **more)["key"])


def judge_all(client: Client, options: argparse.Namespace, asked: Judge, key: str) -> Tally:
    """Asks for every set that is left. Each answer is stored before the next question, so that nothing is asked twice
    wherever it is stopped."""
    tally, pace, in_a_row, told_at = Tally(), Pace(options.rate), 0, time.monotonic()
    for one, order in orders_left(client, options, key, tally):
        items = [one["items"][place] for place in order]
        started = time.monotonic()
        reply = ask(asked, question_of(one, [item["text"] for item in items]), options, tally, pace)
        if reply is None:
            tally.skipped, in_a_row = tally.skipped + 1, in_a_row + 1
            if in_a_row == MAX_IN_A_ROW:
                print(f"Stopped: {MAX_IN_A_ROW} questions in a row without an answer.", file=sys.stderr)
                return tally
            continue
        in_a_row = 0
        row = {
            "items": [item["key"] for item in items],
            "task": one["task"],
            **reply.as_row(),
            "prompt_version": options.prompt_version,
            "tokens_in": reply.tokens_in,
            "tokens_out": reply.tokens_out,
            "cost": price_text(cost_of(reply.tokens_in, reply.tokens_out, options)),
            "seconds": round(time.monotonic() - started, 3),
        }
        client.send_machine_answers(options.project, key, [row], criterion=options.criterion)
        tally.stored += 1
        if time.monotonic() - told_at > BETWEEN_LINES:
            told_at = time.monotonic()
            print(tally.line(options.currency), file=sys.stderr, flush=True)
        if tally.stored == options.most:
            break
    return tally


def question_of(one: dict[str, Any], texts: list[str]) -> Question:
    names = ("is_ordered", "n_named", "shares_places", "ties", "grades")
    return Question(
        one["question"],
        texts,
        one["context"] or "",
        one["task_type"],
        best=one["best_words"],
        worst=one["worst_words"],
        **{name: one[name] for name in names},
    )


def orders_left(
    client: Client, options: argparse.Namespace, key: str, tally: Tally
) -> Iterator[tuple[dict[str, Any], list[int]]]:
    asked = {"sets": options.sets, "orders": options.orders, "criterion": options.criterion}
    for one in client.sets_to_judge(options.project, key, **asked):
        if not all(item["kind"] in TEXTS and item["text"].strip() for item in one["items"]):
            tally.no_text += 1
            continue
        for order in one["orders"]:
            yield one, order


def ask(asked: Judge, question: Question, options: argparse.Namespace, tally: Tally, pace: Pace) -> Reply | None:
    """Return the answer, None after as many tries as there are; pause get longer from try to try."""
    for number in range(options.tries):
        pace.wait()
        try:
            reply = asked.ask(question)
        except NoAnswer as error:
            tally.note(error)
            if isinstance(error, Paid):
                count(error, tally, options)
            if number + 1 < options.tries:
                time.sleep(error.pause or FIRST_PAUSE * 2.0**number)
        else:
            count(reply, tally, options)
            return reply
    return None


def count(paid: Reply | Paid, tally: Tally, options: argparse.Namespace) -> None:
    tally.tokens_in += paid.tokens_in or 0
    tally.tokens_out += paid.tokens_out or 0
    tally.cost += cost_of(paid.tokens_in, paid.tokens_out, options) or 0.0


def cost_of(tokens_in: int | None, tokens_out: int | None, options: argparse.Namespace) -> float | None:
    """Return what the tokens cost; None where no price was given or no tokens were told."""
    if not (options.price_in or options.price_out) or (tokens_in is None and tokens_out is None):
        return None
    return ((tokens_in or 0) * options.price_in + (tokens_out or 0) * options.price_out) / MILLION


def price_text(cost: float | None) -> str | None:
    return None if cost is None else f"{cost:.8f}"
