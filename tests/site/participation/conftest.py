"""A learning platform that answers, and what its message says about a learner."""

import pytest
from django.test import Client

from annotate.lti.launches import CLAIM, ENDPOINT, SCORE_SCOPE
from annotate.models import LtiPlatform
from tests.site.accounts.issuer import issuing
from tests.site.participation.lti_platform import CLIENT, DEPLOYMENT, PlatformHandler, tool_key


@pytest.fixture(scope="session")
def server():
    with issuing() as running:
        running.RequestHandlerClass = PlatformHandler
        yield running


@pytest.fixture
def platform(server, db, settings):
    settings.WEBHOOKS_ALLOW_HTTP = settings.WEBHOOKS_ALLOW_PRIVATE = True
    server.grades, server.failing, server.signer, server.pages = [], False, "key-1", {}
    made = LtiPlatform.objects.create(
        name="Moodle",
        issuer=server.url,
        client_id=CLIENT,
        deployment_ids=f"other\n{DEPLOYMENT}",
        auth_url=f"{server.url}/authorize",
        token_url=f"{server.url}/token",
        keys_url=f"{server.url}/jwks",
        origin="https://moodle.example",
        private_key=tool_key(),
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
