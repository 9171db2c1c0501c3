"""What an engine process stores is read by people: in their language, whatever the engine's is."""

from base64 import b64encode

import pytest
from django.core.files.base import ContentFile
from django.urls import reverse
from django.utils import timezone, translation

from annotate import delivering, fitting, import_jobs, reconciler, recording
from annotate.actions.imports import start_import
from annotate.actions.webhooks import send_test
from annotate.fitting import UnknownEstimator
from annotate.importing.guessing import guess_items
from annotate.models import EngineState, ImportJob, RunRecord, Webhook
from annotate.stored_words import WHY, in_words, stored
from models_engine.models import Fit
from tests.conftest import NOW
from tests.site.pages import signed_in

GERMAN = {"headers": {"Accept-Language": "de"}}
ENDED = "Der Rechenprozess host:1 endete mitten in dieser Arbeit."


def page(client, name, *arguments) -> str:
    return client.get(reverse(name, args=arguments), **GERMAN).content.decode()


def test_a_fit_whose_engine_died_is_told_in_the_readers_language(project, alice):
    EngineState.objects.create(project=project, wanted=3, owner="host:1#aa", lease_until=NOW)
    Fit.objects.create(project_id=project.pk, number=1, estimator="x", data_version=3, started_at=NOW)
    assert reconciler.claim_next(owner="b", now=timezone.now())
    owner = signed_in(alice)
    assert ENDED in page(owner, "ranking", project.pk)
    assert ENDED in page(owner, "engine", project.pk)
    assert "host:1 ended in the middle" in owner.get(reverse("ranking", args=[project.pk])).content.decode()


def test_a_fit_that_failed_is_told_in_the_readers_language(project, alice):
    project.estimator = "Tarot"
    project.save()
    EngineState.objects.create(project=project, wanted=1)
    claim = reconciler.claim_next(owner="a", now=NOW)
    with pytest.raises(UnknownEstimator) as failure:
        fitting.run(claim, progress=lambda *_: True)
    reconciler.record_failure(claim, message=str(failure.value), now=NOW)
    owner = signed_in(alice)
    assert "Es gibt kein Verfahren namens „Tarot“" in page(owner, "ranking", project.pk)
    assert "Es gibt kein Verfahren namens „Tarot“" in page(owner, "engine", project.pk)
    with translation.override("en"):
        assert "no estimator called “Tarot”" in in_words(Fit.objects.get().message)


def test_a_run_record_and_an_import_that_ended_engines_are_told_in_the_readers_language(project, alice):
    RunRecord.objects.create(
        project=project, asked_at=NOW, status="running", owner="host:1#aa", lease_until=NOW, attempts=3
    )
    assert recording.claim_next(owner="b", now=timezone.now()) is None
    job = asked(project, alice, b"key,text\na,One\n", language="en")
    ImportJob.objects.update(attempts=3, owner="host:1#aa")
    assert import_jobs.claim_next(owner="b", now=timezone.now()) is None
    owner = signed_in(alice)
    assert ENDED in page(owner, "exports", project.pk)
    assert ENDED in page(owner, "import-job", project.pk, job.pk)
    for address in (reverse("api-records", args=[project.pk]), reverse("api-import", args=[project.pk, job.pk])):
        assert ENDED in owner.get(address, **GERMAN).content.decode()


def test_what_is_wrong_with_the_rows_of_an_import_is_told_to_whoever_asked_for_it(project, alice):
    job = asked(project, alice, b"key,text\na,One\na,Two\n", language="de")
    with translation.override("en"):
        import_jobs.make(import_jobs.claim_next(owner="a", now=NOW), progress=lambda *_: True)
        assert translation.get_language() == "en"
    job.refresh_from_db()
    again = asked(project, alice, b"key,text\na,One\na,Two\n", language="en")
    with translation.override("de"):
        import_jobs.make(import_jobs.claim_next(owner="a", now=NOW), progress=lambda *_: True)
    again.refresh_from_db()
    assert job.n_bad == again.n_bad == 1
    assert "Zeile" in job.errors[0][1]
    assert "row" in again.errors[0][1]
    owner = signed_in(alice)
    left_out = b"".join(owner.get(reverse("import-left-out", args=[project.pk, job.pk])).streaming_content)
    assert left_out.startswith(b"Zeile,Problem")


def test_why_a_webhook_could_not_be_called_is_told_in_the_readers_language(project, alice, settings):
    settings.WEBHOOKS_TO_PRIVATE_ADDRESSES = settings.WEBHOOKS_WITHOUT_TLS = True
    values = {"url": "http://127.0.0.1:9/", "secret": "whsec_" + b64encode(b"x" * 32).decode()}
    hook = Webhook.objects.create(project=project, events=["fit.published"], created_at=NOW, **values)
    send_test(webhook=hook, now=timezone.now())
    assert delivering.deliver_next(timezone.now())
    owner = signed_in(alice)
    assert "Die Verbindung misslang (ConnectionRefusedError)." in page(owner, "webhooks", project.pk)
    address = reverse("api-webhook-deliveries", args=[project.pk])
    assert "Die Verbindung misslang (ConnectionRefusedError)." in owner.get(address, **GERMAN).content.decode()


def asked(project, alice, content: bytes, language: str) -> ImportJob:
    with translation.override(language):
        mapping = guess_items(content.decode(), "items.csv")
        return start_import(
            project=project,
            actor=alice,
            kind="items",
            source="items.csv",
            file=ContentFile(content),
            mapping=mapping,
            now=NOW,
        )


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)


def test_what_an_estimator_says_itself_stays_as_it_is():
    for text in ("LinAlgError: singular", "stopped after 50 steps", "5%"):
        assert in_words(text) == text
    assert in_words(stored("no items")) == WHY["no items"]
