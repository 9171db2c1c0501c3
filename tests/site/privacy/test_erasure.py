"""Erasing a person: every table, file and archive is searched for them afterwards, and the next fit is as if they had
never come."""

import io
import json
import random
import threading
import zipfile
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from allauth.account.models import EmailAddress, EmailConfirmation
from allauth.socialaccount.models import SocialAccount
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connection, models
from django.test import Client

from annotate.accounts.actions import create_token
from annotate.annotators.exclusion import exclude_annotator, readmit_annotator
from annotate.core.errors import AnnotatorErased, UserError
from annotate.criteria import Criterion
from annotate.fitting import run as fitting_run
from annotate.fitting import scheduling
from annotate.imports import uploads
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.labelling.undo import undo_label
from annotate.models import (
    Annotator,
    AnnotatorTag,
    AnnotatorTaste,
    AnswerNotice,
    CohortComparison,
    Completion,
    ConflictOfInterest,
    Count,
    CriterionAnswer,
    Deviation,
    Evaluation,
    Event,
    ExpectedPerson,
    FitState,
    Idea,
    ImportJob,
    Item,
    ItemComment,
    Label,
    LtiCourse,
    LtiLearner,
    LtiPlatform,
    MachineReport,
    MemberInvitation,
    Membership,
    Presentation,
    Project,
    QuestionAnswer,
    QuestionField,
    RunRecord,
    StoredResponse,
    User,
    Webhook,
    WebhookDelivery,
)
from annotate.models.leased_jobs import LeaseLost
from annotate.participation.actions import change_rules
from annotate.participation.consent.actions import give_consent
from annotate.privacy.erasure.accounts import StillOwner, erase_account
from annotate.privacy.erasure.actions import BY_THEMSELF, erase_annotator
from annotate.projects.members.actions import add_member
from annotate.publishing.preregistration.actions import freeze_plan
from annotate.publishing.run_records import queue as run_records_queue
from annotate.publishing.run_records.actions import request_record
from annotate.webhooks.actions import enqueue_event
from models_engine.models import AnnotatorEstimate, Estimate, Fit, Leaderboard
from tests.conftest import NOW, answer_one, make_annotator, make_user
from tests.site.factories import make_labels
from tests.site.fitting.test_run import LATER, claim, fit_now, go_on
from tests.site.labelling.test_labels import counts_are_true

EMAIL, OTHER_EMAIL, LOGIN = "penelope@example.net", "p.other@example.net", "penelope-login"
FIRST, PSEUDONYM, PLATFORM_ID = "Penelopeia", "Zesty Wombat", "PID-5f3a9c"
COMMENT, IP, SAID, REASON = "My uncle wrote this one", "203.0.113.77", "Ithaca-born weaver", "Penelope clicks at random"
PERSON, FIRST_LABEL = 987_650_001, 987_660_000
ROSTER_EMAIL = "p.roster@example.net"
WORDS = [
    EMAIL,
    OTHER_EMAIL,
    ROSTER_EMAIL,
    LOGIN,
    FIRST,
    PSEUDONYM,
    PLATFORM_ID,
    COMMENT,
    IP,
    SAID,
    REASON,
    "Token of mine",
]


@pytest.fixture
def project(project, settings, tmp_path) -> Project:
    settings.MEDIA_ROOT = tmp_path / "media"
    project.estimator, project.comments, project.overlap = "BradleyTerry", True, 5
    project.save()
    return project


@pytest.fixture
def others(project) -> list[Annotator]:
    crowd = [make_annotator(project, f"Otter {i}") for i in range(3)]
    make_labels(project, crowd, 30)
    return crowd


