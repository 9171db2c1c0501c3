"""Who belongs to a project: adding, changing roles, removing; an owner always remains, and nobody raises themselves."""

import pytest
from django.core import mail
from django.urls import reverse
from rest_framework.throttling import SimpleRateThrottle

from annotate.accounts.invitations import invitation_token
from annotate.models import Event, Membership, User
from annotate.projects.members import actions
from tests.conftest import NOW, answer_one, make_annotator, make_user, member

LOGIN = "allauth.account.auth_backends.AuthenticationBackend"


@pytest.fixture
def owner(client, alice):
    client.force_login(alice, LOGIN)
    return client


@pytest.fixture
def url(project):
    return reverse("members", args=[project.pk])


def change_url(membership):
    return reverse("member-change", args=[membership.project_id, membership.pk])


def of(user):
    return Membership.objects.get(user=user)


def test_an_account_is_added_and_told(owner, project, url, charlie):
    page = owner.post(url, {"address": "Charlie@Example.org", "role": "viewer"}, follow=True)
    assert of(charlie).role == "viewer"
    assert "charlie@example.org" in page.content.decode()
    (message,) = mail.outbox
    assert message.to == ["Charlie@Example.org"]
    assert message.reply_to == ["alice@example.org"]
    assert f"http://testserver{reverse('ranking', args=[project.pk])}" in message.body
    assert "Your role: Viewer" in message.body
    assert Event.objects.get().details == {"member": "charlie@example.org", "role": "viewer"}


def test_an_annotator_is_sent_to_the_task(owner, project, url, charlie):
    owner.post(url, {"address": "charlie@example.org", "role": "annotator"})
    assert reverse("label", args=[project.pk]) in mail.outbox[0].body


def test_without_an_account_a_message_goes_out_and_nobody_becomes_a_member(owner, project, url):
    owner.post(url, {"address": "stranger@example.org", "role": "manager"})
    assert project.memberships.count() == 1
    (message,) = mail.outbox
    assert "There is no account for this e-mail address yet" in message.body
    token = invitation_token(project.invitations.get())
    assert f"http://testserver{reverse('invited', args=[token])}" in message.body
    assert str(project.pk) not in message.body
    assert Event.objects.get().verb == "member invited"


def test_what_is_said_does_not_tell_whether_there_is_an_account(owner, url, charlie):
    told = []
    for address in ("charlie@example.org", "stranger@example.org"):
        response = owner.post(url, {"address": address, "role": "viewer"}, follow=True)
        told.append([str(message).replace(address, "X") for message in response.context["messages"]])
    assert told[0] == told[1]
    assert told[0]


def test_an_inactive_account_is_none(owner, project, url, charlie):
    User.objects.filter(pk=charlie.pk).update(is_active=False)
    owner.post(url, {"address": "charlie@example.org", "role": "viewer"})
    assert project.memberships.count() == 1


def test_sent_twice_one_membership_and_one_message(owner, project, url, charlie):
    owner.post(url, {"address": "charlie@example.org", "role": "viewer"})
    page = owner.post(url, {"address": "charlie@example.org", "role": "owner"}, follow=True)
    assert "is a member already" in page.content.decode()
    assert of(charlie).role == "viewer"
    assert len(mail.outbox) == 1


@pytest.mark.parametrize(
    ("address", "role", "message"),
    [
        ("", "viewer", "required"),
        ("nobody", "viewer", "valid email"),
        ("a@example.org\nBcc: b@example.org", "viewer", "valid email"),
        ("charlie@example.org", "king", "king is not one of the available choices"),
        ("charlie@example.org", "", "required"),
    ],
)
def test_bad_input_adds_nobody(owner, project, url, charlie, address, role, message):
    response = owner.post(url, {"address": address, "role": role})
    assert response.status_code == 400
    assert message in response.content.decode()
    assert project.memberships.count() == 1
    assert not mail.outbox


def test_a_project_name_with_newlines_forges_no_header(owner, project, url, charlie):
    project.name = "Win\nBcc: everybody@example.org"
    project.save()
    owner.post(url, {"address": "charlie@example.org", "role": "viewer"})
    assert "everybody" not in str(mail.outbox[0].message()["Subject"])
    assert mail.outbox[0].recipients() == ["charlie@example.org"]


def test_invitations_are_limited(owner, url, monkeypatch):
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", {"invite": "3/day"})
    for i in range(3):
        owner.post(url, {"address": f"somebody{i}@example.org", "role": "viewer"})
    assert len(mail.outbox) == 3
    assert owner.post(url, {"address": "one-more@example.org", "role": "viewer"}).status_code == 429
    assert len(mail.outbox) == 3


