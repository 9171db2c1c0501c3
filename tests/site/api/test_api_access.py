"""Every address of the API, tried as everyone and with every kind of token: generated from the URL table."""

import io
import random
import re
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.accounts.actions import revoke_token
from annotate.api.schema import METHODS, schema
from annotate.api_urls import urlpatterns
from annotate.labelling import assignment
from annotate.models import (
    Annotator,
    BulkExclusion,
    CohortComparison,
    ConflictOfInterest,
    Deviation,
    EntryLink,
    ExpectedPerson,
    GoldSet,
    Idea,
    ImportJob,
    ItemComment,
    LtiCourse,
    Machine,
    MachineReport,
    MemberInvitation,
    Membership,
    Preregistration,
    Project,
    ResultsLink,
    Retention,
    RunRecord,
    TasteMap,
    Webhook,
)
from annotate.publishing.preregistration.actions import freeze_plan
from tests.cases import each_case
from tests.conftest import answer_one, make_annotator, make_token, make_user, member
from tests.site.dashboard.test_fits import arrays
from tests.site.factories import spread_fit
from tests.site.machines import let_judge, make_machine
from tests.site.pages import BACKEND
from tests.site.participation.lti_platform import lti_platform
from tests.site.test_access import as_it_was

pytestmark = pytest.mark.embedded

ROLES = ["outsider", "annotator", "viewer", "manager", "owner"]
SEE, MANAGE, OWN = {"viewer", "manager", "owner"}, {"manager", "owner"}, {"owner"}
ALL, ANNOTATE = set(ROLES), {"annotator", "manager", "owner"}
READ, WRITE, ASK = "read", "write", "annotate"
SOON = timezone.now() + timedelta(days=1)
NAME = "Convincing arguments"
DROPS = Retention.Drops.values[0]

