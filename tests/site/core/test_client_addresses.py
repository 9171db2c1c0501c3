"""By whose address sign-ins are counted: the client's, as the site's own proxies tell it, and never a forged one."""

import pytest
from axes.models import AccessAttempt
from django.conf import settings as django_settings
from django.core.cache import cache
from django.urls import reverse

PROXY = "10.0.0.1"


@pytest.fixture(autouse=True)
def counted_anew():
    cache.clear()
    yield
    cache.clear()


def sign_in(client, forwarded: str, name: str = "alice@example.org"):
    values = {"login": name, "password": "wrong horse battery"}
    return client.post(reverse("account_login"), values, REMOTE_ADDR=PROXY, headers={"X-Forwarded-For": forwarded})


def behind(n: int) -> dict:
    return django_settings.REST_FRAMEWORK | {"NUM_PROXIES": n}


@pytest.fixture
def thirty_a_minute(settings):
    settings.ACCOUNT_RATE_LIMITS = settings.ACCOUNT_RATE_LIMITS | {"login": "30/m/ip"}


@pytest.mark.parametrize(
    ("n", "forwarded", "noted"),
    [
        (1, "198.51.100.1, 203.0.113.5", "203.0.113.5"),
        (1, "2001:db8::7", "2001:db8::7"),
        (1, "unknown", PROXY),
        (0, "203.0.113.5", PROXY),
    ],
)
def test_failed_sign_ins_are_noted_by_the_clients_address(client, db, settings, n, forwarded, noted):
    settings.REST_FRAMEWORK = behind(n)
    sign_in(client, forwarded)
    assert AccessAttempt.objects.get().ip_address == noted


@pytest.mark.slow
@pytest.mark.usefixtures("thirty_a_minute")
def test_one_who_guesses_does_not_keep_others_from_signing_in(client, db, settings):
    settings.REST_FRAMEWORK = behind(1)
    codes = [sign_in(client, "203.0.113.5", f"guess-{n}@example.org").status_code for n in range(32)]
    assert codes[-1] == 429
    assert sign_in(client, "203.0.113.6").status_code == 200


@pytest.mark.slow
@pytest.mark.usefixtures("thirty_a_minute")
def test_without_a_proxy_nobody_takes_a_new_address_for_each_guess(client, db, settings):
    settings.REST_FRAMEWORK = behind(0)
    codes = [sign_in(client, f"203.0.113.{n}", f"guess-{n}@example.org").status_code for n in range(32)]
    assert codes[-1] == 429
