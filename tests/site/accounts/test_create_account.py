"""The operator's way to accounts: one command, and its account can sign in at once."""

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotate.models import User

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def password(monkeypatch):
    monkeypatch.setenv("PASSWORD", PASSWORD)


def sign_in(client, address):
    return client.post(reverse("account_login"), {"login": address, "password": PASSWORD})


@pytest.mark.django_db
def test_the_account_signs_in_with_its_address(client, settings, capsys):
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    call_command("create_account", "Ann@Example.org")
    assert "ann@example.org can sign in now." in capsys.readouterr().out
    response = sign_in(client, "ann@example.org")
    assert (response.status_code, response["Location"]) == (302, "/")
    assert client.get("/").context["user"].email == "ann@example.org"
    assert client.get("/admin/").status_code == 302


@pytest.mark.django_db
def test_an_operator_also_sees_the_admin(client):
    call_command("create_account", "ann@example.org", operator=True)
    sign_in(client, "ann@example.org")
    assert client.get("/admin/").status_code == 200


@pytest.mark.django_db
def test_without_the_variable_the_password_is_asked_for(monkeypatch):
    monkeypatch.delenv("PASSWORD")
    monkeypatch.setattr("getpass.getpass", lambda prompt: PASSWORD)
    call_command("create_account", "ann@example.org")
    assert User.objects.get().check_password(PASSWORD)


@pytest.mark.parametrize(
    ("address", "password", "message"),
    [
        ("ann", PASSWORD, "“ann” is not an e-mail address"),
        ("ALICE@example.org", PASSWORD, "There is an account for alice@example.org already"),
        ("ann@example.org", "short", "at least 10 characters"),
        ("ann@example.org", "password1234", "too common"),
    ],
)
def test_what_it_refuses(monkeypatch, alice, address, password, message):
    monkeypatch.setenv("PASSWORD", password)
    with pytest.raises(CommandError, match=message):
        call_command("create_account", address)
    assert User.objects.get() == alice
