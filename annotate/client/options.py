"""What the command line takes."""

import argparse
import os
from pathlib import Path
from typing import TypeAlias

from annotate.client.judging import add_judge_command

STATES = {"open": "open", "pause": "paused", "close": "closed"}
COLUMNS = ("text", "key", "title", "kind", "tags", "link", "context", "competitor")
ORDERS = ("balanced", "in_order", "priority")
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def build_parser(program: str, about: str | None) -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog=program, description=about)
    top.add_argument("--url", default=os.environ.get("CROWDRANK_URL", ""), help="the site (CROWDRANK_URL)")
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("projects", help="list your projects")
    add_project_commands(commands)
    add_item_commands(commands)
    add_result_commands(commands)
    add_people_commands(commands)
    add_annotating_commands(commands)
    add_machine_commands(commands)
    call = commands.add_parser("call", help="any other operation of the reference")
    call.add_argument("method", choices=["GET", "POST", "PATCH", "PUT", "DELETE"])
    call.add_argument("path", help="below /api/v1/, as in projects/ID/trust/")
    call.add_argument("--body", help="JSON")
    return top


def add_project_commands(commands: Commands) -> None:
    project = add_subcommands(commands.add_parser("project", help="create, show or open a project"))
    create = project.add_parser("create", help="create a draft and print its id")
    create.add_argument("name")
    create.add_argument("question", help="as in “Which essay is better?”")
    create.add_argument(
        "--set", action="append", default=[], metavar="SETTING=VALUE", help="as `show` names them: overlap=2"
    )
    add_project_argument(project.add_parser("show", help="show every setting and the join link"))
    add_project_argument(project.add_parser("open", help="let people answer"))
    add_project_argument(project.add_parser("pause", help="stop answers until it is opened again"))
    add_project_argument(project.add_parser("close", help="end answers"))


def add_item_commands(commands: Commands) -> None:
    items = add_subcommands(commands.add_parser("items", help="a project's items"))
    one = add_project_argument(items.add_parser("import", help="add the items of a file directly"))
    one.add_argument("file", type=Path, help=f".csv with a header, .jsonl or .json; columns {', '.join(COLUMNS)}")
    add_project_argument(items.add_parser("list", help="list one JSON object per line"))

    whole = commands.add_parser("import", help="upload a file, have the engine import it, and wait")
    kinds = ["items", "comparisons", "media", "features", "questions", "annotators", "counts"]
    whole.add_argument("kind", choices=kinds)
    add_project_argument(whole).add_argument("file", type=Path)
    whole.add_argument("--leave-out", action="store_true", help="import the valid rows without those with errors")
    whole.add_argument(
        "--column", action="append", default=[], metavar="WHAT=NAME", help="where the guess is wrong: text=essay"
    )
    whole.add_argument(
        "--read-as", help="for comparisons: pairs, winners, labels, indices or orders; for questions: keys or answers"
    )
    whole.add_argument("--score", help="for questions with completions: the field that is their score")
    whole.add_argument("--first-wins", action="store_true", help="for questions: the first answer was preferred")
    add_order_option(whole)
    whole.add_argument("--create-items", action="store_true", help="for comparisons: create the items that they name")
    whole.add_argument("--before", help="for comparisons: a prefix for annotators' names")
    whole.add_argument("--keys", type=Path, help="for features: the items' keys, one per line")
    whole.add_argument("--called", help="for features: the name; f makes f1, f2, ...")

    questions = add_subcommands(commands.add_parser("questions", help="questions that are asked instead of drawn ones"))
    listed = add_project_argument(questions.add_parser("list", help="list one JSON object per line"))
    listed.add_argument("--state", choices=["unanswered", "partly", "done", "not_asked", "withdrawn"])
    listed.add_argument("--item", help="only those with the item that has this key")
    add_project_argument(questions.add_parser("show", help="their order, and how many answers they still need"))
    added = add_project_argument(questions.add_parser("add", help="add one question, or all of a file by `import`"))
    added.add_argument("items", nargs="+", metavar="KEY", help="keys of the items, as many as a task shows")
    added.add_argument("--priority", type=int, default=0, help="the highest is asked first (0)")
    add_order_option(added)
    for name, about in (("withdraw", "ask these no more"), ("ask", "ask withdrawn ones again")):
        one = add_project_argument(questions.add_parser(name, help=about))
        one.add_argument("numbers", nargs="+", type=int, help="as `list` gives them")
    one = add_project_argument(questions.add_parser("priority", help="give these another priority"))
    one.add_argument("priority", type=int)
    one.add_argument("numbers", nargs="+", type=int, help="as `list` gives them")
    one = add_project_argument(questions.add_parser("order", help="in which order they are asked"))
    one.add_argument("order", choices=ORDERS)
    add_project_argument(questions.add_parser("draw", help="withdraw all, and draw questions again"))

    captions = add_subcommands(commands.add_parser("captions", help="captions of sound and video"))
    for name, about in (("show", "print as WebVTT"), ("set", "add or replace"), ("remove", "remove them")):
        add_project_argument(captions.add_parser(name, help=about)).add_argument("item", type=int, help="its id")
    captions.choices["set"].add_argument("file", type=Path, help=".vtt")
    captions.choices["set"].add_argument("--language", required=True, help="a language code: en, de, pt-BR")


