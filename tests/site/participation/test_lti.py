"""Launches from a learning platform that really answers, everything that must be refused, and grades sent back."""

import time
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from annotate.lti import scores
from annotate.lti.launches import CLAIM
from annotate.models import Annotator, LtiLearner, LtiPlatform
from tests.conftest import answer_one
from tests.site.accounts.issuer import Issuer, signing_key
from tests.site.labelling.test_released_meanwhile import Once
from tests.site.participation.lti_platform import begin, launch


def to_page(client: Client, server: Issuer) -> str:
    return client.get(launch(client, server)["Location"]).content.decode()


def arrive(client: Client, server: Issuer) -> Annotator:
    client.get(launch(client, server)["Location"])
    return Annotator.objects.get(lti__subject="learner-7")


def test_a_learner_answers_under_a_pseudonym_and_comes_back_as_the_same(server, claims, project):
    claims |= {"name": "Ada Lovelace", "email": "ada@uni.example"}
    client = Client()
    annotator = arrive(client, server)
    page = client.get(f"/projects/{project.pk}/label/", follow=True)
    assert page.status_code == 200
    assert project.question in page.content.decode()
    assert (annotator.source, annotator.user) == ("platform", None)
    assert "Lovelace" not in str(Annotator.objects.values_list("pseudonym", "platform_id"))
    assert arrive(Client(), server) == annotator


def test_only_the_platform_may_frame_it_and_cookies_work_there(server, claims, settings):
    settings.HTTPS = True
    client = Client()
    arrived = client.get(launch(client, server)["Location"])
    for name in ("sessionid",):
        cookie = arrived.cookies[name].OutputString()
        assert all(part in cookie for part in ("SameSite=None", "Secure", "Partitioned"))
    page = client.get(arrived["Location"], follow=True)
    assert "frame-ancestors https://moodle.example;" in page["Content-Security-Policy"] + ";"
    assert "X-Frame-Options" not in page
    other = Client().get("/accounts/login/")
    assert "frame-ancestors 'none'" in other["Content-Security-Policy"]
    assert other["X-Frame-Options"] == "DENY"


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({f"{CLAIM}deployment_id": "d-2"}, "deployment is not registered"),
        ({f"{CLAIM}message_type": "LtiSubmissionReviewRequest"}, "resource links and deep linking alone"),
        ({f"{CLAIM}version": "1.1"}, "resource links and deep linking alone"),
        ({f"{CLAIM}custom": {"project": "nobody's"}}, "names no project"),
        ({f"{CLAIM}custom": {}}, "names no project"),
        ({"nonce": "of another launch"}, "was not accepted (wrong nonce)"),
        ({"aud": "another tool"}, "was not accepted"),
        ({"exp": int(time.time()) - 3600}, "was not accepted"),
        ({"iss": "https://elsewhere.example"}, "was not accepted"),
    ],
)
def test_what_must_not_get_in_is_told_why(server, claims, changed, message):
    claims |= changed
    refused = launch(Client(), server)
    assert refused.status_code == 400
    assert message in refused.content.decode()
    assert not Annotator.objects.exists()


def test_a_message_sent_again_another_browser_and_another_key_are_refused(server, claims):
    client = Client()
    sent = begin(client, server)
    assert "cookie of this launch" in Client().post("/lti/launch/", sent).content.decode()
    there = client.post("/lti/launch/", sent)["Location"]
    assert "used already" in client.post("/lti/launch/", sent).content.decode()
    assert Client().get(there).status_code == 400
    assert client.get(there).status_code == 303
    assert client.get(there).status_code == 404
    server.signer = "key-2"
    assert launch(Client(), server).status_code == 400
    assert signing_key("key-2") != signing_key("key-1")


def test_an_unknown_or_switched_off_platform_is_refused(server, claims, platform):
    asked = {"iss": "https://unknown.example", "login_hint": "u"}
    assert "does not know the learning platform" in Client().get("/lti/login/", asked).content.decode()
    client = Client()
    sent = begin(client, server)
    LtiPlatform.objects.update(active=False)
    assert client.post("/lti/launch/", sent).status_code == 404


def test_a_closed_project_and_a_teacher_are_told(server, claims, project):
    claims[f"{CLAIM}roles"] = ["http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor"]
    assert "Open the ranking" in to_page(Client(), server)
    claims[f"{CLAIM}roles"] = []
    project.state = "closed"
    project.save()
    refused = launch(Client(), server)
    assert refused.status_code == 409
    assert "closed" in refused.content.decode()
    assert not Annotator.objects.exists()


def test_a_grade_is_sent_once_when_the_cap_is_reached_and_tried_again_until_it_arrives(server, claims, project):
    project.cap = 2
    project.save()
    annotator = arrive(Client(), server)
    now = timezone.now() + timedelta(seconds=1)
    answer_one(annotator, now=now)
    assert not scores.send_next(now)
    answer_one(annotator, now=now)
    server.failing = True
    assert scores.send_next(now)
    learner = LtiLearner.objects.get()
    assert (learner.sent_at, learner.attempts, learner.last_error) == (None, 1, "HTTP 404")
    assert not scores.send_next(now)
    server.failing = False
    assert scores.send_next(learner.not_before)
    assert not scores.send_next(learner.not_before + timedelta(days=30))
    path, authorization, grade = server.grades[-1]
    assert (path, authorization) == ("/items/3/scores?type=x", "Bearer t-1")
    assert (grade["userId"], grade["scoreGiven"], grade["scoreMaximum"]) == ("learner-7", 1, 1)
    assert grade["gradingProgress"] == "FullyGraded"


def test_a_grade_given_up_is_sent_once_the_learner_opens_the_task_again(server, claims, project):
    project.cap = 1
    project.save()
    answer_one(arrive(Client(), server), now=timezone.now())
    server.failing, now = True, timezone.now()
    while scores.send_next(now):
        now = LtiLearner.objects.get().not_before
    server.failing = False
    assert not scores.send_next(now + timedelta(days=30))
    arrive(Client(), server)
    assert scores.send_next(timezone.now())
    assert LtiLearner.objects.get().sent_at
    arrive(Client(), server)
    assert not scores.send_next(timezone.now()), "it has it already"


def test_a_learner_erased_as_the_grade_is_claimed_ends_nothing(server, claims, project):
    project.cap = 1
    project.save()
    annotator = arrive(Client(), server)
    answer_one(annotator, now=timezone.now())
    erase = Once("UPDATE", "annotate_ltilearner", lambda: LtiLearner.objects.all().delete())
    with connection.execute_wrapper(erase):
        assert scores.send_next(timezone.now())
    assert erase.done
    assert server.grades == []


def test_grades_never_go_into_our_own_network(server, claims, project, settings):
    project.cap = 1
    project.save()
    annotator = arrive(Client(), server)
    settings.WEBHOOKS_ALLOW_PRIVATE = False
    answer_one(annotator, now=timezone.now())
    assert scores.send_next(timezone.now())
    assert LtiLearner.objects.get().sent_at is None
    assert server.grades == []
