"""Writes ideas: sent by annotators; approved, merged or refused by managers; erased with their author."""

import random
from collections.abc import Collection, Sequence
from datetime import datetime

from django.utils.translation import gettext as _

from annotate.audit import record_event
from annotate.core.errors import UserError
from annotate.core.transactions import write_transaction
from annotate.ideas.rules import check_can_add, check_possible, check_room, clean_idea
from annotate.items.actions import add_items, request_fit_if_labelled
from annotate.items.rows import NewItem
from annotate.labelling.plan.actions import draw_plan
from annotate.locks import check_items_there, lock_annotator, lock_project
from annotate.models import IDEA_TAG, Annotator, EventVerb, Idea, Item, Project, User, Webhook
from annotate.models.participant_settings import MAX_IDEA_LENGTH
from annotate.webhooks.actions import enqueue_event

State = Idea.State


class IdeaDecided(UserError):
    def __init__(self, idea: Idea) -> None:
        super().__init__(
            _("This idea has been decided in the meantime (%(state)s), so nothing was changed.")
            % {"state": idea.get_state_display()}
        )


class NoReason(UserError):
    status = 400

    def __init__(self) -> None:
        super().__init__(_("Say why the idea is not added: its author reads the reason."))


def submit_idea(*, annotator: Annotator, text: str, now: datetime, rng: random.Random) -> Idea:
    """Store the idea, in a project that approves at once as an item; the same text sent again is the same idea.

    Raises what check_can_add, check_room, check_possible and clean_idea raise.
    """
    at_once = annotator.project.ideas_at_once
    with write_transaction():
        annotator = lock_annotator(annotator, exclusive=at_once)
        check_can_add(annotator, now)
        text = clean_idea(text, annotator.project.idea_length)
        known = Idea.objects.filter(annotator=annotator, text=text).first()
        if known:
            return known
        check_room(annotator)
        check_possible(annotator.project)
        idea = Idea.objects.create(project=annotator.project, annotator=annotator, text=text, created_at=now)
        if at_once and annotator.project.ideas_at_once:
            add_as_items(annotator.project, [idea], None, now, rng)
        announce(annotator, idea, now)
    return idea


def announce(annotator: Annotator, idea: Idea, now: datetime) -> None:
    enqueue_event(
        project_id=idea.project_id,
        event=Webhook.Event.IDEA_SUBMITTED,
        data={"idea": idea.pk, "text": idea.text, "state": idea.state, "annotator": str(annotator.key)},
        now=now,
    )


def approve_ideas(
    *, project: Project, actor: User, ideas: Collection[int], now: datetime, rng: random.Random
) -> list[Item]:
    """Make items of those of these ideas (primary keys) that still wait; the new items. Raises IdeasNotPossible."""
    with write_transaction():
        project = lock_project(project.pk)
        waiting = list(project.ideas.filter(pk__in=ideas, state=State.WAITING).order_by("pk"))
        check_possible(project)
        return add_as_items(project, waiting, actor, now, rng)


def approve_idea(*, idea: Idea, actor: User, text: str | None = None, now: datetime, rng: random.Random) -> Item:
    """Make an item of the idea, in these words instead of its own. Raises IdeaDecided, IdeasNotPossible, and what
    clean_idea raises."""
    with write_transaction():
        idea = lock_waiting(idea)
        check_possible(idea.project)
        if text is not None:
            text = clean_idea(text, MAX_IDEA_LENGTH)
        return add_as_items(idea.project, [idea], actor, now, rng, texts=[text or idea.text])[0]


def merge_idea(*, idea: Idea, actor: User, item: Item, now: datetime) -> None:
    """Say that the item says the same already; nothing is added. Raises IdeaDecided and ItemsDeleted."""
    with write_transaction():
        idea = lock_waiting(idea)
        check_items_there(idea.project, [item.pk])
        decide(idea, State.MERGED, now, item=item)
        record_event(idea.project, actor, EventVerb.IDEA_MERGED, now, annotator=idea.annotator, key=item.key)


def refuse_idea(*, idea: Idea, actor: User, reason: str, now: datetime) -> None:
    """Raise IdeaDecided and NoReason."""
    reason = " ".join(reason.split())
    if not reason:
        raise NoReason
    with write_transaction():
        idea = lock_waiting(idea)
        decide(idea, State.REFUSED, now, reason=reason)
        record_event(idea.project, actor, EventVerb.IDEA_REFUSED, now, annotator=idea.annotator, reason=reason)


def lock_waiting(idea: Idea) -> Idea:
    """Return the idea as stored now, with the project held alone; raises IdeaDecided."""
    lock_project(idea.project_id)
    idea = Idea.objects.select_related("project", "annotator").get(pk=idea.pk)
    if idea.state != State.WAITING:
        raise IdeaDecided(idea)
    return idea


def decide(idea: Idea, state: State, now: datetime, item: Item | None = None, reason: str = "") -> None:
    idea.state, idea.decided_at, idea.item, idea.reason = state, now, item, reason
    idea.save(update_fields=["state", "decided_at", "item", "reason"])


def add_as_items(
    project: Project,
    ideas: Sequence[Idea],
    actor: User | None,
    now: datetime,
    rng: random.Random,
    texts: Sequence[str] = (),
) -> list[Item]:
    """Add an item for each idea, in these words or its own; in the transaction of who holds the project alone."""
    if not ideas:
        return []
    keys = free_keys(project, ideas)
    rows = [
        NewItem(place=place, key=key, body=text, kind=Item.Kind.TEXT, tags=(IDEA_TAG,))
        for place, (key, text) in enumerate(zip(keys, texts or [idea.text for idea in ideas], strict=True))
    ]
    items = add_items(project, rows, now, rng)
    Project.objects.filter(pk=project.pk).update(has_idea_items=True)
    verb = EventVerb.IDEA_APPROVED if actor else EventVerb.IDEA_APPROVED_AT_ONCE
    for idea, item in zip(ideas, items, strict=True):
        decide(idea, State.APPROVED, now, item=item)
        edited = item.body != idea.text
        record_event(project, actor, verb, now, annotator=idea.annotator, key=item.key, edited=edited)
    draw_plan(project)
    request_fit_if_labelled(project)
    return items


def free_keys(project: Project, ideas: Sequence[Idea]) -> list[str]:
    """Return a key for each idea that no item of the project has."""
    taken = set(project.items.filter(key__startswith="idea-").values_list("key", flat=True))
    keys = []
    for idea in ideas:
        key, number = f"idea-{idea.pk}", 1
        while key in taken:
            number += 1
            key = f"idea-{idea.pk}-{number}"
        keys.append(key)
    return keys


def forget_ideas(annotators: Collection[Annotator]) -> None:
    """Delete the ideas of these people; of those that became items the item stays, without author and first words."""
    theirs = Idea.objects.filter(annotator__in=annotators)
    theirs.exclude(state=State.APPROVED).delete()
    theirs.update(annotator=None, text="")
