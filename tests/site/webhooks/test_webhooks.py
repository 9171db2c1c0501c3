"""Webhooks: signed messages that reach a real server, are tried again, and never go into our own network."""

import base64
import hashlib
import hmac
import ipaddress
import json
import random
import socket
import threading
import time
import uuid
from contextlib import contextmanager, suppress
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from django.db import connection
from django.urls import reverse

from annotate.management.commands.worker import create_worker
from annotate.models import Webhook, WebhookDelivery
from annotate.operations import daily_cleanup
from annotate.projects.actions import set_state
from annotate.projects.copies.cloning import clone_project
from annotate.webhooks import actions, claiming, http_client
from annotate.webhooks import delivery as webhooks_delivery
from annotate.webhooks.claiming import MAX_PROBES
from annotate.webhooks.http_client import Unreachable
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.api_client import Api
from tests.site.processes import wait_for

State = WebhookDelivery.State


class Receiver(HTTPServer):
    """A program that is told things: keeps what it got and answers with `statuses` in turn, then with 204."""

    def __init__(self, *statuses: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.statuses, self.got = list(statuses), []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook?of=crowdrank"


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, self.headers, body))
        status = self.server.statuses.pop(0) if self.server.statuses else 204
        self.send_response(status)
        if status == 302:
            self.send_header("Location", self.server.url)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments) -> None:
        pass


@contextmanager
def receiving(*statuses: int):
    server = Receiver(*statuses)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def loopback(settings) -> None:
    settings.WEBHOOKS_ALLOW_HTTP = settings.WEBHOOKS_ALLOW_PRIVATE = True


@pytest.fixture
def at_noon(monkeypatch) -> None:
    """It is NOW, whenever the tests run: deliveries are forgotten after a month."""
    monkeypatch.setattr(webhooks_delivery.timezone, "now", lambda: NOW)


def hook(project, url: str, **values) -> Webhook:
    return Webhook.objects.create(
        project=project, url=url, **{"events": Webhook.Event.values, "created_at": NOW, **values}
    )


def test_a_message_arrives_signed(project, alice, loopback, at_noon):
    with receiving() as server:
        webhook = hook(project, server.url)
        hook(project, server.url, events=["fit.published"])
        hook(project, server.url, active=False)
        set_state(project=project, actor=alice, state="paused", now=NOW)
        assert webhooks_delivery.deliver_next(NOW)
        assert not webhooks_delivery.deliver_next(NOW)
    [(path, headers, body)] = server.got
    assert path == "/hook?of=crowdrank"
    assert json.loads(body) == {
        "type": "project.state_changed",
        "timestamp": NOW.isoformat(),
        "data": {"project": str(project.pk), "state": "paused"},
    }
    # The check as a receiver would write it.
    key = base64.b64decode(webhook.secret.split("_", 1)[1])
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert int(headers["webhook-timestamp"]) == int(NOW.timestamp())
    delivery = WebhookDelivery.objects.get()
    assert (delivery.state, delivery.attempts, delivery.last_status) == (State.DELIVERED, 1, 204)


def test_it_is_tried_again_later_and_given_up_at_last(project, loopback, monkeypatch):
    n_tries = len(webhooks_delivery.RETRY_PAUSES) + 1
    moment = [NOW]
    monkeypatch.setattr(webhooks_delivery.timezone, "now", lambda: moment[0])
    with receiving(*[500] * n_tries) as server:
        delivery = actions.send_test(webhook=hook(project, server.url), now=NOW)
        for number in range(1, n_tries + 1):
            assert webhooks_delivery.deliver_next(moment[0])
            delivery.refresh_from_db()
            assert (delivery.attempts, delivery.last_status) == (number, 500)
            if number < n_tries:
                assert not webhooks_delivery.deliver_next(delivery.not_before - timedelta(seconds=1))
                moment[0] = delivery.not_before
    assert delivery.state == State.FAILED
    ids = {headers["webhook-id"] for _path, headers, _body in server.got}
    assert len(ids) == 1


def test_what_fails_once_arrives_the_second_time(project, loopback, at_noon):
    with receiving(503) as server:
        delivery = actions.send_test(webhook=hook(project, server.url), now=NOW)
        webhooks_delivery.deliver_next(NOW)
        webhooks_delivery.deliver_next(NOW + timedelta(days=4000))
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == (State.DELIVERED, 2)


