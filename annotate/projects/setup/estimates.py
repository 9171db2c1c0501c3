"""What a start gives, by the planner's formula: how many answers it holds, what they take and how far they lead."""

from math import comb

from django.utils.translation import gettext as _

from annotate.core.numbers import format_integer, format_number
from annotate.labelling.plan.queries import NO_LIMIT
from annotate.labelling.task_types.registry import TASK_TYPES
from annotate.models import Project
from annotate.models.goals import Goal
from annotate.projects.setup.presets import PRESETS, Preset
from models_engine.analysis.plan_design import Design, expected_reliability


def given_starts() -> list[tuple[Preset, str]]:
    return [(start, what_it_gives(start)) for start in PRESETS.values()]


def what_it_gives(start: Preset) -> str:
    """Return what a project of the start's usual size holds, takes and reaches, in words."""
    one, design = start.example, design_of(start)
    values = {
        "items": format_integer(one.n_items),
        "most": format_integer(n_held(start)),
        "people": one.n_people,
        "answers": one.answers_each,
        "minutes": round(one.answers_each * one.minutes_per_answer),
    }
    held = _("%(items)s items hold at most %(most)s answers.") % values
    if start.settings["overlap"] == NO_LIMIT:
        held = _("%(items)s items take answers without a limit.") % values
    if start.goal["goal"] == Goal.RELIABILITY:
        values["reliability"] = format_number(expected_reliability(design))
        taken = _(
            "%(people)d people × %(answers)d answers, about %(minutes)d minutes each: reliability about "
            "%(reliability)s."
        )
    else:
        values["times"] = round(design.n_labels * design.k / design.n_items)
        taken = _(
            "%(people)d people × %(answers)d answers, about %(minutes)d minutes each: every item is shown about "
            "%(times)d times."
        )
    board = ""
    if one.n_competitors:
        values |= {"competitors": one.n_competitors, "contexts": one.n_contexts}
        values["each"] = format_integer(round(design.n_labels * design.k / one.n_competitors))
        board = _(
            "Leaderboard: %(competitors)d competitors, each in about %(each)s answers on %(contexts)d prompts or "
            "contexts."
        )
    return " ".join(filter(None, (held, taken % values, board and board % values)))


def n_held(start: Preset) -> int:
    """Return the answers to all sets of items of one context by as many annotators as the overlap says."""
    one, settings = start.example, start.settings
    n_sets = one.n_contexts * comb(one.n_items // one.n_contexts, settings.get("k", 2))
    return n_sets * int(settings["overlap"])


def design_of(start: Preset) -> Design:
    one, settings = start.example, start.settings
    return Design(
        n_items=one.n_items,
        n_people=one.n_people,
        answers_each=one.answers_each,
        kind=TASK_TYPES[settings.get("task_type", Project._meta.get_field("task_type").default)].design,
        k=settings.get("k", 2),
        checks_each=round(one.answers_each * share_of_checks(start)),
        minutes_per_answer=one.minutes_per_answer,
    )


def share_of_checks(start: Preset) -> float:
    """Return the share of tasks that repeat an earlier one or have a known answer."""
    known = [start.checks.get(name) for name in ("gold_every", "attention_every")]
    return float(start.checks.get("repeat_percent", 0)) / 100 + sum(1 / every for every in known if every)
