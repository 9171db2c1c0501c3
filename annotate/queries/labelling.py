"""What the task page shows one annotator: the open presentation, how far they are, what they said last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.utils.translation import gettext as _

from annotate import assigning, checks, guarding
from annotate.entering import Detour
from annotate.errors import Excluded, NotOpen, Refusal, ScreenedOut
from annotate.guarding import counting
from annotate.importing.captions import language_name
from annotate.keys import Keys
from annotate.models import Annotator, Context, Item, Label, Presentation, PresentedItem, Project
from annotate.orders import ASKED, LETTERS, OTHERS, n_named, order_of, others_allowed
from annotate.pace import Hints, time_left
from annotate.queries.answer_words import all_in_words, in_words, said_by_all
from annotate.queries.asked import Asked, asked_by_each
from annotate.queries.left import most_answers
from annotate.queries.practice import Feedback, Step, feedback, step
from annotate.queries.stops import Stop, stop_of

Outcome = Label.Outcome
# Beyond this, or as a sentence of its own, what a higher place means no longer fits on a button.
LONGEST_MEANING = 40
SHOWN = ("pk", "kind", "body", "link", "captions__language", "context_id")  # of an item
SIZES = {"short": 120, "medium": 400}  # characters up to which a text is set larger


@dataclass(frozen=True)
class Option:
    letter: str
    words: str  # on the button that chooses it
    item_id: int
    kind: str
    body: str
    link: str = ""
    captions: str = ""  # their language, of a recording that has some
    rank: str = ""  # what a form that is shown again said of it: its place, or “best” or “worst”

    @property
    def value(self) -> str:
        return self.letter.lower()

    @property
    def captions_name(self) -> str:
        return language_name(self.captions)

    @property
    def place(self) -> str:
        """From 1; the name of what its key does, too."""
        return str(LETTERS.index(self.letter) + 1)


@dataclass(frozen=True)
class Other:
    """An answer other than choosing an item."""

    value: str
    words: str


@dataclass(frozen=True)
class Graded:
    """One step of the scale from A clearly to B clearly; `option` is empty for the tie in its middle."""

    value: str
    words: str
    place: str
    option: str


@dataclass(frozen=True)
class LastAnswer:
    """The answer that undo would take back, named by its presentation's token."""

    token: str
    words: str
    at: datetime


@dataclass(frozen=True)
class Task:
    token: str
    options: list[Option]
    others: list[Other]
    n_done: int
    cap: int | None
    last: LastAnswer | None
    stop: Stop | None
    now: datetime
    asked: str = Outcome.CHOICE
    k: int = 2
    n_named: int = 1  # how many items the answer names
    graded: bool = False
    context: Context | None = None
    comment: str = ""  # of a form that is shown again
    reason: str = ""  # to skip, of a form that is shown again
    wait_ms: int = 0  # until an answer is taken
    is_break: bool = False  # nothing is asked because it is time for a pause
    chosen_keys: Mapping[str, str] = field(default_factory=dict)
    hints: Hints = field(default_factory=Hints)
    practice: Step | None = None  # the open task is for practice
    feedback: Feedback | None = None  # on the practice answer just given, in place of a task
    criteria: Sequence[Asked] = ()  # where there are several: what is asked by each

    @property
    def number(self) -> int:
        return self.n_done + 1

    @property
    def n_left(self) -> int | None:
        """How many more tasks there are, at most; None where nobody knows or they are too many to matter."""
        most = self.cap if self.cap is not None else self.hints.total
        return None if most is None else max(most - self.n_done, 0)

    @property
    def time_left(self) -> str:
        return time_left(self.n_left or 0, self.hints.median_ms)

    @property
    def layout(self) -> str:
        """“pair” and “best” answer by one button, “best_worst” by two marks, “ranking” by an order."""
        if self.asked == Outcome.CHOICE:
            return "pair" if self.k == 2 else "best"
        return "best_worst" if self.asked == Outcome.BEST_WORST else "ranking"

    @property
    def grades(self) -> list[Graded]:
        return scale(self.others)

    @property
    def buttons(self) -> list[Other]:
        """The other answers that have a button of their own."""
        return [other for other in self.others if not (self.graded and other.value == Outcome.TIE)]

    @property
    def places(self) -> list[str]:
        """The places of the items, from 1."""
        return [str(place) for place in range(1, self.k + 1)]

    @property
    def keys(self) -> Keys:
        return Keys(self.chosen_keys, pair=self.layout == "pair" and not self.graded)

    @property
    def hint(self) -> str:
        """What to do, where the buttons don't say it."""
        hints = {
            Outcome.BEST_WORST: _("Mark the best and the worst."),
            Outcome.RANKING: _("Put all %(n)d in order, best first."),
            Outcome.TOP: _("Rank the best %(n)d, best first, and leave the others."),
        }
        return hints[Outcome(self.asked)] % {"n": self.n_named} if self.asked in hints else ""

    @property
    def ranks(self) -> range:
        """The places that a ranking gives."""
        return range(1, self.n_named + 1)

    @property
    def size(self) -> str:
        """How large the texts are set: one size for all, that of the longest one."""
        longest = max((len(option.body) for option in self.options if option.kind == Item.Kind.TEXT), default=0)
        plain = all(option.kind == Item.Kind.TEXT for option in self.options)
        return next((name for name, most in SIZES.items() if plain and longest <= most), "long")


