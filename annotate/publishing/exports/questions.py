"""Defines the export table of the questions that the owner gave, as the import of questions reads it."""

from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

from annotate.files.columns import Column, Kind, Row
from annotate.labelling.item_sets import items_of_key
from annotate.labelling.plan.given import questions_of
from annotate.models import Item, Project
from annotate.questions.queries import state_of

CHUNK = 500  # questions read at a time


def columns(project: Project) -> list[Column]:
    names = [Column(f"item_{n}", _("Key of an item of the question.")) for n in range(1, project.k + 1)]
    return [
        Column("question", _("Number of the question, its place in the list from 1."), Kind.INTEGER),
        *names,
        Column("priority", _("Where questions are asked by priority, the highest comes first."), Kind.INTEGER),
        Column("state", _("unanswered, partly, done, not_asked or withdrawn.")),
        Column("n_answers", _("Answers that count, and those being given."), Kind.INTEGER),
    ]


def rows(project: Project) -> Iterator[Row]:
    last = 0
    while chunk := list(questions_of(project).filter(number__gt=last)[:CHUNK]):
        last = chunk[-1].number or 0
        members = {row.pk: items_of_key(row.key) for row in chunk}
        wanted = {pk for items in members.values() for pk in items}
        keys = dict(Item.objects.filter(pk__in=wanted).values_list("pk", "key"))
        for row in chunk:
            items = [keys[pk] for pk in members[row.pk]]
            state = state_of(row.place, row.n_taken, project.overlap, is_withdrawn=row.withdrawn_at is not None)
            yield [row.number, *items, row.priority, state, row.n_taken]
