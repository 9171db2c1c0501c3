"""Writing projects: creating, changing their settings and state, replacing the join link, deleting."""

from datetime import datetime
from typing import Any

from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import Count
from django.utils.translation import gettext as _

from annotate.actions.events import note, told
from annotate.actions.imports import discard_all
from annotate.actions.labels import want_fit
from annotate.actions.media import delete_media
from annotate.actions.planning import draw_plan
from annotate.actions.webhooks import tell
from annotate.assigning import release
from annotate.errors import Archived, Refusal
from annotate.locking import alone
from annotate.models import (
    AnnotatorTag,
    Captions,
    Context,
    EngineState,
    FieldAnswer,
    FurtherAnswer,
    Item,
    ItemFeatures,
    ItemSet,
    KnownSet,
    Label,
    Membership,
    NeverShown,
    Presentation,
    PresentedItem,
    Project,
    User,
    Webhook,
    new_token,
)
from annotate.writing import writing
from models_engine.models import Fit

State = Project.State
# Where each state may lead, and what the history calls the step.
STEPS = {
    (State.DRAFT, State.OPEN): "project opened",
    (State.OPEN, State.PAUSED): "project paused",
    (State.PAUSED, State.OPEN): "project resumed",
    (State.OPEN, State.CLOSED): "project closed",
    (State.PAUSED, State.CLOSED): "project closed",
    (State.CLOSED, State.OPEN): "project reopened",
}
# Labels answer this question in this way and no other.
TASK = ("task_type", "k", "m")
FIXED_BY_LABELS = ("question", "more_means", *TASK)
# What a fit or its table is computed from.
FITTED = (
    *("estimator", "top_k", "tie_margin", "count_gold", "count_repeats"),
    *("goal", "goal_width", "goal_comparisons", "overlap", "n_sets"),
)


class TooFewItems(Refusal):
    def __init__(self, n: int, k: int) -> None:
        super().__init__(
            _("The project has %(n)d items to compare; opening takes at least %(limit)d. Import some first.")
            % {"n": n, "limit": k}
        )


class NoSuchStep(Refusal):
    def __init__(self, before: State, after: State) -> None:
        super().__init__(
            _("A project that is “%(before)s” can't become “%(after)s”. Reload the page to see what can be done.")
            % {"before": before.label, "after": after.label}
        )


class FixedByLabels(Refusal):
    def __init__(self, n_labels: int) -> None:
        super().__init__(
            _("%(n)d labels answer the question as it stands, so it can't change. Make a new project for another.")
            % {"n": n_labels}
        )


class CriteriaFixed(Refusal):
    def __init__(self) -> None:
        super().__init__(
            _(
                "The criteria stay as they are once the project has been opened or has labels; only their names may "
                "change. Make a new project for others."
            )
        )


def create_project(*, owner: User, values: dict[str, Any], now: datetime) -> Project:
    """values: fields of Project, validated by a form."""
    with writing():
        project = Project.objects.create(**values, created_at=now)
        Membership.objects.create(project=project, user=owner, role=Membership.Role.OWNER)
        EngineState.objects.create(project=project)
        note(project, owner, "project created", now, name=project.name)
    return project


def change_project(*, project: Project, actor: User, values: dict[str, Any], now: datetime) -> dict[str, list[Any]]:
    """Sets these fields; returns what changed as {field: [before, after]}. Raises FixedByLabels."""
    with writing():
        project = alone(project.pk)
        changes = {
            field: [getattr(project, field), value]
            for field, value in values.items()
            if getattr(project, field) != value
        }
        if changes.keys() & FIXED_BY_LABELS and project.labels.exists():
            raise FixedByLabels(project.labels.count())
        if "criteria" in changes:
            check_criteria(project, *changes["criteria"])
        if not changes:
            return changes
        for field, (_before, after) in changes.items():
            setattr(project, field, after)
        project.save(update_fields=[*changes])
        if changes.keys() & set(TASK):
            take_back_open(project)
        if changes.keys() & {"n_sets", *TASK}:
            draw_plan(project)
        note(project, actor, "settings changed", now, **told(changes))
        if changes.keys() & FITTED and project.labels.exists():
            want_fit(project)
    return changes


