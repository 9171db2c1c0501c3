"""Launches of a learning platform: an entry that was begun in one browser binds no other."""

import pytest
from django.core import signing
from django.test import Client
from django.urls import reverse

from annotate.access import SESSION_KEY
from annotate.models import LtiPlatform
from tests.conftest import make_annotator

pytestmark = pytest.mark.embedded


def test_a_link_to_enter_sent_to_somebody_else_does_nothing(project):
    site = "https://lms.example.org"
    platform = LtiPlatform.objects.create(
        name="LMS", issuer=site, client_id="1", deployment_ids="1", auth_url=site, token_url=site, keys_url=site
    )
    said = {"platform": platform.pk, "nonce": "once"}
    entry = signing.dumps({"annotator": make_annotator(project, "Mallory").pk, **said}, salt="lti enter")
    client, address = Client(), reverse("lti-enter", args=[entry])
    for kept in ("", "forged", signing.dumps({**said, "nonce": "other"}, salt="lti state")):
        client.cookies["lti_state"] = kept
        assert client.get(address).status_code == 400
        assert SESSION_KEY not in client.session
    client.cookies["lti_state"] = signing.dumps(said, salt="lti state")
    assert client.get(address).status_code in (302, 303)
    assert SESSION_KEY in client.session