@pytest.fixture
def person(project, alice, others) -> User:
    """Somebody with an account who has left a trace wherever one can be left."""
    user = User.objects.create_user(LOGIN, EMAIL, "correct horse battery", first_name=FIRST)
    EmailConfirmation.create(EmailAddress.objects.create(user=user, email=OTHER_EMAIL))
    confirmation = EmailConfirmation.objects.get()
    confirmation.sent = NOW
    confirmation.save()
    add_member(project=project, actor=alice, address=EMAIL, role="annotator", now=NOW)
    Event.objects.create(project=project, actor=alice, verb="member invited", details={"address": OTHER_EMAIL}, at=NOW)
    Event.objects.create(
        project=project, actor=user, verb="import", details={"refusals": [[3, f"“{PSEUDONYM}” is"]]}, at=NOW
    )
    told = [[4, f"{PSEUDONYM} compares item “a” with itself."], [5, f"„{PSEUDONYM}“ antwortet hier schon selbst"]]
    Event.objects.create(project=project, actor=alice, verb="import", details={"refusals": told}, at=NOW)
    annotator = make_annotator(project, PSEUDONYM, pk=PERSON, user=user, source="account", platform_id=PLATFORM_ID)
    answers_of(annotator, alice)
    tables_of(annotator, user, alice)
    signed_in_from(user)
    fit_now(project)
    Leaderboard.objects.create(fit=Fit.objects.get(), board={"rows": []})
    Evaluation.objects.create(project=project, n_labels=34, figures=[{"name": "BradleyTerry"}])
    job = ImportJob(project=project, asked_by=user, asked_at=NOW, kind="items", state="done", folder="import-jobs/a")
    job.errors, job.first = [[2, f"“{PSEUDONYM}” is"]], [["annotator"], [3, [PSEUDONYM]]]
    job.save()
    AnnotatorTaste.objects.create(annotator=annotator, fit_number=1, n_labels=4, scores=[1], score_sds=[1])
    freeze_plan(project=project, actor=user, statements={}, now=NOW)
    Deviation.objects.create(project=project, field="cap", after=5, n_labels=4, at=NOW, actor=user)
    MachineReport.objects.create(project=project, asked_by=user, asked_at=NOW)
    CohortComparison.objects.create(project=project, by="field-1", first=SAID, asked_by=user, asked_at=NOW)
    default_storage.save("import-jobs/a/left-out.csv", ContentFile(PSEUDONYM.encode()))
    request_record(criterion=Criterion(project), actor=user, now=NOW)
    run_records_queue.QUEUE.work(run_records_queue.QUEUE.claim_next(owner="engine", now=NOW), progress=go_on)
    return user


def answers_of(annotator: Annotator, alice: User) -> None:
    """Four labels, one voided by an undo; the excluded was readmitted; one presentation is open."""
    for i in range(5):
        shown = assignment.next_presentation(annotator=annotator, now=NOW, rng=random.Random(i))
        answer = Answer("choice", chosen=1, comment=COMMENT if i == 1 else "", response_ms=900)
        record_label(presentation=shown, answer=answer, now=NOW + timedelta(seconds=i))
    undo_label(annotator=annotator, now=NOW + timedelta(minutes=1))
    exclude_annotator(annotator=annotator, actor=alice, reason=REASON, now=NOW)
    readmit_annotator(annotator=annotator, actor=alice, now=NOW)
    assignment.next_presentation(annotator=annotator, now=NOW, rng=random.Random(9))
    for place, pk in enumerate(annotator.labels.order_by("pk").values_list("pk", flat=True)):
        Label.objects.filter(pk=pk).update(id=FIRST_LABEL + place)
    CriterionAnswer.objects.create(label_id=FIRST_LABEL, criterion=2, outcome="tie")
    ItemComment.objects.create(label_id=FIRST_LABEL, item=annotator.project.items.first(), text=COMMENT)
    undone = Event.objects.get(verb="label undone")
    undone.details = {"label": FIRST_LABEL + 4}
    undone.save()


