"""Signing in through an OpenID Connect service that really answers: who gets in, and every token that must not do."""

import time
from typing import Any

import pytest
import requests
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.accounts.invitations import invite_address
from annotate.core.environment import Environment, check_names, parse_service
from annotate.models import Membership, User
from tests.conftest import make_user
from tests.site.accounts.issuer import CLIENT, SECRET, Issuer, issuing

START = "/sign-in/oidc/"


@pytest.fixture(scope="module")
def one_issuer():
    with issuing() as server:
        yield server


@pytest.fixture
def issuer(one_issuer, settings, db):
    one_issuer.claims = {"email": "ada@uni.example", "email_verified": True}
    one_issuer.userinfo, one_issuer.signer = {}, "key-1"
    settings.SIGNUP_OPEN, settings.ACCOUNT_EMAIL_VERIFICATION = False, "mandatory"
    settings.OIDC = {"oidc": service(one_issuer, "Example University", "uni.example")}
    return one_issuer


def service(server: Issuer, name: str, domain: str) -> dict[str, Any]:
    return {
        "issuer": server.url,
        "name": name,
        "client_id": CLIENT,
        "client_secret": SECRET,
        "email_domains": frozenset({domain}),
        "trusted": False,
    }


def way_back(client: Client, start: str = START) -> str:
    """To the service and to the address that it sends back to, as a browser would."""
    there = client.get(start)
    assert there.status_code == 302
    back = requests.get(there["Location"], allow_redirects=False, timeout=5).headers["Location"]
    return back.removeprefix("http://testserver")


def sign_in(client: Client):
    return client.get(way_back(client))


def who(client: Client) -> str:
    return client.session.get("_auth_user_id", "")


def test_the_sign_in_page_has_the_button_only_where_a_service_is_named(issuer, settings):
    page = Client().get(reverse("account_login")).content.decode()
    assert "Sign in with Example University" in page
    assert f'href="{START}"' in page
    settings.OIDC = {}
    assert START not in Client().get(reverse("account_login")).content.decode()
    assert Client().get(START).status_code == 404


def test_an_allowed_domain_gets_a_confirmed_account_and_the_same_one_the_next_time(issuer):
    client = Client()
    assert sign_in(client)["Location"] == "/"
    user = User.objects.get(email="ada@uni.example")
    assert who(client) == str(user.pk)
    assert EmailAddress.objects.get(user=user).verified
    assert not user.has_usable_password()
    assert SocialAccount.objects.get().extra_data == {"issuer": issuer.url, "sub": "ada-1"}
    assert {"response_type", "state", "nonce", "code_challenge"} <= issuer.asked.keys()
    assert "code_verifier" in issuer.sent
    issuer.claims["email"] = "married@uni.example"
    again = Client()
    sign_in(again)
    assert who(again) == str(user.pk)


def test_another_domain_gets_none_but_an_invited_address_does_and_joins(issuer, project):
    issuer.claims["email"] = "Bea@else.example"
    client = Client()
    assert "by invitation only" in sign_in(client).content.decode()
    assert not User.objects.filter(email__iexact="bea@else.example").exists()
    invite_address(project=project, address="bea@else.example", role="viewer", now=timezone.now())
    sign_in(client)
    assert Membership.objects.get(user=who(client)).role == "viewer"


def test_an_account_is_linked_by_a_verified_address_alone(issuer):
    ada = make_user("ada")
    User.objects.filter(pk=ada.pk).update(email="ada@uni.example")
    EmailAddress.objects.create(user=ada, email="ada@uni.example", verified=True, primary=True)
    for unsure in (False, None, "no"):
        issuer.claims["email_verified"] = unsure
        client = Client()
        refused = sign_in(client)
        assert refused.status_code == 403
        assert "does not say that your e-mail address is verified" in refused.content.decode()
        assert who(client) == ""
    issuer.claims["email_verified"] = True
    client = Client()
    sign_in(client)
    assert who(client) == str(ada.pk)
    ada.refresh_from_db()
    assert ada.has_usable_password()


def test_an_account_with_an_unconfirmed_address_is_linked_only_where_the_service_is_trusted(issuer, settings):
    ada = make_user("ada")
    User.objects.filter(pk=ada.pk).update(email="ada@uni.example")
    EmailAddress.objects.create(user=ada, email="ada@uni.example", verified=False, primary=True)
    client = Client()
    refused = sign_in(client)
    assert refused.status_code == 403
    assert "was never confirmed here" in refused.content.decode()
    assert (who(client), User.objects.count(), SocialAccount.objects.count()) == ("", 1, 0)
    settings.OIDC = {"oidc": settings.OIDC["oidc"] | {"trusted": True}}
    client = Client()
    sign_in(client)
    assert who(client) == str(ada.pk)
    ada.refresh_from_db()
    assert not ada.has_usable_password(), "whoever made the account with this address no longer gets in"


