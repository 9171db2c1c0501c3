"""All that the site holds about one person, as the files of one .zip: a table for each kind of thing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.contrib.admin.models import LogEntry
from django.db.models import Prefetch, Q, QuerySet, prefetch_related_objects
from django.template.loader import render_to_string

from annotate.files.columns import Row
from annotate.files.writers import csv_chunks
from annotate.fitting.forecast_rows import stored_returns
from annotate.labelling.answer_text import describe_answers, join_shared, summarize_label
from annotate.labelling.outcomes import LETTERS
from annotate.models import (
    Annotator,
    AnnotatorTag,
    AnnotatorTaste,
    ApiToken,
    AskedBy,
    CohortComparison,
    Completion,
    ConflictOfInterest,
    Consent,
    Count,
    CriterionAnswer,
    Deviation,
    Event,
    ExpectedPerson,
    Idea,
    ImportJob,
    Item,
    Label,
    LtiLearner,
    MachineReport,
    Membership,
    Preregistration,
    Presentation,
    PresentedItem,
    Project,
    QuestionAnswer,
    RunRecord,
    StoredResponse,
    User,
)
from annotate.privacy.erasure.accounts import sessions_of
from models_engine.models import AnnotatorEstimate

CHUNK = 500  # presentations read at a time


@dataclass(frozen=True)
class DataFile:
    name: str
    columns: list[str]
    rows: Iterable[Row]


def files_of(
    annotators: QuerySet[Annotator], user: User | None = None, *, for_owner: bool = False
) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Yield the files of a person who is these annotators and has this account, if any.

    for_owner: without the secrets by which the person comes back, for a project's owner whom they have asked.
    """
    files = [*(files_of_account(user) if user else []), *files_of_annotators(annotators, for_owner=for_owner)]
    archived = Project.objects.filter(label_archive__isnull=False, annotators__in=annotators).distinct()
    names = list(archived.order_by("name").values_list("name", flat=True))
    about = {"files": [file.name for file in files], "user": user, "archived": names}
    yield "README.txt", iter([render_to_string("privacy/data_readme.txt", about).encode()])
    for file in files:
        yield f"{file.name}.csv", csv_chunks(file.columns, file.rows)


def table(name: str, rows: QuerySet, columns: dict[str, str]) -> DataFile:
    """columns: what each is called in the file, and where it stands."""
    return DataFile(name, [*columns], rows.order_by("pk").values_list(*columns.values()).iterator(CHUNK))


def columns_named(*names: str, **others: str) -> dict[str, str]:
    return {name: name for name in names} | others


