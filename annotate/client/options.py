"""What the command line takes."""

import argparse
import os
from pathlib import Path
from typing import TypeAlias

STATES = {"open": "open", "pause": "paused", "close": "closed"}
COLUMNS = ("text", "key", "title", "kind", "tags", "link", "context")
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def parser(program: str, about: str | None) -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog=program, description=about)
    top.add_argument("--url", default=os.environ.get("CROWDRANK_URL", ""), help="the site (CROWDRANK_URL)")
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("projects", help="list your projects")
    of_projects(commands)
    of_items(commands)
    of_results(commands)
    of_people(commands)
    of_annotating(commands)
    call = commands.add_parser("call", help="any other operation of the reference")
    call.add_argument("method", choices=["GET", "POST", "PATCH", "PUT", "DELETE"])
    call.add_argument("path", help="below /api/v1/, as in projects/ID/trust/")
    call.add_argument("--body", help="JSON")
    return top


def of_projects(commands: Commands) -> None:
    project = below(commands.add_parser("project", help="create, show or open a project"))
    create = project.add_parser("create", help="create a draft and print its id")
    create.add_argument("name")
    create.add_argument("question", help="as in “Which essay is better?”")
    create.add_argument(
        "--set", action="append", default=[], metavar="SETTING=VALUE", help="as `show` names them: overlap=2"
    )
    of_project(project.add_parser("show", help="show every setting and the join link"))
    of_project(project.add_parser("open", help="let people answer"))
    of_project(project.add_parser("pause", help="stop answers until it is opened again"))
    of_project(project.add_parser("close", help="end answers"))


def of_items(commands: Commands) -> None:
    items = below(commands.add_parser("items", help="a project's items"))
    one = of_project(items.add_parser("import", help="add the items of a file directly"))
    one.add_argument("file", type=Path, help=f".csv with a header, .jsonl or .json; columns {', '.join(COLUMNS)}")
    of_project(items.add_parser("list", help="list one JSON object per line"))

    whole = commands.add_parser("import", help="upload a file, have the engine import it, and wait")
    whole.add_argument("kind", choices=["items", "comparisons", "media", "features"])
    of_project(whole).add_argument("file", type=Path)
    whole.add_argument("--leave-out", action="store_true", help="import the valid rows without those with errors")
    whole.add_argument(
        "--column", action="append", default=[], metavar="WHAT=NAME", help="where the guess is wrong: text=essay"
    )
    whole.add_argument("--read-as", help="for comparisons: pairs, winners, labels, indices or orders")
    whole.add_argument("--create-items", action="store_true", help="for comparisons: create the items that they name")
    whole.add_argument("--before", help="for comparisons: a prefix for annotators' names")
    whole.add_argument("--keys", type=Path, help="for features: the items' keys, one per line")
    whole.add_argument("--called", help="for features: the name; f makes f1, f2, ...")

    captions = below(commands.add_parser("captions", help="captions of sound and video"))
    for name, about in (("show", "print as WebVTT"), ("set", "add or replace"), ("remove", "remove them")):
        of_project(captions.add_parser(name, help=about)).add_argument("item", type=int, help="its id")
    captions.choices["set"].add_argument("file", type=Path, help=".vtt")
    captions.choices["set"].add_argument("--language", required=True, help="a language code: en, de, pt-BR")


