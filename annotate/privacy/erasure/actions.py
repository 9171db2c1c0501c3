"""Erasing a person from a project: labels, every figure derived from them and whatever names the person; only a note
that it happened stays."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db.models import Min, Q, QuerySet

from annotate.core.transactions import write_transaction
from annotate.fitting.scheduling import NO_FAILURES
from annotate.ideas.actions import forget_ideas
from annotate.imports.actions import empty_imports
from annotate.jobs.fit_requests import request_fit
from annotate.labelling.voiding import count_taken
from annotate.locks import lock_project
from annotate.models import (
    Annotator,
    AnnotatorTaste,
    AnswerNotice,
    CohortComparison,
    Completion,
    Count,
    CriterionAnswer,
    DerivedRanking,
    Evaluation,
    Event,
    EventVerb,
    FitState,
    ItemComment,
    Label,
    LabelArchive,
    LabelForecast,
    LtiLearner,
    MachineReport,
    MeasuredSaving,
    PredictionGain,
    Presentation,
    PresentedItem,
    Project,
    ProvisionalRanking,
    RunRecord,
    RunRecordPart,
    SuggestedSet,
    TasteMap,
    User,
)
from annotate.privacy.erasure.redaction import (
    NamesToRedact,
    clear_event_details,
    delete_webhook_messages,
    redact_bulk_exclusions,
    redact_events,
    redact_stored_responses,
)
from models_engine.models import Fit

# Clocks of several machines differ; a fit too many forgotten is only made again.
CLOCKS_DIFFER = timedelta(hours=1)
TOGETHER = 20  # people whose names are looked for by one query
BY_THEMSELF, BY_OWNER, BY_ACCOUNT, BY_OPERATOR, BY_RETENTION = "themself", "owner", "account", "operator", "retention"


def erase_annotator(*, annotator: Annotator, by: str, actor: User | None = None, now: datetime) -> int:
    """Delete everything of one annotator; the number of labels that were. Erased already, there are none.

    The project's fits that counted them go too, the published one included, and one under way is not published. What
    an archive of labels holds is taken out of its file within a day (annotate.operations.label_archives).
    """
    with write_transaction():
        lock_project(annotator.project_id)
        found = Annotator.objects.select_related("project").filter(pk=annotator.pk).first()
        return _erase(found, by, actor, now) if found else 0


def _erase(annotator: Annotator, by: str, actor: User | None, now: datetime) -> int:
    """Return what erase_annotator says, under the project's lock."""
    project, labels = annotator.project, Label.objects.filter(annotator=annotator)
    counts = Count.objects.filter(annotator=annotator)
    firsts = [labels.aggregate(at=Min("created_at"))["at"], counts.aggregate(at=Min("imported_at"))["at"]]
    if LabelArchive.objects.filter(project=project).exists():  # their answers may be in its file
        firsts.append(annotator.joined_at)
    since = min((at for at in firsts if at is not None), default=None)
    if since is not None:
        delete_fits_since(project, min(since, annotator.joined_at) - CLOCKS_DIFFER)
        request_fit(project)
    count_taken(annotator.presentations.all(), -1)
    redact_bulk_exclusions([annotator])
    n_labels = delete_answers(annotator, labels)
    counts._raw_delete(counts.db)
    erase_names([annotator])
    forget_ideas([annotator])
    annotator.delete()
    LabelArchive.objects.filter(project=project).update(drops_people=True)
    Event.objects.create(
        project=project, actor=actor, verb=EventVerb.ANNOTATOR_ERASED, details={"labels": n_labels, "by": by}, at=now
    )
    return n_labels