def add_result_commands(commands: Commands) -> None:
    ranking = add_criterion_option(
        add_project_argument(commands.add_parser("ranking", help="the ranking of the published fit"))
    )
    ranking.add_argument("--top", type=int, help="show only this many items")
    ranking.add_argument("--json", action="store_true", help="one JSON object per line instead of a table")
    add_wait_options(ranking)
    gate = add_criterion_option(
        add_project_argument(
            commands.add_parser("gate", help="exit with 0 if an item is above another, 1 if not, 2 if nobody knows")
        )
    )
    gate.add_argument("--above", required=True, metavar="KEY", help="the item that should be above")
    gate.add_argument("--below", required=True, metavar="KEY", help="the other")
    gate.add_argument(
        "--probability", type=probability, default=0.95, help="at least that it is above, 0.5 to 0.9999 (0.95)"
    )
    add_wait_options(gate)

    board = add_criterion_option(
        add_project_argument(commands.add_parser("leaderboard", help="the ranking of those who made the items"))
    )
    board.add_argument("--json", action="store_true", help="one JSON object per line instead of a table")

    labels = add_subcommands(commands.add_parser("labels", help="the answers"))
    add_export_options(labels.add_parser("export", help="export every answer ever given"))
    export = add_export_options(commands.add_parser("export", help="any table of the export page"))
    export.add_argument("--table", default="ranking", help="as `call GET projects/ID/exports/` names them")
    export.add_argument("--lines", choices=["answers", "majority"], help="of preferences: per answer or per pair")
    export.add_argument("--form", choices=["text", "chat"], help="of preferences: plain text or messages")
    export.add_argument("--held-out", type=int, metavar="PERCENT", help="of preferences: prompts marked as test")
    export.add_argument("--split", choices=["all", "train", "test"], help="of preferences: only this side")

    record = add_criterion_option(
        add_project_argument(commands.add_parser("record", help="everything needed to repeat the fit, as .zip"))
    )
    record.add_argument("--output", type=Path, help="a file (standard output)")

    goal = add_subcommands(commands.add_parser("goal", help="when you have enough labels, and what they cost"))
    add_criterion_option(add_project_argument(goal.add_parser("show", help="whether it is met, and the forecast")))
    one = add_project_argument(goal.add_parser("set", help="change the settings given; the others stay"))
    one.add_argument("--goal", choices=["top", "width", "comparisons", "plan", "reliability", "places", "boundaries"])
    one.add_argument("--width", type=float, dest="goal_width", help="the widest interval allowed")
    one.add_argument("--comparisons", type=int, dest="goal_comparisons", help="comparisons of each item")
    one.add_argument("--reliability", type=float, dest="goal_reliability", help="at least, 0.5 to 0.99")
    one.add_argument("--places", type=float, dest="goal_places", help="off on average, at most")
    one.add_argument("--deadline", dest="goal_deadline", help="the last day, as in 2026-12-31")
    one.add_argument(
        "--pause",
        action=argparse.BooleanOptionalAction,
        default=None,
        dest="pause_at_goal",
        help="pause the project when the goal is met",
    )
    one.add_argument("--price", help="as in 0.12")
    one.add_argument("--price-per", choices=["label", "hour"])
    one.add_argument("--currency", help="as in EUR")
    add_project_argument(goal.add_parser("remove"))

    policy = add_subcommands(commands.add_parser("policy", help="which questions are asked"))
    add_project_argument(policy.add_parser("show", help="the rule, and how many answers came by it"))
    one = add_project_argument(policy.add_parser("set", help="change the settings given; the others stay"))
    one.add_argument("--policy", choices=["balanced", "whole", "best", "classes"])
    one.add_argument("--top", type=int, dest="top_k", help="how many are the best")
    one.add_argument("--classes", type=float, nargs="+", dest="class_shares", help="percentages, best class first")
    one.add_argument("--control", type=int, dest="control_percent", help="percent of balanced questions, 1 to 100")


