"""Open redirects, Host and forwarding headers: nobody is sent to, mailed to or counted as what a stranger names."""

import re

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.test import Client
from django.urls import reverse

from tests.site.pages import signed_in
from tests.site.test_access import RULES, address, arguments, cast  # noqa: F401  (fixtures)

pytestmark = pytest.mark.embedded
EVIL = ["https://evil.example/", "//evil.example/", "/\\evil.example", "https:evil.example", "javascript:alert(1)"]
NAMES = ("next", "return", "return_to", "url", "redirect", "redirect_to", "to", "from")


def leads_out(response) -> bool:
    return bool(re.match(r"(https?:)?[/\\]*evil|//|/\\|javascript:", response.get("Location", "")))


@pytest.mark.parametrize("evil", EVIL)
def test_no_form_of_signing_in_or_out_leads_away(alice, evil):
    login = {"login": alice.email, "password": "correct horse battery", "next": evil}
    assert not leads_out(Client().post(reverse("account_login"), login))
    assert not leads_out(Client().get(reverse("account_login"), {"next": evil}))
    for name in ("account_logout", "set_language", "detail"):
        data = {"next": evil, "language": "de", "detail": "simple"}
        assert not leads_out(signed_in(alice).post(reverse(name), data, headers={"Referer": evil}))


@pytest.mark.slow
def test_no_page_leads_away(cast, arguments):  # noqa: F811
    data = dict.fromkeys(NAMES, EVIL[0])
    out = []
    for name, (get, _) in RULES.items():
        if get:
            who = "owner" if "owner" in get else sorted(get)[0]
            if leads_out(cast[who].get(address(name, arguments), data, headers={"Referer": EVIL[0]})):
                out.append(name)
    assert out == []


@pytest.mark.parametrize("name", ["evil.example", "testserver@evil.example", "evil.example:80", "test server", "*"])
def test_a_foreign_host_is_refused(db, settings, name):
    settings.ALLOWED_HOSTS = ["testserver"]
    response = Client().get("/accounts/login/", HTTP_HOST=name)
    assert response.status_code == 400
    assert "evil" not in response.content.decode()


def test_a_letter_leads_to_this_site_whatever_the_headers_say(alice, settings):
    settings.ALLOWED_HOSTS = ["testserver"]
    EmailAddress.objects.create(user=alice, email=alice.email, verified=True, primary=True)
    headers = {
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Server": "evil.example",
        "X-Host": "evil.example",
        "Forwarded": "host=evil.example;proto=https",
        "X-Original-URL": "https://evil.example/",
    }
    response = Client().post(reverse("account_reset_password"), {"email": alice.email}, headers=headers)
    assert response.status_code == 302
    [letter] = mail.outbox
    assert "http://testserver/" in letter.body
    assert "evil" not in letter.body + letter.subject + str(letter.message())


def test_who_claims_to_have_come_by_tls_is_not_believed_without_a_proxy(db, settings):
    settings.SECURE_SSL_REDIRECT = True
    response = Client().get("/accounts/login/", headers={"X-Forwarded-Proto": "https", "X-Forwarded-Ssl": "on"})
    assert response.status_code == 301
    assert response["Location"] == "https://testserver/accounts/login/"
