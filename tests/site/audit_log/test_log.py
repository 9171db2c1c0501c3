"""The log: each change of a project leaves an entry, with before and after and no secrets; its page and its file."""

import ast
import csv
import io
import json
from datetime import timedelta

import pytest
from django.db import transaction
from django.urls import reverse
from django.utils.translation import override

from annotate.audit import record_event
from annotate.audit_log.forms import LogForm
from annotate.audit_log.sentences import describe_event
from annotate.models import (
    Annotator,
    AnnotatorTag,
    Completion,
    Event,
    EventVerb,
    Membership,
    ParticipationRules,
    Preregistration,
    Project,
)
from annotate.participation.actions import change_rules
from annotate.participation.completion import codes as completion_codes
from tests.conftest import NOW, make_annotator
from tests.paths import ROOT
from tests.site.factories import spread_fit
from tests.site.imports.test_wizard import confirm, paste
from tests.site.pages import page, signed_in
from tests.site.projects.test_projects import VALID
from tests.site.test_access import RULES, address, arguments, cast  # noqa: F401  (fixtures)

# What each changing address is sent; a callable gets the project and prepares it.
SENT = {
    "project-create": VALID,
    "webhooks": {"url": "https://93.184.216.34/hook", "events": ["fit.published"]},
    "webhook-change": {"action": "off"},
    "token-revoke": {},
    "tokens": {"name": "Mine", "scopes": ["read"], "expires": ""},
    "entry": {"thanks": "Thank you all"},
    "embedding": {"origins": "https://www.example.org"},
    "languages": {"language": "en", "add": "ar"},
    "translation": {"question": "Lequel ?"},
    "share": {"addresses": "ann@example.org"},
    "expected-people": {"table": "name\nJudge 02", "add": "1"},
    "expected-send": {"to": "new", "words": "Please come"},
    "expected-remove": {},
    "expected-course": {"disconnect": "1"},
    "participants": {"use": "1"},
    "project-settings": {"name": "Another name"},
    "settings-answers": {"comments": "on"},
    "settings-amount": {"cap": "5"},
    "settings-ranking": {"top_k": "2"},
    "settings-participants": {"ideas_each": "7"},
    "idea-decide": {"action": "refuse", "reason": "Off topic"},
    "quality": {"min_seconds": "7"},
    "known-sets": {"table": "purpose,item_1,item_2,answer\ngold,item-0,item-1,item-1"},
    "known-set-remove": {},
    "known-set-new": {"purpose": "gold", "item_1": "item-0", "item_2": "item-1", "answer": "1"},
    "known-set-change": {"item_1": "item-0", "item_2": "item-1", "why": "It names its source"},
    "captions": {"remove": ""},
    "never-shown": {"table": "annotator,item\nTarget,item-1"},
    "never-shown-remove": {},
    "project-state": {"state": "paused"},
    "project-archive": {"to": "archive"},
    "raise-overlap": {"overlap": "9", "page": "share"},
    "project-clone": {"name": "Round two"},
    "items": {"action": "retire"},
    "members": {"address": "new@example.org", "role": "viewer"},
    "invitation-withdraw": {},
    "member-change": {"role": "manager"},
    "estimator-use": {"estimator": "BradleyTerry"},
    "annotator-tags": {"table": "annotator,tags\nTarget,experts"},
    "bulk-exclusion": {"by": "tag", "tag": "novices"},
    "bulk-exclusion-undo": {},
    "annotator-exclude": {"reason": "Too fast"},
    "annotator-readmit": {},
    "annotator-erase": {"sure": "on"},
    "own-data": {"sure": "on"},
    "retention": {"days": "9", "drops": "personal"},
    "goal": {"goal": "width", "goal_width": "1"},
    "policy": {"policy": "whole", "top_k": "3"},
    "grades": {"grades_by": "score", "name_0": "Pass", "limit_0": "50", "name_1": "Fail", "limit_1": ""},
    "leaderboard": {"features": "length"},
    "annotator-let-in": {},
    "cohorts-compare": {"first": "tag|novices"},
    "machines": {"name": "Second judge", "program": "a model"},
    "machines-count": {"count": "yes"},
    "machine-change": {"action": "exclude"},
    "record-ask": {},
    "preregistration": {"stopping_rule": "600 answers"},
    "deviation-explain": {"reason": "Too few came"},
    "comment-hide": {"action": "hide"},
    "comments-release": {"action": "release"},
    "entry-links-make": {},
    "entry-link-revoke": {},
    "results-links": {"lifetime": "7"},
    "results-link-revoke": {},
    "results-link-live": {"action": "hide"},
}
# Taking away is noted too, though nothing changes.
TAKEN = {"export", "expected-links", "participants-csv", "record", "log-export"}
# What leaves no entry, and why.
UNLOGGED = {
    "questions": "adding, withdrawing and changing are noted: test_questions.py",
    "questions-import": "noted when it has ended: tests/site/questions/test_import.py",
    "questions-order": "noted where there are some: test_questions.py",
    "lti-launch": "as join",
    "make-example": "the new project's own log begins with it",
    "scale": "keeping and forgetting are noted: test_scale.py",
    "invited": "joining is noted for the new account, which is then signed in: test_invited.py",
    "account-erase": "each project that the person answered in notes it: test_erasure.py",
    "set_language": "the language of one's own browser",
    "detail": "which figures one's own pages show",
    "join": "an annotator's coming is a row of its own, with its moment",
    "personal": "as join",
    "expected-conflicts": "adds conflicts of interest as never-shown does: test_roster.py",
    "resume": "binds one's own browser",
    "platform": "as join",
    "consent": "each agreement is a row of its own, with the text",
    "done": "each end is a row of its own",
    "questionnaire": "what annotators say of themselves is theirs",
    "submit": "labels are facts with their own moments, and are never changed",
    "label": "asks for a task",
    "known": "noted as what the annotator said: test_known_items.py",
    "undo": "the voided label says who and when",
    "ahead": "the question that an annotator is asked next",
    "shortcuts": "one's own keys",
    "keys": "one's own keys",
    "machines-report": "asking is noted, where a machine has answered: test_machines.py",
    "own-ideas": "each idea is a row of its own, with its moment",
    "ideas": "each idea that is approved is noted: test_ideas.py",
    "preview": "stores nothing",
    "see-as": "looking is noted, once an hour: test_seeing_as.py",
    "project-delete": "the log goes with the project; the server's own log tells of it",
    "items-import": "in steps, of which the last is noted: test_an_import_is_noted",
    "comparisons-import": "in steps; the file, going on and stopping are noted: test_import_jobs.py",
    "counts-import": "as comparisons-import",
    "features-import": "as comparisons-import",
    "features-measure": "as comparisons-import",
    "annotators-import": "as comparisons-import",
    "import-job": "as comparisons-import",
}


