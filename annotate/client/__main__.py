"""python -m annotate.client: the API from the command line; CROWDRANK_URL and CROWDRANK_TOKEN say where and who."""

import argparse
import csv
import json
import os
import sys
import time
import urllib.error
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from annotate.client import ApiError, Client, NewItem
from annotate.client.judging import judge
from annotate.client.options import COLUMNS, STATES, build_parser
from annotate.client.rows import RankedItem
from annotate.client.transport import BETWEEN_LOOKS

NOT_FOUND = 404
UNDECIDED = 2  # exit code of `gate` where nothing is known; argparse has the same for wrong arguments


def main(arguments: list[str] | None = None, *, program: str = "python -m annotate.client") -> int:
    options = build_parser(program, __doc__).parse_args(arguments)
    token = os.environ.get("CROWDRANK_TOKEN", "")
    code = UNDECIDED if options.command == "gate" else 1
    if not options.url or not token:
        needed = "Set CROWDRANK_URL to the site and CROWDRANK_TOKEN to an access token from your account menu."
        return fail(needed, code)
    try:
        return COMMANDS[options.command, getattr(options, "what", "")](Client(options.url, token), options) or 0
    except ApiError as error:
        # The detail is the errors in one line.
        problems = "\n".join(f"{name}: {' '.join(several)}" for name, several in error.errors.items())
        return fail(problems or error.detail, code)
    except BrokenPipeError:  # whoever read it has enough, as in `... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (urllib.error.URLError, OSError, ValueError) as error:
        return fail(str(error), code)
    return 0


def fail(message: str, code: int) -> int:
    print(message, file=sys.stderr)
    return code


def counted(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def lines(rows: Iterable[Any]) -> None:
    for row in rows:
        print(json.dumps(row, ensure_ascii=False))


def show(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2))


def create_project(client: Client, options: argparse.Namespace) -> None:
    """Create a project and print only its id, for use in scripts."""
    settings = {name: as_json(value) for name, _, value in (one.partition("=") for one in options.set)}
    print(client.create_project(options.name, options.question, **settings)["id"])