def delete_answers(annotator: Annotator, labels: QuerySet[Label]) -> int:
    """Return the large tables by one statement each; what else belongs to the annotator goes with their row."""
    shown = Presentation.objects.filter(annotator=annotator)
    further = CriterionAnswer.objects.filter(label__in=labels)
    further._raw_delete(further.db)
    comments = ItemComment.objects.filter(label__in=labels)
    comments._raw_delete(comments.db)
    notices = AnswerNotice.objects.filter(label__in=labels)
    notices._raw_delete(notices.db)
    n_labels = labels._raw_delete(labels.db)
    presented = PresentedItem.objects.filter(presentation__in=shown)
    presented._raw_delete(presented.db)
    shown._raw_delete(shown.db)
    return n_labels or 0


def erase_names(annotators: Sequence[Annotator]) -> None:
    """Take what names these annotators of one project out of the rows that stay: its history, stored answers of the
    API, webhooks' messages, the ids of participants turned away."""
    for start in range(0, len(annotators), TOGETHER):
        some = annotators[start : start + TOGETHER]
        names, project = NamesToRedact.of_annotators(some), some[0].project_id
        clear_event_details(Event.objects.filter(annotator__in=some))
        redact_events(Event.objects.filter(project=project), names)
        redact_stored_responses(names)
        delete_webhook_messages(some)
        redact_bulk_exclusions(some)
        LtiLearner.objects.filter(annotator__in=some).delete()
        ids = [one.platform_id for one in some if one.platform_id]
        Completion.objects.filter(project=project, annotator=None, platform_id__in=ids).delete()


def delete_fits_since(project: Project, since: datetime) -> None:
    """Delete what was computed from the project's labels since then; what is being computed is not published.

    The engine's claim is taken first: an engine that is about to publish waits for this transaction, or has published
    before it, and then that fit is among those deleted.
    """
    FitState.objects.filter(project=project).update(
        **FitState.FREE, published_fit=None, attempts=0, error="", error_at=None, **NO_FAILURES
    )
    fits = (
        Fit.objects.select_for_update()
        .filter(project_id=project.pk)
        .filter(Q(started_at__gte=since) | Q(finished_at__gte=since) | Q(finished_at=None))
    )
    rows = list(fits.order_by("pk").values_list("pk", "number"))
    if rows:
        highest = max(number for _pk, number in rows)
        FitState.objects.filter(project=project, erased_fit__lt=highest).update(erased_fit=highest)
    delete_fits([pk for pk, _number in rows])
    Evaluation.objects.filter(project=project).delete()
    LabelForecast.objects.filter(project=project).delete()
    TasteMap.objects.filter(project=project).delete()
    AnnotatorTaste.objects.filter(annotator__project=project).delete()
    CohortComparison.objects.filter(project=project).delete()
    MachineReport.objects.filter(project=project).delete()
    DerivedRanking.objects.filter(project=project).delete()
    SuggestedSet.objects.filter(project=project).delete()
    MeasuredSaving.objects.filter(project=project).delete()
    PredictionGain.objects.filter(project=project).delete()
    ProvisionalRanking.objects.filter(project=project).delete()
    request_new_records(project)
    empty_imports(project)


def delete_fits(keys: list[int]) -> None:
    """Delete fits with every row that stands on one, by a statement for each table."""
    for relation in Fit._meta.related_objects:
        rows = relation.related_model._base_manager.filter(**{f"{relation.field.name}__in": keys})
        rows._raw_delete(rows.db)
    Fit.objects.filter(pk__in=keys)._raw_delete(Fit.objects.db)


def request_new_records(project: Project) -> None:
    """Run records hold labels and pseudonyms: those there are go; one that is being made is begun anew as another."""
    Status = RunRecord.Status
    records = list(RunRecord.objects.select_for_update().filter(project=project).exclude(status=Status.ASKED))
    parts = RunRecordPart.objects.filter(record__in=records)
    parts._raw_delete(parts.db)
    RunRecord.objects.filter(pk__in=[record.pk for record in records]).delete()
    for record in records:
        if record.status == Status.RUNNING:
            same = {"asked_by": record.asked_by, "asked_at": record.asked_at, "criterion": record.criterion}
            RunRecord.objects.create(project=project, **same)