def test_every_changing_address_is_decided_about():
    changing = {name for name, (_get, post) in RULES.items() if post}
    assert changing == SENT.keys() | UNLOGGED.keys()
    assert TAKEN <= RULES.keys()
    assert not SENT.keys() & UNLOGGED.keys()


def form_of(client, url) -> dict:
    """What the page's form would send as it stands."""
    context = client.get(url).context
    form = context.get("form") if context else None
    if form is None:
        return {}
    values = {bound.html_name: bound.value() for bound in form}
    return {name: value for name, value in values.items() if value is not None and value is not False}


@pytest.fixture
def ready(project, arguments):  # noqa: F811
    """The project such that everything in SENT has something to change."""
    spread_fit(project, list(project.items.all()))
    annotator = Annotator.objects.get(key=arguments[0]["key"])
    AnnotatorTag.objects.create(annotator=annotator, name="novices")
    code = completion_codes.signed_code(project.pk, "complete", str(annotator.key))
    Completion.objects.create(project=project, annotator=annotator, kind="complete", code=code, individual=True, at=NOW)
    return project, annotator, code


def prepared(name, ready, arguments) -> dict:  # noqa: F811
    project, annotator, code = ready
    if name == "preregistration":
        Preregistration.objects.filter(project=project).delete()
    if name == "annotator-readmit":
        Annotator.objects.filter(pk=annotator.pk).update(excluded_at=NOW)
    if name == "annotator-let-in":
        Annotator.objects.filter(pk=annotator.pk).update(screened_out_at=NOW)
    more = {"participants": {"code": code}, "items": {"item": project.items.first().pk}}
    return SENT[name] | more.get(name, {})