def as_json(text: str) -> Any:
    """Parse JSON such as 3, null or ["tie"]; return anything else as text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def import_items(client: Client, options: argparse.Namespace) -> None:
    keys = client.add_items(options.project, read_items(options.file))
    print(f"{counted(len(keys), 'item')} added.")


def import_file(client: Client, options: argparse.Namespace) -> None:
    """Wait until the import stops; fail if nothing was imported because rows have errors."""
    settings = {
        name: getattr(options, name)
        for name in ("read_as", "before", "called", "order", "score")
        if getattr(options, name)
    }
    settings |= {name: True for name in ("leave_out", "create_items", "first_wins") if getattr(options, name)}
    columns = dict(one.partition("=")[::2] for one in options.column)
    with options.file.open("rb") as file:
        if options.keys:
            with options.keys.open("rb") as keys:
                job = client.start_import(options.project, options.kind, file, keys=keys, at_once=True, **settings)
        else:
            job = client.start_import(options.project, options.kind, file, columns=columns, at_once=True, **settings)
    job = client.wait_for_import(options.project, job["id"])
    for row in job["problems"]:
        print(f"  row {row['row']}: {row['problem']}")
    if job["state"] == "checked":
        client.stop_import(options.project, job["id"])
        raise ValueError(f"Nothing was imported: {job['n_bad']} of {job['n_rows']} rows have errors.")
    if job["state"] != "done":
        raise ValueError(job["message"] or f"The import is {job['state']}.")
    n_imported = job["n_written"] - job["n_new_items"]
    print(f"{counted(job['n_rows'], 'row')} read, {n_imported} imported, {job['n_bad']} left out.")


def wait(client: Client, options: argparse.Namespace) -> None:
    """Wait, where asked to, until the fit holds every label given so far; what is missing goes to standard error."""
    printed: list[int] = []

    def tell(waiting: int) -> None:
        if printed[-1:] != [waiting]:
            print(
                f"Waiting for the fit: {counted(waiting, 'change')} to the labels to come.", file=sys.stderr, flush=True
            )
        printed.append(waiting)

    if options.wait:
        client.wait_for_ranking(options.project, criterion=options.criterion, timeout=options.timeout, tell=tell)


def gate(client: Client, options: argparse.Namespace) -> int:
    """Return 0 if the item is above the other with the probability, 1 if not, UNDECIDED if it is not known."""
    wait(client, options)
    found = client.ranking_pair(options.project, options.above, options.below, criterion=options.criterion)
    if found["probability"] is None:
        return fail(f"Not known: {found['reason']}", UNDECIDED)
    passed = found["probability"] >= options.probability
    print(
        f"P({found['above']} above {found['below']}) = {found['probability']:.4f}, "
        f"{'at least' if passed else 'less than'} {options.probability:g} (fit {found['fit']})"
    )
    return 0 if passed else 1


def place_text(row: RankedItem | dict[str, Any]) -> str:
    return "-" if row["rank"] is None else f"{row['rank']} ({row['rank_low']}-{row['rank_high']})"


def show_ranking(client: Client, options: argparse.Namespace) -> None:
    wait(client, options)
    for number, row in enumerate(client.ranking(options.project, criterion=options.criterion), 1):
        if options.top is not None and number > options.top:
            return
        if options.json:
            lines([row])
            continue
        score = "" if row["score"] is None else f"{row['score']:.0f}"
        print(row["part"], place_text(row), score, row["item"], sep="\t")


def show_leaderboard(client: Client, options: argparse.Namespace) -> None:
    board = client.leaderboard(options.project, criterion=options.criterion)
    if board["problem"]:
        raise ValueError(board["problem"])
    if options.json:
        lines(board["rows"])
        return
    for row in board["rows"]:
        score = f"{row['score']:.0f} ({row['score_low']:.0f}-{row['score_high']:.0f})"
        print(row["part"], place_text(row), score, row["competitor"], sep="\t")


def add_question(client: Client, options: argparse.Namespace) -> None:
    one = {"items": options.items, "priority": options.priority}
    added = client.add_questions(options.project, [one], order=options.order)
    print(f"{added['n_added']} added, {added['n_merged']} there already.")


def change_questions(client: Client, options: argparse.Namespace) -> None:
    """Withdraws questions, asks them again or changes their priority."""
    changes = {"priority": options.priority} if options.what == "priority" else {"asked": options.what == "ask"}
    print(f"{client.change_questions(options.project, options.numbers, **changes)} changed.")


def set_goal(client: Client, options: argparse.Namespace) -> None:
    names = (
        "goal",
        "goal_width",
        "goal_comparisons",
        "goal_reliability",
        "goal_places",
        "goal_deadline",
        "pause_at_goal",
        "price",
        "price_per",
        "currency",
    )
    changes = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    show(client.set_goal(options.project, **changes))


def set_policy(client: Client, options: argparse.Namespace) -> None:
    names = ("policy", "top_k", "class_shares", "control_percent")
    changes = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    show(client.set_policy(options.project, **changes))


def tag(client: Client, options: argparse.Namespace) -> None:
    rows: list[Any] = [{"annotator": who, "tags": options.tag} for who in options.annotators]
    n = client.tag_annotators(options.project, rows, action=options.what)
    print(f"{counted(n, 'tag')} {'added' if options.what == 'tag' else 'removed'}.")


def compare_cohorts(client: Client, options: argparse.Namespace) -> None:
    asked = client.compare_cohorts(
        options.project, options.by, options.first, options.second, criterion=options.criterion
    )
    while (comparison := client.cohort_comparison(options.project, asked["id"]))["status"] in ("asked", "running"):
        time.sleep(BETWEEN_LOOKS)
    show(comparison)


def report_machines(client: Client, options: argparse.Namespace) -> None:
    report = client.request_machine_report(options.project, criterion=options.criterion)
    while report["status"] in ("asked", "running"):
        time.sleep(BETWEEN_LOOKS)
        report = client.machine_report(options.project, criterion=options.criterion)
    if report["status"] != "ready":
        raise ValueError(report["message"])
    show(report)


def set_captions(client: Client, options: argparse.Namespace) -> None:
    text = options.file.read_text(encoding="utf-8-sig")
    client.set_captions(options.project, options.item, text, options.language)


def record(client: Client, options: argparse.Namespace) -> None:
    criterion = options.criterion or 1
    while True:
        asked = client.ask_for_record(options.project, criterion=criterion)
        made = client.wait_for_record(options.project, asked["id"])
        if made["criterion"] == criterion:  # else it was at another
            break
    if made["status"] != "ready":
        raise ValueError(made["message"])
    save(options, lambda file: client.download_record(options.project, made["id"], file))


def call(client: Client, options: argparse.Namespace) -> None:
    body = None if options.body is None else json.loads(options.body)
    show(client.call(options.method, options.path.lstrip("/"), body=body))


def save(options: argparse.Namespace, write: Callable[[IO[bytes]], None]) -> None:
    """Write to standard output, or to a file that appears once it is complete."""
    if options.output is None:
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    unfinished = options.output.with_name(f"{options.output.name}.part")
    with unfinished.open("wb") as file:
        write(file)
    unfinished.replace(options.output)


def export(client: Client, options: argparse.Namespace) -> None:
    """Names the tables that there are where the site knows no such table."""
    table = "labels" if options.command == "labels" else options.table
    how = {name: getattr(options, name, None) for name in ("criterion", "lines", "form", "held_out", "split")}
    try:
        save(options, lambda file: client.export(options.project, table, options.format, file, **how))
    except ApiError as error:
        if error.status != NOT_FOUND:
            raise
        formats = {row["table"]: sorted(row["downloads"]) for row in client.exports(options.project)}
        if options.format in formats.get(table, []):
            raise
        raise ValueError(unknown_table(table, options.format, formats)) from None


def unknown_table(table: str, file_format: str, formats: dict[str, list[str]]) -> str:
    if table in formats:
        return f"The table “{table}” does not come as {file_format}; it comes as {', '.join(formats[table])}."
    return f"There is no table “{table}”. The tables are: {', '.join(formats)}."


def read_items(path: Path) -> Iterator[NewItem]:
    """Read items from a file. Unknown columns are ignored; tags in one cell are separated by semicolons."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        if path.suffix == ".csv":
            rows: Iterable[Any] = csv.DictReader(file)
        elif path.suffix == ".jsonl":
            rows = (json.loads(line) for line in file if line.strip())
        elif path.suffix == ".json":
            rows = json.load(file)
        else:
            raise ValueError(f"{path.name} is neither .csv, .jsonl nor .json; save it as one of them.")
        for row in rows:
            if isinstance(row, dict) and not {"text", "link"} & row.keys():
                raise ValueError(
                    f"{path.name} has {', '.join(row)}, but no column text. Rename one, or say which it is: "
                    f"import items PROJECT {path.name} --column text={list(row)[-1]}"
                )
            yield new_item({"text": row} if isinstance(row, str) else row)