def tables_of(annotator: Annotator, user: User, alice: User) -> None:
    project = annotator.project
    change_rules(project=project, actor=alice, values={"consent": "May we?"}, now=NOW)
    project.refresh_from_db()
    give_consent(annotator=annotator, version=project.consent_version, now=NOW)
    asked = QuestionField.objects.create(
        project=project, number=1, at_end=False, kind="text", label="Who?", required=False, position=0
    )
    QuestionAnswer.objects.create(annotator=annotator, field=asked, value=SAID, at=NOW)
    AnnotatorTag.objects.create(annotator=annotator, name="weavers")
    Count.objects.create(project=project, annotator=annotator, item=project.items.first(), count=3, imported_at=NOW)
    ConflictOfInterest.objects.create(
        annotator=annotator, item=project.items.last(), declared_in=annotator.presentations.first(), declared_at=NOW
    )
    Idea.objects.create(project=project, annotator=annotator, text=SAID, created_at=NOW)
    Idea.objects.create(
        project=project, annotator=annotator, text=SAID, state="approved", created_at=NOW, decided_at=NOW
    )
    platform = LtiPlatform.objects.create(name="Moodle", issuer="https://m.example", client_id="c", private_key="-")
    LtiLearner.objects.create(annotator=annotator, platform=platform, subject=PLATFORM_ID, not_before=NOW)
    ExpectedPerson.objects.create(
        project=project,
        name=PSEUDONYM,
        email=ROSTER_EMAIL,
        annotator=annotator,
        platform=platform,
        subject=PLATFORM_ID,
        lineitem=f"https://m.example/{PLATFORM_ID}",
    )
    LtiCourse.objects.create(project=project, platform=platform, title="Year 7", memberships_url="https://m.example/")
    AnswerNotice.objects.create(project=project, label_id=FIRST_LABEL, created_at=NOW)
    SocialAccount.objects.create(user=user, provider="oidc", uid="u-1", extra_data={"sub": EMAIL})
    MemberInvitation.objects.create(
        project=project, address=EMAIL.lower(), role="viewer", created_at=NOW, expires_at=NOW
    )
    Completion.objects.create(project=project, annotator=annotator, kind="complete", code="CODE", at=NOW)
    Completion.objects.create(project=project, platform_id=PLATFORM_ID, kind="quota_full", at=NOW)
    used = {"individual": True, "code": "XYZ", "used_at": NOW, "used_by": user}
    Completion.objects.create(project=project, annotator=project.annotators.first(), kind="complete", at=NOW, **used)
    Label.objects.filter(annotator=project.annotators.first()).update(
        voided_at=NOW, void_reason="excluded", voided_by=user
    )
    create_token(user=user, name="Token of mine", scopes=["read"], project=None, expires_at=None, now=NOW)
    for who, body in ((user, "{}"), (alice, json.dumps({"pseudonym": PSEUDONYM}))):
        StoredResponse.objects.create(user=who, key="k", digest="d", status=200, body=body, created_at=NOW)
    webhook = Webhook.objects.create(
        project=project, url="https://example.org/", events=["annotator.flagged"], created_at=NOW
    )
    flagged = {"annotator": str(annotator.key), "pseudonym": PSEUDONYM, "flag": "fast", "why": "Quick"}
    enqueue_event(project_id=project.pk, event="annotator.flagged", data=flagged, now=NOW)
    enqueue_event(
        project_id=project.pk,
        event="annotator.flagged",
        data={**flagged, "annotator": "1", "pseudonym": "Otter 1"},
        now=NOW,
    )
    assert webhook.deliveries.count() == 2
    LogEntry.objects.create(
        user=alice,
        content_type=ContentType.objects.get_for_model(User),
        object_id=user.pk,
        object_repr=EMAIL,
        action_flag=2,
    )
    LogEntry.objects.create(user=user, object_repr="something", action_flag=2)
    waiting = {"files": {"table.csv": f"annotator,item\n{PSEUDONYM},1\n".encode()}, "details": {}, "name": "a.csv"}
    uploads.keep(user=user, project=project, kind="table", now=NOW, **waiting)


def signed_in_from(user: User) -> None:
    client = Client(REMOTE_ADDR=IP)
    client.post("/accounts/login/", {"login": EMAIL, "password": "wrong horse battery"})
    client.post("/accounts/login/", {"login": EMAIL, "password": "correct horse battery"})
    assert AccessAttempt.objects.filter(ip_address=IP).exists() or AccessLog.objects.filter(ip_address=IP).exists()
    traits = {"user_agent": "x", "ip_address": IP, "username": EMAIL.upper(), "http_accept": "", "path_info": ""}
    for model in (AccessAttempt, AccessFailureLog, AccessLog):
        more = {"failures_since_start": 1} if model is AccessAttempt else {}
        model.objects.create(**traits, **more)


# --- The search -------------------------------------------------------------------------------------------------------


def spelled(value: object) -> str:
    """Any value of any column as text, archives opened."""
    if isinstance(value, bytes | memoryview):
        return unpacked(bytes(value))
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def unpacked(data: bytes) -> str:
    if not data.startswith(b"PK"):
        return data.decode(errors="replace")
    texts = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            inner = archive.read(name)
            array = np.load(io.BytesIO(inner), allow_pickle=False).tolist() if name.endswith(".npy") else None
            texts.append(f"{name}: {inner.decode(errors='replace') if array is None else array}")
    return "\n".join(texts)