@pytest.mark.slow
def test_every_change_is_noted(cast, arguments, ready):  # noqa: F811
    silent = []
    for name in SENT:
        with transaction.atomic():
            url = address(name, arguments)
            own = prepared(name, ready, arguments)
            data = own if RULES[name][0] is None else form_of(cast["owner"], url) | own
            before = Event.objects.count()
            response = cast["owner"].post(url, data)
            if Event.objects.count() == before:
                silent.append((name, response.status_code, errors_of(response)))
            unsaid = set(Event.objects.values_list("verb", flat=True)) - {verb for verb in EventVerb if verb.sentence}
            assert not unsaid, f"{name} leaves {unsaid}, of which the log has no sentence"
            transaction.set_rollback(True)
    assert not silent


def errors_of(response):
    form = response.context.get("form") if response.context else None
    return dict(form.errors) if form is not None else ""


def test_every_export_is_noted(cast, arguments, ready):  # noqa: F811
    for name in sorted(TAKEN):
        url = address(name, arguments)
        who = next(role for role in ("viewer", "manager", "owner") if role in RULES[name][0])
        before = Event.objects.filter(verb="export taken").count()
        cast[who].head(url)
        assert Event.objects.filter(verb="export taken").count() == before, "only looking is no taking"
        assert cast[who].get(url).status_code == 200
        event = Event.objects.filter(verb="export taken").latest("pk")
        taker = Membership.objects.get(project=event.project, user=event.actor)
        assert (Event.objects.filter(verb="export taken").count(), taker.role) == (before + 1, who)


def test_an_import_is_noted(project, alice):
    client = signed_in(alice)
    confirm(client, project, paste(client, project, "One text\nAnother"))
    assert project.events.get(verb="items imported").details["items"] == 2


def test_each_verb_with_a_sentence_has_a_name_in_the_filter():
    assert {verb for verb in EventVerb if verb.sentence} == {verb for verb in EventVerb if verb.name_in_filter}
    assert len(EventVerb) == len({verb.name for verb in EventVerb})


def test_words_in_the_place_of_a_number_count_as_many(project, alice):
    for details in ({"labels": "(erased)", "reason": "(erased)"}, {}):
        event = Event.objects.create(project=project, actor=alice, verb="annotator excluded", details=details, at=NOW)
        words = "(erased)" if details else "?"
        assert describe_event(event).what == f"excluded an annotator; {words} labels voided. {words}"


@pytest.mark.parametrize(
    ("details", "said"),
    [({"items": 1}, "retired 1 item"), ({"items": 2}, "retired 2 items"), ({}, "retired ? items")],
)
def test_one_is_said_in_the_singular(project, alice, details, said):
    event = Event.objects.create(project=project, actor=alice, verb=EventVerb.ITEMS_RETIRED, details=details, at=NOW)
    assert describe_event(event).what == said


@pytest.mark.parametrize(("language", "said"), [("de", "1 Element aus"), ("es", "1 elemento"), ("fr", "1 élément")])
def test_so_it_is_in_other_languages(project, alice, language, said):
    one = Event.objects.create(project=project, actor=alice, verb=EventVerb.ITEMS_RETIRED, details={"items": 1}, at=NOW)
    with override(language):
        assert f"{said} " in f"{describe_event(one).what} "


def test_a_verb_of_an_earlier_version_is_shown_as_it_was_stored(project, alice):
    Event.objects.create(project=project, actor=alice, verb="100% counted", at=NOW)
    assert [event.what for event in map(describe_event, project.events.all())] == ["100% counted"]
    assert ("100% counted", "100% counted") in LogForm({}, project=project).fields["what"].choices


@pytest.mark.slow
def test_actions_write_verbs_of_the_registry_alone():
    """Literal verbs would escape the type checker; annotators' own page and tests read them back as text."""
    literals = {str(verb) for verb in EventVerb}
    found = []
    for path in sorted((ROOT / "annotate").rglob("*.py")):
        if path.name == "event_verbs.py" or "migrations" in path.parts:
            continue
        constants = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
        found += [(path.name, node.value) for node in constants if node.value in literals]
    assert found == []