def test_mail_that_cannot_be_sent_is_told(owner, project, url, charlie, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", 9, 1
    page = owner.post(url, {"address": "charlie@example.org", "role": "viewer"}, follow=True).content.decode()
    assert "could not be sent" in page
    assert of(charlie).role == "viewer"


def test_a_role_is_changed(owner, project, url, bob):
    page = owner.post(change_url(of(bob)), {"role": "manager"}, follow=True)
    assert "bob@example.org: Manager from now on" in page.content.decode()
    assert of(bob).role == "manager"
    assert Event.objects.get().details == {"member": "bob@example.org", "role": ["annotator", "manager"]}
    owner.post(change_url(of(bob)), {"role": "manager"})
    assert Event.objects.count() == 1


def test_a_member_is_removed_and_their_labels_stay(owner, project, bob):
    answer_one(make_annotator(project, "Bob", user=bob, source="account"))
    membership = of(bob)
    owner.post(change_url(membership), {"remove": "1"})
    assert not Membership.objects.filter(user=bob).exists()
    assert project.labels.count() == 1
    assert owner.post(change_url(membership), {"remove": "1"}).status_code == 404
    assert Event.objects.filter(verb="member removed").count() == 1


@pytest.mark.parametrize("data", [{"remove": "1"}, {"role": "manager"}, {"role": "viewer"}])
def test_the_last_owner_stays(owner, project, alice, data):
    page = owner.post(change_url(of(alice)), data, follow=True).content.decode()
    assert "A project needs an owner" in page
    assert of(alice).role == "owner"


def test_an_owner_may_leave_another(owner, project, alice):
    member(project, "dora", "owner")
    response = owner.post(change_url(of(alice)), {"remove": "1"})
    assert response["Location"] == "/"
    assert not Membership.objects.filter(user=alice).exists()


def test_two_owners_cannot_remove_each_other(project, alice):
    """The second comes too late: by then its actor is no member any more."""
    dora = member(project, "dora", "owner")
    both = of(alice), of(dora)
    actions.remove_member(membership=both[1], actor=alice, now=NOW)
    with pytest.raises(actions.OwnersOnly):
        actions.remove_member(membership=both[0], actor=dora, now=NOW)
    assert project.memberships.filter(role="owner").count() == 1


@pytest.mark.parametrize("role", ["", "king"])
def test_a_role_there_is_none_changes_nothing(owner, project, bob, role):
    page = owner.post(change_url(of(bob)), {"role": role}, follow=True).content.decode()
    assert "not a role" in page
    assert of(bob).role == "annotator"


def test_managers_raise_nobody_not_even_themselves(client, project, url, manuel, bob, charlie):
    client.force_login(manuel, LOGIN)
    for address, data in (
        (url, {"address": "charlie@example.org", "role": "owner"}),
        (change_url(of(manuel)), {"role": "owner"}),
        (change_url(of(bob)), {"role": "owner"}),
        (change_url(of(bob)), {"remove": "1"}),
    ):
        assert client.post(address, data).status_code == 403
    assert of(manuel).role == "manager"
    assert of(bob).role == "annotator"
    with pytest.raises(actions.OwnersOnly):
        actions.change_role(membership=of(manuel), actor=manuel, role="owner", now=NOW)
    with pytest.raises(actions.OwnersOnly):
        actions.add_member(project=project, actor=manuel, address="charlie@example.org", role="viewer", now=NOW)


def test_who_may_see_the_members(client, project, url, manuel, vera, bob, charlie):
    for user, status in ((manuel, 403), (vera, 403), (bob, 403), (charlie, 404)):
        client.force_login(user, LOGIN)
        assert client.get(url).status_code == status
        assert client.post(change_url(of(vera)), {"role": "viewer"}).status_code == status
    client.logout()
    assert client.get(url).status_code == 302


def test_a_member_of_another_project_is_not_found(owner, project, charlie):
    other = type(project).objects.create(name="Other", question="?")
    membership = Membership.objects.create(project=other, user=charlie, role="viewer")
    response = owner.post(reverse("member-change", args=[project.pk, membership.pk]), {"role": "owner"})
    assert response.status_code == 404


@pytest.mark.parametrize("n", [10, 120])
def test_queries_do_not_grow_with_members(owner, project, url, n, django_assert_num_queries):
    for i in range(n):
        Membership.objects.create(project=project, user=make_user(f"user{i}"), role="viewer")
    with django_assert_num_queries(7):
        owner.get(url)
