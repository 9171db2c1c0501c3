"""Access tokens: shown once, stored hashed, never more than their maker may, and the page that makes them."""

from datetime import timedelta

import pytest
from django.core import serializers
from django.urls import reverse
from django.utils import timezone

from annotate.accounts.actions import MOST_TOKENS
from annotate.models import ApiToken, Project
from tests.conftest import make_token

pytestmark = pytest.mark.embedded


def test_the_page_shows_a_token_once(client, alice, project):
    client.force_login(alice)
    page = client.post(
        reverse("tokens"), {"name": "Notebook", "scopes": ["read"], "project": project.pk, "lifetime": "7"}
    )
    token = ApiToken.objects.get()
    secret = page.context["secret"]
    assert secret in page.content.decode()
    assert page["Cache-Control"].startswith("max-age=0")
    assert (token.user, token.project, token.scopes) == (alice, project, ["read"])
    assert token.expires_at - token.created_at == timedelta(days=7)
    again = client.get(reverse("tokens")).content.decode()
    assert secret not in again
    assert token.prefix in again
    assert secret not in serializers.serialize("json", ApiToken.objects.all())
    assert client.get(reverse("api-project", args=[project.pk]), headers={"Authorization": f"Bearer {secret}"})


def test_revoking_ends_it_and_twice_does_no_harm(client, alice, project):
    token, secret = make_token(alice)
    client.force_login(alice)
    for _ in range(2):
        assert client.post(reverse("token-revoke", args=[token.pk]), follow=True).status_code == 200
    client.logout()
    answer = client.get(reverse("api-projects"), headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 401
    assert secret not in answer.content.decode()


def test_nobody_revokes_or_binds_what_is_another_persons(client, alice, charlie, project):
    token, _secret = make_token(alice)
    client.force_login(charlie)
    assert client.post(reverse("token-revoke", args=[token.pk])).status_code == 404
    refused = client.post(reverse("tokens"), {"name": "x", "scopes": ["read"], "project": project.pk, "lifetime": ""})
    assert refused.status_code == 400
    assert ApiToken.objects.filter(revoked_at=None).get() == token


def test_a_form_says_what_is_missing_and_where_the_limit_is(client, alice):
    client.force_login(alice)
    page = client.post(reverse("tokens"), {"name": "", "lifetime": "3000"})
    assert page.status_code == 400
    assert set(page.context["form"].errors) == {"name", "scopes", "lifetime"}
    for _ in range(MOST_TOKENS):
        make_token(alice)
    page = client.post(reverse("tokens"), {"name": "One more", "scopes": ["read"], "lifetime": ""})
    assert f"You already have {MOST_TOKENS} tokens" in page.content.decode()


def test_last_use_is_written_once_a_minute(client, alice, project, django_assert_num_queries):
    token, secret = make_token(alice)

    def ask() -> ApiToken:
        client.get(reverse("api-projects"), headers={"Authorization": f"Bearer {secret}"})
        return ApiToken.objects.get(pk=token.pk)

    first = ask().last_used_at
    assert first is not None
    assert ask().last_used_at == first
    ApiToken.objects.filter(pk=token.pk).update(last_used_at=timezone.now() - timedelta(seconds=61))
    assert ask().last_used_at >= first


def test_a_token_goes_with_its_project(alice, project):
    make_token(alice, project=project)
    Project.objects.filter(pk=project.pk).delete()
    assert not ApiToken.objects.exists()