def test_a_try_whose_process_was_killed_is_made_again(project, loopback):
    delivery = actions.send_test(webhook=hook(project, "http://127.0.0.1:9/"), now=NOW)
    assert webhooks_delivery.claim_next(NOW) == delivery
    assert webhooks_delivery.claim_next(NOW) is None
    assert webhooks_delivery.claim_next(NOW + WebhookDelivery.LEASE) == delivery


def test_a_webhook_deleted_while_its_message_is_claimed_ends_nothing(project):
    webhook = hook(project, "https://example.org/")
    actions.send_test(webhook=webhook, now=NOW)

    def delete(execute, sql, params, many, context):
        result = execute(sql, params, many, context)
        if sql.startswith("UPDATE") and "annotate_webhookdelivery" in sql:
            Webhook.objects.filter(pk=webhook.pk).delete()
        return result

    with connection.execute_wrapper(delete):
        assert webhooks_delivery.deliver_next(NOW) is False
    assert not WebhookDelivery.objects.exists()


def test_messages_are_forgotten_after_a_month_though_no_other_follows(project):
    message = actions.send_test(webhook=hook(project, "https://example.org/"), now=NOW)
    daily_cleanup.clean_up(NOW + webhooks_delivery.MAX_AGE)
    assert WebhookDelivery.objects.get() == message
    daily_cleanup.clean_up(NOW + webhooks_delivery.MAX_AGE + timedelta(seconds=1))
    assert not WebhookDelivery.objects.exists()


@pytest.fixture
def deliver(monkeypatch):
    """Delivers all that is due by then, and as if the clock stood still meanwhile."""

    def until_none_is_due(**later) -> None:
        now = NOW + timedelta(**later)
        monkeypatch.setattr(webhooks_delivery.timezone, "now", lambda: now)
        while webhooks_delivery.deliver_next(now):
            pass

    return until_none_is_due


def enqueue(webhook, **data) -> WebhookDelivery:
    return actions.enqueue_delivery(webhook, Webhook.Event.GOAL_MET, data, NOW, actions.NO_DELAY)


def copy_of(project, alice):
    return clone_project(source=project, actor=alice, name="Copy", with_items=False, now=NOW, rng=random.Random(0))


def tries(webhook) -> list[int]:
    return sorted(webhook.deliveries.values_list("attempts", flat=True))


def test_a_receiver_that_is_gone_keeps_nobody_waiting(project, alice, loopback, deliver):
    """Of its messages one asks again after each pause, and a test at once; all follow as soon as it is back."""
    gone = hook(project, "http://127.0.0.1:9/")
    for number in range(20):
        enqueue(gone, fit=number)
    with receiving() as server:
        enqueue(hook(copy_of(project, alice), server.url))
        deliver()
        assert len(server.got) == 1
        assert tries(gone) == [0] * 19 + [1]
        deliver(minutes=1)
        deliver(seconds=90)
        assert tries(gone) == [0] * 19 + [2]
        actions.send_test(webhook=gone, now=NOW)
        deliver(seconds=90)
        assert gone.deliveries.get(event="test").attempts == 1
        Webhook.objects.filter(pk=gone.pk).update(url=server.url)
        deliver(seconds=119)
        assert not gone.deliveries.exclude(event="test").filter(state=State.DELIVERED).exists()
        deliver(seconds=121)
    assert not gone.deliveries.exclude(state=State.DELIVERED).exists()
    assert len(server.got) == 22


def test_a_receiver_that_stays_away_is_asked_by_other_messages_too(project, loopback, deliver):
    """Else a pause of a day would hold up what is sent after it is back."""
    gone = hook(project, "http://127.0.0.1:9/")
    first, second = enqueue(gone, fit=1), enqueue(gone, fit=2)
    for minute in range(12):
        deliver(minutes=minute)
    first.refresh_from_db()
    second.refresh_from_db()
    assert first.attempts == MAX_PROBES + 1
    assert 0 < second.attempts <= MAX_PROBES


def test_a_receiver_that_answers_with_an_error_gets_its_other_messages(project, loopback, deliver):
    with receiving(500) as server:
        webhook = hook(project, server.url)
        for number in range(3):
            enqueue(webhook, fit=number)
        deliver()
    assert len(server.got) == 3