def current_task(
    *,
    annotator: Annotator,
    now: datetime,
    refusal: Refusal | None = None,
    given: Mapping[str, str] | None = None,
    last: LastAnswer | None = None,
    hints: Hints | None = None,
) -> Task:
    """What to show now.

    `refusal` is what asking for the next presentation just said, `given` a form to show again, `last` the annotator's
    last answer where the caller has just stored it, `hints` what the browser knows of the pace; without them, how much
    is left is looked up.
    """
    project = annotator.project
    n_done = guarding.n_counting(annotator)
    last = last or last_answer(annotator)
    stop = refusal or why_not(annotator, now)
    token, rows = ("", []) if stop else open_rows(annotator)
    if not token and not stop:
        stop = nothing_left(annotator, n_done, now)
    return task_of(
        project,
        token=token,
        rows=rows,
        n_done=n_done,
        last=last,
        stop=stop_of(stop, n_done) if stop else None,
        now=now,
        given=given,
        wait_ms=left_to_read(project, token, now),
        is_break=not (token or stop) and guarding.break_is_due(annotator, n_done),
        chosen_keys=annotator.keys,
        hints=hints or Hints(total=most_answers(annotator, n_done, is_open=bool(token))),
        practice=step(annotator, token),
        feedback=None if token or stop else feedback(annotator, n_done),
    )


def task_of(
    project: Project,
    *,
    token: str,
    rows: Sequence[tuple],
    n_done: int,
    last: LastAnswer | None,
    stop: Stop | None,
    now: datetime,
    given: Mapping[str, str] | None = None,
    wait_ms: int = 0,
    is_break: bool = False,
    chosen_keys: Mapping[str, str] | None = None,
    hints: Hints | None = None,
    practice: Step | None = None,
    feedback: Feedback | None = None,
) -> Task:
    """What the page says. rows: of the items shown, in their order, the values of SHOWN."""
    given = given or {}
    task = Task(
        token=token,
        options=options_of(project, rows, given),
        context=context_of(rows),
        others=others_of(project),
        n_done=n_done,
        cap=project.cap,
        last=last,
        stop=stop,
        now=now,
        asked=ASKED[Project.TaskType(project.task_type)],
        k=project.k,
        n_named=n_named(project),
        comment=given.get("comment", ""),
        reason=given.get("reason", "") or given.get("reason_words", ""),
        wait_ms=wait_ms,
        is_break=is_break,
        practice=practice,
        feedback=feedback,
        graded=project.task_type == Project.TaskType.GRADED,
        chosen_keys=chosen_keys or {},
        hints=hints or Hints(),
    )
    return replace(task, criteria=asked_by_each(project, task, given)) if project.criteria and token else task


def left_to_read(project: Project, token: str, now: datetime) -> int:
    """How long the items are still to be read before they can be answered; asks nothing where no time is set."""
    if not token or not project.min_seconds:
        return 0
    shown = Presentation.objects.only("created_at", "reopens_id").get(token=token)
    return round(guarding.left_to_read(project, shown, now).total_seconds() * 1000)


def open_rows(annotator: Annotator) -> tuple[str, list[tuple]]:
    """The token and items (the values of SHOWN), in the order shown, of the open presentation; or nothing.

    Its lease may be over."""
    shown = PresentedItem.objects.filter(
        presentation__annotator=annotator, presentation__state=Presentation.State.OPEN
    ).order_by("position")
    columns = ("item_id", *(f"item__{column}" for column in SHOWN[1:]))
    rows = list(shown.values_list("presentation__token", *columns))
    return rows[0][0] if rows else "", [row[1:] for row in rows]


