"""Every address and websocket, tried as everyone: generated from the URL table, so that no new route is forgotten."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookies import SimpleCookie
from io import BytesIO

import pytest
from django.core.cache import cache
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from PIL import Image

from annotate.access import SESSION_KEY
from annotate.accounts.invitations import invitation_token, invite_address
from annotate.labelling import assignment
from annotate.models import (
    Annotator,
    BulkExclusion,
    Captions,
    ConflictOfInterest,
    Deviation,
    EntryLink,
    ExpectedPerson,
    GoldSet,
    Idea,
    ImportJob,
    Item,
    ItemComment,
    ItemPage,
    LtiCourse,
    Membership,
    ParticipationRules,
    ResultsLink,
    RunRecord,
    Webhook,
)
from annotate.publishing.preregistration.actions import freeze_plan
from annotate.urls import websocket_urlpatterns
from tests.cases import each_case
from tests.conftest import NOW, answer_one, make_annotator, make_token, make_user, member
from tests.routes import OTHERS, ROUTES
from tests.site.factories import spread_fit
from tests.site.machines import make_machine
from tests.site.pages import signed_in
from tests.site.participation.lti_platform import lti_platform
from tests.site.recordings import wav
from tests.websockets import Visitor

pytestmark = pytest.mark.embedded

EVERYONE = {"anonymous", "outsider", "pseudonymous", "annotator", "viewer", "manager", "owner"}
SEE = {"viewer", "manager", "owner"}
MANAGE = {"manager", "owner"}
OWN = {"owner"}
ACCOUNTS = {"outsider", "annotator", "viewer", "manager", "owner"}
ANNOTATE = {"pseudonymous", "annotator", "manager", "owner"}
NOBODY: set[str] = set()

# Who may use each address by GET and by POST; None: the method is not allowed to anybody.
RULES = {
    "home": (EVERYONE, None),
    "help": (EVERYONE, None),
    "help-page": (EVERYONE, None),
    "tour": (EVERYONE, None),
    "make-example": (None, ACCOUNTS),
    "healthz": (EVERYONE, None),
    "metrics": (NOBODY, None),  # by a token of the settings
    "operations": (NOBODY, None),  # operators alone
    "set_language": (EVERYONE, EVERYONE),
    "join": (EVERYONE, EVERYONE),
    "short-address": (EVERYONE, None),
    "short-join": (EVERYONE, None),
    "resume": (EVERYONE, EVERYONE),
    "own-data": (EVERYONE, EVERYONE),
    "own-export": (EVERYONE, None),
    "account-data": (ACCOUNTS, None),
    "account-export": (ACCOUNTS, None),
    "account-erase": (ACCOUNTS, ACCOUNTS),
    "annotator-erase": (OWN, OWN),
    "retention": (MANAGE, MANAGE),
    "tokens": (ACCOUNTS, ACCOUNTS),
    "detail": (None, ACCOUNTS),
    "webhooks": (MANAGE, MANAGE),
    "webhook-change": (None, MANAGE),
    "token-revoke": (None, {"owner"}),
    "platform": (EVERYONE, EVERYONE),
    "consent": ({"pseudonymous", "annotator"}, {"pseudonymous", "annotator"}),
    "done": ({"pseudonymous", "annotator"}, {"pseudonymous", "annotator"}),
    "questionnaire": ({"pseudonymous", "annotator"}, {"pseudonymous", "annotator"}),
    "entry": (MANAGE, MANAGE),
    "share": (MANAGE, MANAGE),
    "qr-code": (MANAGE, None),
    "personal": (EVERYONE, EVERYONE),
    "expected-people": (MANAGE, MANAGE),
    "expected-send": (None, MANAGE),
    "expected-links": (OWN, None),
    "expected-conflicts": (None, MANAGE),
    "expected-remove": (None, MANAGE),
    "expected-course": (None, MANAGE),
    "participants": (MANAGE, MANAGE),
    "participants-csv": (MANAGE, None),
    "submit": (None, {"annotator"}),
    "item-media": (SEE, None),
    "item-page": (SEE, None),
    "item-captions": (SEE, None),
    "captions": (MANAGE, MANAGE),
    "label": (ANNOTATE, ANNOTATE),
    "known": (None, {"annotator"}),
    "undo": (None, {"pseudonymous", "annotator"}),
    "ahead": (None, {"pseudonymous", "annotator"}),
    "shortcuts": (None, {"pseudonymous", "annotator"}),
    "keys": ({"pseudonymous", "annotator"}, {"pseudonymous", "annotator"}),
    "own-ideas": ({"pseudonymous", "annotator"}, {"pseudonymous", "annotator"}),
    "ideas": (MANAGE, MANAGE),
    "idea-decide": (None, MANAGE),
    "settings-participants": (MANAGE, MANAGE),
    "enough": ({"pseudonymous", "annotator"}, None),
    "own-answers": ({"pseudonymous", "annotator"}, None),
    "project-create": (ACCOUNTS, ACCOUNTS),
    "setup": (MANAGE, None),
    "project-settings": (MANAGE, MANAGE),
    "settings-answers": (MANAGE, MANAGE),
    "settings-amount": (MANAGE, MANAGE),
    "settings-ranking": (MANAGE, MANAGE),
    "project-manage": (MANAGE, None),
    "quality": (MANAGE, MANAGE),
    "questions": (MANAGE, MANAGE),
    "questions-import": (MANAGE, MANAGE),
    "counts-import": (MANAGE, MANAGE),
    "features-measure": (None, MANAGE),
    "questions-order": (None, MANAGE),
    "known-sets": (MANAGE, MANAGE),
    "known-set-remove": (None, MANAGE),
    "known-set-new": (MANAGE, MANAGE),
    "known-set-change": (MANAGE, MANAGE),
    "never-shown": (MANAGE, MANAGE),
    "never-shown-remove": (None, MANAGE),
    "project-state": (None, MANAGE),
    "raise-overlap": (None, MANAGE),
    "project-archive": (None, MANAGE),
    "project-clone": (MANAGE, MANAGE),
    "project-delete": (OWN, OWN),
    "preview": (SEE, SEE),
    "items": (MANAGE, MANAGE),
    "items-import": (MANAGE, MANAGE),
    "log": (MANAGE, None),
    "log-export": (MANAGE, None),
    "features-import": (MANAGE, MANAGE),
    "annotators-import": (MANAGE, MANAGE),
    "comparisons-import": (MANAGE, MANAGE),
    "import-job": (MANAGE, MANAGE),
    "import-left-out": (MANAGE, None),
    "members": (OWN, OWN),
    "lti-login": (NOBODY, NOBODY),  # an unknown platform's
    "lti-launch": (None, EVERYONE),
    "lti-enter": (NOBODY, None),
    "lti-choose": (NOBODY, NOBODY),  # nothing without a platform's message
    "lti-place": (None, NOBODY),
    "lti-course": (NOBODY, NOBODY),
    "lti-keys": (EVERYONE, None),
    "openid_connect_login": (NOBODY, None),  # where the settings name no service
    "openid_connect_callback": (NOBODY, None),
    "socialaccount_login_cancelled": (EVERYONE, None),
    "invited": (EVERYONE, EVERYONE),
    "invitation-withdraw": (None, OWN),
    "member-change": (None, OWN),
    "results": (EVERYONE, None),
    "results-live": (EVERYONE, None),
    "embedding": (OWN, OWN),
    "languages": (MANAGE, MANAGE),
    "translation": (MANAGE, MANAGE),
    "results-card": (EVERYONE, None),
    "results-media": (EVERYONE, None),
    "results-methods": (EVERYONE, None),
    "entry-page": (EVERYONE, None),
    "comments": (MANAGE, None),
    "comments-release": (None, OWN),
    "comment-hide": (None, MANAGE),
    "entry-links-make": (None, OWN),
    "entry-links": (OWN, None),
    "entry-link-revoke": (None, OWN),
    "entry-link-print": (OWN, None),
    "methods": (SEE, None),
    "preregistration": (SEE, OWN),
    "preregistration-document": (SEE, None),
    "deviation-explain": (None, MANAGE),
    "results-links": (OWN, OWN),
    "results-link-live": (OWN, OWN),
    "results-link-revoke": (None, OWN),
    "ranking": (SEE, None),
    "item": (SEE, None),
    "overall": (SEE, None),
    "grades": (SEE, MANAGE),
    "scale": (SEE, MANAGE),
    "leaderboard": (SEE, MANAGE),
    "scale-export": (SEE, None),
    "trust": (SEE, None),
    "compare": (SEE, None),
    "estimator-use": (None, MANAGE),
    "progress": (SEE, None),
    "goal": (MANAGE, MANAGE),
    "policy": (MANAGE, MANAGE),
    "engine": (SEE, None),
    "annotators": (SEE, None),
    "annotator-tags": (MANAGE, MANAGE),
    "bulk-exclusion": (MANAGE, MANAGE),
    "bulk-exclusion-undo": (None, MANAGE),
    "annotator": (SEE, None),
    "tastes": (SEE, None),
    "machines": (SEE, OWN),
    "machines-count": (None, OWN),
    "machines-report": (None, MANAGE),
    "machine-change": (None, OWN),
    "cohorts": (SEE, None),
    "cohorts-compare": (None, MANAGE),
    "see-as": (MANAGE, MANAGE),
    "annotator-exclude": (None, MANAGE),
    "annotator-readmit": (None, MANAGE),
    "annotator-let-in": (None, MANAGE),
    "exports": (SEE, None),
    "export": (SEE, None),
    "report": (SEE, None),
    "record-ask": (None, MANAGE),
    "record": (SEE, None),
}


def test_every_route_has_a_rule():
    """Those of allauth and the admin are tried below as a whole."""
    assert {route.name for route in ROUTES} == set(RULES)
    assert OTHERS == {"accounts/", "admin/", "api/"}  # the API: test_api_access.py


@pytest.fixture
def cast(project, settings, tmp_path):
    """A client for each kind of visitor, and the arguments that every route is tried with."""
    settings.MEDIA_ROOT = tmp_path
    clients = {who: Client() for who in EVERYONE}
    clients["owner"] = signed_in(Membership.objects.get(project=project, role="owner").user)
    for who in ("manager", "annotator", "viewer"):
        clients[who] = signed_in(member(project, who, who))
    clients["outsider"] = signed_in(make_user("charlie"))
    pseudonymous = make_annotator(project, "Quiet Otter")
    session = clients["pseudonymous"].session
    session[SESSION_KEY] = {str(project.pk): str(pseudonymous.key)}
    session.save()
    return clients


@pytest.fixture
def arguments(project):
    user = Membership.objects.filter(project=project, role="annotator").first()
    bob = make_annotator(project, "Bob", user=user.user if user else None, source=Annotator.Source.ACCOUNT)
    entry = ParticipationRules.objects.create(project=project, platform=True)
    presentation = assignment.next_presentation(annotator=bob, now=timezone.now(), rng=random.Random(1))
    picture = BytesIO()
    Image.new("RGB", (8, 8), "teal").save(picture, "PNG")
    image = Item(project=project, key="picture", kind=Item.Kind.IMAGE, body="A teal square")
    image.media.save("picture.png", ContentFile(picture.getvalue()), save=True)
    ItemPage.objects.create(item=image, number=1, media=image.media.name)
    recording = Item(project=project, key="sound", kind=Item.Kind.AUDIO, body="A tone")
    recording.media.save("tone.wav", ContentFile(wav()), save=True)
    Captions.objects.create(item=recording, language="en", text="WEBVTT")
    target = make_annotator(project, "Target")
    someone = member(project, "someone", "viewer")
    spread_fit(project, list(project.items.order_by("pk")))
    expected = ExpectedPerson.objects.create(project=project, name="Judge 01", email="judge@example.org")
    link = ResultsLink.objects.create(project=project, made_at=NOW)
    link = ResultsLink.objects.create(project=project, made_at=NOW, shows_methods=True)
    said = make_annotator(project, "Commenter")
    comment = ItemComment.objects.create(label=answer_one(said, now=NOW), item=image, text="Well made")
    entry_link = EntryLink.objects.create(project=project, item=image, made_at=NOW)
    invitation = invite_address(project=project, address="new@example.org", role="viewer", now=timezone.now())
    return {
        "project_id": project.pk,
        "comment_id": comment.pk,
        "entry_link_id": entry_link.pk,
        "link_id": link.pk,
        "name": "using",
        "item_id": image.pk,
        "number": 1,
        "key": target.key,
        "machine_key": make_machine(project).annotator.key,
        "person_id": expected.pk,
        "course_id": LtiCourse.objects.create(project=project, platform=lti_platform(), memberships_url="-").pk,
        "invitation_id": invitation.pk,
        "provider_id": "oidc",
        "exclusion_id": BulkExclusion.objects.create(
            project=project, by="tag", value="novices", n_labels=0, n_annotators=0, at=NOW
        ).pk,
        "token_id": make_token(Membership.objects.get(project=project, role="owner").user)[0].pk,
        "entry_id": ConflictOfInterest.objects.create(annotator=target, item=image).pk,
        "idea_id": Idea.objects.create(project=project, annotator=target, text="A new one", created_at=NOW).pk,
        "known_id": GoldSet.objects.create(
            project=project, purpose="gold", item_set=presentation.item_set, outcome="tie"
        ).pk,
        "webhook_id": Webhook.objects.create(project=project, url="https://example.org/hook", created_at=NOW).pk,
        "deviation_id": frozen_and_changed(project).pk,
        "membership_id": Membership.objects.get(user=someone).pk,
        "table": "labels",
        "file_format": "csv",
        "job_id": left_out(project).pk,
        "language": translated_into(project),
        "record_id": RunRecord.objects.create(project=project, status="ready", asked_at=timezone.now()).pk,
        "recording": recording.pk,
        "code": with_short_address(project),
    }, {
        "join": project.join_token,
        "resume": target.resume_token,
        "personal": expected.token,
        "own-data": target.resume_token,
        "own-export": target.resume_token,
        "submit": presentation.token,
        "known": presentation.token,
        "results": link.token,
        "entry-page": entry_link.token,
        "results-live": link.token,
        "results-card": link.token,
        "lti-enter": "none",
        "lti-choose": "none",
        "lti-place": "none",
        "lti-course": "none",
        "invited": invitation_token(invitation),
        "results-media": link.token,
        "results-methods": link.token,
        "platform": entry.platform_token,
    }


def frozen_and_changed(project) -> Deviation:
    owner = Membership.objects.get(project=project, role="owner").user
    freeze_plan(project=project, actor=owner, statements={}, now=NOW)
    return Deviation.objects.create(project=project, field="cap", before=None, after=5, n_labels=0, at=NOW)


def translated_into(project) -> str:
    type(project).objects.filter(pk=project.pk).update(language="en", languages=["fr"])
    return "fr"


def with_short_address(project) -> str:
    type(project).objects.filter(pk=project.pk).update(join_code="abcdefg")
    return "abcdefg"


def left_out(project) -> ImportJob:
    default_storage.save("import-jobs/a/left-out.csv", ContentFile(b"row,problem\n"))
    values = {"kind": "items", "source": "items.csv", "folder": "import-jobs/a", "n_bad": 1, "state": "done"}
    return ImportJob.objects.create(project=project, asked_at=NOW, **values)


def address(name, arguments):
    common, tokens = arguments
    pattern = next(route for route in ROUTES if route.name == name).pattern
    values = {key: value for key, value in common.items() if key in pattern.converters}
    if name.startswith("entry-link-"):
        values["link_id"] = common["entry_link_id"]
    if "captions" in name:
        values["item_id"] = common["recording"]
    if "token" in pattern.converters:
        values["token"] = tokens[name]
    return reverse(name, kwargs=values)


def denied(response) -> bool:
    if response.status_code in (301, 302, 303):
        return reverse("account_login") in response["Location"]
    return response.status_code in (401, 403, 404)


# The cast and what they are shown are made once for so many addresses, which takes as long as trying an address.
TOGETHER = [sorted(RULES)[i : i + 18] for i in range(0, len(RULES), 18)]


@pytest.mark.slow
@pytest.mark.parametrize("names", TOGETHER, ids=lambda names: f"{names[0]} to {names[-1]}")
def test_only_those_who_may(cast, arguments, project, names):
    with each_case() as case:
        for name in names:
            with case(name):
                url = address(name, arguments)
                for who in sorted(EVERYONE):
                    with as_it_was(cast[who]):
                        for method, allowed in zip(("get", "post"), RULES[name], strict=True):
                            response = getattr(cast[who], method)(url)
                            check(response, allowed, who, f"{method} {url}", project.name)


@contextmanager
def as_it_was(client: Client | None) -> Iterator[None]:
    """What one does must not change what the next one finds: neither rows nor sessions nor what was counted."""
    cookies = SimpleCookie(client.cookies) if client else None
    try:
        with transaction.atomic():
            yield
            transaction.set_rollback(True)
    finally:
        if client:
            client.cookies = cookies
        cache.clear()


def check(response, allowed: set[str] | None, who: str, request: str, secret: str) -> None:
    status = response.status_code
    assert status < 500 or (status == 503 and "healthz" in request), f"{request} failed for {who}"
    if allowed is None:
        assert status == 405 or denied(response), f"{request} is not a thing to do, but {who} got {status}"
    elif who in allowed:
        assert not denied(response), f"{who} may {request} but got {status}"
    else:
        assert denied(response), f"{who} got {status} from {request}"
        assert secret not in response.content.decode()


@pytest.mark.parametrize("who", sorted(EVERYONE))
def test_admin_is_for_operators(cast, who):
    for url in ("/admin/", "/admin/annotate/project/", "/admin/annotate/label/", "/admin/models_engine/fit/"):
        response = cast[who].get(url)
        assert response.status_code == 302
        assert "/admin/login/" in response["Location"]


@pytest.mark.parametrize("name", ["account_login", "account_signup", "account_reset_password", "account_logout"])
def test_account_pages_answer_strangers(cast, name):
    assert cast["anonymous"].get(reverse(name)).status_code in (200, 302)


def test_sign_up_is_closed_unless_opened(client, db):
    before = client.get(reverse("account_signup"))
    assert b'type="password"' not in before.content


def test_a_forged_token_finds_nothing(cast):
    for name in ("join", "resume"):
        assert cast["anonymous"].get(reverse(name, args=["A" * 22])).status_code == 404
    assert cast["anonymous"].post(reverse("submit", args=["A" * 22])).status_code == 404


@pytest.mark.slow
def test_state_changes_need_the_csrf_token(cast, arguments):
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = cast["owner"].cookies
    others = {"lti-launch", "lti-place"}  # comes from another site, with a signed message and no session
    for name in sorted({name for name, (_, post) in RULES.items() if post} - others):
        assert strict.post(address(name, arguments)).status_code == 403, name


def test_every_websocket_has_a_rule():
    assert {entry.name for entry in websocket_urlpatterns} == {"ws-project"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("who", sorted(EVERYONE))
def test_only_those_who_may_watch(cast, project, who):
    cookies = {name: morsel.value for name, morsel in cast[who].cookies.items()}

    async def connects(origin: str) -> bool:
        visitor = Visitor(f"/ws/projects/{project.pk}/", cookies=cookies, origin=origin)
        connected = await visitor.connect()
        if connected:
            await visitor.disconnect()
        return connected

    async def both() -> tuple[bool, bool]:
        return await connects("http://localhost"), await connects("http://evil.example")

    own, foreign = asyncio.run(both())
    assert own == (who in SEE)
    assert not foreign