def check_criteria(project: Project, before: list[dict[str, str]], after: list[dict[str, str]]) -> None:
    """Raises CriteriaFixed: who has a task open, or has answered, was asked by these criteria in this order.

    Names may change at any time; questions until the first label; all else in a draft without labels.
    """
    if (project.state != State.DRAFT and len(before) != len(after)) or (
        [one["question"] for one in before] != [one["question"] for one in after] and project.labels.exists()
    ):
        raise CriteriaFixed


def take_back_open(project: Project) -> None:
    """What annotators have before them is of the old kind: its sets go back, and they get new ones."""
    for presentation in project.presentations.filter(state=Presentation.State.OPEN).values_list("pk", "item_set_id"):
        release(project, *presentation)


def set_state(*, project: Project, actor: User, state: str, now: datetime) -> bool:
    """Opens, pauses, closes or reopens; False if the project was in this state already.

    Raises Archived, TooFewItems and NoSuchStep.
    """
    with writing():
        project = alone(project.pk)
        if project.archived_at:
            raise Archived
        if project.state == state:
            return False
        verb = STEPS.get((State(project.state), State(state)))
        if verb is None:
            raise NoSuchStep(State(project.state), State(state))
        if state == State.OPEN:
            n_items = n_comparable(project)
            if n_items < project.k:
                raise TooFewItems(n_items, project.k)
        note(project, actor, verb, now, state=[project.state, state])
        project.state = state
        project.save(update_fields=["state"])
        tell(project_id=project.pk, event=Webhook.Event.STATE_CHANGED, data={"state": state}, now=now)
        if state == State.OPEN:
            draw_plan(project)
    return True


def n_comparable(project: Project) -> int:
    """How many active items can be shown together: those without a context, or of the context that has most."""
    active = project.items.filter(retired_at=None).order_by()
    return max((n for _context, n in active.values_list("context").annotate(n=Count("pk"))), default=0)


def replace_join_link(*, project: Project, actor: User, now: datetime) -> None:
    """The old link leads nowhere from now on; who has joined stays."""
    with writing():
        project.join_token = new_token()
        project.save(update_fields=["join_token"])
        note(project, actor, "join link replaced", now)


def delete_project(*, project: Project) -> None:
    """Deletes the project with everything in it: items, labels, annotators, members, history, fits, media."""
    with writing():
        alone(project.pk)
        Project.objects.select_for_update().get(pk=project.pk)  # nothing that refers to it comes in any more
        files = list(project.items.exclude(media="").values_list("media", flat=True))
        folders = list(project.imports.exclude(folder="").values_list("folder", flat=True))
        delete_rows(project)
        transaction.on_commit(lambda: delete_media(files))
        transaction.on_commit(lambda: discard_all(folders))


def delete_rows(project: Project) -> None:
    """One statement per table, from the leaves: a million labels must not be read to be deleted."""
    for rows in (
        FurtherAnswer.objects.filter(label__project=project),
        Label.objects.filter(project=project),
        PresentedItem.objects.filter(presentation__project=project),
        Presentation.objects.filter(project=project),
        KnownSet.items.through.objects.filter(knownset__project=project),
        KnownSet.objects.filter(project=project),
        ItemSet.objects.filter(project=project),
        Item.tags.through.objects.filter(item__project=project),
        ItemFeatures.objects.filter(item__project=project),
        Captions.objects.filter(item__project=project),
        NeverShown.objects.filter(annotator__project=project),
        FieldAnswer.objects.filter(annotator__project=project),
        AnnotatorTag.objects.filter(annotator__project=project),
        Item.objects.filter(project=project),
        Context.objects.filter(project=project),
    ):
        rows._raw_delete(DEFAULT_DB_ALIAS)
    Fit.objects.filter(project_id=project.pk).delete()
    Project.objects.filter(pk=project.pk).delete()
