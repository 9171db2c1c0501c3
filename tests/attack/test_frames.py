"""Frames: no vote under /embed/ without a site that may show it; pages of refusal forbid frames as all others do."""

import pytest
from django.test import Client
from django.urls import reverse

from annotate.lti.frames import FRAME_KEY
from annotate.models import Annotator, Project
from annotate.participation.embedding.middleware import Ticket
from tests.conftest import make_annotator

pytestmark = pytest.mark.embedded
SITE = "https://www.example.org"


@pytest.mark.parametrize("ticket", ["forged", "new"])
def test_what_is_refused_may_not_be_framed(project, ticket):
    response = Client().get(f"/embed/{ticket}/projects/{project.pk}/label/")
    assert response.status_code == 404
    assert response["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in response["Content-Security-Policy"]


def test_a_redirect_may_be_framed_by_the_sites_alone(project):
    Project.objects.update(embed_origins=[SITE], language="en", languages=["fr"])
    ticket = Ticket(make_annotator(project, "Ada").key.hex)
    response = Client().get(f"/embed/{ticket}/projects/{project.pk}/label/?lang=fr")
    assert response.status_code == 302
    assert f"frame-ancestors {SITE}" in response["Content-Security-Policy"]


def test_without_a_site_there_is_no_vote_without_the_token_against_forgery(project):
    client = Client(enforce_csrf_checks=True)
    start = f"/embed/new{reverse('join', args=[project.join_token])}"
    ticket = Ticket(make_annotator(project, "Ada").key.hex)
    assert client.get(start).status_code == 404
    assert client.post(start, {"pseudonym": "Forged"}).status_code in (403, 404)
    assert client.get(f"/embed/{ticket}/projects/{project.pk}/label/").status_code == 404
    assert not Annotator.objects.filter(pseudonym="Forged").exists()
    Project.objects.update(embed_origins=[SITE])
    assert client.get(start).status_code == 200


def test_a_learning_platform_never_frames_the_pages_of_an_account(project, alice):
    learner = Client()
    for client in (learner, owner := Client()):
        session = client.session
        session[FRAME_KEY] = SITE
        session.save()
        client.cookies["sessionid"] = session.session_key
    response = learner.get(reverse("join", args=[project.join_token]))
    assert f"frame-ancestors {SITE}" in response["Content-Security-Policy"]
    owner.force_login(alice)
    assert owner.session[FRAME_KEY] == SITE
    response = owner.get(reverse("members", args=[project.pk]))
    assert response.status_code == 200
    assert response["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in response["Content-Security-Policy"]
