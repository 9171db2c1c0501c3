"""Changing for how long a project keeps its annotators' data, and keeping that promise."""

from datetime import datetime

from django.db.models import CharField
from django.db.models.functions import Cast

from annotate.audit import record_event
from annotate.core.transactions import write_transaction
from annotate.ideas.actions import forget_ideas
from annotate.imports.actions import empty_imports
from annotate.jobs.fit_requests import request_fit
from annotate.locks import lock_project
from annotate.models import (
    Annotator,
    AnnotatorTag,
    CohortComparison,
    Completion,
    ConflictOfInterest,
    Event,
    EventVerb,
    ExpectedPerson,
    ItemComment,
    Label,
    LabelArchive,
    Project,
    QuestionAnswer,
    Retention,
    User,
    new_token,
)
from annotate.models.retention import Drops, retention_due_since, retention_rule
from annotate.privacy.erasure.actions import BY_RETENTION, _erase, erase_names, request_new_records


def change_retention(*, project: Project, actor: User, days: int | None, drops: str, now: datetime) -> bool:
    """Return False if that was the rule already. `days` None: what the site does."""
    with write_transaction():
        project = lock_project(project.pk)
        row = Retention.objects.filter(project=project).first() or Retention(project=project)
        if (row.days, row.drops) == (days, drops):
            return False
        record_event(project, actor, EventVerb.RETENTION_CHANGED, now, days=[row.days, days], drops=[row.drops, drops])
        row.days, row.drops = days, drops
        row.save()
    return True


def apply_retention(*, project: Project, now: datetime) -> int | None:
    """Drop what is to be dropped; how many annotators it was about, None where nothing is due."""
    with write_transaction():
        project = lock_project(project.pk)
        closed = retention_due_since(project, now)
        if closed is None:
            return None
        annotators = list(Annotator.objects.select_related("project").filter(project=project).order_by("pk"))
        if retention_rule(project).drops == Drops.LABELS:
            for annotator in annotators:
                _erase(annotator, BY_RETENTION, None, now)
        else:
            drop_personal_data(project, annotators)
        ExpectedPerson.objects.filter(project=project).delete()
        Retention.objects.update_or_create(project=project, defaults={"done_for": closed})
        Event.objects.create(
            project=project, verb=EventVerb.RETENTION_APPLIED, details={"annotators": len(annotators)}, at=now
        )
    return len(annotators)


def drop_personal_data(project: Project, annotators: list[Annotator]) -> None:
    """Delete what names the annotators: names, accounts, ids, free texts, sessions, their own clocks and secrets.

    Answers, their times by the server and consents stay, of people with numbers.
    """
    erase_names(annotators)
    changed = QuestionAnswer.objects.filter(annotator__project=project).delete()[0]
    AnnotatorTag.objects.filter(annotator__project=project).delete()
    ConflictOfInterest.objects.filter(annotator__project=project).delete()
    Completion.objects.filter(project=project).delete()
    Label.objects.filter(project=project).update(comment="", reason="", session="", client_at=None)
    ItemComment.objects.filter(label__project=project).delete()
    LabelArchive.objects.filter(project=project).update(drops_texts=True)
    forget_ideas(annotators)
    request_new_records(project)
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
        request_fit(project)