def test_whose_calls_took_least_goes_first(project, alice):
    other = copy_of(project, alice)
    for one in (project, other):
        webhook = hook(one, "https://example.org/")
        for number in range(2):
            enqueue(webhook, fit=number)
    claiming.TAKEN.add(project.pk, 5.0, time.monotonic())
    claimed = [webhooks_delivery.claim_next(NOW).webhook.project_id for _number in range(4)]
    assert claimed == [other.pk, other.pk, project.pk, project.pk]
    assert webhooks_delivery.claim_next(NOW) is None


def test_time_taken_is_halved_each_minute_and_forgotten():
    taken, one = claiming.TimeTaken(), uuid.uuid4()
    taken.add(one, 8.0, 0.0)
    taken.add(one, 1.0, 120.0)
    assert taken.seconds(one, 120.0) == pytest.approx(3.0)
    taken.MOST = 1
    taken.add(uuid.uuid4(), 1.0, 10_000.0)
    assert one not in taken.taken


def switch(client, webhook, action: str) -> str:
    answered = client.post(reverse("webhook-change", args=[webhook.project_id, webhook.pk]), {"action": action})
    return client.get(answered["Location"]).content.decode()


@pytest.mark.slow
def test_what_waits_when_a_webhook_is_switched_off_is_dropped_and_the_page_says_so(
    client, alice, project, loopback, at_noon
):
    client.force_login(alice)
    with receiving(503) as server:
        webhook = hook(project, server.url)
        set_state(project=project, actor=alice, state="paused", now=NOW)
        assert webhooks_delivery.deliver_next(NOW)
        other = hook(project, server.url + "&other")
        set_state(project=project, actor=alice, state="open", now=NOW)
        page = switch(client, webhook, "off")
        assert "2 waiting messages were dropped." in page
        assert page.count("Dropped: the webhook was switched off") == 2
        actions.send_test(webhook=webhook, now=NOW)
        later = NOW + timedelta(days=1)
        while webhooks_delivery.deliver_next(later):
            pass
        assert "were dropped" not in switch(client, webhook, "on")
        assert not webhooks_delivery.deliver_next(NOW + timedelta(days=29))
    told = [(path.partition("&")[2], json.loads(body)["type"]) for path, _headers, body in server.got]
    assert sorted(told) == [("", "project.state_changed"), ("", "test"), ("other", "project.state_changed")]
    states = webhook.deliveries.order_by("pk").values_list("event", "state", "attempts")
    assert [*states] == [
        ("project.state_changed", State.DROPPED, 1),
        ("project.state_changed", State.DROPPED, 0),
        ("test", State.DELIVERED, 1),
    ]
    assert other.deliveries.get().state == State.DELIVERED


def test_a_message_that_is_queued_while_its_webhook_is_switched_off_is_not_sent(alice, project, loopback, at_noon):
    """The webhook was read as on, by a transaction that is stored after the switch."""
    with receiving() as server:
        webhook = hook(project, server.url)
        actions.switch_webhook(webhook=Webhook.objects.get(), actor=alice, on=False, now=NOW)
        actions.enqueue_delivery(webhook, "goal.met", {}, NOW, actions.NO_DELAY)
        while webhooks_delivery.deliver_next(NOW):
            pass
    assert server.got == []
    delivery = WebhookDelivery.objects.get()
    assert (delivery.state, delivery.attempts, delivery.done_at) == (State.DROPPED, 0, NOW)


def test_a_try_under_way_when_its_webhook_is_switched_off_keeps_its_result(alice, project, loopback, at_noon):
    webhook = hook(project, "https://example.org/")
    for status, state in ((500, State.DROPPED), (204, State.DELIVERED)):
        actions.enqueue_delivery(webhook, "goal.met", {}, NOW, actions.NO_DELAY)
        delivery = webhooks_delivery.claim_next(NOW)
        assert actions.switch_webhook(webhook=webhook, actor=alice, on=False, now=NOW) == 1
        webhooks_delivery.record_result(delivery, webhooks_delivery.DeliveryResult(status), NOW)
        delivery.refresh_from_db()
        assert (delivery.state, delivery.last_status) == (state, status)
        actions.switch_webhook(webhook=webhook, actor=alice, on=True, now=NOW)
    assert webhooks_delivery.claim_next(NOW + timedelta(days=29)) is None


