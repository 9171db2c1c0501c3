"""What annotators are asked about themselves: the owner's changes to it, and storing what they said."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from django.db.models import F, Max
from django.utils.translation import gettext as _

from annotate.actions.entry import entry_of, has_ending
from annotate.actions.events import note
from annotate.errors import Erased, Refusal
from annotate.locking import alone
from annotate.models import Annotator, EngineState, Field, FieldAnswer, Project, User
from annotate.writing import writing


@dataclass(frozen=True)
class Asked:
    """What a field asks: with a difference in any of these it is another field."""

    at_end: bool
    kind: str
    label: str
    choices: list[str]
    least: int | None
    most: int | None


@dataclass(frozen=True)
class Wanted:
    """A field as the owner wants it; `pk` is None of a new one."""

    pk: int | None
    asked: Asked
    required: bool


class FieldsChanged(Refusal):
    def __init__(self) -> None:
        super().__init__(_("Somebody else changed the fields meanwhile, so nothing was saved. Please start anew."))


def change_fields(
    *, project: Project, actor: User, wanted: Sequence[Wanted], removed: Collection[int], now: datetime
) -> bool:
    """Makes the fields these, in this order, and removes others; whether anything was different.

    Answers stay: a field that somebody answered is retired instead of deleted. Raises FieldsChanged.
    """
    with writing():
        project = alone(project.pk)
        known = {field.pk: field for field in project.fields.filter(retired_at=None)}
        before = in_words(project)
        named = [one.pk for one in wanted if one.pk is not None]
        if len(set(named)) < len(named) or not known.keys() >= {*named, *removed}:
            raise FieldsChanged
        changed = [change_field(project, known.get(one.pk or 0), one, place, now) for place, one in enumerate(wanted)]
        for pk in removed:
            take_away(known[pk], now)
        if not any(changed) and not removed:
            return False
        project.fields_before, project.fields_after = newest(project, at_end=False), newest(project, at_end=True)
        project.has_ending = has_ending(project, entry_of(project))
        project.save(update_fields=["fields_before", "fields_after", "has_ending"])
        ask_for_fit(project)
        note(project, actor, "fields changed", now, fields=[before, in_words(project)])
    return True


def in_words(project: Project) -> str:
    """What is asked, a line a field, as the history keeps it."""
    fields = project.fields.filter(retired_at=None).order_by("at_end", "position", "pk")
    return "\n".join(
        " | ".join(
            [field.label, field.kind, "after" if field.at_end else "before"]
            + ["required"] * field.required
            + ([", ".join(field.choices)] if field.choices else [])
            + ([f"{field.least} to {field.most}"] if field.kind == Field.Kind.NUMBER else [])
        )
        for field in fields
    )


def change_field(project: Project, known: Field | None, one: Wanted, place: int, now: datetime) -> bool:
    if known and Asked(**{name: getattr(known, name) for name in asdict(one.asked)}) == one.asked:
        if (known.required, known.position) == (one.required, place):
            return False
        Field.objects.filter(pk=known.pk).update(required=one.required, position=place)
        return True
    if known:
        take_away(known, now)
    number = (project.fields.aggregate(n=Max("number"))["n"] or 0) + 1
    Field.objects.create(project=project, number=number, required=one.required, position=place, **asdict(one.asked))
    return True


def take_away(field: Field, now: datetime) -> None:
    if field.answers.exists():
        Field.objects.filter(pk=field.pk).update(retired_at=now)
    else:
        field.delete()


def newest(project: Project, *, at_end: bool) -> int:
    """The primary key of the newest field asked there, 0 if there is none: primary keys only grow."""
    asked = project.fields.filter(retired_at=None, at_end=at_end)
    return asked.aggregate(newest=Max("pk"))["newest"] or 0


def answer_fields(*, annotator: Annotator, at_end: bool, values: Mapping[int, str], now: datetime) -> None:
    """Stores what was said to the fields shown, by primary key; "" takes an earlier answer back.

    A field that was retired meanwhile takes no answer; one that was added meanwhile is still to be asked.
    """
    with writing():
        project = alone(annotator.project_id)
        if not Annotator.objects.filter(pk=annotator.pk).exists():
            raise Erased
        for pk in project.fields.filter(pk__in=values, retired_at=None, at_end=at_end).values_list("pk", flat=True):
            given = FieldAnswer.objects.filter(annotator=annotator, field=pk)
            if not values[pk]:
                given.delete()
            elif not given.update(value=values[pk], at=now):
                FieldAnswer.objects.create(annotator=annotator, field_id=pk, value=values[pk], at=now)
        name = "fields_after" if at_end else "fields_before"
        setattr(annotator, name, max(values))
        annotator.save(update_fields=[name])
        ask_for_fit(project)


def ask_for_fit(project: Project) -> None:
    """Features changed: the next fit is due, if there are labels at all."""
    EngineState.objects.filter(project=project).update(wanted=F("wanted") + 1)