# For each address and method: the scope that a token needs, who may, and what is sent.
RULES = {
    "api-projects": {"get": (READ, ALL, None), "post": (WRITE, ALL, {"name": "New", "question": "Which?"})},
    "api-project": {
        "get": (READ, SEE, None),
        "patch": (WRITE, MANAGE, {"overlap": 4}),
        "delete": (WRITE, OWN, None),
    },
    "api-project-state": {"post": (WRITE, MANAGE, {"state": "paused"})},
    "api-project-archive": {"post": (WRITE, MANAGE, {"archived": True})},
    "api-project-clone": {"post": (WRITE, MANAGE, {"name": "Second round"})},
    "api-log": {"get": (READ, MANAGE, None)},
    "api-retention": {"get": (READ, MANAGE, None), "put": (WRITE, MANAGE, {"days": 90, "drops": DROPS})},
    "api-annotator-erase": {"post": (WRITE, OWN, {"pseudonym": "Target"})},
    "api-annotator-data": {"get": (READ, OWN, None)},
    "api-annotator-ranking": {"get": (READ, SEE, None)},
    "api-annotator-tags": {
        "get": (READ, SEE, None),
        "post": (WRITE, MANAGE, {"action": "tag", "rows": [{"annotator": "Target", "tags": ["experts"]}]}),
    },
    "api-leaderboard": {"get": (READ, SEE, None), "patch": (WRITE, MANAGE, {"style_features": ["length"]})},
    "api-overall": {"get": (READ, SEE, None)},
    "api-scale": {
        "get": (READ, SEE, None),
        "put": (WRITE, MANAGE, None),
        "delete": (WRITE, MANAGE, None),
    },
    "api-grades": {
        "get": (READ, SEE, None),
        "put": (WRITE, MANAGE, {"by": "score", "grades": [{"name": "Pass", "limit": 50}, {"name": "Fail"}]}),
        "delete": (WRITE, MANAGE, None),
    },
    "api-goal": {
        "get": (READ, SEE, None),
        "patch": (WRITE, MANAGE, {"goal": "comparisons", "goal_comparisons": 30}),
        "delete": (WRITE, MANAGE, None),
    },
    "api-policy": {
        "get": (READ, SEE, None),
        "patch": (WRITE, MANAGE, {"policy": "whole"}),
    },
    "api-embedding": {
        "get": (READ, OWN, None),
        "put": (WRITE, OWN, {"origins": ["https://example.org"]}),
    },
    "api-languages": {
        "get": (READ, SEE, None),
        "patch": (WRITE, MANAGE, {"language": "en", "languages": ["de", "fr"]}),
    },
    "api-translation": {"patch": (WRITE, MANAGE, {"question": "Lequel ?"})},
    "api-machines": {
        "get": (READ, SEE, None),
        "post": (WRITE, OWN, {"name": "Second judge", "program": "a model"}),
    },
    "api-machines-counting": {"put": (WRITE, OWN, {"count_machines": True})},
    "api-machines-report": {"get": (READ, SEE, None), "post": (WRITE, MANAGE, {})},
    "api-machine": {"patch": (WRITE, OWN, {"excluded": True}), "delete": (WRITE, OWN, None)},
    "api-machine-sets": {"get": (READ, MANAGE, None)},
    "api-machine-answers": {"post": (WRITE, MANAGE, {"rows": [{"items": ["item-0", "item-1"], "chosen": 0}]})},
    "api-tastes": {"get": (READ, SEE, None)},
    "api-cohorts": {
        "get": (READ, SEE, None),
        "post": (WRITE, MANAGE, {"by": "source", "first": "account", "second": "link"}),
    },
    "api-cohorts-row": {"get": (READ, SEE, None)},
    "api-import": {"get": (READ, MANAGE, None)},
    "api-import-go-on": {"post": (WRITE, MANAGE, {})},
    "api-import-stop": {"post": (WRITE, MANAGE, {})},
    "api-preview": {"get": (READ, SEE, None)},
    "api-entry": {"get": (READ, MANAGE, None), "patch": (WRITE, MANAGE, {"places": 40})},
    "api-platform-link": {"post": (WRITE, MANAGE, {})},
    "api-short-address": {"post": (WRITE, MANAGE, {}), "delete": (WRITE, MANAGE, None)},
    "api-join-link": {"post": (WRITE, MANAGE, {})},
    "api-invitations": {"post": (WRITE, MANAGE, {"addresses": ["x@example.org"]})},
    "api-participants": {"get": (READ, MANAGE, None)},
    "api-codes": {"post": (WRITE, MANAGE, {"code": "ABC"})},
    "api-questionnaire": {
        "get": (READ, MANAGE, None),
        "put": (WRITE, MANAGE, {"questions": [{"label": "Age", "kind": "number"}]}),
    },
    "api-known-sets": {
        "get": (READ, MANAGE, None),
        "post": (
            WRITE,
            MANAGE,
            {"sets": [{"purpose": "gold", "items": ["item-0", "item-1"], "answer": "item-0"}]},
        ),
    },
    "api-known-set": {"delete": (WRITE, MANAGE, None)},
    "api-never-shown": {
        "get": (READ, MANAGE, None),
        "post": (WRITE, MANAGE, {"rows": [{"annotator": "Target", "item": "item-1"}]}),
    },
    "api-given-questions": {
        "get": (READ, MANAGE, None),
        "post": (WRITE, MANAGE, {"questions": [{"items": ["item-0", "item-1"]}]}),
        "patch": (WRITE, MANAGE, {"numbers": [1], "priority": 2}),
    },
    "api-given-questions-withdraw": {"post": (WRITE, MANAGE, {})},
    "api-given-questions-order": {"get": (READ, MANAGE, None), "put": (WRITE, MANAGE, {"order": "in_order"})},
    "api-roster": {
        "get": (READ, MANAGE, None),
        "post": (WRITE, MANAGE, {"rows": [{"name": "Judge 02"}]}),
    },
    "api-roster-courses": {"get": (READ, MANAGE, None)},
    "api-roster-course": {"post": (WRITE, MANAGE, None), "delete": (WRITE, MANAGE, None)},
    "api-roster-row": {"delete": (WRITE, MANAGE, None)},
    "api-roster-invitations": {"post": (WRITE, MANAGE, {})},
    "api-never-shown-row": {"delete": (WRITE, MANAGE, None)},
    "api-item-figures": {"get": (READ, SEE, None)},
    "api-annotator-let-in": {"post": (WRITE, MANAGE, {})},
    "api-fits-compare": {"get": (READ, SEE, None)},
    "api-models": {"get": (READ, SEE, None), "post": (WRITE, MANAGE, {})},
    "api-trust": {"get": (READ, SEE, None)},
    "api-report": {"get": (READ, SEE, None)},
    "api-methods": {"get": (READ, SEE, None)},
    "api-preregistration": {"get": (READ, SEE, None), "post": (WRITE, OWN, {"stopping_rule": "600 answers"})},
    "api-deviations": {"get": (READ, SEE, None)},
    "api-deviation": {"patch": (WRITE, MANAGE, {"reason": "Too few came"})},
    "api-records": {"get": (READ, SEE, None), "post": (WRITE, MANAGE, {})},
    "api-record": {"get": (READ, SEE, None)},
    "api-record-download": {"get": (READ, SEE, None)},
    "api-consent": {"get": (ASK, {"annotator"}, None), "post": (ASK, {"annotator"}, {"version": "x"})},
    "api-questions": {"get": (ASK, {"annotator"}, None)},
    "api-answers": {"get": (ASK, {"annotator"}, None)},
    "api-own-result": {"get": (ASK, {"annotator"}, None)},
    "api-own-ideas": {"get": (ASK, {"annotator"}, None), "post": (ASK, {"annotator"}, {"text": "More trees"})},
    "api-similar-items": {"post": (ASK, {"annotator"}, {"text": "More trees"})},
    "api-ideas": {"get": (READ, MANAGE, None), "post": (WRITE, MANAGE, {"ideas": [1]})},
    "api-idea-approve": {"post": (WRITE, MANAGE, {})},
    "api-idea-merge": {"post": (WRITE, MANAGE, {"item": "item-0"})},
    "api-idea-refuse": {"post": (WRITE, MANAGE, {"reason": "Off topic"})},
    "api-items": {"get": (READ, SEE, None), "post": (WRITE, MANAGE, {"items": [{"text": "A new text"}]})},
    "api-item": {
        "get": (READ, SEE, None),
        "patch": (WRITE, MANAGE, {"retired": True}),
        "delete": (WRITE, MANAGE, None),
    },
    "api-members": {"get": (READ, OWN, None), "post": (WRITE, OWN, {"address": "x@example.org", "role": "viewer"})},
    "api-member-invitations": {"get": (READ, OWN, None)},
    "api-member-invitation": {"delete": (WRITE, OWN, None)},
    "api-member": {"put": (WRITE, OWN, {"role": "manager"}), "delete": (WRITE, OWN, None)},
    "api-annotators": {"get": (READ, SEE, None)},
    "api-annotator": {"get": (READ, SEE, None)},
    "api-annotator-exclude": {"post": (WRITE, MANAGE, {"reason": "Too fast"})},
    "api-bulk-exclusions": {
        "get": (READ, MANAGE, None),
        "post": (WRITE, MANAGE, {"by": "span", "since": "2000-01-01T00:00Z", "until": "2100-01-01T00:00Z"}),
    },
    "api-bulk-exclusion-undo": {"post": (WRITE, MANAGE, {})},
    "api-annotator-readmit": {"post": (WRITE, MANAGE, {})},
    "api-labels": {"get": (READ, SEE, None)},
    "api-ranking": {"get": (READ, SEE, None)},
    "api-ranking-pair": {"get": (READ, SEE, None)},
    "api-fits": {"get": (READ, SEE, None)},
    "api-progress": {"get": (READ, SEE, None)},
    "api-comments": {"get": (READ, MANAGE, None)},
    "api-comment": {"patch": (WRITE, MANAGE, {"hidden": True})},
    "api-comments-release": {"post": (WRITE, OWN, {"released": True})},
    "api-entry-links": {"get": (READ, OWN, None), "post": (WRITE, OWN, {})},
    "api-entry-link": {"delete": (WRITE, OWN, None)},
    "api-results-links": {"get": (READ, OWN, None), "post": (WRITE, OWN, {})},
    "api-results-link": {"delete": (WRITE, OWN, None), "patch": (WRITE, OWN, {"revealed": False})},
    "api-exports": {"get": (READ, SEE, None)},
    "api-export": {"get": (READ, SEE, None)},
    "api-webhooks": {
        "get": (READ, MANAGE, None),
        "post": (WRITE, MANAGE, {"url": "https://example.org/", "events": ["fit.published"]}),
    },
    "api-webhook-deliveries": {"get": (READ, MANAGE, None)},
    "api-webhook": {"put": (WRITE, MANAGE, {"active": False}), "delete": (WRITE, MANAGE, None)},
    "api-webhook-secret": {"post": (WRITE, MANAGE, {})},
    "api-webhook-test": {"post": (WRITE, MANAGE, {})},
    "api-oneself": {"post": (ASK, ANNOTATE, {"pseudonym": "Brave Newt"})},
    "api-next": {"post": (ASK, {"annotator"}, {})},
    "api-known": {"post": (ASK, {"annotator"}, {"place": 0})},
    "api-undo": {"post": (ASK, {"annotator"}, {"token": "x"})},
    "api-answer": {"post": (ASK, {"annotator"}, {"outcome": "choice", "chosen": 0})},
}
# Open to strangers, or with rules of their own, tried one by one below and in test_api_annotating.py.
OTHERS = {
    "api-reference",
    "api-schema",
    "api-join",
    "api-send-link",
    "api-nowhere",
    "api-item-media",
    "api-item-page",
    "api-item-files",
    "api-finish",
}
OTHERS |= {"api-join-personally", "api-item-captions", "api-imports", "api-import-left-out", "api-features-measure"}
OTHERS |= {"api-results", "api-results-methods", "api-entry-page"}
# What a joined annotator may ask with the secret of joining.
OF_ANNOTATORS = {
    "api-next",
    "api-consent",
    "api-questions",
    "api-answers",
    "api-own-ideas",
    "api-own-result",
    "api-similar-items",
}
MAKING = {("api-projects", "post"), ("api-project-clone", "post")}  # not by a token for one project
QUERIES = {("api-project", "delete"): f"?name={NAME}", ("api-fits-compare", "get"): "?first=1&second=2"}
QUERIES[("api-ranking-pair", "get")] = "?above=item-0&below=item-1"


