"""Writing projects: creating, changing their settings and state, replacing the join link, deleting."""

from datetime import datetime
from typing import Any

from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import Count
from django.utils.translation import gettext as _

from annotate.audit import changes_as_json, record_event
from annotate.core.errors import ProjectArchived, UserError
from annotate.core.transactions import write_transaction
from annotate.fitting.weights import carry_weights
from annotate.ideas.rules import check_possible
from annotate.imports.actions import discard_all
from annotate.items.media.deletion import delete_media
from annotate.jobs.fit_requests import request_fit
from annotate.labelling.asked_tasks import further_tasks, note_earlier, task_of, tasks_now
from annotate.labelling.assignment import release
from annotate.labelling.plan.actions import draw_plan
from annotate.locks import lock_project
from annotate.models import (
    AnnotatorTag,
    AnswerNotice,
    Captions,
    ConflictOfInterest,
    Consent,
    Context,
    ContextTranslation,
    CriterionAnswer,
    EntryLink,
    EventVerb,
    FitState,
    GoldSet,
    GoldSetItem,
    Idea,
    Item,
    ItemComment,
    ItemFeatures,
    ItemPage,
    ItemSet,
    ItemTranslation,
    Label,
    LabelArchive,
    MachineAnswer,
    MachineSet,
    Membership,
    Presentation,
    PresentedItem,
    Project,
    QuestionAnswer,
    SuggestedSet,
    User,
    Webhook,
)
from annotate.webhooks.actions import enqueue_event
from models_engine.models import Fit

State = Project.State
# Where each state may lead, and what the history calls the step.
STEPS = {
    (State.DRAFT, State.OPEN): EventVerb.PROJECT_OPENED,
    (State.OPEN, State.PAUSED): EventVerb.PROJECT_PAUSED,
    (State.PAUSED, State.OPEN): EventVerb.PROJECT_RESUMED,
    (State.OPEN, State.CLOSED): EventVerb.PROJECT_CLOSED,
    (State.PAUSED, State.CLOSED): EventVerb.PROJECT_CLOSED,
    (State.CLOSED, State.OPEN): EventVerb.PROJECT_REOPENED,
}
# What kinds of task are asked. Earlier answers keep their kind.
TASK = ("task_type", "k", "m", "shared_places")
BUTTONS = ("tie_words", "both_good_words", "both_bad_words", "cant_judge_words", "skip_words")
GRADES = ("slightly_words", "clearly_words")
WORDS = ("best_words", "worst_words", "choice_words", *GRADES, *BUTTONS, "instruction_line")
FIXED_BY_LABELS = ("question", "more_means", *WORDS)
# What a fit or its table is computed from.
FITTED = (
    *("estimator", "predict_unseen", "top_k", "tie_margin", "count_gold", "count_repeats", "count_machines"),
    *("goal", "goal_width", "goal_comparisons", "goal_reliability", "goal_places", "overlap", "n_sets"),
    *("grades", "grades_by", "style_features"),
    "weights",
    *("policy", "class_shares", "pause_at_goal"),
)
# What decides which sets are worth asking: those suggested by other values are asked no more.
SUGGESTING = frozenset(
    {"policy", "class_shares", "top_k", "grades", "grades_by", "tie_margin", *TASK, "further_tasks", "criteria"}
)


class TooFewItems(UserError):
    def __init__(self, n: int, k: int) -> None:
        super().__init__(
            _("The project has %(n)d items to compare; you need at least %(limit)d to open it. Import some first.")
            % {"n": n, "limit": k}
        )


class RanksCounts(UserError):
    def __init__(self) -> None:
        super().__init__(
            _(
                "This project is ranked by counts that were imported, so it takes no answers. Make a copy with its "
                "items, on the page Settings, and open that one."
            )
        )


class InvalidStateChange(UserError):
    code = "no-such-step"

    def __init__(self, before: State, after: State) -> None:
        super().__init__(
            _("The project is “%(before)s” and can't become “%(after)s”. Reload the page to see what you can do.")
            % {"before": before.label, "after": after.label}
        )


class FixedByLabels(UserError):
    def __init__(self, n_labels: int) -> None:
        super().__init__(
            _(
                "People have already answered (%(n)d answers), so the question and its words are fixed. Create a new "
                "project for another question."
            )
            % {"n": n_labels}
        )