def new_item(row: dict[str, Any]) -> NewItem:
    known: dict[str, Any] = {name: row[name] for name in COLUMNS if row.get(name)}
    if isinstance(known.get("tags"), str):
        known["tags"] = [tag.strip() for tag in known["tags"].split(";") if tag.strip()]
    return cast(NewItem, known)


COMMANDS: dict[tuple[str, str], Callable[[Client, argparse.Namespace], int | None]] = {
    ("projects", ""): lambda client, _options: lines(client.projects()),
    ("project", "create"): create_project,
    ("project", "show"): lambda client, options: show(client.project(options.project)),
    **{
        ("project", command): lambda client, options: print(
            client.set_state(options.project, STATES[options.what])["state"]
        )
        for command in STATES
    },
    ("items", "import"): import_items,
    ("items", "list"): lambda client, options: lines(client.items(options.project)),
    ("import", ""): import_file,
    ("questions", "list"): lambda client, options: lines(
        client.given_questions(options.project, state=options.state, item=options.item)
    ),
    ("questions", "show"): lambda client, options: show(client.question_plan(options.project)),
    ("questions", "add"): add_question,
    **{("questions", command): change_questions for command in ("withdraw", "ask", "priority")},
    ("questions", "order"): lambda client, options: show(client.order_questions(options.project, options.order)),
    ("questions", "draw"): lambda client, options: print(
        f"{client.withdraw_questions(options.project, draw_again=True)} withdrawn."
    ),
    ("captions", "show"): lambda client, options: print(client.captions(options.project, options.item)["text"], end=""),
    ("captions", "set"): set_captions,
    ("captions", "remove"): lambda client, options: client.remove_captions(options.project, options.item),
    ("ranking", ""): show_ranking,
    ("gate", ""): gate,
    ("leaderboard", ""): show_leaderboard,
    ("labels", "export"): export,
    ("export", ""): export,
    ("record", ""): record,
    ("goal", "show"): lambda client, options: show(client.goal(options.project, criterion=options.criterion)),
    ("goal", "set"): set_goal,
    ("policy", "show"): lambda client, options: show(client.policy(options.project)),
    ("policy", "set"): set_policy,
    ("goal", "remove"): lambda client, options: show(client.remove_goal(options.project)),
    ("annotators", "list"): lambda client, options: lines(
        client.annotators(options.project, criterion=options.criterion)
    ),
    ("annotators", "tag"): tag,
    ("annotators", "untag"): tag,
    ("annotators", "data"): lambda client, options: save(
        options, lambda file: client.annotator_data(options.project, options.key, file)
    ),
    ("annotators", "erase"): lambda client, options: print(
        f"Erased, with {client.erase_annotator(options.project, options.key, options.pseudonym)} labels."
    ),
    ("tastes", ""): lambda client, options: show(client.tastes(options.project, criterion=options.criterion)),
    ("cohorts", "list"): lambda client, options: show(client.cohorts(options.project, criterion=options.criterion)),
    ("cohorts", "compare"): compare_cohorts,
    ("retention", ""): lambda client, options: show(client.retention(options.project)),
    ("join", ""): lambda client, options: print(client.join_as_member(options.project, options.pseudonym)),
    ("next", ""): lambda client, options: lines([client.next(options.project)]),
    ("answer", ""): lambda client, options: lines(
        [
            client.answer(
                options.token, options.outcome, chosen=options.chosen, order=options.order, shared=options.shared
            )
        ]
    ),
    ("machines", "list"): lambda client, options: lines(client.machines(options.project)["results"]),
    ("machines", "report"): report_machines,
    ("judge", ""): judge,
    ("call", ""): call,
}


if __name__ == "__main__":
    sys.exit(main())
