"""What a new project may start from: for each kind of task the settings that suit it, all of which can be changed."""

from dataclasses import dataclass, field
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotate.fitting.estimator_choices import AUTOMATIC
from annotate.labelling.plan.queries import NO_LIMIT
from annotate.models import Label, Policy, Project, ShowResult
from annotate.models.goals import Goal

Task, Outcome = Project.TaskType, Label.Outcome


@dataclass(frozen=True)
class Example:
    """A usual size of such a project, from which the start says what it gives."""

    n_items: int
    n_people: int
    answers_each: int
    minutes_per_answer: float
    n_contexts: int = 1
    n_competitors: int = 0  # where the leaderboard is what the project is for


@dataclass(frozen=True)
class Preset:
    """`settings`: fields of ProjectForm.   `goal`: of GoalForm.   `checks`: of QualityForm.   `participants`: of
    ParticipantForm.   `policy`: of PolicyForm; {} where every item is to be judged alike, as in studies and contests.
    `advice`: what to do besides.
    """

    key: str
    title: Promise
    text: Promise
    example: Example
    goal: dict[str, Any]
    settings: dict[str, Any]
    checks: dict[str, Any] = field(default_factory=dict)
    advice: Promise | str = ""
    participants: dict[str, Any] = field(default_factory=dict)
    policy: dict[str, Any] = field(default_factory=dict)

    @property
    def values(self) -> dict[str, Any]:
        """Return the settings in the words of the language in use, as a form shows them."""
        return {name: str(value) if isinstance(value, Promise) else value for name, value in self.settings.items()}


def reliable(least: float) -> dict[str, Any]:
    return {"goal": Goal.RELIABILITY.value, "goal_reliability": least}


def compared(times: int) -> dict[str, Any]:
    return {"goal": Goal.COMPARISONS.value, "goal_comparisons": times}


BLANK = Preset(
    "blank",
    _("Blank"),
    _("Pairs with ties and skips, three annotators per pair. You choose the rest."),
    Example(30, 10, 30, 0.5),
    reliable(0.8),
    {"overlap": 3, "top_k": 10, "estimator": AUTOMATIC},
)