class QuestionsAreGiven(UserError):
    def __init__(self) -> None:
        super().__init__(
            _(
                "The questions of this project are given, so the number of different sets and of items shown at a time "
                "are fixed. Have sets drawn again first, on the page Given questions."
            )
        )


class SizesDiffer(UserError):
    def __init__(self, k: int) -> None:
        super().__init__(
            _(
                "The sets of this project are drawn or given beforehand, with %(k)d items each, so every kind of task "
                "must show %(k)d. Change the further kinds, or leave the number of different sets empty."
            )
            % {"k": k}
        )


class CriteriaFixed(UserError):
    def __init__(self) -> None:
        super().__init__(
            _(
                "Once the project has been opened or has labels, only the names of its criteria can change. "
                "Create a new project for other criteria."
            )
        )


def create_project(*, owner: User, values: dict[str, Any], now: datetime) -> Project:
    """Create a project; values: fields of Project, validated by a form."""
    with write_transaction():
        project = Project.objects.create(**values, created_at=now)
        Membership.objects.create(project=project, user=owner, role=Membership.Role.OWNER)
        FitState.objects.create(project=project)
        record_event(project, owner, EventVerb.PROJECT_CREATED, now, name=project.name)
    return project


def change_project(*, project: Project, actor: User, values: dict[str, Any], now: datetime) -> dict[str, list[Any]]:
    """Return sets these fields; returns what changed as {field: [before, after]}. Raises FixedByLabels,
    IdeasNotPossible, QuestionsAreGiven and SizesDiffer."""
    with write_transaction():
        project = lock_project(project.pk)
        changes = {
            field: [getattr(project, field), value]
            for field, value in values.items()
            if getattr(project, field) != value
        }
        if changes.keys() & FIXED_BY_LABELS and project.labels.exists():
            raise FixedByLabels(project.labels.count())
        if project.given_order and changes.keys() & {"n_sets", "k"}:
            raise QuestionsAreGiven
        before = task_of(project), [task for task, _percent in further_tasks(project)]
        if "criteria" in changes:
            old, new = changes["criteria"]
            check_criteria(project, old, new)
            if project.weights and "weights" not in changes:
                changes["weights"] = [project.weights, carry_weights(old, new, project.weights)]
        if changes.get("ideas_open", [None, False])[1]:
            check_possible(project)
        if not changes:
            return changes
        for field, (_before, after) in changes.items():
            setattr(project, field, after)
        check_sizes(project)
        if changes.keys() & {*TASK, "further_tasks"}:
            project.earlier_tasks = note_earlier(project, *before)
        project.save(update_fields=[*changes, "earlier_tasks"])
        if changes.keys() & {*TASK, "further_tasks"}:
            return_open_presentations(project)
        if "question_ahead" in changes:
            return_open_presentations(project, ahead=True)
        if changes.keys() & {"n_sets", *TASK}:
            draw_plan(project)
        if changes.keys() & SUGGESTING:
            SuggestedSet.objects.filter(project=project).delete()
        record_event(project, actor, EventVerb.SETTINGS_CHANGED, now, **changes_as_json(changes))
        if changes.keys() & FITTED and (project.ranks_counts or project.labels.exists() or "count_machines" in changes):
            request_fit(project)
    return changes


def check_sizes(project: Project) -> None:
    """Raise SizesDiffer where the sets of a plan would be of another size than a further kind of task shows."""
    if project.has_plan and any(task.k != project.k for task in tasks_now(project)):
        raise SizesDiffer(project.k)


def raise_overlap(*, project: Project, actor: User, to: int, now: datetime) -> bool:
    """Raise the overlap to this number, so that a full project takes answers again; False if it was as high before."""
    with write_transaction():
        if lock_project(project.pk).overlap >= to:
            return False
        return bool(change_project(project=project, actor=actor, values={"overlap": to}, now=now))


def check_criteria(project: Project, before: list[dict[str, str]], after: list[dict[str, str]]) -> None:
    """Raise CriteriaFixed: who has a task open, or has answered, was asked by these criteria in this order.

    Names may change at any time; questions until the first label; all else in a draft without labels.
    """
    if ((project.state != State.DRAFT or project.ranks_counts) and len(before) != len(after)) or (
        [one["question"] for one in before] != [one["question"] for one in after] and project.labels.exists()
    ):
        raise CriteriaFixed