def test_redirects_are_not_followed(project, loopback, at_noon):
    with receiving(302) as server:
        actions.send_test(webhook=hook(project, server.url), now=NOW)
        webhooks_delivery.deliver_next(NOW)
    assert len(server.got) == 1
    assert WebhookDelivery.objects.get().last_status == 302


MOST_DROPS = 60  # of the 200 that there are; the limit of these tests is over after six


def dripping(start: bytes, drops: bytes, sent: list[int]):
    """A server that sends a byte twenty times a second, without an end, and notes each."""
    listener = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        with listener.accept()[0] as client, suppress(OSError):
            client.sendall(start)
            for drop in drops:
                client.sendall(bytes([drop]))
                sent.append(drop)
                time.sleep(0.05)

    threading.Thread(target=drip, daemon=True).start()
    return listener


@pytest.mark.parametrize("start", [b"HTTP/1.1 204 ", b"HTTP/1.1 204 Fine\r\n"])
@pytest.mark.slow
def test_who_drips_an_answer_holds_up_nothing(loopback, monkeypatch, start):
    monkeypatch.setattr(http_client, "MAX_SECONDS", 0.3)
    with dripping(start, b"x" * 200, sent := []) as server:
        with suppress(Unreachable):
            http_client.post(f"http://127.0.0.1:{server.getsockname()[1]}/", b"{}", {})
    assert len(sent) < MOST_DROPS


@pytest.mark.parametrize("length", [b"Content-Length: 200\r\n", b""])
@pytest.mark.slow
def test_nor_does_who_drips_a_body(loopback, monkeypatch, length):
    """Half a body is no answer."""
    monkeypatch.setattr(http_client, "MAX_SECONDS", 0.3)
    with dripping(b"HTTP/1.1 200 Fine\r\n" + length + b"\r\n", b"x" * 200, sent := []) as server:
        with pytest.raises(Unreachable, match="No answer"):
            http_client.fetch(f"http://127.0.0.1:{server.getsockname()[1]}/", {}, max_bytes=1000)
    assert len(sent) < MOST_DROPS


@pytest.mark.slow
def test_nor_does_who_drips_a_handshake(loopback, monkeypatch):
    monkeypatch.setattr(http_client, "MAX_SECONDS", 0.3)
    record = b"\x16\x03\x03\x3f\xff"  # the head of a long message of TLS, whose rest comes byte by byte
    with dripping(record, b"x" * 200, sent := []) as server:
        with pytest.raises(Unreachable):
            http_client.post(f"https://127.0.0.1:{server.getsockname()[1]}/", b"{}", {})
    assert len(sent) < MOST_DROPS


def test_many_fits_are_one_message_about_the_last(project):
    webhook = hook(project, "https://example.org/")
    for number in (1, 2, 3):
        event, rest = Webhook.Event.FIT_PUBLISHED, actions.FIT_EVENT_DELAY
        actions.enqueue_event(project_id=project.pk, event=event, data={"fit": number}, now=NOW, delay=rest)
    delivery = webhook.deliveries.get()
    assert json.loads(delivery.body)["data"]["fit"] == 3
    assert webhooks_delivery.claim_next(NOW) is None
    assert webhooks_delivery.claim_next(NOW + actions.FIT_EVENT_DELAY) == delivery


@pytest.mark.parametrize(
    "address",
    """127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 0.0.0.0 100.64.0.1 224.0.0.1 255.255.255.255 ::1 ::
    fe80::1 fc00::1 ff02::1 ::ffff:127.0.0.1 ::ffff:a00:1 2002:7f00:1:: 64:ff9b::7f00:1""".split(),
)
def test_addresses_of_networks_of_ones_own_are_refused(address, settings, monkeypatch):
    settings.WEBHOOKS_ALLOW_PRIVATE = False
    assert not http_client.is_public(ipaddress.ip_address(address))
    literal = f"[{address}]" if ":" in address else address
    with pytest.raises(Unreachable):
        http_client.parse_url(f"https://{literal}/")
    # A name that leads there, beside a public address.
    found = [(2, 1, 6, "", ("93.184.216.34", 443)), (10, 1, 6, "", (address, 443, 0, 0))]
    monkeypatch.setattr(http_client.socket, "getaddrinfo", lambda *_arguments, **_options: found)
    with pytest.raises(Unreachable, match="own network"):
        http_client.resolve("example.org", 443)


