"""The join link as a QR code, and invitations to many addresses with what became of each."""

import xml.etree.ElementTree as ElementTree

import pytest
from django.core import mail
from django.urls import reverse
from rest_framework.throttling import SimpleRateThrottle

from annotate.models import Event


@pytest.fixture
def owner(client, alice):
    client.force_login(alice, "allauth.account.auth_backends.AuthenticationBackend")
    return client


def test_the_code_is_an_svg_that_scales_without_script(owner, project):
    response = owner.get(reverse("qr-code", args=[project.pk]))
    assert response["Content-Type"] == "image/svg+xml"
    picture = ElementTree.fromstring(response.content)
    assert picture.tag.endswith("svg")
    assert {element.tag.split("}")[1] for element in picture.iter()} <= {"svg", "path", "g"}
    first = response.content
    project.join_token = "another-token"
    project.save()
    assert owner.get(reverse("qr-code", args=[project.pk])).content != first


def test_each_address_gets_a_message_of_its_own_once(owner, project):
    sent = {"addresses": "ann@example.org\n\n ben@example.org, \nANN@example.org", "words": "It takes ten minutes."}
    page = owner.post(reverse("share", args=[project.pk]), sent).content.decode()
    assert [message.to for message in mail.outbox] == [["ANN@example.org"], ["ben@example.org"]]
    for message in mail.outbox:
        assert project.join_token in message.body
        assert "It takes ten minutes." in message.body
    assert page.count("</bdi>: on its way") == 2
    assert Event.objects.get(verb="annotators invited").details == {"sent": 2}


@pytest.mark.parametrize(
    ("addresses", "told"),
    [
        ("", "required"),
        ("ann@example.org\nnobody", "“nobody” is not an e-mail address"),
        ("\n".join(f"p{i}@example.org" for i in range(101)), "These are 101 addresses; the limit is 100"),
    ],
)
def test_nothing_is_sent_if_the_list_is_wrong(owner, project, addresses, told):
    response = owner.post(reverse("share", args=[project.pk]), {"addresses": addresses})
    assert response.status_code == 400
    assert told in response.content.decode()
    assert not mail.outbox


def test_past_the_rate_each_address_is_told_as_not_sent(owner, project, monkeypatch):
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", {"invite-annotators": "2/day"})
    sent = {"addresses": "\n".join(f"p{i}@example.org" for i in range(3))}
    page = owner.post(reverse("share", args=[project.pk]), sent).content.decode()
    assert len(mail.outbox) == 2
    assert page.count("</bdi>: on its way") == 2
    assert page.count("not sent. Too many") == 1