def return_open_presentations(project: Project, **which: bool) -> None:
    """Return open presentations of the old kind, so that annotators get new ones."""
    found = project.presentations.filter(state=Presentation.State.OPEN, **which)
    for presentation in found.values_list("pk", "item_set_id"):
        release(project, *presentation)


def set_state(*, project: Project, actor: User, state: str, now: datetime) -> bool:
    """Open, pause, close or reopen; False if the project was in this state already.

    Raises ProjectArchived, TooFewItems, RanksCounts and NoSuchStep.
    """
    with write_transaction():
        project = lock_project(project.pk)
        if project.archived_at:
            raise ProjectArchived
        if project.state == state:
            return False
        verb = STEPS.get((State(project.state), State(state)))
        if verb is None:
            raise InvalidStateChange(State(project.state), State(state))
        if state == State.OPEN:
            if project.ranks_counts:
                raise RanksCounts
            n_items = n_comparable(project)
            if n_items < project.k:
                raise TooFewItems(n_items, project.k)
        record_event(project, actor, verb, now, state=[project.state, state])
        project.state = state
        project.save(update_fields=["state"])
        enqueue_event(project_id=project.pk, event=Webhook.Event.STATE_CHANGED, data={"state": state}, now=now)
        if state == State.OPEN:
            draw_plan(project)
    return True


def n_comparable(project: Project) -> int:
    """Return how many active items can be shown together: those without a context, or of the context that has most."""
    active = project.items.filter(retired_at=None).order_by()
    return max((n for _context, n in active.values_list("context").annotate(n=Count("pk"))), default=0)


def delete_project(*, project: Project) -> None:
    """Delete the project with everything in it: items, labels, annotators, members, history, fits, media."""
    with write_transaction():
        lock_project(project.pk)
        Project.objects.select_for_update().get(pk=project.pk)  # nothing that refers to it comes in any more
        pictures = project.items.exclude(media="").order_by().values_list("media", flat=True)
        pages = ItemPage.objects.filter(item__project=project).order_by().values_list("media", flat=True)
        archives = LabelArchive.objects.filter(project=project).order_by().values_list("file", flat=True)
        files = list(pictures.union(pages, archives, all=True))
        folders = list(project.imports.exclude(folder="").values_list("folder", flat=True))
        _delete_rows(project)
        transaction.on_commit(lambda: delete_media(files))
        transaction.on_commit(lambda: discard_all(folders))


def _delete_rows(project: Project) -> None:
    """Delete by one statement per table, from the leaves: a million labels must not be read to be deleted."""
    for rows in (
        CriterionAnswer.objects.filter(label__project=project),
        ItemComment.objects.filter(label__project=project),
        AnswerNotice.objects.filter(project=project),
        Label.objects.filter(project=project),
        project.counts.order_by(),
        MachineAnswer.objects.filter(machine__annotator__project=project),
        MachineSet.items.through.objects.filter(machineset__project=project),
        MachineSet.objects.filter(project=project),
        PresentedItem.objects.filter(presentation__project=project),
        Presentation.objects.filter(project=project),
        GoldSetItem.objects.filter(gold_set__project=project),
        GoldSet.objects.filter(project=project),
        ItemSet.objects.filter(project=project),
        Item.tags.through.objects.filter(item__project=project),
        ItemFeatures.objects.filter(item__project=project),
        Captions.objects.filter(item__project=project),
        Idea.objects.filter(project=project),
        EntryLink.objects.filter(project=project),
        ItemPage.objects.filter(item__project=project),
        ItemTranslation.objects.filter(item__project=project),
        ContextTranslation.objects.filter(context__project=project),
        ConflictOfInterest.objects.filter(annotator__project=project),
        QuestionAnswer.objects.filter(annotator__project=project),
        AnnotatorTag.objects.filter(annotator__project=project),
        Consent.objects.filter(annotator__project=project),  # protects its text
        Item.objects.filter(project=project),
        Context.objects.filter(project=project),
    ):
        rows._raw_delete(DEFAULT_DB_ALIAS)
    Fit.objects.filter(project_id=project.pk).delete()
    Project.objects.filter(pk=project.pk).delete()