def context_of(rows: Sequence[tuple]) -> Context | None:
    """What all the items shown are about, if that is told above them."""
    contexts = {row[-1] for row in rows}
    context = contexts.pop() if len(contexts) == 1 else None
    return Context.objects.get(pk=context) if context else None


def options_of(project: Project, rows: Sequence[tuple], given: Mapping[str, str]) -> list[Option]:
    # Of two, one is better; of more, one is chosen.
    meaning = project.more_means if len(rows) == 2 else ""
    return [
        Option(letter, choosing(letter, meaning), item_id, kind, body, link, captions or "", rank_in(given, letter))
        for letter, (item_id, kind, body, link, captions, _context) in zip(LETTERS, rows, strict=False)
    ]


def rank_in(given: Mapping[str, str], letter: str) -> str:
    mark = next((name for name in ("best", "worst") if given.get(name) == letter.lower()), "")
    return mark or given.get(f"rank_{letter.lower()}", "")


def choosing(letter: str, meaning: str) -> str:
    """“A is better”, where the owner's words fit behind “A is”."""
    meaning = meaning.strip()
    if not meaning or len(meaning) > LONGEST_MEANING or meaning[-1] in ".!?:;":
        return _("Choose %(letter)s") % {"letter": letter}
    return _("%(letter)s is %(better)s") % {"letter": letter, "better": meaning}


def others_of(project: Project) -> list[Other]:
    allowed = others_allowed(project)
    return [Other(outcome, str(Outcome(outcome).label)) for outcome in OTHERS if outcome in allowed]


def scale(others: Sequence[Other]) -> list[Graded]:
    """What is pressed where it is asked how much better; a tie that is allowed is the middle."""
    steps = [("a_clearly", _("A clearly"), "a"), ("a_slightly", _("A slightly"), "a")]
    if any(other.value == Outcome.TIE for other in others):
        steps.append((Outcome.TIE.value, str(Outcome.TIE.label), ""))
    steps += [("b_slightly", _("B slightly"), "b"), ("b_clearly", _("B clearly"), "b")]
    return [Graded(value, words, str(place), option) for place, (value, words, option) in enumerate(steps, start=1)]


def last_answer(annotator: Annotator) -> LastAnswer | None:
    if annotator.project.criteria:
        return last_answer_by_each(annotator)
    last = (
        counting(annotator)
        .order_by("-created_at", "-pk")
        .values_list("presentation__token", "outcome", "presentation_id", "chosen_id", "ranks", "grade", "created_at")
        .first()
    )
    if last is None:
        return None
    token, outcome, presentation_id, chosen_id, ranks, grade, at = last
    order = order_of(outcome, ranks) if ranks else [place_of(presentation_id, chosen_id)]
    return LastAnswer(token, in_words(outcome, order, grade), at)


def last_answer_by_each(annotator: Annotator) -> LastAnswer | None:
    """The same where there are several criteria."""
    last = counting(annotator).select_related("presentation").order_by("-created_at", "-pk").first()
    if last is None:
        return None
    words = all_in_words(annotator.project, said_by_all(annotator.project, last))
    return LastAnswer(last.presentation.token, words, last.created_at)


def place_of(presentation_id: int, item_id: int | None) -> int | None:
    if item_id is None:
        return None
    shown = PresentedItem.objects.filter(presentation=presentation_id, item=item_id)
    return shown.values_list("position", flat=True).get()


def awaits_label(annotator: Annotator, token: str) -> bool:
    return annotator.presentations.filter(token=token, label=None).exists()


def why_not(annotator: Annotator, now: datetime) -> Refusal | None:
    try:
        guarding.check_may_go_on(annotator.project, annotator, now)
    except (Excluded, NotOpen, ScreenedOut, Detour) as refusal:
        return refusal
    return None


def nothing_left(annotator: Annotator, n_done: int, now: datetime) -> Refusal | None:
    """What asking for a next presentation would say; it only looks."""
    try:
        guarding.check_caps(annotator, now, n_done)
        if checks.due(annotator):
            return None
        assigning.choose_items(annotator.project, annotator)
    except Refusal as refusal:
        return refusal
    return None