def test_every_route_has_a_rule():
    assert {entry.name for entry in urlpatterns} == set(RULES) | OTHERS


@pytest.fixture
def people(project):
    users = {who: member(project, who, who) for who in ("annotator", "viewer", "manager")}
    owner = Membership.objects.get(project=project, role="owner").user
    return users | {"owner": owner, "outsider": make_user("charlie")}


@pytest.fixture
def arguments(project, people):
    bob = make_annotator(project, "Bob", user=people["annotator"], source=Annotator.Source.ACCOUNT)
    answered = answer_one(bob, now=timezone.now())
    presentation = assignment.next_presentation(annotator=bob, now=timezone.now(), rng=random.Random(1))
    target = make_annotator(project, "Target")
    Project.objects.filter(pk=project.pk).update(
        ideas_open=True,
        goal="top",
        grades_by="score",
        grades=[{"name": "Old", "limit": 40.0}, {"name": "Rest", "limit": None}],
    )
    unseen = project.items.exclude(presented__isnull=False).first()
    known = GoldSet.objects.create(project=project, purpose="gold", item_set=presentation.item_set, outcome="tie")
    items = list(project.items.order_by("pk"))
    TasteMap.objects.create(
        project=project, fit_number=1, estimator="X", made_at=timezone.now(), arrays=no_tastes(items)
    )
    for _fit in range(2):
        spread_fit(project, items, arrays=arrays(items, [2.0, 1.0, 0.0, -1.0, -2.0, -3.0], 0.3))
    return {
        "project_id": project.pk,
        "item_id": unseen.pk,
        "member_id": Membership.objects.get(project=project, user=people["viewer"]).pk,
        "key": target.key,
        "machine_key": judged(project).annotator.key,
        "language": "de",
        "webhook_id": Webhook.objects.create(project=project, url="https://example.org/", created_at=timezone.now()).pk,
        "translated": Project.objects.filter(pk=project.pk).update(language="en", languages=["de"]),
        "invitation_id": MemberInvitation.objects.create(
            project=project, address="new@example.org", role="viewer", created_at=timezone.now(), expires_at=SOON
        ).pk,
        "exclusion_id": BulkExclusion.objects.create(
            project=project, by="tag", value="novices", n_labels=0, n_annotators=0, at=timezone.now()
        ).pk,
        "link_id": ResultsLink.objects.create(project=project, made_at=timezone.now()).pk,
        "entry_link_id": EntryLink.objects.create(project=project, item=unseen, made_at=timezone.now()).pk,
        "comment_id": ItemComment.objects.create(label=answered, item=unseen, text="Well made").pk,
        "table": "labels",
        "file_format": "csv",
        "known_id": known.pk,
        "entry_id": ConflictOfInterest.objects.create(annotator=target, item=unseen).pk,
        "course_id": LtiCourse.objects.create(project=project, platform=lti_platform(), memberships_url="-").pk,
        "person_id": ExpectedPerson.objects.create(project=project, name="Judge 01").pk,
        "comparison_id": CohortComparison.objects.create(
            project=project, by="source", first="account", asked_at=timezone.now()
        ).pk,
        "import_id": ImportJob.objects.create(
            project=project, kind="items", state="checked", n_lines=1, folder="x", asked_at=timezone.now()
        ).pk,
        "deviation_id": Deviation.objects.create(
            project=project, field="cap", before=None, after=5, n_labels=0, at=timezone.now()
        ).pk,
        "record_id": RunRecord.objects.create(project=project, status="ready", asked_at=timezone.now()).pk,
        "idea_id": Idea.objects.create(
            project=project, annotator=target, text="A new one", created_at=timezone.now()
        ).pk,
        "token": presentation.token,
        "answered": answered.presentation.token,
    }


