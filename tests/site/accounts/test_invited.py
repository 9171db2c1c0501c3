"""Whoever is invited as a member makes an account by the link, once, in time, also where sign-up is closed."""

from datetime import timedelta

import pytest
from allauth.account.models import EmailAddress
from django.core import mail
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.accounts.invitations import LIFETIME, invitation_token, invite_address
from annotate.models import MemberInvitation, Membership, Project, User
from annotate.operations import daily_cleanup
from annotate.projects.members.actions import add_member
from tests.site.api_client import Api
from tests.site.labelling.test_released_meanwhile import Once
from tests.site.pages import signed_in

ADDRESS = "new@example.org"
NAME_CHOSEN = 'SELECT "annotate_user"."username" AS'  # after the look whether there is an account
PASSWORD = {"password1": "a long enough secret", "password2": "a long enough secret"}


@pytest.fixture
def url(project) -> str:
    invitation = invite_address(project=project, address="New@Example.org", role="manager", now=timezone.now())
    return reverse("invited", args=[invitation_token(invitation)])


def test_the_link_in_the_message_makes_a_confirmed_account_and_a_member(alice, project, settings):
    settings.SIGNUP_OPEN, settings.ACCOUNT_EMAIL_VERIFICATION = False, "mandatory"
    signed_in(alice).post(reverse("members", args=[project.pk]), {"address": ADDRESS, "role": "manager"})
    link = next(word for word in mail.outbox[0].body.split() if "/invited/" in word).removeprefix("http://testserver")
    visitor = Client()
    assert ADDRESS in visitor.get(link).content.decode()
    assert not User.objects.filter(email=ADDRESS).exists()
    visitor.post(link, PASSWORD)
    user = User.objects.get(email=ADDRESS)
    assert EmailAddress.objects.get(user=user).verified
    assert Membership.objects.get(user=user).role == "manager"
    assert visitor.get(reverse("ranking", args=[project.pk])).status_code == 200
    assert {"member invited", "member joined"} <= set(project.events.values_list("verb", flat=True))
    again = Client()
    assert again.post(link, PASSWORD).status_code == 410
    again.post(reverse("account_login"), {"login": ADDRESS, "password": PASSWORD["password1"]})
    assert again.session["_auth_user_id"] == str(user.pk)


def test_one_account_joins_wherever_its_address_is_invited(project, url):
    other = Project.objects.create(name="Other", question="Which?")
    invite_address(project=other, address=ADDRESS, role="viewer", now=timezone.now())
    Client().post(url, PASSWORD)
    assert set(Membership.objects.filter(user__email=ADDRESS).values_list("role", flat=True)) == {"manager", "viewer"}
    assert not MemberInvitation.objects.exists()


def test_an_account_made_meanwhile_joins_without_being_signed_in(project, url, charlie):
    User.objects.filter(pk=charlie.pk).update(email=ADDRESS)
    visitor = Client()
    assert visitor.get(url).context["form"] is None
    visitor.post(url)
    assert Membership.objects.get(user=charlie).role == "manager"
    assert "_auth_user_id" not in visitor.session


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"password1": "short", "password2": "short"}, "too short"),
        ({"password1": "a long enough secret", "password2": "another"}, "two passwords are different"),
        ({}, "required"),
    ],
)
def test_a_bad_password_makes_nothing(url, given, message):
    page = Client().post(url, given)
    assert page.status_code == 400
    assert message in page.content.decode()
    assert MemberInvitation.objects.exists()
    assert not User.objects.filter(email=ADDRESS).exists()