def files_of_account(user: User) -> list[DataFile]:
    made_by_them = Event.objects.filter(actor=user, annotator=None)
    return [
        table(
            "account",
            User.objects.filter(pk=user.pk),
            columns_named("username", "email", "first_name", "last_name", "date_joined", "last_login", "is_staff"),
        ),
        table("email_addresses", EmailAddress.objects.filter(user=user), columns_named("email", "verified", "primary")),
        table("sign_in_services", SocialAccount.objects.filter(user=user), columns_named("date_joined", "extra_data")),
        table(
            "memberships",
            Membership.objects.filter(user=user),
            columns_named("role", project="project__name", project_id="project_id"),
        ),
        table(
            "access_tokens",
            ApiToken.objects.filter(user=user),
            columns_named("name", "prefix", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at"),
        ),
        table(
            "api_requests",
            StoredResponse.objects.filter(user=user),
            columns_named("key", "status", "body", "created_at"),
        ),
        table(
            "run_records",
            RunRecord.objects.filter(asked_by=user),
            columns_named("asked_at", "status", project="project__name"),
        ),
        table(
            "imports",
            ImportJob.objects.filter(asked_by=user),
            columns_named("asked_at", "kind", "state", project="project__name"),
        ),
        table(
            "cohorts_compared",
            CohortComparison.objects.filter(asked_by=user),
            columns_named("asked_at", "criterion", "by", "status", project="project__name"),
        ),
        table(
            "machine_reports",
            MachineReport.objects.filter(asked_by=user),
            columns_named("asked_at", "criterion", "status", project="project__name"),
        ),
        table(
            "plans_frozen",
            Preregistration.objects.filter(actor=user),
            columns_named("at", "digest", project="project__name"),
        ),
        table(
            "deviations",
            Deviation.objects.filter(actor=user),
            columns_named("at", "field", "reason", project="project__name"),
        ),
        table("actions", made_by_them, columns_named("at", "verb", "details", project="project__name")),
        table(
            "codes_used",
            Completion.objects.filter(used_by=user),
            columns_named("used_at", "code", project="project__name"),
        ),
        table(
            "labels_voided", Label.objects.filter(voided_by=user), columns_named("voided_at", project="project__name")
        ),
        table("administration", LogEntry.objects.filter(user=user), columns_named("action_time", "object_repr")),
        DataFile("sign_ins", ["what", "at", "ip_address", "browser"], sign_in_rows(user)),
        DataFile("sessions", ["number"], ([n] for n, _ in enumerate(sessions_of(user), 1))),
    ]


def sign_in_rows(user: User) -> Iterator[Row]:
    named = Q(username__iexact=user.email) | Q(username__iexact=user.get_username())
    tried = named | Q(post_data__icontains=user.email)
    for what, rows in (
        ("signed in", AccessLog.objects.filter(named)),
        ("failed", AccessFailureLog.objects.filter(named)),
        ("tried", AccessAttempt.objects.filter(tried)),
    ):
        columns = ("attempt_time", "ip_address", "user_agent")
        for row in rows.order_by("attempt_time").values_list(*columns):
            yield [what, *row]


def files_of_annotators(annotators: QuerySet[Annotator], *, for_owner: bool) -> list[DataFile]:
    mine = annotators.values("pk")
    project = {"project": "annotator__project__name"}
    known = {name: at for name, at in OF_ANNOTATOR.items() if name != "resume_token" or not for_owner}
    return [
        table(
            "annotators",
            annotators,
            known,
        ),
        DataFile("answers", ANSWERS, answer_rows(mine)),
        table(
            "counts",
            Count.objects.filter(annotator__in=mine),
            project | {"item": "item__body"} | columns_named("count", "exposure", "imported_at"),
        ),
        table(
            "questionnaire",
            QuestionAnswer.objects.filter(annotator__in=mine),
            project | {"question": "field__label", "answer": "value", "at": "at"},
        ),
        table("consents", Consent.objects.filter(annotator__in=mine), project | {"text": "text__text", "at": "at"}),
        table(
            "endings",
            Completion.objects.filter(annotator__in=mine),
            project | columns_named("kind", "code", "at", "used_at"),
        ),
        table(
            "never_shown",
            ConflictOfInterest.objects.filter(annotator__in=mine),
            project | {"item": "item__body", "tag": "tag__name", "said_so_at": "declared_at"},
        ),
        table(
            "expected_as",
            ExpectedPerson.objects.filter(annotator__in=mine),
            {"project": "project__name"}
            | columns_named(
                "name", "email", "organisation", "tags", "added_at", "invited_at", "n_invitations", "subject"
            ),
        ),
        table(
            "ideas",
            Idea.objects.filter(annotator__in=mine),
            project | columns_named("text", "state", "reason", "created_at", "decided_at", item="item__body"),
        ),
        table(
            "learning_platforms",
            LtiLearner.objects.filter(annotator__in=mine),
            project | {"platform": "platform__name", "subject": "subject", "grade_sent_at": "sent_at"},
        ),
        table("tags", AnnotatorTag.objects.filter(annotator__in=mine), project | {"tag": "name"}),
        DataFile(
            "returns", ["project", "within_24_hours", "n_visits", "silent_hours", "has_left"], return_rows(annotators)
        ),
        DataFile("history", ["project", "at", "what", "reason"], history_rows(mine)),
        table(
            "figures",
            AnnotatorEstimate.objects.filter(annotator_id__in=mine, fit__published=True),
            {"criterion": "fit__criterion"}
            | columns_named(
                "n_labels", "agreement", "reliability", "reliability_low", "reliability_high", "taste_distance"
            ),
        ),
        table(
            "tastes",
            AnnotatorTaste.objects.filter(annotator__in=mine),
            project | columns_named("criterion", "n_labels", "group"),
        ),
    ]


OF_ANNOTATOR = {"project": "project__name"} | columns_named(
    "project_id",
    "pseudonym",
    "key",
    "resume_token",
    "source",
    "joined_at",
    "excluded_at",
    "screened_out_at",
    "screened_out_by",
    "practised",
    "practice_over_at",
    "platform_id",
    "platform_study",
    "platform_session",
    "consent_version",
    "ended",
    "shortcuts",
    "keys",
)
ANSWERS = [
    "project",
    "question",
    "shown_at",
    "shown",
    "answer",
    "outcome",
    "grade",
    "chosen",
    "comment",
    "item_comments",
    "reason",
    "answered_at",
    "by_own_clock",
    "response_seconds",
    "active_seconds",
    "session",
    "counts",
    "taken_back_because",
    "taken_back_at",
    "chosen_by_ranking",
    "chosen_by_fit",
]


def answer_rows(annotators: QuerySet) -> Iterator[Row]:
    """Yield what was shown and what was said to it; nothing of right answers, of keys or of others.

    A question that was only held ready has not been shown.
    """
    last = 0
    while True:
        shown = Presentation.objects.filter(annotator__in=annotators, ahead=False, pk__gt=last).order_by("pk")
        chunk = list(shown.select_related("project", "label")[:CHUNK])
        if not chunk:
            return
        last = chunk[-1].pk
        items = items_of([one.pk for one in chunk])
        if any(one.project.criteria for one in chunk):
            prefetch_related_objects(chunk, Prefetch("label__further", CriterionAnswer.objects.order_by("criterion")))
        prefetch_related_objects(chunk, "label__item_comments")
        for presentation in chunk:
            yield answer_row(presentation, items.get(presentation.pk, []))


def items_of(presentations: list[int]) -> dict[int, list[Item]]:
    found: dict[int, list[Item]] = {}
    rows = PresentedItem.objects.filter(presentation__in=presentations).select_related("item").order_by("position")
    for row in rows:
        found.setdefault(row.presentation_id, []).append(row.item)
    return found


def answer_row(presentation: Presentation, items: list[Item]) -> Row:
    project, label = presentation.project, getattr(presentation, "label", None)
    shown = [item.body for item in items]
    about = [project.name, project.question, presentation.created_at, shown]
    if label is None:
        return [*about, *[None] * (len(ANSWERS) - len(about))]
    keys = [item.pk for item in items]
    answers = [summarize_label(one, keys) for one in (label, *(label.further.all() if project.criteria else ()))]
    letters = [LETTERS[place] for place in islice(answers[0].order, len(items)) if place is not None]
    comments = {one.item_id: one.text for one in label.item_comments.all()}
    return [
        *about,
        describe_answers(project, answers),
        label.outcome,
        label.grade,
        join_shared(letters, answers[0].shared),
        label.comment,
        [comments.get(key, "") for key in keys] if comments else None,
        label.reason,
        label.created_at,
        label.client_at,
        None if label.response_ms is None else label.response_ms / 1000,
        None if label.active_ms is None else label.active_ms / 1000,
        label.session,
        label.voided_at is None,
        label.void_reason,
        label.voided_at,
        presentation.asked_by == AskedBy.ADAPTIVE,  # no more: the rest would tell checks from other tasks
        presentation.asked_fit,
    ]


def return_rows(annotators: QuerySet) -> Iterator[Row]:
    """Yield how likely the person was said to come back, by project."""
    for person in annotators.select_related("project").order_by("pk"):
        found = stored_returns(person.project).get(person.pk)
        if found:
            yield [
                person.project.name,
                found.within_a_day,
                found.n_visits,
                found.silent_hours,
                found.has_left,
            ]


def history_rows(annotators: QuerySet) -> Iterator[Row]:
    """Yield what happened to the person in projects, with the reason where one was given."""
    events = Event.objects.filter(annotator__in=annotators).order_by("pk")
    for event in events.select_related("project").iterator(CHUNK):
        yield [event.project.name, event.at, event.verb, event.details.get("reason")]
