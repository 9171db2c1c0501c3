"""The log of the server: no secret of an address is in it."""

import io
import logging

import pytest
from django.conf import settings

from annotate.core.log_filters import RedactSecrets, redact_path
from annotate.models import new_token


def test_ids_of_projects_and_short_parts_stay():
    secret = new_token()
    path = f"/projects/a89e69ba-0362-4280-afd3-28fb8ff4c569/join/again/{secret}/data/"
    assert redact_path(path) == path.replace(secret, f"{secret[:4]}…")
    assert redact_path("/accounts/login/") == "/accounts/login/"


@pytest.mark.parametrize("address", ["/join/{}/", "/join/again/{}/", "/label/{}/", "/results/{}/", "/api/v1/join/{}/"])
def test_a_refused_request_is_logged_without_its_secret(client, db, address):
    secret, out = new_token(), io.StringIO()
    handler = logging.StreamHandler(out)
    handler.addFilter(RedactSecrets())
    logger = logging.getLogger("django.request")
    logger.addHandler(handler)
    try:
        assert client.get(address.format(secret)).status_code >= 400
    finally:
        logger.removeHandler(handler)
    assert secret[:4] in out.getvalue()
    assert secret not in out.getvalue()


def test_the_site_logs_so():
    assert settings.LOGGING["handlers"]["console"]["filters"] == ["redact"]