def add_people_commands(commands: Commands) -> None:
    people = add_subcommands(commands.add_parser("annotators", help="their figures, tags and data"))
    add_criterion_option(add_project_argument(people.add_parser("list", help="list one JSON object per line")))
    for name, about in (("tag", "add tags to annotators"), ("untag", "remove tags from annotators")):
        one = add_project_argument(people.add_parser(name, help=about))
        one.add_argument("tag", nargs=1)
        one.add_argument("annotators", nargs="+", help="pseudonyms or platform ids")
    data = add_project_argument(people.add_parser("data", help="all data stored about one annotator, as .zip"))
    data.add_argument("key", help="the annotator's")
    data.add_argument("--output", type=Path, help="a file (standard output)")
    erase = add_project_argument(people.add_parser("erase", help="delete one annotator with every label, for good"))
    erase.add_argument("key", help="the annotator's")
    erase.add_argument("pseudonym", help="the annotator's, as a safeguard")

    add_criterion_option(
        add_project_argument(commands.add_parser("tastes", help="the map of what divides the annotators"))
    )
    cohorts = add_subcommands(commands.add_parser("cohorts", help="groups of annotators side by side"))
    add_criterion_option(add_project_argument(cohorts.add_parser("list", help="list cohorts and comparisons")))
    compare = add_criterion_option(
        add_project_argument(cohorts.add_parser("compare", help="compare two cohorts, and wait for the result"))
    )
    compare.add_argument("by", help="the division, as `list` names it")
    compare.add_argument("first")
    compare.add_argument("second", nargs="?", default="", help="if left out, everybody else")
    add_project_argument(commands.add_parser("retention", help="how long annotators' data are kept"))


def add_annotating_commands(commands: Commands) -> None:
    join = add_project_argument(commands.add_parser("join", help="become an annotator of a project that you belong to"))
    join.add_argument("--pseudonym", default="")
    add_project_argument(commands.add_parser("next", help="your next task"))
    answer = commands.add_parser("answer", help="answer a task and get the next")
    answer.add_argument("token", help="of the task")
    answer.add_argument("outcome", help="choice, tie, skip, ranking, ...")
    answer.add_argument("--chosen", type=int, help="place of the chosen item, from 0")
    answer.add_argument("--order", type=int, nargs="+", default=[], help="places, best first")
    words = "which of --order, from 0, share the place of the one before"
    answer.add_argument("--shared", type=int, nargs="+", default=[], help=words)


def add_machine_commands(commands: Commands) -> None:
    machines = add_subcommands(commands.add_parser("machines", help="programs and models that judge"))
    add_project_argument(machines.add_parser("list", help="list one JSON object per line"))
    add_criterion_option(add_project_argument(machines.add_parser("report", help="hold them against people, and wait")))
    add_judge_command(commands)


def add_order_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--order", choices=ORDERS, default="", help="how given questions are asked (as before)")


def add_wait_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--wait", action="store_true", help="until the fit holds every label given so far")
    command.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS", help="of --wait (600)")


def probability(text: str) -> float:
    """Raise ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.5 <= value <= 0.9999:
        raise argparse.ArgumentTypeError(f"{text} is not from 0.5 to 0.9999")
    return value


def add_subcommands(command: argparse.ArgumentParser) -> Commands:
    return command.add_subparsers(dest="what", required=True)


def add_project_argument(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    command.add_argument("project", help="its id")
    return command


def add_criterion_option(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    command.add_argument("--criterion", type=int, help="its number, if the project has several (1)")
    return command


def add_export_options(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    add_criterion_option(add_project_argument(command)).add_argument(
        "--format", default="csv", help="csv, jsonl or another format of the site"
    )
    command.add_argument("--output", type=Path, help="a file (standard output)")
    return command
