"""Changing for how long a project keeps its annotators' data, and keeping that promise."""

from datetime import datetime

from django.db.models import CharField
from django.db.models.functions import Cast

from annotate.actions.erasure import BY_RETENTION, erase, forget_names, renew_records
from annotate.actions.events import note
from annotate.actions.imports import empty_imports
from annotate.actions.questionnaire import ask_for_fit
from annotate.locking import alone
from annotate.models import (
    Annotator,
    AnnotatorTag,
    CohortComparison,
    Completion,
    Event,
    FieldAnswer,
    Label,
    NeverShown,
    Project,
    Retention,
    User,
    new_token,
)
from annotate.retention import Drops, due_since, rule_of
from annotate.writing import writing


def change_retention(*, project: Project, actor: User, days: int | None, drops: str, now: datetime) -> bool:
    """False if that was the rule already. `days` None: what the site does."""
    with writing():
        project = alone(project.pk)
        row = Retention.objects.filter(project=project).first() or Retention(project=project)
        if (row.days, row.drops) == (days, drops):
            return False
        note(project, actor, "retention changed", now, days=[row.days, days], drops=[row.drops, drops])
        row.days, row.drops = days, drops
        row.save()
    return True


def keep_promise(*, project: Project, now: datetime) -> int | None:
    """Drops what is to be dropped; how many annotators it was about, None where nothing is due."""
    with writing():
        project = alone(project.pk)
        closed = due_since(project, now)
        if closed is None:
            return None
        annotators = list(Annotator.objects.select_related("project").filter(project=project).order_by("pk"))
        if rule_of(project).drops == Drops.LABELS:
            for annotator in annotators:
                erase(annotator, BY_RETENTION, None, now)
        else:
            forget_people(project, annotators)
        Retention.objects.update_or_create(project=project, defaults={"done_for": closed})
        Event.objects.create(project=project, verb="retention applied", details={"annotators": len(annotators)}, at=now)
    return len(annotators)


def forget_people(project: Project, annotators: list[Annotator]) -> None:
    """What names the annotators goes: names, accounts, ids, free texts, sessions, their own clocks and secrets.

    Answers, their times by the server and consents stay, of people with numbers.
    """
    forget_names(annotators)
    changed = FieldAnswer.objects.filter(annotator__project=project).delete()[0]
    AnnotatorTag.objects.filter(annotator__project=project).delete()
    NeverShown.objects.filter(annotator__project=project).delete()
    Completion.objects.filter(project=project).delete()
    Label.objects.filter(project=project).update(comment="", reason="", session="", client_at=None)
    renew_records(project)
    empty_imports(project)
    CohortComparison.objects.filter(project=project).delete()  # may be by what somebody said of themselves
    # First out of the way of the numbers, which somebody may have for a name.
    Annotator.objects.filter(project=project).update(pseudonym=Cast("key", CharField()))
    for number, annotator in enumerate(annotators, 1):
        annotator.pseudonym, annotator.resume_token, annotator.user = f"Annotator {number}", new_token(), None
        annotator.platform_id = annotator.platform_study = annotator.platform_session = ""
        annotator.keys, annotator.has_never_shown = {}, False
    fields = ["pseudonym", "resume_token", "user", "keys", "has_never_shown"]
    Annotator.objects.bulk_update(
        annotators, [*fields, "platform_id", "platform_study", "platform_session"], batch_size=100
    )
    if changed:
        ask_for_fit(project)