def test_forged_expired_renewed_and_withdrawn_links_make_nothing(project, alice, url):
    made = MemberInvitation.objects.get()
    renewed = invite_address(project=project, address=ADDRESS, role="viewer", now=timezone.now() + timedelta(seconds=1))
    late = reverse("invited", args=[invitation_token(renewed)])
    for dead in (url, url.replace(str(made.pk), "9", 1), reverse("invited", args=["1.2:x"])):
        assert Client().post(dead, PASSWORD).status_code == 410
    MemberInvitation.objects.update(expires_at=timezone.now())
    assert Client().post(late, PASSWORD).status_code == 410
    daily_cleanup.clean_up(timezone.now() + timedelta(seconds=1))
    assert not MemberInvitation.objects.exists()
    assert not User.objects.filter(email=ADDRESS).exists()


def test_owners_see_and_withdraw_on_the_page_and_by_the_api(project, alice, url):
    client, api = signed_in(alice), Api(alice, project)
    assert ADDRESS in client.get(reverse("members", args=[project.pk])).content.decode()
    [row] = api("get", "member-invitations").json()["results"]
    assert (row["address"], row["role"]) == (ADDRESS, "manager")
    assert api("delete", "member-invitation", args=[row["id"]]).status_code == 204
    assert Client().get(url).status_code == 410
    add_member(project=project, actor=alice, address=ADDRESS, role="viewer", now=timezone.now())
    made = MemberInvitation.objects.get()
    assert made.expires_at - made.created_at == LIFETIME
    client.post(reverse("invitation-withdraw", args=[project.pk, made.pk]))
    assert not MemberInvitation.objects.exists()


def test_an_invitation_s_form_sent_twice_at_once_makes_one_account_and_signs_both_in(project, url):
    visitor, other = Client(), Client()
    first = Once(NAME_CHOSEN, "username", lambda: visitor.post(url, PASSWORD))
    with connection.execute_wrapper(first):
        answer = other.post(url, PASSWORD)
    assert first.done
    user = User.objects.get(email=ADDRESS)
    assert answer.status_code == 302
    assert {one.session["_auth_user_id"] for one in (visitor, other)} == {str(user.pk)}
    assert project.events.filter(verb="member joined").count() == 1


def test_who_sends_another_password_with_a_used_invitation_is_not_signed_in(url):
    others = dict.fromkeys(PASSWORD, "a secret of somebody else")
    visitor = Client()
    first = Once(NAME_CHOSEN, "username", lambda: Client().post(url, PASSWORD))
    with connection.execute_wrapper(first):
        assert visitor.post(url, others).status_code == 410
    assert first.done
    assert "_auth_user_id" not in visitor.session


@pytest.mark.django_db(transaction=True)  # a statement that fails ends the test's own
@pytest.mark.parametrize("by", ["sign-up", "invitation"])
def test_two_accounts_made_at_once_whose_addresses_begin_alike_are_told_apart(url, settings, by):
    settings.SIGNUP_OPEN = True
    given, others = PASSWORD | {"email": ADDRESS}, PASSWORD | {"email": "new@elsewhere.example"}
    if by == "sign-up":
        url = reverse("account_signup")
    first = Once(NAME_CHOSEN, "username", lambda: Client().post(reverse("account_signup"), others))
    with connection.execute_wrapper(first):
        assert Client().post(url, given).status_code == 409
    assert list(User.objects.filter(username="new").values_list("email", flat=True)) == ["new@elsewhere.example"]
    assert Client().post(url, given).status_code == 302
    assert User.objects.filter(email=ADDRESS).count() == 1


@pytest.mark.parametrize("is_confirmed", [True, False])
def test_a_switched_off_account_is_not_made_anew_by_an_invitation(url, charlie, is_confirmed):
    User.objects.filter(pk=charlie.pk).update(email=ADDRESS, is_active=False)
    if is_confirmed:
        EmailAddress.objects.create(user=charlie, email=ADDRESS, verified=True, primary=True)
    visitor = Client()
    for answer in (visitor.get(url), visitor.post(url, PASSWORD)):
        assert answer["Location"] == reverse("account_inactive")
    assert User.objects.filter(email=ADDRESS).count() == 1
    assert not Membership.objects.filter(user=charlie).exists()