def test_public_addresses_are_called():
    for address in ("93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:93.184.216.34"):
        assert http_client.is_public(ipaddress.ip_address(address))


@pytest.mark.embedded
@pytest.mark.parametrize(
    "url",
    ["http://example.org/", "ftp://example.org/", "https://", "https://u:p@example.org/", "https://example.org:99999/",
     "https://example.org/#a", "https://localhost/", "https://exa mple.org/", "https://[::1", "javascript:alert(1)"],
)  # fmt: skip
def test_addresses_that_no_webhook_may_have(client, alice, project, settings, url):
    settings.WEBHOOKS_ALLOW_HTTP = False
    client.force_login(alice)
    page = client.post(reverse("webhooks", args=[project.pk]), {"url": url, "events": ["fit.published"]})
    assert (page.status_code, set(page.context["form"].errors)) == (400, {"url"})
    assert not Webhook.objects.exists()


def test_the_secret_is_shown_once_and_can_be_replaced(client, alice, project):
    client.force_login(alice)
    url = reverse("webhooks", args=[project.pk])
    made = client.post(url, {"url": "https://example.org/hook", "events": ["fit.published"]}).content.decode()
    webhook = Webhook.objects.get()
    assert webhook.secret in made
    assert webhook.secret not in client.get(url).content.decode()
    change = reverse("webhook-change", args=[project.pk, webhook.pk])
    page = client.post(change, {"action": "secret"}).content.decode()
    assert webhook.secret not in page
    webhook.refresh_from_db()
    assert webhook.secret in page
    for action, active in (("off", False), ("on", True)):
        client.post(change, {"action": action})
        assert Webhook.objects.get().active is active
    client.post(change, {"action": "test"})
    assert "test" in client.get(url).content.decode()
    client.post(change, {"action": "remove"})
    assert not Webhook.objects.exists()
    verbs = set(project.events.values_list("verb", flat=True))
    assert {"webhook added", "webhook's secret replaced", "webhook switched off", "webhook removed"} <= verbs
    settings_page = client.get(reverse("project-manage", args=[project.pk])).content.decode()
    assert "replaced the secret of the webhook https://example.org/hook" in settings_page


def test_the_api_does_what_the_page_does(alice, project):
    api = Api(alice, project)
    body = {"url": "https://example.org/hook", "events": ["fit.published"]}
    made = api("post", "webhooks", body).json()
    webhook = Webhook.objects.get()
    assert (made["id"], made["secret"]) == (webhook.pk, webhook.secret)
    assert "secret" not in api("get", "webhooks").json()["results"][0]
    assert api("put", "webhook", {"active": False}, args=[webhook.pk]).json()["active"] is False
    assert api("post", "webhook-secret", args=[webhook.pk]).json()["secret"] == Webhook.objects.get().secret
    assert Webhook.objects.get().secret != webhook.secret
    assert api("post", "webhook-test", args=[webhook.pk]).json()["state"] == "waiting"
    assert [row["event"] for row in api("get", "webhook-deliveries").json()["results"]] == ["test"]
    refused = api("post", "webhooks", body | {"url": "https://10.0.0.1/"})
    assert (refused.status_code, set(refused.json()["errors"])) == (422, {"url"})
    assert api("delete", "webhook", args=[webhook.pk]).status_code == 204


@pytest.mark.django_db(transaction=True)
def test_the_engine_tells_of_its_fits(project, loopback):
    """From the label to the receiver, by the thread that every engine process runs."""
    stopping = threading.Event()
    with receiving() as server:
        hook(project, server.url)
        answer_one(make_annotator(project, "Otter"))
        assert create_worker("test").run(poll=0.1, once=True) == 1
        WebhookDelivery.objects.update(not_before=NOW)
        courier = threading.Thread(target=webhooks_delivery.deliver_until, args=[stopping])
        courier.start()
        try:
            wait_for(lambda: server.got, why="nothing was delivered")
        finally:
            stopping.set()
            courier.join()
    told = json.loads(server.got[0][2])
    assert (told["type"], told["data"]["fit"], told["data"]["n_labels"]) == ("fit.published", 1, 1)
