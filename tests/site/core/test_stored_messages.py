"""What a worker stores is read by people: in their language, whatever the worker's is."""

import json
import re
from base64 import b64encode

import pytest
from django.core.files.base import ContentFile
from django.urls import reverse
from django.utils import timezone, translation

from annotate.core.stored_messages import FORMER, render_message, store_message
from annotate.fitting import run as fitting_run
from annotate.fitting import scheduling
from annotate.fitting.result import UnknownEstimator
from annotate.imports import job as imports_job
from annotate.imports import queue as imports_queue
from annotate.imports.actions import start_import
from annotate.imports.guessing import guess_items
from annotate.models import FitState, ImportJob, RunRecord, Webhook, WebhookDelivery
from annotate.publishing.run_records import queue as run_records_queue
from annotate.webhooks import delivery, http_client
from annotate.webhooks.actions import send_test
from models_engine.models import Fit
from tests.conftest import NOW
from tests.site.pages import signed_in

WEBHOOK_CODES = {"certificate", "no answer", "no connection", "no address", "no https", "nowhere", "inside"}
GERMAN = {"headers": {"Accept-Language": "de"}}
ENDED = "Der Rechenprozess host:1 endete mitten in dieser Arbeit."


def page(client, name, *arguments) -> str:
    return client.get(reverse(name, args=arguments), **GERMAN).content.decode()


def test_a_fit_whose_engine_died_is_told_in_the_readers_language(project, alice):
    FitState.objects.create(project=project, wanted=3, owner="host:1#aa", lease_until=NOW)
    Fit.objects.create(project_id=project.pk, number=1, estimator="x", data_version=3, started_at=NOW)
    assert scheduling.claim_next(owner="b", now=timezone.now())
    owner = signed_in(alice)
    assert ENDED in page(owner, "ranking", project.pk)
    assert ENDED in page(owner, "engine", project.pk)
    assert "host:1 stopped before it had finished" in owner.get(reverse("ranking", args=[project.pk])).content.decode()


def test_a_fit_that_failed_is_told_in_the_readers_language(project, alice):
    project.estimator = "Tarot"
    project.save()
    FitState.objects.create(project=project, wanted=1)
    claim = scheduling.claim_next(owner="a", now=NOW)
    with pytest.raises(UnknownEstimator) as failure:
        fitting_run.run(claim, progress=lambda *_: True)
    scheduling.record_failure(claim, message=str(failure.value), now=NOW)
    owner = signed_in(alice)
    assert "Es gibt kein Verfahren namens „Tarot“" in page(owner, "ranking", project.pk)
    assert "Es gibt kein Verfahren namens „Tarot“" in page(owner, "engine", project.pk)
    with translation.override("en"):
        assert "no estimator called “Tarot”" in render_message(Fit.objects.get().message)


def test_a_run_record_and_an_import_that_ended_engines_are_told_in_the_readers_language(project, alice):
    RunRecord.objects.create(
        project=project, asked_at=NOW, status="running", owner="host:1#aa", lease_until=NOW, attempts=3
    )
    assert run_records_queue.QUEUE.claim_next(owner="b", now=timezone.now()) is None
    job = asked(project, alice, b"key,text\na,One\n", language="en")
    ImportJob.objects.update(attempts=3, owner="host:1#aa")
    assert imports_queue.QUEUE.claim_next(owner="b", now=timezone.now()) is None
    owner = signed_in(alice)
    assert ENDED in page(owner, "exports", project.pk)
    assert ENDED in page(owner, "import-job", project.pk, job.pk)
    for address in (reverse("api-records", args=[project.pk]), reverse("api-import", args=[project.pk, job.pk])):
        assert ENDED in owner.get(address, **GERMAN).content.decode()


def test_what_is_wrong_with_the_rows_of_an_import_is_told_to_whoever_asked_for_it(project, alice):
    job = asked(project, alice, b"key,text\na,One\na,Two\n", language="de")
    with translation.override("en"):
        imports_job.work(imports_queue.QUEUE.claim_next(owner="a", now=NOW), progress=lambda *_: True)
        assert translation.get_language() == "en"
    job.refresh_from_db()
    again = asked(project, alice, b"key,text\na,One\na,Two\n", language="en")
    with translation.override("de"):
        imports_job.work(imports_queue.QUEUE.claim_next(owner="a", now=NOW), progress=lambda *_: True)
    again.refresh_from_db()
    assert job.n_bad == again.n_bad == 1
    assert "Zeile" in job.errors[0][1]
    assert "row" in again.errors[0][1]
    owner = signed_in(alice)
    left_out = b"".join(owner.get(reverse("import-left-out", args=[project.pk, job.pk])).streaming_content)
    assert left_out.startswith(b"Zeile,Problem")


def test_why_a_webhook_could_not_be_called_is_told_in_the_readers_language(project, alice, settings):
    settings.WEBHOOKS_ALLOW_PRIVATE = settings.WEBHOOKS_ALLOW_HTTP = True
    values = {"url": "http://127.0.0.1:9/", "secret": "whsec_" + b64encode(b"x" * 32).decode()}
    hook = Webhook.objects.create(project=project, events=["fit.published"], created_at=NOW, **values)
    send_test(webhook=hook, now=timezone.now())
    assert delivery.deliver_next(timezone.now())
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
        assert render_message(text) == text


def test_a_message_is_translated_with_its_arguments_when_it_is_shown():
    kept = store_message("The host name “%(host)s” could not be found. Check the spelling.", host="a.example")
    assert render_message(kept) == "The host name “a.example” could not be found. Check the spelling."
    with translation.override("de"):
        assert "a.example" in render_message(kept)
        assert render_message(kept) != "The host name “a.example” could not be found. Check the spelling."


def test_messages_of_the_first_version_are_still_shown():
    assert render_message('{"why": "no answer", "n": 5}') == "No answer within 5 seconds."
    with translation.override("de"):
        for why, english in FORMER.items():
            values = dict.fromkeys(re.findall(r"%\((\w+)\)", english), 7)
            shown = render_message(json.dumps({"why": why, **values}))
            assert shown != english % values, f"{why} is not translated"
            assert "%(" not in shown


@pytest.mark.parametrize(
    "text", ['{"why": ["no answer"]}', '{"why": "of another version"}', '{"msgid": ""}', "[]", "7", "null"]
)
def test_a_text_that_only_looks_like_a_message_stays_as_it_is(text):
    assert render_message(text) == text


def test_the_longest_message_of_a_webhook_fits_its_column():
    """Quotes take two characters each in what is stored."""
    column = WebhookDelivery._meta.get_field("last_error")
    reasons = {"reason": '"' * http_client.MAX_REASON_LENGTH, "host": "x" * http_client.MAX_REASON_LENGTH}
    sources = [value for name, value in FORMER.items() if name in WEBHOOK_CODES]
    assert len(sources) == len(WEBHOOK_CODES)
    for msgid in sources:
        values = {name: value for name, value in reasons.items() if f"%({name})" in msgid} | {"n": 15}
        assert len(http_client.Unreachable(msgid, **values).stored) <= column.max_length