def judged(project: Project) -> Machine:
    machine = make_machine(project)
    let_judge(machine, lambda first, second: first)
    MachineReport.objects.create(project=project, asked_at=timezone.now(), status="failed")
    return machine


def no_tastes(items: list) -> bytes:
    file, n = io.BytesIO(), len(items)
    keys = np.array([item.pk for item in items])
    np.savez(file, items=keys, loadings=np.ones((n, 2)), shares=np.ones(2) / 2, likes=np.zeros((0, n)))
    return file.getvalue()


def address(name: str, arguments: dict) -> str:
    pattern = next(entry for entry in urlpatterns if entry.name == name).pattern
    found = {key: arguments[key] for key in pattern.converters}
    if name == "api-entry-link":
        found["link_id"] = arguments["entry_link_id"]
    return reverse(name, kwargs=found)


def frozen(arguments: dict) -> bool:
    return Preregistration.objects.filter(project=arguments["project_id"]).exists()


def asked(name: str, method: str, arguments: dict, client: Client | None = None, secret: str = "", scheme="Bearer"):
    body = RULES[name][method][2]
    if name == "api-undo":
        body = {"token": arguments["answered"]}
    if name == "api-known":
        Project.objects.filter(pk=arguments["project_id"]).update(known_button=True)
    if name == "api-ideas" and body:
        body = {"ideas": [arguments["idea_id"]]}
    if name == "api-annotator-readmit":
        Annotator.objects.filter(key=arguments["key"]).update(excluded_at=timezone.now())
    if (name, method) == ("api-preregistration", "get") and not frozen(arguments):
        project = Project.objects.get(pk=arguments["project_id"])
        freeze_plan(project=project, actor=None, statements={}, now=timezone.now())
    if (name, method) == ("api-preregistration", "post"):
        Preregistration.objects.all().delete()
    if name == "api-annotator-let-in":
        Annotator.objects.filter(key=arguments["key"]).update(screened_out_at=timezone.now())
    url = address(name, arguments) + QUERIES.get((name, method), "")
    headers = {"Authorization": f"{scheme} {secret}"} if secret else {}
    send = getattr(client or Client(), method)
    return (
        send(url, body, content_type="application/json", headers=headers)
        if body is not None
        else send(url, headers=headers)
    )


