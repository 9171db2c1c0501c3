"""/metrics and the operators' page: the same figures, by a token and for operators alone."""

import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.fitting import scheduling
from annotate.models import FitState, RequestCount
from annotate.operations import request_counts
from annotate.operations.request_counts import COUNTS, RequestCounts
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.factories import spread_fit
from tests.site.pages import signed_in

TOKEN = "only-for-the-tests-of-metrics"
# A line of the text format: name, labels, value.
LINE = re.compile(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? -?[0-9.e+]+')


@pytest.fixture
def token(settings, monkeypatch):
    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setattr(request_counts, "COUNTS", RequestCounts())


def asked(secret: str = TOKEN):
    return Client().get(reverse("metrics"), headers={"Authorization": f"Bearer {secret}"})


def test_without_a_token_in_the_settings_there_is_no_such_address(db):
    assert asked("").status_code == 404
    assert not COUNTS._counts


@pytest.mark.parametrize("secret", ["", "wrong", TOKEN[:-1], f"{TOKEN}x", "ä"])
def test_a_wrong_token_is_refused(db, token, secret):
    response = asked(secret)
    assert (response.status_code, response["WWW-Authenticate"], response.content) == (401, "Bearer", b"")


def test_the_text_is_prometheus(project, token):
    answer_one(make_annotator(project, "Quiet Otter"), now=timezone.now())
    FitState.objects.filter(project=project).update(error="singular", error_at=NOW)
    scheduling.record_heartbeat("secret-host:17", started_at=timezone.now(), now=timezone.now())
    response = asked()
    assert response["Content-Type"].startswith("text/plain; version=0.0.4")
    text = response.content.decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(LINE.fullmatch(line) for line in lines)
    assert {
        'crowdrank_answers{state="valid"} 1',
        'crowdrank_projects{state="open"} 1',
        "crowdrank_workers 1",
        "crowdrank_fits_waiting 1",
        'crowdrank_failures{kind="fit failed"} 1',
        'crowdrank_leases{kind="import"} 0',
    } <= set(lines)
    for secret in ("secret", project.name, str(project.pk), "Otter"):
        assert secret not in text


def test_requests_of_all_processes_are_added_up(project, token):
    first, second = RequestCounts(), RequestCounts()
    first.add("answer", 200, 0.007)
    first.add("answer", 200, 0.3)
    second.add("answer", 200, 0.0071)
    second.add("answer", 503, 20)
    for one in (first, second, first):
        one.flush()
    lines = asked().content.decode().splitlines()
    assert 'crowdrank_responses_total{kind="answer",status="2xx"} 3' in lines
    assert 'crowdrank_responses_total{kind="answer",status="5xx"} 1' in lines
    buckets = {le: int(n) for le, n in re.findall(r'_bucket\{kind="answer",le="([^"]+)"\} (\d+)', "\n".join(lines))}
    assert (buckets["0.005"], buckets["0.01"], buckets["0.25"], buckets["0.5"], buckets["10"]) == (0, 2, 2, 3, 3)
    assert buckets["+Inf"] == 4
    assert list(buckets.values()) == sorted(buckets.values())


def test_a_request_is_counted_by_its_kind(project, token):
    asked()
    Client().get("/nowhere/")
    Client().get(reverse("join", args=[project.join_token]))
    request_counts.COUNTS.flush()
    counted = RequestCount.objects.values_list("kind", "status", "n")
    assert set(counted) == {("monitoring", 2, 1), ("page", 4, 1), ("join", 2, 1)}


def test_the_number_of_queries_does_not_grow(project, token, django_assert_max_num_queries):
    with django_assert_max_num_queries(22) as small:
        asked()
    for number in range(3):
        answer_one(make_annotator(project, f"Otter {number}"))
        request_counts.COUNTS.add(f"kind {number}", 200, 1)
    request_counts.COUNTS.flush()
    spread_fit(project, list(project.items.all()))
    with django_assert_max_num_queries(len(small)):
        asked()


def test_operators_see_the_same_on_a_page(project, token, alice):
    address = reverse("operations")
    assert Client().get(address).status_code == 404
    assert signed_in(alice).get(address).status_code == 404
    alice.is_staff = True
    alice.save()
    request_counts.COUNTS.add("answer", 200, 0.02)
    request_counts.COUNTS.flush()
    html = signed_in(alice).get(address).content.decode()
    assert "Projects, by state" in html
    assert "25 ms" in html
    assert reverse("operations") in signed_in(alice).get("/").content.decode()
