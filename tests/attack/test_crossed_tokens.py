"""Tokens in other hands: of a question, of an annotator, of an account, each alone and with somebody else's session.

Whoever is named by what is sent beside the token is who asks; a question of another's is not found.
"""

import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.access import SESSION_KEY
from annotate.labelling import assignment
from annotate.models import Annotator, Label, Membership, Presentation, Project, User
from tests.conftest import answer_one, make_annotator, make_token, make_user, member
from tests.site.pages import signed_in
from tests.site.test_access import as_it_was


@dataclass
class Asker:
    """Somebody as the site sees them: a browser's cookies and what a program says in its header."""

    client: Client = field(default_factory=Client)
    authorization: str = ""

    def post(self, name: str, token: str, body: dict[str, Any]) -> int:
        headers = {"Authorization": self.authorization} if self.authorization else {}
        kind = {"content_type": "application/json"} if name.startswith("api-") else {}
        return self.client.post(reverse(name, args=[token]), body, headers=headers, **kind).status_code


@dataclass
class Scene:
    project: Project
    joined: Annotator  # by the link, without an account
    other: Annotator  # likewise
    bob: Annotator  # with an account
    dora: Annotator  # with another
    elsewhere: Annotator  # of another project, by its link

    def open(self, annotator: Annotator) -> Presentation:
        return assignment.next_presentation(annotator=annotator, now=timezone.now(), rng=random.Random(1))


@pytest.fixture
def scene(project) -> Scene:
    other = Project.objects.create(name="Elsewhere", question="Which?", state="open")
    Project.objects.filter(pk=project.pk).update(known_button=True)
    source = Annotator.Source.ACCOUNT
    bob, dora = (
        make_annotator(project, name, user=member(project, name, "annotator"), source=source)
        for name in ("bob", "dora")
    )
    for user in (bob.user, dora.user):
        Membership.objects.create(project=other, user=user, role="owner")
    joined, second = make_annotator(project, "Quiet Otter"), make_annotator(project, "Loud Heron")
    return Scene(project, joined, second, bob, dora, make_annotator(other, "Stranger"))


def browser(*annotators: Annotator) -> Client:
    """A browser in which they take part."""
    client = Client()
    for one in annotators:
        if one.user:
            client = signed_in(one.user)
    session = client.session
    session[SESSION_KEY] = {str(one.project_id): str(one.key) for one in annotators if not one.user}
    session.save()
    return client


def as_annotator(annotator: Annotator) -> str:
    return f"Annotator {annotator.resume_token}"


def as_user(user: User, *scopes: str, **values: Any) -> str:
    return f"Bearer {make_token(user, *scopes, **values)[1]}"


def others(scene: Scene, owner: Annotator) -> dict[str, Asker]:
    """Everybody who is not the owner, in every way to say so; the owner's own session does not help their header."""
    own, second = browser(owner), scene.dora if owner == scene.bob else scene.other
    account = second.user or scene.dora.user
    away = Membership.objects.filter(user=account).exclude(project=scene.project).get().project
    found = {
        "another annotator's session": Asker(browser(scene.other)),
        "another account's session": Asker(browser(scene.dora)),
        "another annotator's secret": Asker(authorization=as_annotator(scene.other)),
        "another account's secret": Asker(authorization=as_user(scene.dora.user)),
        "the secret of another project's annotator": Asker(authorization=as_annotator(scene.elsewhere)),
        "an operator's secret": Asker(authorization=as_user(operator())),
        "another's secret in the owner's browser": Asker(own, as_annotator(scene.other)),
        "another account's secret in the owner's browser": Asker(own, as_user(scene.dora.user)),
        "a secret of another project alone": Asker(authorization=as_user(account, project=away)),
        "the token itself as a secret": Asker(authorization=f"Annotator {scene.open(owner).token}"),
        "another's session and another's account": Asker(browser(scene.dora, scene.other)),
    }
    if owner.user:
        found |= {
            "nobody": Asker(),
            "an annotator of another project": Asker(browser(scene.elsewhere)),
            "the owner's secret without the right to answer": Asker(authorization=as_user(owner.user, "read")),
            "the owner's secret for another project": Asker(authorization=as_user(owner.user, project=away)),
        }
    return found


def operator():
    user = make_user("operator")
    user.is_staff = user.is_superuser = True
    user.save()
    return user


WAYS = {
    "submit": {"answer": "a", "response_ms": "900"},
    "known": {"place": "1"},
    "api-answer": {"outcome": "choice", "chosen": 0},
    "api-known": {"place": 0},
}


@pytest.mark.slow
@pytest.mark.parametrize("whose", ["joined", "bob"])
def test_a_question_in_other_hands_is_not_found(scene, whose):
    owner: Annotator = getattr(scene, whose)
    presentation = scene.open(owner)
    wrong = []
    for who, asker in others(scene, owner).items():
        for name, body in WAYS.items():
            if asker.authorization and not name.startswith("api-"):
                continue  # pages don't read it
            with as_it_was(asker.client):
                status = asker.post(name, presentation.token, body)
                # A page asks whoever is not signed in to sign in; a program is told that its secret is none.
                if status not in (302, 401, 403, 404) or Label.objects.exists() or changed(presentation):
                    wrong.append(f"{name} by {who}: {status}")
    assert wrong == []


def changed(presentation: Presentation) -> bool:
    state = Presentation.objects.values("state").get(pk=presentation.pk)["state"]
    return bool(state != presentation.state)


@pytest.mark.parametrize("whose", ["joined", "bob"])
def test_the_owner_answers(scene, whose):
    """So that what is refused above is refused for who asks."""
    owner: Annotator = getattr(scene, whose)
    program = Asker(authorization=as_user(owner.user) if owner.user else as_annotator(owner))
    for asker, name in ((Asker(browser(owner)), "submit"), (program, "api-answer")):
        with as_it_was(asker.client):
            assert asker.post(name, scene.open(owner).token, WAYS[name]) in (200, 201, 302, 303)
            assert Label.objects.get().presentation.annotator == owner


def test_nobody_takes_anothers_answer_back(scene):
    label = answer_one(scene.bob, now=timezone.now())
    url = reverse("api-undo", args=[scene.project.pk])
    for authorization in (as_annotator(scene.other), as_user(scene.dora.user), as_user(operator())):
        sent = {"token": label.presentation.token}
        headers = {"Authorization": authorization}
        assert Client().post(url, sent, content_type="application/json", headers=headers).status_code in (403, 404, 409)
    for annotator in (scene.other, scene.dora):
        browser(annotator).post(reverse("undo", args=[scene.project.pk]), {"token": label.presentation.token})
    assert Label.objects.get().voided_at is None


def test_own_pages_show_the_asker_whatever_tokens_stand_in_the_address(scene):
    answer_one(scene.bob, now=timezone.now())
    url = reverse("own-answers", args=[scene.project.pk])
    for query in (f"?annotator={scene.bob.key}", f"?token={scene.bob.resume_token}", f"?user={scene.bob.user_id}"):
        html = browser(scene.other).get(url + query).content.decode()
        assert "bob" not in html
        assert "Text number" not in html
