"""What a start gives, by the planner's formula: how many answers it holds, what they take and how far they lead."""

from collections.abc import Mapping
from dataclasses import replace
from math import comb
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotate.core.numbers import format_integer, format_number
from annotate.labelling.plan.queries import NO_LIMIT
from annotate.labelling.task_types.registry import TASK_TYPES
from annotate.models import Project
from annotate.models.goals import Goal
from annotate.projects.setup.presets import PRESETS, Preset
from models_engine.analysis.plan_design import Design, expected_reliability, expected_score_width, expected_top
from models_engine.errors import InvalidDesign

AMOUNTS = ("task_type", "k", "overlap", "n_sets")  # settings that decide how much is asked
MINUTES_SAID_AS_HOURS = 90
MANY_ANSWERS = 1_000_000  # nobody comes to the end of more
USUAL_TYPE: str = Project._meta.get_field("task_type").default


def describe_presets() -> list[tuple[Preset, str]]:
    """Return the starts to choose from, each with an example of what it takes and gives, in a sentence."""
    return [(start, example_text(start)) for start in PRESETS.values()]


def with_choices(start: Preset, settings: Mapping[str, Any], size: Mapping[str, int]) -> Preset:
    """Return the start with what was chosen on its form; contexts keep as many items as in the example.

    settings: of ProjectForm.   size: n_items, n_people and answers_each, as far as they were given.
    """
    known = {name: settings[name] for name in AMOUNTS if name in settings}
    if TASK_TYPES[known.get("task_type", USUAL_TYPE)].is_fixed_size:
        known["k"] = TASK_TYPES[known.get("task_type", USUAL_TYPE)].n_items[0]
    one = replace(start.example, **size)
    n_contexts = max(1, one.n_items * start.example.n_contexts // start.example.n_items)
    return replace(start, settings=start.settings | known, example=replace(one, n_contexts=n_contexts))


def example_values(start: Preset, design: Design) -> dict[str, Any]:
    """Return the numbers of the example; the reliability where that is the goal, else how often items are shown."""
    one = start.example
    if start.goal["goal"] == Goal.RELIABILITY:
        reached: dict[str, Any] = {"reliability": format_number(expected_reliability(design))}
    else:
        reached = {"times": round(design.n_labels * design.k / design.n_items)}
    minutes = round(one.answers_each * one.minutes_per_answer)
    items = format_integer(one.n_items)
    return {"items": items, "people": one.n_people, "answers": one.answers_each, "minutes": minutes} | reached


def example_text(start: Preset) -> str:
    values = example_values(start, design_of(start))
    if "reliability" in values:
        words = _(
            "For example %(items)s items and %(people)d people, about %(minutes)d minutes each: reliability about "
            "%(reliability)s."
        )
    else:
        words = _(
            "For example %(items)s items and %(people)d people, about %(minutes)d minutes each: every item is shown "
            "about %(times)d times."
        )
    return words % values


def describe_preset(start: Preset) -> str:
    """Return what a project of the start's usual size holds, takes and reaches, in words."""
    try:
        design = design_of(start)
    except InvalidDesign:
        return _(
            "With these numbers there is nothing to compare: give at least as many items as are shown at a time, and "
            "more answers of each person than are checks."
        )
    return " ".join(
        filter(
            None,
            (
                capacity_text(start),
                effort_text(start, design),
                cost_text(start),
                accuracy_text(start, design),
                board_text(start, design),
            ),
        )
    )


def capacity_text(start: Preset) -> str:
    one, most = start.example, n_held(start)
    values = {"items": format_integer(one.n_items), "most": format_integer(most)}
    if start.settings["overlap"] == NO_LIMIT or most > MANY_ANSWERS:
        return _("With %(items)s items, people can answer without a limit.") % values
    held = _("With %(items)s items, people can give at most %(most)s answers.") % values
    if one.n_people * one.answers_each > most:
        held += " " + _("That is fewer than these people would give: some of them would find nothing to answer.")
    return held


def effort_text(start: Preset, design: Design) -> str:
    values = example_values(start, design)
    if "reliability" in values:
        taken = _(
            "%(people)d people × %(answers)d answers, about %(minutes)d minutes each: reliability about "
            "%(reliability)s."
        )
    else:
        taken = _(
            "%(people)d people × %(answers)d answers, about %(minutes)d minutes each: every item is shown about "
            "%(times)d times."
        )
    return taken % values


def cost_text(start: Preset) -> str:
    """Return everybody's time together: what is paid for an hour is set later, on the page "Goal and cost"."""
    one = start.example
    minutes = round(one.n_people * one.answers_each * one.minutes_per_answer)
    hours = round(minutes / 60)
    if minutes < MINUTES_SAID_AS_HOURS:
        taken = ngettext(
            "That is about %(n)d minute of people's time in all.",
            "That is about %(n)d minutes of people's time in all.",
            minutes,
        )
        return taken % {"n": minutes}
    return _("That is about %(n)s hours of people's time in all.") % {"n": format_integer(hours)}


def accuracy_text(start: Preset, design: Design) -> str:
    """Return how far scores are known and the best found, where all items are in one ranking."""
    if start.example.n_contexts > 1:
        return ""
    values: dict[str, Any] = {"points": round(expected_score_width(design) / 2), "top": design.top}
    known = _("Scores are known to about %(points)d points either way.") % values
    if design.top >= design.n_items:
        return known
    values["found"] = format_number(design.top * expected_top(design), 1)
    return known + " " + _("Of the %(top)d best items, about %(found)s come out among the first %(top)d.") % values


def board_text(start: Preset, design: Design) -> str:
    one = start.example
    if not one.n_competitors:
        return ""
    values = {
        "competitors": one.n_competitors,
        "contexts": one.n_contexts,
        "each": format_integer(round(design.n_labels * design.k / one.n_competitors)),
    }
    return (
        _(
            "Leaderboard: %(competitors)d competitors, each in about %(each)s answers on %(contexts)d prompts or "
            "contexts."
        )
        % values
    )


def n_held(start: Preset) -> int:
    """Return the answers to the sets drawn beforehand, or to all of one context, by as many as the overlap says."""
    one, settings = start.example, start.settings
    n_sets = one.n_contexts * comb(one.n_items // one.n_contexts, settings.get("k", 2))
    return min(n_sets, settings.get("n_sets") or n_sets) * int(settings["overlap"])


def design_of(start: Preset) -> Design:
    one, settings = start.example, start.settings
    return Design(
        n_items=one.n_items,
        n_people=one.n_people,
        answers_each=one.answers_each,
        kind=TASK_TYPES[settings.get("task_type", Project._meta.get_field("task_type").default)].design,
        k=settings.get("k", 2),
        checks_each=round(one.answers_each * share_of_checks(start)),
        top=settings.get("top_k", Project._meta.get_field("top_k").default),
        minutes_per_answer=one.minutes_per_answer,
    )


def share_of_checks(start: Preset) -> float:
    """Return the share of tasks that repeat an earlier one or have a known answer."""
    known = [start.checks.get(name) for name in ("gold_every", "attention_every")]
    return float(start.checks.get("repeat_percent", 0)) / 100 + sum(1 / every for every in known if every)