def check(response, allowed: bool, who: str):
    status = response.status_code
    assert status < 500
    if allowed:
        # Let in, where the platform is none or there are no questions to order.
        told = b"" if response.streaming else response.content
        asks_elsewhere = b"course-refused" in told or b"no-questions" in told
        assert status < 300 or asks_elsewhere, f"{who} should be let in but got {status}: {told[:300]!r}"
        return
    assert status in (401, 403, 404), f"{who} got {status}"
    assert response["Content-Type"] == "application/problem+json"
    assert response.json()["status"] == status
    assert NAME not in response.content.decode()


def asked_by(name: str) -> str:
    """Who tries an address with every kind of token: somebody who may, by the role."""
    return "annotator" if next(iter(RULES[name].values()))[1] == {"annotator"} else "owner"


# People, data and tokens are made once for so many addresses, which takes as long as trying an address.
TOGETHER = [
    (who, names[i : i + 14])
    for who in ("annotator", "owner")
    if (names := [name for name in sorted(RULES) if asked_by(name) == who])
    for i in range(0, len(names), 14)
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("who", "names"), TOGETHER, ids=[f"{names[0]} to {names[-1]} as {who}" for who, names in TOGETHER]
)
def test_only_those_who_may(who, names, people, arguments, project):
    person = people[who]
    elsewhere = Project.objects.create(name="Elsewhere", question="Which?")
    Membership.objects.create(project=elsewhere, user=person, role="owner")
    keys = Keys(
        of_roles={role: make_token(people[role])[1] for role in ROLES},
        of_scopes={scope: make_token(person, scope)[1] for scope in (READ, WRITE, ASK)},
        here=make_token(person, project=project)[1],
        there=make_token(person, project=elsewhere)[1],
        joined=make_annotator(project, "Quiet Otter").resume_token,
        session=signed_in(person),
        strict=signed_in(person, strict=True),
    )
    with each_case() as case:
        for name in names:
            with case(name):
                try_with_every_key(name, keys, arguments)