def everything() -> dict[str, str]:
    """Each column of each table as one text, by "table.column"; and each file."""
    found = {}
    for model in apps.get_models(include_auto_created=True):
        columns = [field.attname for field in model._meta.concrete_fields]
        for row in model._base_manager.values(*columns):
            for name, value in row.items():
                text = (
                    Session(session_data=value).get_decoded() if (model, name) == (Session, "session_data") else value
                )
                key = f"{model._meta.label}.{name}"
                found[key] = f"{found.get(key, '')}\n{spelled(text)}"
    return found


def files_in(folder: Path) -> dict[str, str]:
    return {str(path): unpacked(path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def where(needles: list[str], folder: Path) -> dict[str, list[str]]:
    """Where each of these stands, by needle."""
    haystack = everything() | files_in(folder)
    return {needle: [place for place, text in haystack.items() if needle.lower() in text.lower()] for needle in needles}


def needles_of(annotator: Annotator) -> list[str]:
    tokens = [one.token for one in annotator.presentations.all()]
    labels = [str(pk) for pk in annotator.labels.values_list("pk", flat=True)]
    return [*WORDS, str(annotator.pk), str(annotator.key), annotator.resume_token, *tokens, *labels]


def people_columns() -> list[tuple[type[models.Model], str]]:
    """Every foreign key to a person, wherever it stands: a new table has to be thought of here."""
    return columns_to(User, Annotator)


def columns_to(*targets: type[models.Model]) -> list[tuple[type[models.Model], str]]:
    return [
        (model, field.attname)
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.concrete_fields
        if field.is_relation and field.related_model in targets
    ]


UNUSED = {
    ("annotate_user_groups", "user_id"),  # no page writes them
    ("annotate_user_user_permissions", "user_id"),
    ("annotate_machine", "annotator_id"),  # of a machine, which is no person
}


@pytest.mark.slow
def test_nothing_of_an_account_is_left_anywhere(project, person, settings):
    annotator = Annotator.objects.get(pk=PERSON)
    needles, folder = needles_of(annotator), Path(settings.MEDIA_ROOT)
    for model, column in people_columns():
        who = person.pk if model._meta.get_field(column).related_model is User else PERSON
        planted = model._base_manager.filter(**{column: who}).exists()
        assert planted or (model._meta.db_table, column) in UNUSED, f"{model._meta.label}.{column} is not tried here"
    for model, column in columns_to(Label, Presentation, Fit):
        assert model._base_manager.exclude(**{column: None}).exists(), f"{model._meta.label}.{column} is not tried here"
    before = where(needles, folder)
    assert [needle for needle, places in before.items() if not places] == []  # the search finds what is there
    assert any(place.endswith("Fit.arrays") for place in before[str(PERSON)])
    assert any(place.endswith("RunRecordPart.data") for place in before[PSEUDONYM])
    assert any(place.endswith("table.csv") for place in before[PSEUDONYM])

    assert erase_with_commit(person) == 5
    assert {needle: places for needle, places in where(needles, folder).items() if places} == {}
    for model, column in people_columns():
        assert not model._base_manager.filter(**{column: PERSON}).exists()
    connection.check_constraints()  # as a commit would
    event = Event.objects.get(verb="annotator erased")
    assert (event.actor, event.annotator, event.details) == (None, None, {"labels": 5, "by": "account"})
    assert Event.objects.filter(
        verb="label undone", details={"label": "(erased)"}
    ).exists()  # what happened stays, without content
    counts_are_true(project)


def erase_with_commit(user: User) -> int:
    return erase_account(user=user, now=NOW)


# Deleting files waits for the commit, which a test inside one transaction never sees.
@pytest.fixture(autouse=True)
def commits(django_capture_on_commit_callbacks, monkeypatch):
    def at_once(function, **_):
        function()

    monkeypatch.setattr("annotate.privacy.erasure.accounts.transaction.on_commit", at_once)


def test_others_keep_what_they_have(project, person, others, alice):
    labels = set(Label.objects.exclude(annotator=PERSON).values_list("pk", flat=True))
    people = set(Annotator.objects.exclude(pk=PERSON).values_list("pk", flat=True))
    erase_with_commit(person)
    assert set(Label.objects.values_list("pk", flat=True)) == labels
    assert set(Annotator.objects.values_list("pk", flat=True)) == people
    assert Item.objects.filter(project=project).count() == 6
    assert "Otter 1" in WebhookDelivery.objects.get().body
    assert set(User.objects.all()) == {alice}


def test_an_annotator_alone_leaves_the_account(project, person, alice):
    annotator = Annotator.objects.get(pk=PERSON)
    ours = [PSEUDONYM, PLATFORM_ID, COMMENT, SAID, REASON, *needles_of(annotator)[len(WORDS) :]]
    assert erase_annotator(annotator=annotator, by="owner", actor=alice, now=NOW) == 5
    left = where(ours, Path("/nonexistent"))
    assert {needle: places for needle, places in left.items() if places} == {}
    assert User.objects.filter(pk=person.pk).exists()
    assert Event.objects.get(verb="annotator erased").actor == alice
    assert erase_annotator(annotator=annotator, by="owner", actor=alice, now=NOW) == 0
    assert Event.objects.filter(verb="annotator erased").count() == 1


def test_a_short_name_takes_nothing_with_it_but_what_is_about_its_bearer(project, alice):
    """Else whoever joins as “e” and leaves would make everybody's requests sent again count twice."""
    guest = make_annotator(project, "e", platform_id="1")
    for key, body in (("theirs", {"pseudonym": "e"}), ("other", {"name": "Pebbles", "n": 11, "rows": [{"id": "1a"}]})):
        StoredResponse.objects.create(
            user=alice, key=key, digest="d", status=200, body=json.dumps(body), created_at=NOW
        )
    Webhook.objects.create(
        project=project, url="https://example.org/", events=["project.state_changed"], created_at=NOW
    )
    enqueue_event(project_id=project.pk, event="project.state_changed", data={"state": "e", "n": "1"}, now=NOW)
    erase_annotator(annotator=guest, by=BY_THEMSELF, now=NOW)
    assert [one.key for one in StoredResponse.objects.all()] == ["other"]
    assert WebhookDelivery.objects.count() == 1


# --- Influence --------------------------------------------------------------------------------------------------------


def utilities(project: Project) -> dict[int, float]:
    fit = Fit.objects.get(project_id=project.pk, published=True)
    return dict(Estimate.objects.filter(fit=fit).values_list("item_id", "utility"))


def test_the_next_fit_is_as_if_they_had_never_come(project, others):
    fit_now(project, NOW)
    without = utilities(project)
    came = NOW + timedelta(hours=2)
    guest = make_annotator(project, "Guest", joined_at=came)
    for i in range(5):
        answer_one(guest, chosen=i % 2, seed=i, now=came)
    fit_now(project, came)
    assert max(abs(utilities(project)[item] - without[item]) for item in without) > 1e-3

    erase_annotator(annotator=guest, by=BY_THEMSELF, now=LATER)
    state = FitState.objects.get(project=project)
    assert (state.published_fit, state.owner) == (None, "")
    assert state.wanted > state.fitted
    assert not Fit.objects.filter(project_id=project.pk, published=True).exists()  # nothing of them is shown meanwhile
    assert not AnnotatorEstimate.objects.filter(annotator_id=guest.pk).exists()
    assert list(Fit.objects.values_list("number", flat=True)) == [1]  # made before they came: none of theirs is in it
    fit = fit_now(project, LATER + timedelta(hours=3))
    assert (fit.n_annotators, fit.warm, fit.number) == (3, False, 3)  # the number 2 named a ranking with them
    assert utilities(project) == pytest.approx(without, abs=1e-9)


def erasing_at(step: int, guest: Annotator):
    """A progress that erases the guest at this call."""
    calls = []

    def progress(*_) -> bool:
        calls.append(1)
        if len(calls) == step:
            erase_annotator(annotator=guest, by=BY_THEMSELF, now=NOW)
        return True

    return progress


@pytest.mark.parametrize("step", [1, 2, 5])
def test_a_fit_under_way_is_never_published(project, others, step):
    guest = others[0]
    with pytest.raises(LeaseLost):
        fitting_run.run(claim(project), progress=erasing_at(step, guest), clock=lambda: LATER)
    assert not Fit.objects.filter(project_id=project.pk).exists()
    assert not Estimate.objects.exists()
    assert scheduling.claim_next(owner="another", now=LATER).version == FitState.objects.get(project=project).wanted


def test_nor_is_one_that_is_just_about_to_be(project, others):
    def clock():
        if Fit.objects.filter(project_id=project.pk).exists():  # the second look at it: every row is written
            erase_annotator(annotator=others[0], by=BY_THEMSELF, now=NOW)
        return LATER

    with pytest.raises(LeaseLost):
        fitting_run.run(claim(project), progress=go_on, clock=clock)
    assert not Fit.objects.filter(project_id=project.pk).exists()


def test_an_evaluation_and_a_run_record_under_way_are_not_kept(project, others, alice):
    fit_now(project)
    request_record(criterion=Criterion(project), actor=alice, now=NOW)
    record = run_records_queue.QUEUE.claim_next(owner="engine", now=NOW)
    row = Evaluation.objects.create(project=project, owner="engine")
    guest = others[1]
    with pytest.raises(LeaseLost):
        run_records_queue.QUEUE.work(record, progress=erasing_at(1, guest))
    again = RunRecord.objects.get()
    assert (again.status, again.pk == record.pk, again.asked_by) == ("asked", False, alice)
    assert not row.held().exists()


# --- While they answer ------------------------------------------------------------------------------------------------


def test_what_comes_afterwards_is_refused(project, others):
    guest = make_annotator(project, "Guest")
    shown = assignment.next_presentation(annotator=guest, now=NOW, rng=random.Random(1))
    erase_annotator(annotator=guest, by=BY_THEMSELF, now=NOW)
    for late in (
        lambda: record_label(presentation=shown, answer=Answer("tie"), now=NOW),
        lambda: assignment.next_presentation(annotator=guest, now=NOW, rng=random.Random(1)),
        lambda: undo_label(annotator=guest, now=NOW),
    ):
        with pytest.raises(AnnotatorErased):
            late()
    counts_are_true(project)


@pytest.mark.django_db(transaction=True)
def test_erasing_somebody_who_is_answering(project, others):
    guest, started, problems = make_annotator(project, "Guest"), threading.Event(), []

    def answer_on() -> None:
        rng = random.Random(3)
        try:
            for _ in range(200):
                shown = assignment.next_presentation(annotator=guest, now=NOW, rng=rng)
                record_label(presentation=shown, answer=Answer("choice", chosen=0), now=NOW)
                started.set()
        except UserError as refusal:
            problems.append(type(refusal))
        finally:
            connection.close()

    thread = threading.Thread(target=answer_on)
    thread.start()
    started.wait(60)
    erase_annotator(annotator=guest, by=BY_THEMSELF, now=NOW)
    thread.join(60)
    assert problems in ([AnnotatorErased], [assignment.NothingToCompare])
    assert not Label.objects.filter(annotator=guest.pk).exists()
    counts_are_true(project)


# --- Owners -----------------------------------------------------------------------------------------------------------


def test_an_only_owner_hands_over_first(project, alice, others):
    with pytest.raises(StillOwner, match="only owner of 1 project") as refusal:
        erase_account(user=alice, now=NOW)
    assert refusal.value.projects == [project]
    assert User.objects.filter(pk=alice.pk).exists()
    Membership.objects.create(project=project, user=make_user("dora"), role="owner")
    erase_account(user=alice, now=NOW)
    assert list(project.memberships.values_list("user__username", flat=True)) == ["dora"]
    assert Label.objects.filter(project=project).count() == 30


def test_operators_erase_by_command(project, person, others, capsys):
    with pytest.raises(CommandError, match="no account"):
        call_command("erase", account="nobody@example.org", yes=True)
    call_command("erase", account=EMAIL.upper(), yes=True)
    assert not User.objects.filter(pk=person.pk).exists()
    call_command("erase", annotator=others[0].key, yes=True)
    assert not Annotator.objects.filter(pk=others[0].pk).exists()
    assert "10 labels" in capsys.readouterr().out
    assert Event.objects.filter(verb="annotator erased", details__by="operator").count() == 2
