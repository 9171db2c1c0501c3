"""What the task page shows one annotator: the open presentation, how far they are, what they said last."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.utils.formats import localize
from django.utils.translation import gettext as _

from annotate.core.differences import mark_differences
from annotate.core.errors import UserError
from annotate.core.languages import language_name
from annotate.core.sections import Section, sections_in
from annotate.labelling import eligibility
from annotate.labelling.answer_options import ExtraAnswer, GradeStep, button_text, extra_answers, grade_steps
from annotate.labelling.asked_tasks import project_for_task
from annotate.labelling.criterion_fields import CriterionFields, fields_by_criterion
from annotate.labelling.keys.bindings import Keys
from annotate.labelling.last_answers import LastAnswer, last_answer_or_declaration
from annotate.labelling.media_captions import MediaCaption, media_caption, titles_missing
from annotate.labelling.outcomes import LETTERS
from annotate.labelling.plan.queries import is_endless
from annotate.labelling.practice import Feedback, PracticeStep, practice_feedback, practice_step
from annotate.labelling.refusals import refusal_of_next_task, refusal_of_task
from annotate.labelling.remaining import max_remaining_answers
from annotate.labelling.shown_items import NO_ROWS, has_long_text, open_rows
from annotate.labelling.stop_pages import StopPage, stop_page
from annotate.labelling.targets import answer_target
from annotate.labelling.task_types.base import TaskType
from annotate.labelling.task_types.registry import TASK_TYPES, task_type_of
from annotate.labelling.time_left import ClientTiming, describe_time_left
from annotate.labelling.wording import TranslatedRows, Wording, shown_language, translate_context, translate_rows
from annotate.models import Annotator, Context, Item, Label, Presentation, Project

Outcome = Label.Outcome
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
    language: str = ""  # of the text, where the owner has said it
    rank: str = ""  # what a form that is shown again said of it: its place, or “best” or “worst”
    n_pages: int = 0  # pictures of a document
    comment: str = ""  # on it, of a form that is shown again
    metadata: Sequence[tuple[str, str]] = ()  # names and values that annotators see
    caption: MediaCaption = field(default_factory=MediaCaption)  # under its image or recording
    marked: str = ""  # the text with what differs from the other marked, safe HTML

    @property
    def alternative_text(self) -> str:
        return self.caption.alternative_text(self.body)

    @property
    def value(self) -> str:
        return self.letter.lower()

    @property
    def pages(self) -> range:
        return range(1, self.n_pages + 1)

    @property
    def sections(self) -> list[Section]:
        return sections_in(self.body) if self.kind == Item.Kind.SECTIONS else []

    @property
    def captions_name(self) -> str:
        return language_name(self.captions)

    @property
    def place(self) -> str:
        """Return the place from 1; the name of what its key does, too."""
        return str(LETTERS.index(self.letter) + 1)


@dataclass(frozen=True)
class Task:
    token: str
    options: list[Option]
    others: list[ExtraAnswer]
    n_done: int
    cap: int | None
    target: int | None
    last: LastAnswer | None
    stop: StopPage | None
    now: datetime
    type: TaskType = TASK_TYPES[Project.TaskType.PAIR]
    k: int = 2
    n_named: int = 1  # how many items the answer names
    shares_places: bool = False  # several items may have one place
    hint: str = ""  # what to do, where the buttons do not say it
    key_help: str = ""
    best_words: str = ""  # the owner's, for whatever comes first
    grades: Sequence[GradeStep] = ()  # what is pressed where it is asked how much better
    own_choice: bool = False  # the owner's words are on the buttons
    marks: Sequence[tuple[str, str]] = ()  # TaskType.marks
    folds: bool = False  # the texts are cut at the same height until all are opened
    context: Context | None = None
    comment: str = ""  # of a form that is shown again
    reason: str = ""  # to skip, of a form that is shown again
    wait_ms: int = 0  # until an answer is taken
    is_break: bool = False  # nothing is asked because it is time for a pause
    chosen_keys: Mapping[str, str] = field(default_factory=dict)
    hints: ClientTiming = field(default_factory=ClientTiming)
    practice: PracticeStep | None = None  # the open task is for practice
    feedback: Feedback | None = None  # on the practice answer just given, in place of a task
    is_endless: bool = False  # nothing ends the answering but the annotator
    has_ending: bool = False  # who stops before the end gets no code
    language: str = ""  # in which it is asked; goes with the answer
    criteria: Sequence[CriterionFields] = ()  # where there are several: what is asked by each
    ahead: "Task | None" = None  # the question after this one, where it is leased already
    lease_ms: int = 0  # of a question ahead: for how long
    is_shown: bool = False  # the page shows the question already, as the one that it held ready
    n_before: int = 0  # tasks shown before this one that are not answered yet

    @property
    def has_item_comments(self) -> bool:
        """Return whether the form is shown again with a comment on an item."""
        return any(option.comment for option in self.options)

    @property
    def number(self) -> int:
        return self.n_done + self.n_before + 1

    @property
    def heading(self) -> str:
        """Return what a screen reader says first of the task."""
        if self.practice:
            numbers = {"n": localize(self.practice.number), "of": localize(self.practice.n)}
            return _("Practice %(n)s of %(of)s.") % numbers
        if self.cap:
            return _("Task %(n)s of %(cap)s.") % {"n": localize(self.number), "cap": localize(self.cap)}
        return _("Task %(n)s.") % {"n": localize(self.number)}

    @property
    def may_stop(self) -> bool:
        """Return whether “Enough for now” is offered: from the first task on, where no code waits at the end."""
        return (bool(self.token) or self.n_done > 0) and not self.has_ending and not self.practice

    @property
    def n_left(self) -> int | None:
        """Return how many more tasks there are, at most; None where nobody knows or they are too many to matter."""
        most = self.target or self.cap or self.hints.total
        return None if most is None else max(most - self.n_done, 0)

    @property
    def time_left(self) -> str:
        return describe_time_left(self.n_left or 0, self.hints.median_ms)

    @property
    def asked(self) -> str:
        """Return the outcome that the task asks for."""
        return self.type.outcome.value

    @property
    def graded(self) -> bool:
        return self.type.is_graded

    @property
    def choices(self) -> tuple[tuple[str, str], ...]:
        """Return the letter of each item and the words on the button that chooses it."""
        return tuple((option.letter, option.words) for option in self.options)

    @property
    def buttons(self) -> list[ExtraAnswer]:
        """Return the other answers that have a button of their own."""
        return [other for other in self.others if not (self.graded and other.value == Outcome.TIE)]

    @property
    def places(self) -> list[str]:
        """Return the places of the items, from 1."""
        return [str(place) for place in range(1, self.k + 1)]

    @property
    def keys(self) -> Keys:
        return Keys(self.chosen_keys, pair=self.type.is_swiped)

    @property
    def ranks(self) -> range:
        """Return the places that a ranking gives."""
        return range(1, self.n_named + 1)

    @property
    def size(self) -> str:
        """Return how large the texts are set: one size for all, that of the longest one."""
        longest = max((len(option.body) for option in self.options if option.kind == Item.Kind.TEXT), default=0)
        plain = all(option.kind == Item.Kind.TEXT for option in self.options)
        return next((name for name, most in SIZES.items() if plain and longest <= most), "long")


def current_task(
    *,
    annotator: Annotator,
    now: datetime,
    refusal: UserError | None = None,
    given: Mapping[str, str] | None = None,
    last: LastAnswer | None = None,
    hints: ClientTiming | None = None,
    wording: Wording | None = None,
    shown: str = "",
    holds_ahead: bool = False,
) -> Task:
    """Return what to show now.

    `refusal` is what asking for the next presentation just said, `given` a form to show again, `last` the annotator's
    last answer where the caller has just stored it, `hints` what the browser knows of the pace; without them, how much
    is left is looked up. `wording`: the language in which to ask, without it the project's own. `shown`: the token
    of the question that the page shows already; it is not put together again. `holds_ahead`: the page can hold the next
    one.
    """
    project = annotator.project
    n_done = eligibility.n_counted_labels(annotator)
    last = last or last_answer_or_declaration(annotator)
    stop, words = refusal or refusal_of_task(annotator, now), wording or Wording(project)
    current, following = (NO_ROWS, NO_ROWS) if stop else open_rows(annotator)
    token, practice = current.token, practice_step(annotator, current.token)
    if not token and not stop:
        stop = refusal_of_next_task(annotator, n_done, now)
    n_open = bool(token) + bool(following.token)
    is_shown = bool(token) and token == shown and not given
    task = build_task(
        replace(words, project=project_for_task(words.project, current.task)),
        token=token,
        rows=[] if is_shown else current.rows,
        n_done=n_done,
        last=last,
        stop=stop_page(stop, n_done) if stop else None,
        now=now,
        given=given,
        wait_ms=remaining_reading_ms(project, token, now),
        is_break=not (token or stop) and eligibility.break_is_due(annotator, n_done),
        chosen_keys=annotator.keys,
        hints=hints or ClientTiming(total=max_remaining_answers(annotator, n_done, n_open=n_open)),
        practice=practice,
        feedback=None if token or stop else practice_feedback(annotator, n_done),
    )
    lease_ms = following.lease_ms(now) if holds_ahead and token else 0
    ahead_words = replace(words, project=project_for_task(words.project, following.task))
    ahead = ahead_task(ahead_words, task, following.rows, following.token, lease_ms) if lease_ms else None
    return replace(task, is_shown=is_shown, ahead=ahead)


def ahead_task(wording: Wording, task: Task, rows: Sequence[tuple], token: str, lease_ms: int) -> Task:
    """Return the question after this task, as it will be shown when that is answered."""
    ahead = build_task(
        wording,
        token=token,
        rows=rows,
        n_done=task.n_done,
        last=LastAnswer(task.token, "", task.now),
        stop=None,
        now=task.now,
        wait_ms=1000 * wording.project.min_seconds,
        chosen_keys=task.chosen_keys,
        hints=task.hints,
    )
    return replace(ahead, n_before=1, lease_ms=lease_ms)


def build_task(
    wording: Wording,
    *,
    token: str,
    rows: Sequence[tuple],
    n_done: int,
    last: LastAnswer | None,
    stop: StopPage | None,
    now: datetime,
    given: Mapping[str, str] | None = None,
    wait_ms: int = 0,
    is_break: bool = False,
    chosen_keys: Mapping[str, str] | None = None,
    hints: ClientTiming | None = None,
    practice: PracticeStep | None = None,
    feedback: Feedback | None = None,
) -> Task:
    """Return what the page says. rows: of the items shown, in their order, the values of ITEM_COLUMNS."""
    project = wording.project
    given, task_type = given or {}, task_type_of(project)
    translated = translate_rows(rows, wording.language)
    rows, missing = translated.rows, translated.missing
    lacking = missing | titles_missing(project, rows, translated.untitled)
    context = context_of(rows)
    lacks_context = translate_context(context, wording)
    task = Task(
        token=token,
        options=with_differences(project, options_of(wording, translated, given)),
        language=shown_language(wording, lacking, lacks_context=lacks_context),
        folds=project.folds_long_texts and has_long_text(rows),
        context=context,
        others=extra_answers(project),
        n_done=n_done,
        cap=project.cap,
        target=answer_target(project),
        last=last,
        stop=stop,
        now=now,
        type=task_type.on_page(project.k),
        k=project.k,
        n_named=task_type.n_ranked(project),
        shares_places=task_type.shares_places(project),
        hint=task_type.instruction(project),
        key_help=task_type.key_help(project),
        best_words=project.best_words,
        grades=grade_steps(project, extra_answers(project)),
        own_choice=bool(project.choice_words),
        marks=task_type.marks(project),
        comment=given.get("comment", ""),
        reason=given.get("reason", "") or given.get("reason_words", ""),
        wait_ms=wait_ms,
        is_break=is_break,
        practice=practice,
        feedback=feedback,
        chosen_keys=chosen_keys or {},
        hints=hints or ClientTiming(),
        is_endless=is_endless(project),
        has_ending=project.has_ending,
    )
    return replace(task, criteria=fields_by_criterion(project, task, given)) if project.criteria and token else task


def remaining_reading_ms(project: Project, token: str, now: datetime) -> int:
    """Return how long the items are still to be read before they can be answered; asks nothing where no time is set."""
    if not token or not project.min_seconds:
        return 0
    shown = Presentation.objects.only("created_at", "reopens_id").get(token=token)
    return round(eligibility.remaining_reading_time(project, shown, now).total_seconds() * 1000)


def context_of(rows: Sequence[tuple]) -> Context | None:
    """Return what all the items shown are about, if that is told above them."""
    contexts = {row[-1] for row in rows}
    context = contexts.pop() if len(contexts) == 1 else None
    return Context.objects.get(pk=context) if context else None


def options_of(wording: Wording, translated: TranslatedRows, given: Mapping[str, str]) -> list[Option]:
    project, rows = wording.project, translated.rows
    # Of two, one is better; of more, one is chosen, and so where "is" and "better" would be of two languages.
    meaning = project.more_means if len(rows) == 2 and wording.is_meaning_in_page_language else ""
    return [
        Option(
            letter,
            button_text(project, letter, meaning),
            item_id,
            kind,
            body,
            link,
            captions or "",
            project.language if item_id in translated.missing else wording.shown,
            submitted_rank(given, letter),
            n_pages,
            given.get(f"comment_{letter.lower()}", ""),
            [(name, metadata[name]) for name in project.shown_metadata if name in metadata],
            media_caption(wording, row, translated.untitled),
        )
        for letter, row in zip(LETTERS, rows, strict=False)
        for item_id, kind, body, _name, link, captions, n_pages, metadata, _context in [row]
    ]


def with_differences(project: Project, options: list[Option]) -> list[Option]:
    """Return two plain texts with what differs marked, where the project asks for it; other options as they are."""
    if not project.marks_differences or [option.kind for option in options] != [Item.Kind.TEXT] * 2:
        return options
    found = mark_differences(*(option.body for option in options))
    marked = found or ("", "")
    return [replace(option, marked=text) for option, text in zip(options, marked, strict=True)]


def submitted_rank(given: Mapping[str, str], letter: str) -> str:
    mark = next((name for name in ("best", "worst") if given.get(name) == letter.lower()), "")
    return mark or given.get(f"rank_{letter.lower()}", "")


def is_unanswered(annotator: Annotator, token: str) -> bool:
    return annotator.presentations.filter(token=token, label=None).exists()