PRESETS = {
    start.key: start
    for start in (
        Preset(
            "arguments",
            _("Convincing arguments"),
            _("Short texts for and against, judged by a crowd: which one convinces more?"),
            Example(60, 15, 40, 0.5),
            reliable(0.8),
            {
                "question": _("Which argument is more convincing?"),
                "more_means": _("more convincing"),
                "instructions": _(
                    "Read both arguments to the end. Choose the one that would convince more people who have not made "
                    "up their mind, whether or not you agree with it.\n\n"
                    "- Judge the reasoning, not the spelling.\n"
                    "- Choose **Tie** only where you really can't tell."
                ),
                "task_type": Task.PAIR.value,
                "outcomes": [Outcome.TIE.value, Outcome.SKIP.value],
                "overlap": 3,
                "cap": 100,
                "top_k": 10,
                "estimator": "CrowdBT",
            },
            {"min_seconds": 3, "break_every": 40, "repeat_percent": 5},
            _("Give each argument its topic as “context”: then only arguments on the same topic are compared."),
        ),
        Preset(
            "translation",
            _("Translation quality"),
            _("Several translations of each source text; bilingual people choose the better one."),
            Example(200, 10, 80, 0.75, n_contexts=50, n_competitors=4),
            compared(6),
            {
                "question": _("Which translation is better?"),
                "more_means": _("better translated"),
                "instructions": _(
                    "Read the source above first, then both translations.\n\n"
                    "1. The one that keeps the meaning is better.\n"
                    "2. If both do, the one that reads more naturally is better.\n\n"
                    "Choose **Both bad** if neither could be used, **Can't judge** if you don't know the subject."
                ),
                "task_type": Task.PAIR.value,
                "outcomes": [Outcome.TIE.value, Outcome.BOTH_BAD.value, Outcome.CANT_JUDGE.value],
                "comments": True,
                "overlap": 3,
                "top_k": 10,
                "estimator": "CrowdBT",
            },
            {"min_seconds": 5, "break_every": 30, "gold_every": 20, "repeat_percent": 5},
            _(
                "Put the source text into the column “context” and who translated it into “competitor”: the "
                "leaderboard ranks them. Add a few sets whose right answer you know."
            ),
        ),
        Preset(
            "severity",
            _("Severity in images"),
            _("Photographs or scans, judged by trained eyes: which one shows the more severe case?"),
            Example(60, 8, 160, 0.4),
            reliable(0.9),
            {
                "question": _("Which image shows the more severe case?"),
                "more_means": _("more severe"),
                "instructions": _(
                    "Compare the finding itself, not the quality of the image. Open an image closely where you need "
                    "to.\n\nChoose **Can't judge** where an image can't be read."
                ),
                "task_type": Task.PAIR.value,
                "outcomes": [Outcome.TIE.value, Outcome.CANT_JUDGE.value],
                "overlap": 3,
                "top_k": 10,
                "estimator": "CrowdBT",
            },
            {"practice_pass": 4, "gold_every": 15, "break_every": 30, "repeat_percent": 10},
            _("For practice, add a few image pairs whose right answer you know. Without them there is no practice."),
        ),
        Preset(
            "answers",
            _("Model answers"),
            _("Answers of language models to the same prompts: which one is better, for a leaderboard or for tuning?"),
            Example(400, 10, 90, 1.0, n_contexts=100, n_competitors=4),
            compared(4),
            {
                "question": _("Which answer is better?"),
                "more_means": _("better"),
                "instructions": _(
                    "Read the prompt above, then both answers. Choose the one that you would rather have got: right "
                    "first, then helpful, then well put. Longer is not better."
                ),
                "task_type": Task.PAIR.value,
                "outcomes": [Outcome.TIE.value, Outcome.BOTH_GOOD.value, Outcome.BOTH_BAD.value, Outcome.SKIP.value],
                "comments": True,
                "overlap": 2,
                "top_k": 10,
                "estimator": "BradleyTerry",
            },
            {"min_seconds": 5, "break_every": 30, "repeat_percent": 5},
            _(
                "Import a table with the columns prompt, model and text. The leaderboard ranks the models; exports "
                "include pairs for DPO."
            ),
        ),
        Preset(
            "leaderboard",
            _("Leaderboard"),
            _("Who does it best: people compare what models, translators or schools made for the same prompt."),
            Example(400, 12, 100, 0.75, n_contexts=100, n_competitors=4),
            compared(5),
            {
                "question": _("Which one is better?"),
                "more_means": _("better"),
                "instructions": _(
                    "Read what is above first, then both. Choose the one that does better what was asked. You are not "
                    "told who made them, and it should not matter."
                ),
                "task_type": Task.PAIR.value,
                "outcomes": [Outcome.TIE.value, Outcome.CANT_JUDGE.value],
                "overlap": 2,
                "top_k": 1,
                "estimator": "BradleyTerry",
            },
            {"min_seconds": 5, "break_every": 30, "repeat_percent": 5},
            _(
                "Import a table with the columns prompt, competitor and text, one row for each item. Tags of the "
                "prompts become categories."
            ),
        ),
        Preset(
            "jury",
            _("Jury"),
            _("A few judges, many entries and different tastes: an overall ranking and one for each judge."),
            Example(24, 6, 15, 3.0),
            {"goal": Goal.TOP.value},
            {
                "question": _("Which entry deserves the prize more?"),
                "more_means": _("more deserving"),
                "instructions": _(
                    "Four entries at a time: put them in order, the best first. Judge by the call's criteria, not by "
                    "who you think made them. Your judgements are not shown to the other judges."
                ),
                "task_type": Task.RANKING.value,
                "k": 4,
                "outcomes": [Outcome.CANT_JUDGE.value],
                "comments": True,
                "known_button": True,
                "media_captions": "both",
                "overlap": 3,
                "top_k": 3,
                "estimator": "CollaborativeGP",
            },
            {"break_every": 15},
            _("List your judges under Invite, “People you expect”, with the entries that each must not judge."),
        ),
        Preset(
            "essays",
            _("Essays"),
            _("Comparative judgement by teachers: no marks, only which essay is better, again and again."),
            Example(30, 8, 36, 1.4),
            reliable(0.8),
            {
                "question": _("Which essay is the better piece of writing?"),
                "more_means": _("better written"),
                "instructions": _(
                    "Read both essays and decide which is better as a whole. Don't mark and don't count mistakes: your "
                    "first considered impression is what is asked for."
                ),
                "task_type": Task.PAIR.value,
                "outcomes": [],
                "comments": True,
                "overlap": 1,
                "annotators_expected": 5,
                "top_k": 10,
                "estimator": "BradleyTerry",
            },
            {"min_seconds": 10, "break_every": 20, "repeat_percent": 5},
            _("The goal is a reliability of 0.8. The Progress page says how far you are and when you can stop."),
        ),
        Preset(
            "poll",
            _("Public poll"),
            _("Anybody with the link says which of two they prefer, a few at a time. It never fills up."),
            Example(15, 60, 10, 0.25),
            reliable(0.9),
            {
                "question": _("Which one do you prefer?"),
                "more_means": _("preferred"),
                "instructions": _(
                    "Two suggestions at a time: choose the one that you would rather have. Ten answers are a great "
                    "help; you can stop at any time."
                ),
                "task_type": Task.PAIR.value,
                "outcomes": [Outcome.SKIP.value],
                "overlap": NO_LIMIT,
                "top_k": 3,
                "estimator": "BradleyTerry",
            },
            {"break_every": 10, "sitting_cap": 50},
            _("When answers have come in, make a public page of the results: Results, then Share."),
            {"ideas_open": True, "show_result": ShowResult.AFTER.value, "show_result_after": 10, "show_groups": True},
            {"policy": Policy.WHOLE.value},
        ),
        Preset(
            "best-worst",
            _("Best-worst scaling study"),
            _(
                "Intensity of words, importance of features: people mark the most and the least in sets of four, "
                "which gives each item a score."
            ),
            Example(200, 20, 80, 0.25),
            reliable(0.9),
            {
                "question": _("Which of these is the most intense, and which is the least?"),
                "more_means": _("more intense"),
                "instructions": _(
                    "Four items at a time: mark the most intense and the least intense. Leave the others unmarked.\n\n"
                    "There is no right answer: your first impression counts."
                ),
                "task_type": Task.BEST_WORST.value,
                "k": 4,
                "best_words": _("Most intense"),
                "worst_words": _("Least intense"),
                "outcomes": [Outcome.SKIP.value],
                "overlap": 4,
                "top_k": 10,
                "estimator": "CrowdBT",
            },
            {"min_seconds": 2, "break_every": 40, "attention_every": 20, "repeat_percent": 5},
            _(
                "The usual design has twice as many sets as items: enter that number below, under “How many answers”. "
                "As attention checks, add a few sets that anybody who reads them gets right. Then set up consent, "
                "places and completion codes under “Who may take part”."
            ),
        ),
        BLANK,
    )
}