def test_the_address_may_come_with_the_further_answer_of_the_same_person(issuer):
    issuer.claims = {}
    issuer.userinfo = {"email": "ada@uni.example", "email_verified": True}
    client = Client()
    sign_in(client)
    assert who(client)
    issuer.userinfo["sub"] = "somebody-else"
    other = Client()
    assert sign_in(other).status_code == 401
    assert who(other) == ""


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "of another visit"},
        {"exp": int(time.time()) - 3600},
        {"aud": "another site"},
        {"aud": [CLIENT, "another site"]},
        {"aud": [CLIENT, "another site"], "azp": "another site"},
        {"iss": "https://another.example"},
        {"iat": int(time.time()) + 3600},
    ],
)
def test_a_wrong_token_lets_nobody_in(issuer, claims):
    issuer.claims |= claims
    client = Client()
    refused = sign_in(client)
    assert refused.status_code == 401
    assert "was not accepted" in refused.content.decode()
    assert (who(client), User.objects.count()) == ("", 0)


def test_nor_does_one_signed_by_somebody_else(issuer):
    issuer.signer = "key-2"
    client = Client()
    assert sign_in(client).status_code == 401
    assert who(client) == ""


def test_a_state_of_another_browser_or_used_before_is_refused(issuer):
    client = Client()
    back = way_back(client)
    assert Client().get(back).status_code == 401
    client.get(back)
    assert who(client)
    assert client.get(back).status_code == 401


def test_cancelling_and_a_silent_service_are_told_in_words(issuer, settings):
    client = Client()
    back = way_back(client)
    cancelled = client.get(back.replace("code=c-1", "error=access_denied"), follow=True)
    assert "You cancelled signing in." in cancelled.content.decode()
    settings.OIDC = {"oidc": settings.OIDC["oidc"] | {"issuer": "http://127.0.0.1:9"}}
    silent = client.get(START)
    assert silent.status_code == 502
    assert "did not answer as expected" in silent.content.decode()


def test_settings_that_cannot_work_stop_the_start():
    given = {"name": "", "client_id": "a", "client_secret": "b", "email_domains": ["@Uni.example", " school.example"]}
    assert parse_service("", **given, allow_http=False) == {}
    with pytest.raises(ImproperlyConfigured, match="with https://"):
        parse_service("http://id.example", **given, allow_http=False)
    with pytest.raises(ImproperlyConfigured, match="OIDC_CLIENT_SECRET is not"):
        parse_service("https://id.example", **{**given, "client_secret": ""}, allow_http=False)
    service = parse_service("https://id.example", **given, allow_http=False)
    assert (service["name"], service["email_domains"]) == ("SSO", {"uni.example", "school.example"})


def test_two_services_have_a_button_each_and_never_speak_for_each_other(issuer, settings):
    with issuing() as second:
        second.claims = {"email": "bea@school.example", "email_verified": True}
        settings.OIDC |= {"oidc-2": service(second, "Example School", "school.example")}
        page = Client().get(reverse("account_login")).content.decode()
        assert page.index("Sign in with Example University") < page.index("Sign in with Example School")
        assert 'href="/sign-in/oidc-2/"' in page
        bea, ada = Client(), Client()
        bea.get(way_back(bea, "/sign-in/oidc-2/"))
        sign_in(ada)
        assert set(User.objects.values_list("email", flat=True)) == {"bea@school.example", "ada@uni.example"}
        assert set(SocialAccount.objects.values_list("provider", flat=True)) == {"oidc", "oidc-2"}
        second.claims["email"] = "eve@uni.example"
        second.claims["sub"] = "eve-1"
        eve = Client()
        assert "by invitation only" in eve.get(way_back(eve, "/sign-in/oidc-2/")).content.decode()
        back = way_back(third := Client(), "/sign-in/oidc-2/")
        assert third.get(back.replace("/oidc-2/", "/oidc/")).status_code == 401
        assert who(third) == ""


def test_numbered_services_are_read_beside_the_one_without_a_number():
    env = Environment()
    env.ENVIRON = {
        "OIDC_2_ISSUER": "https://b.example",
        "OIDC_2_NAME": "B",
        "OIDC_2_CLIENT_ID": "b",
        "OIDC_2_CLIENT_SECRET": "c",
        "OIDC_1_ISSUER": "https://a.example",
        "OIDC_1_NAME": "A",
        "OIDC_1_CLIENT_ID": "a",
        "OIDC_1_CLIENT_SECRET": "s",
        "OIDC_1_EMAIL_DOMAINS": "A.example",
        "OIDC_3_NAME": "",
    }
    found = env.numbered_services(allow_http=False)
    assert [(key, one["name"]) for key, one in found.items()] == [("oidc-1", "A"), ("oidc-2", "B")]
    assert found["oidc-1"]["email_domains"] == {"a.example"}
    with pytest.raises(ImproperlyConfigured, match="Two OpenID Connect services are called “A”"):
        check_names(found | {"oidc": found["oidc-1"]})
    env.ENVIRON["OIDC_3_NAME"] = "C"
    with pytest.raises(ImproperlyConfigured, match="OIDC_3_ISSUER is not set"):
        env.numbered_services(allow_http=False)
    env.ENVIRON |= {"OIDC_3_ISSUER": "https://c.example", "OIDC_3_CLIENT_ID": "c"}
    with pytest.raises(ImproperlyConfigured, match="OIDC_3_CLIENT_SECRET is not"):
        env.numbered_services(allow_http=False)