def of_results(commands: Commands) -> None:
    ranking = by_criterion(of_project(commands.add_parser("ranking", help="the ranking of the published fit")))
    ranking.add_argument("--top", type=int, help="show only this many items")
    ranking.add_argument("--json", action="store_true", help="one JSON object per line instead of a table")

    labels = below(commands.add_parser("labels", help="the answers"))
    exporting(labels.add_parser("export", help="export every answer ever given"))
    export = exporting(commands.add_parser("export", help="any table of the export page"))
    export.add_argument("--table", default="ranking", help="as `call GET projects/ID/exports/` names them")

    record = by_criterion(
        of_project(commands.add_parser("record", help="everything needed to repeat the fit, as .zip"))
    )
    record.add_argument("--output", type=Path, help="a file (standard output)")

    goal = below(commands.add_parser("goal", help="when you have enough labels, and what they cost"))
    by_criterion(of_project(goal.add_parser("show", help="whether it is met, and the forecast")))
    one = of_project(goal.add_parser("set", help="change the settings given; the others stay"))
    one.add_argument("--goal", choices=["top", "width", "comparisons", "plan", "reliability", "places", "boundaries"])
    one.add_argument("--width", type=float, dest="goal_width", help="the widest interval allowed")
    one.add_argument("--comparisons", type=int, dest="goal_comparisons", help="comparisons of each item")
    one.add_argument("--reliability", type=float, dest="goal_reliability", help="at least, 0.5 to 0.99")
    one.add_argument("--places", type=float, dest="goal_places", help="off on average, at most")
    one.add_argument("--price", help="as in 0.12")
    one.add_argument("--price-per", choices=["label", "hour"])
    one.add_argument("--currency", help="as in EUR")
    of_project(goal.add_parser("remove"))


def of_people(commands: Commands) -> None:
    people = below(commands.add_parser("annotators", help="their figures, tags and data"))
    by_criterion(of_project(people.add_parser("list", help="list one JSON object per line")))
    for name, about in (("tag", "add tags to annotators"), ("untag", "remove tags from annotators")):
        one = of_project(people.add_parser(name, help=about))
        one.add_argument("tag", nargs=1)
        one.add_argument("annotators", nargs="+", help="pseudonyms or platform ids")
    data = of_project(people.add_parser("data", help="all data stored about one annotator, as .zip"))
    data.add_argument("key", help="the annotator's")
    data.add_argument("--output", type=Path, help="a file (standard output)")
    erase = of_project(people.add_parser("erase", help="delete one annotator with every label, for good"))
    erase.add_argument("key", help="the annotator's")
    erase.add_argument("pseudonym", help="the annotator's, as a safeguard")

    by_criterion(of_project(commands.add_parser("tastes", help="the map of what divides the annotators")))
    cohorts = below(commands.add_parser("cohorts", help="groups of annotators side by side"))
    by_criterion(of_project(cohorts.add_parser("list", help="list cohorts and comparisons")))
    compare = by_criterion(
        of_project(cohorts.add_parser("compare", help="compare two cohorts, and wait for the result"))
    )
    compare.add_argument("by", help="the division, as `list` names it")
    compare.add_argument("first")
    compare.add_argument("second", nargs="?", default="", help="if left out, everybody else")
    of_project(commands.add_parser("retention", help="how long annotators' data are kept"))


def of_annotating(commands: Commands) -> None:
    join = of_project(commands.add_parser("join", help="become an annotator of a project that you belong to"))
    join.add_argument("--pseudonym", default="")
    of_project(commands.add_parser("next", help="your next task"))
    answer = commands.add_parser("answer", help="answer a task and get the next")
    answer.add_argument("token", help="of the task")
    answer.add_argument("outcome", help="choice, tie, skip, ranking, ...")
    answer.add_argument("--chosen", type=int, help="place of the chosen item, from 0")
    answer.add_argument("--order", type=int, nargs="+", default=[], help="places, best first")


def below(command: argparse.ArgumentParser) -> Commands:
    return command.add_subparsers(dest="what", required=True)


def of_project(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    command.add_argument("project", help="its id")
    return command


def by_criterion(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    command.add_argument("--criterion", type=int, help="its number, if the project has several (1)")
    return command


def exporting(command: argparse.ArgumentParser) -> argparse.ArgumentParser:
    by_criterion(of_project(command)).add_argument(
        "--format", default="csv", help="csv, jsonl or another format of the site"
    )
    command.add_argument("--output", type=Path, help="a file (standard output)")
    return command
