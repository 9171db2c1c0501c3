"""Launches from a learning platform that really answers, everything that must be refused, and grades sent back."""

import json
import time
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from django.test import Client
from django.utils import timezone

from annotate.lti import scores
from annotate.lti.launches import CLAIM, ENDPOINT, SCORE_SCOPE
from annotate.models import Annotator, LtiLearner, LtiPlatform
from tests.conftest import answer_one
from tests.site.accounts.issuer import Handler, Issuer, issuing, signing_key

CLIENT, DEPLOYMENT = "crowdrank", "d-1"


class PlatformHandler(Handler):
    """Beside what an issuer does: gives tokens for grades to whom the key fits, and keeps the grades."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        server = self.server
        if self.path == "/token":
            asked = {name: values[0] for name, values in parse_qs(body).items()}
            jwt.decode(
                asked["client_assertion"],
                jwt.PyJWK(server.tool_keys[0]),
                audience=f"{server.url}/token",
                issuer=CLIENT,
                leeway=3600,
            )
            assert asked["scope"] == SCORE_SCOPE
            self.answer({"access_token": "t-1"})
        else:
            server.grades.append((self.path, self.headers["Authorization"], json.loads(body)))
            self.answer({} if not server.failing else None)


@pytest.fixture(scope="module")
def server():
    with issuing() as running:
        running.RequestHandlerClass = PlatformHandler
        yield running


@pytest.fixture
def platform(server, db, settings):
    settings.WEBHOOKS_ALLOW_HTTP = settings.WEBHOOKS_ALLOW_PRIVATE = True
    server.grades, server.failing, server.signer = [], False, "key-1"
    made = LtiPlatform.objects.create(
        name="Moodle",
        issuer=server.url,
        client_id=CLIENT,
        deployment_ids=f"other\n{DEPLOYMENT}",
        auth_url=f"{server.url}/authorize",
        token_url=f"{server.url}/token",
        keys_url=f"{server.url}/jwks",
        origin="https://moodle.example",
    )
    server.tool_keys = Client().get("/lti/jwks/").json()["keys"]
    return made


@pytest.fixture
def claims(server, platform, project):
    server.claims = {
        "sub": "learner-7",
        f"{CLAIM}deployment_id": DEPLOYMENT,
        f"{CLAIM}message_type": "LtiResourceLinkRequest",
        f"{CLAIM}version": "1.3.0",
        f"{CLAIM}roles": ["http://purl.imsglobal.org/vocab/lis/v2/membership#Learner"],
        f"{CLAIM}custom": {"project": project.join_token},
        ENDPOINT: {"scope": [SCORE_SCOPE], "lineitem": f"{server.url}/items/3?type=x"},
    }
    return server.claims


def begin(client: Client, server: Issuer, **asked) -> dict[str, str]:
    """The platform's part until its form is sent: what it sends to the launch."""
    there = client.post("/lti/login/", {"iss": server.url, "client_id": CLIENT, "login_hint": "u", **asked})
    assert there.status_code == 302
    server.asked = {name: values[0] for name, values in parse_qs(urlsplit(there["Location"]).query).items()}
    return {"state": server.asked["state"], "id_token": server.token()}


def launch(client: Client, server: Issuer):
    return client.post("/lti/launch/", begin(client, server))


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


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({f"{CLAIM}deployment_id": "d-2"}, "deployment is not registered"),
        ({f"{CLAIM}message_type": "LtiDeepLinkingRequest"}, "resource links alone"),
        ({f"{CLAIM}version": "1.1"}, "resource links alone"),
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
    assert client.get(there).status_code == 303
    assert Client().get(there).status_code == 404
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
    assert "Open the ranking" in launch(Client(), server).content.decode()
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


def test_grades_never_go_into_our_own_network(server, claims, project, settings):
    project.cap = 1
    project.save()
    annotator = arrive(Client(), server)
    settings.WEBHOOKS_ALLOW_PRIVATE = False
    answer_one(annotator, now=timezone.now())
    assert scores.send_next(timezone.now())
    assert LtiLearner.objects.get().sent_at is None
    assert server.grades == []