def try_with_every_key(name: str, keys: "Keys", arguments: dict) -> None:
    documented = statuses(name)
    for method in RULES[name]:
        for who, (how, allowed) in keys.tries(name, method).items():
            with as_it_was(how.get("client")):
                answer = asked(name, method, arguments, **how)
                check(answer, allowed, f"{who}, {method}")
                assert str(answer.status_code) in documented[method], f"{method} {answer.status_code}"


@dataclass(frozen=True)
class Keys:
    """What an address is tried with."""

    of_roles: dict[str, str]
    of_scopes: dict[str, str]
    here: str
    there: str
    joined: str
    session: Client
    strict: Client

    def tries(self, name: str, method: str) -> dict[str, tuple[dict, bool]]:
        """By what is tried, how it is sent and whether it may."""
        scope, roles, _body = RULES[name][method]
        tries: dict[str, tuple[dict, bool]] = {
            who: ({"secret": secret}, who in roles) for who, secret in self.of_roles.items()
        }
        for one, secret in self.of_scopes.items():
            tries[f"the scope {one}"] = {"secret": secret}, one == scope
        tries["a token for this project"] = {"secret": self.here}, (name, method) not in MAKING
        if name != "api-projects":
            tries["a token for another project"] = {"secret": self.there}, False
        tries["a stranger"] = {}, False
        if name != "api-undo":  # a joined annotator may ask, and has nothing to undo
            tries["a joined annotator"] = {"secret": self.joined, "scheme": "Annotator"}, name in OF_ANNOTATORS
        tries["a session without CSRF token"] = {"client": self.strict}, method == "get"
        tries["a session"] = {"client": self.session}, True
        return tries


def statuses(name: str) -> dict[str, set[str]]:
    """By method, what the document says that an address answers."""
    route = str(next(entry for entry in urlpatterns if entry.name == name).pattern)
    path = "/api/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)
    return {method: set(told["responses"]) for method, told in schema()["paths"][path].items() if method in METHODS}


def signed_in(person, strict: bool = False) -> Client:
    client = Client(enforce_csrf_checks=strict)
    client.force_login(person, BACKEND)
    return client


def test_tokens_end(people, project):
    now = timezone.now()
    owner, url = people["owner"], reverse("api-projects")
    revoked = make_token(owner)
    revoke_token(token=revoked[0], now=now)
    secrets = {
        "expired": make_token(owner, now=now, expires_at=now - timedelta(seconds=1))[1],
        "revoked": revoked[1],
        "unknown": "crk_" + "A" * 43,
        "empty": " ",
        "good": make_token(owner)[1],
    }
    answers = {
        name: Client().get(url, headers={"Authorization": f"Bearer {secret}"}).status_code
        for name, secret in secrets.items()
    }
    assert answers == {"expired": 401, "revoked": 401, "unknown": 401, "empty": 401, "good": 200}


def test_a_token_reads_its_own_project_alone(people, project):
    other = Project.objects.create(name="Elsewhere", question="Which?")
    Membership.objects.create(project=other, user=people["owner"], role="owner")
    every, one = make_token(people["owner"])[1], make_token(people["owner"], project=other)[1]
    lists = [
        Client().get(reverse("api-projects"), headers={"Authorization": f"Bearer {secret}"}).json()["results"]
        for secret in (every, one)
    ]
    assert [{row["name"] for row in rows} for rows in lists] == [{"Elsewhere", NAME}, {"Elsewhere"}]


def test_a_person_who_was_deactivated_is_locked_out(people, project):
    secret = make_token(people["owner"])[1]
    people["owner"].is_active = False
    people["owner"].save()
    response = Client().get(reverse("api-projects"), headers={"Authorization": f"Bearer {secret}"})
    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"


@pytest.mark.slow
def test_strangers_read_the_reference_and_get_problems_elsewhere(db, client):
    assert client.get(reverse("api-reference")).status_code == 200
    assert client.get(reverse("api-schema")).json()["openapi"].startswith("3.")
    nowhere = client.get("/api/v1/nothing/here/")
    assert (nowhere.status_code, nowhere["Content-Type"]) == (404, "application/problem+json")
    assert client.post(reverse("api-join", args=["A" * 22]), {}, content_type="application/json").status_code == 404