def test_before_and_after_are_kept_but_no_codes(project, alice):
    values = {"thanks": "Thank you", "complete_code": "C0FFEE-77", "codes": "study"}
    change_rules(project=project, actor=alice, values=values, now=NOW)
    change_rules(project=project, actor=alice, values={"complete_code": "TEA-42"}, now=NOW)
    first, second = project.events.filter(verb="entry changed").order_by("pk")
    assert first.details == {"thanks": ["", "Thank you"], "complete_code": ["", "•••"], "codes": ["none", "study"]}
    assert second.details == {"complete_code": ["•••", "•••"]}
    shown = page(signed_in(alice), project, "log")
    assert "Before and after" in shown
    assert "Thank you</ins>" in shown


def test_no_secret_is_in_the_log(cast, arguments, ready, project):  # noqa: F811
    owner = cast["owner"]
    for name, data in (
        ("share", {"new-link": "1"}),
        ("entry", {"new-link": "1"}),
        ("webhook-change", {"action": "secret"}),
        ("tokens", {"name": "Mine", "scopes": ["read"], "expires": ""}),
    ):
        owner.post(address(name, arguments), data)
    project.refresh_from_db()
    text = json.dumps([event.details for event in Event.objects.all()])
    secrets = [project.join_token, ParticipationRules.objects.get(project=project).platform_token]
    secrets += [*project.webhooks.values_list("secret", flat=True)]
    secrets += [token.prefix for token in Project.members.through.objects.get(role="owner").user.api_tokens.all()]
    assert len(secrets) > 3
    assert not [secret for secret in secrets if secret in text]


@pytest.fixture
def eventful(project, alice, manuel):
    ada = make_annotator(project, "Ada")
    record_event(project, alice, "settings changed", NOW - timedelta(days=9), overlap=[2, 5], name=["A", "<b>B</b>"])
    record_event(project, manuel, "annotator excluded", NOW, annotator=ada, labels=4, reason="=HYPERLINK()")
    record_event(project, alice, "comparisons stored", NOW, digest="x", row=1)  # the mark of an import, nobody's deed
    return project


def test_it_is_filtered(eventful, alice, manuel):
    def told(**query):
        lines = client.get(reverse("log", args=[eventful.pk]), query).context["lines"]
        return [line.event.what for line in lines]

    client = signed_in(alice)
    settings, excluded = "changed annotators per set (2 → 5), name (A → <b>B</b>)", "excluded Ada; 4 labels voided."
    assert told() == [f"{excluded} =HYPERLINK()", settings]
    assert told(who=manuel.pk) == [f"{excluded} =HYPERLINK()"]
    assert told(what="settings changed") == [settings]
    assert told(since=(NOW - timedelta(days=2)).date().isoformat()) == [f"{excluded} =HYPERLINK()"]
    assert len(told(since="yesterday", who="nobody", what="nothing")) == 2, "what is not valid is not asked for"
    assert "&lt;b&gt;B&lt;/b&gt;</ins>" in page(client, eventful, "log")


def test_it_is_taken_away_as_asked_for(eventful, alice, manuel):
    client = signed_in(manuel)
    url = reverse("log-export", args=[eventful.pk, "csv"])
    rows = list(csv.DictReader(io.StringIO(b"".join(client.get(url, {"who": alice.pk}).streaming_content).decode())))
    assert [(row["who"], row["event"]) for row in rows] == [("alice@example.org", "settings changed")]
    assert json.loads(rows[0]["details"])["overlap"] == [2, 5]
    url = reverse("log-export", args=[eventful.pk, "jsonl"])
    lines = b"".join(client.get(url, {"what": "annotator excluded"}).streaming_content).decode().splitlines()
    (line,) = map(json.loads, lines)
    assert (line["annotator"], line["details"]["reason"]) == ("Ada", "=HYPERLINK()")
    assert client.get(reverse("log-export", args=[eventful.pk, "exe"])).status_code == 404
