"""Reminders: who has joined and not finished is written to again, while they can go on, and nobody else is."""

from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone, translation

from annotate.accounts import mails
from annotate.annotators.exclusion import exclude_annotator
from annotate.annotators.roster.actions import Letter, send_link
from annotate.annotators.roster.queries import Group, to_write_to
from annotate.annotators.roster.unfinished import unfinished
from annotate.labelling.plan.actions import draw_plan
from annotate.models import Annotator, ConflictOfInterest, Event, ExpectedPerson, Label, Project
from annotate.participation.joining.expected import join_as_expected
from annotate.privacy.erasure.actions import erase_annotator
from tests.conftest import NOW, answer_one
from tests.site.annotators.test_roster import expect, hours_pass, tagged
from tests.site.api_client import Api
from tests.site.gold_sets import answer_all
from tests.site.labelling.test_eligibility import open_task, set_up
from tests.site.pages import page, signed_in

LATER = NOW + timedelta(days=1)


@pytest.fixture
def owner(alice):
    return signed_in(alice)


def joined(project, name: str, n: int = 0, email: str | None = None, **conflicts) -> Annotator:
    """Somebody on the list who has come and given n answers."""
    person = expect(project, name, email=f"{name.lower()}@example.org" if email is None else email)
    annotator = join_as_expected(person=person, version="", now=NOW)
    if conflicts:
        ConflictOfInterest.objects.create(annotator=annotator, **conflicts)
        annotator.has_never_shown = True
        annotator.save()
    answer_all(annotator, n)
    return annotator


def reminded(project) -> list[str]:
    project = Project.objects.get(pk=project.pk)
    return [one.name for one in to_write_to(project, Group.UNFINISHED, LATER)]


def remind(client, project, words="", **more):
    return client.post(reverse("expected-send", args=[project.pk]), {"to": "unfinished", "words": words}, **more)


def test_only_who_can_go_on_is_written_to(project, owner, alice):
    set_up(project, target=3)
    joined(project, "Begun", 2)
    joined(project, "Came")
    joined(project, "Reached", 3)
    joined(project, "Nowhere", 1, email="")
    expect(project, "Away", email="away@example.org")
    ended = joined(project, "Ended", 1)
    screened = joined(project, "Screened", 1)
    Annotator.objects.filter(pk=ended.pk).update(ended="complete")
    Annotator.objects.filter(pk=screened.pk).update(screened_out_at=NOW, screened_out_by="gold")
    exclude_annotator(annotator=joined(project, "Excluded", 1), actor=alice, reason="", now=NOW)
    erase_annotator(annotator=joined(project, "Erased", 1), by="owner", actor=alice, now=NOW)
    assert "Remind 2 people who have not finished" in page(owner, project, "expected-people")
    remind(owner, project)
    assert sorted(address for one in mail.outbox for address in one.to) == ["begun@example.org", "came@example.org"]


@pytest.mark.parametrize(
    ("hours", "sentence"),
    [
        ({}, ""),
        ({"opens_at": datetime(2020, 1, 1, tzinfo=UTC)}, ""),
        ({"closes_at": datetime(2100, 5, 1, 12, tzinfo=UTC)}, "Answers are taken until 1 May 2100, 12:00 UTC."),
        (
            {"opens_at": datetime(2100, 4, 1, tzinfo=UTC)},
            "Answers are taken from 1 April 2100, 00:00 UTC.",
        ),
        (
            {"opens_at": datetime(2100, 4, 1, tzinfo=UTC), "closes_at": datetime(2100, 5, 1, 12, tzinfo=UTC)},
            "Answers are taken from 1 April 2100, 00:00 UTC until 1 May 2100, 12:00 UTC.",
        ),
    ],
)
def test_mails_say_in_which_hours_answers_are_taken(project, alice, hours, sentence):
    set_up(project, **hours)
    given = {"project": project, "by": alice, "address": "a@example.org", "link": "https://site.example/x", "words": ""}
    mails.send_join_link(**given)
    mails.send_personal_link(**given, name="Ann")
    mails.send_reminder(**given, name="Ann", n_answered=1, number=3)
    for message in mail.outbox:
        said = [line for line in message.body.splitlines() if line.startswith("Answers are taken")]
        assert said == ([sentence] if sentence else [])


def test_a_voided_answer_is_asked_for_again_and_practice_is_none(project):
    set_up(project, cap=2)
    back = joined(project, "Back", 2)
    assert reminded(project) == []
    Label.objects.filter(pk=back.labels.first().pk).update(voided_at=NOW, void_reason=Label.VoidReason.CONFLICT)
    assert reminded(project) == ["Back"]
    practised = joined(project, "Practised", 2)
    Annotator.objects.filter(pk=practised.pk).update(practised=1)
    assert reminded(project) == ["Back", "Practised"]


def test_the_number_is_the_owners_else_the_share_of_each_else_the_limit(project):
    set_up(project, overlap=1000)
    joined(project, "None")
    joined(project, "Two", 2)
    assert reminded(project) == ["None"], "nothing says how many: who has given no answer"
    for values, names in (
        ({"cap": 2}, ["None"]),
        ({"cap": 3}, ["None", "Two"]),
        ({"cap": 3, "target": 2}, ["None"]),
        ({"cap": 2, "target": 9}, ["None"]),
        ({"cap": None, "target": None, "annotators_expected": 20}, ["None", "Two"]),  # three answers of each
        ({"annotators_expected": 30}, ["None"]),
    ):
        set_up(project, **values)
        assert reminded(project) == names, values


def test_nobody_is_reminded_of_what_they_may_not_be_shown(project):
    """Six items make fifteen pairs; the target is more than that."""
    set_up(project, target=40, overlap=1000)
    school = tagged(project, "school-3", "item-1", "item-2")
    joined(project, "Everything", 15)
    joined(project, "Most", 14)
    joined(project, "Barred", 6, tag=school)  # every pair of the other four
    joined(project, "Almost", 9, item=project.items.get(key="item-0"))  # of ten
    assert reminded(project) == ["Almost", "Most"]


def test_a_full_plan_asks_nobody_but_whose_task_is_open(project):
    set_up(project, overlap=1, n_sets=4)
    draw_plan(project)
    idle = joined(project, "Idle")
    first = joined(project, "First", 3)
    assert reminded(project) == ["First", "Idle"], "a set is left, for either"
    open_task(idle)
    assert reminded(project) == ["Idle"], "who stopped before the last question"
    answer_one(idle)
    assert reminded(project) == []
    set_up(project, overlap=2)
    assert reminded(project) == ["First", "Idle"]
    answer_one(first)
    assert reminded(project) == ["Idle"], "First has answered every set of the plan"
    set_up(project, target=1)
    assert reminded(project) == []


def test_a_retired_item_and_a_check_leave_nothing_to_ask(project):
    set_up(project, target=40, overlap=1000)
    joined(project, "Most", 14)
    [left] = {f"{a}-{b}" for a, b in combinations(sorted(project.items.values_list("pk", flat=True)), 2)} - set(
        project.item_sets.values_list("key", flat=True)
    )
    assert reminded(project) == ["Most"]
    project.items.filter(pk=left.partition("-")[0]).update(retired_at=NOW)
    assert reminded(project) == []


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"state": "draft"}, "The project is not open yet."),
        ({"state": "paused"}, "The project is paused."),
        ({"state": "closed"}, "The project is closed."),
        ({"opens_at": timedelta(hours=1)}, "The project takes answers from"),
        ({"closes_at": timedelta(hours=-1)}, "The project took answers until"),
    ],
)
def test_nobody_is_reminded_while_no_answers_are_taken(project, owner, alice, values, why):
    set_up(project, target=3)
    joined(project, "Begun", 1)
    now = timezone.now()
    set_up(project, **{name: now + one if isinstance(one, timedelta) else one for name, one in values.items()})
    shown = page(owner, project, "expected-people")
    button = shown.partition('name="to" value="unfinished"')[2].partition("</button>")[0]
    assert button.startswith(' disabled aria-describedby="no-reminders">')
    assert why in shown.partition('id="no-reminders">')[2].partition("</p>")[0]
    assert why in remind(owner, project, follow=True).content.decode()
    refused = Api(alice, project)("post", "roster-invitations", {"to": "unfinished"})
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:crowdrank:problem:cannot-go-on")
    assert why in refused.json()["detail"]
    assert not mail.outbox
    assert not Event.objects.filter(verb="annotators reminded").exists()


def test_the_message_says_how_many_are_answered_and_leads_back(project, owner, alice):
    set_up(project, target=3, name="Posters")
    begun = joined(project, "Begun", 2)
    remind(owner, project, words="Until Friday, please.")
    [message] = mail.outbox
    person = ExpectedPerson.objects.get()
    link = "http://testserver" + reverse("personal", args=[person.token])
    for text in (
        "Dear Begun,",
        "alice@example.org asks you to go on with “Posters”.",
        "You have answered 2 of 3 so far.",
        "Until Friday, please.",
        f"leads back to where you stopped; you need no account: {link}",
    ):
        assert text in message.body, text
    assert message.reply_to == ["alice@example.org"]
    assert (person.n_invitations, person.invited_at is not None, person.annotator) == (1, True, begun)
    [event] = Event.objects.filter(verb="annotators reminded")
    assert (event.actor, event.details) == (alice, {"sent": 1})
    assert "reminded 1 person by e-mail who has not finished" in page(owner, project, "log")


@pytest.mark.parametrize(
    ("language", "n", "number", "text"),
    [
        ("en", 0, 45, "You have joined and not answered yet."),
        ("en", 0, None, "You have joined and not answered yet."),
        ("en", 1, None, "You have answered 1 question so far."),
        ("en", 7, None, "You have answered 7 questions so far."),
        ("de", 12, 45, "Bisher hast du 12 von 45 Fragen beantwortet."),
        ("es", 12, 45, "Hasta ahora ha respondido a 12 de 45 preguntas."),
        ("fr", 12, 45, "Réponses données jusqu'ici\u202f: 12 sur 45."),
    ],
)
def test_the_message_counts_in_words_of_each_language(project, alice, language, n, number, text):
    to = {"name": "Ann", "address": "ann@example.org", "link": "https://example.org/people/x/", "words": ""}
    with translation.override(language):
        mails.send_reminder(project=project, by=alice, n_answered=n, number=number, **to)
    assert text in mail.outbox[0].body


def test_nobody_is_reminded_twice_within_an_hour(project, owner):
    set_up(project, target=3)
    joined(project, "Begun", 1)
    joined(project, "Came")
    remind(owner, project)
    told = remind(owner, project, follow=True).content.decode()
    assert "Nobody gets two messages within an hour" in told
    assert "Remind 0 people who have not finished" in " ".join(told.split())
    assert len(mail.outbox) == 2
    hours_pass()
    remind(owner, project)
    assert len(mail.outbox) == 4
    assert {one.n_invitations for one in ExpectedPerson.objects.all()} == {2}


def test_of_two_who_press_at_once_one_writes(project, alice, rf):
    set_up(project, target=3)
    joined(project, "Begun", 1)
    [person] = unfinished(project, 3)
    letter = Letter(project, alice, Group.UNFINISHED, "", 3)
    told = [send_link(rf.get("/"), letter, person, LATER).ok for _each in range(2)]
    assert (told, len(mail.outbox)) == ([True, False], 1)


def test_who_could_not_be_written_to_is_as_before(project, owner, settings):
    set_up(project, target=3)
    joined(project, "Begun", 1)
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1  # nobody listens there
    told = remind(owner, project).content.decode()
    assert "the mail server refused it" in told
    person = ExpectedPerson.objects.get()
    assert (person.invited_at, person.n_invitations) == (None, 0)
    assert not Event.objects.filter(verb="annotators reminded").exists()


def test_managers_remind_and_viewers_do_not(project, manuel, vera):
    set_up(project, target=3)
    joined(project, "Begun", 1)
    assert remind(signed_in(vera), project).status_code == 403
    assert Api(vera, project)("post", "roster-invitations", {"to": "unfinished"}).status_code == 403
    assert not mail.outbox
    assert "on its way" in remind(signed_in(manuel), project).content.decode()
    assert len(mail.outbox) == 1


def test_the_api_writes_to_each_group(project, alice):
    set_up(project, target=3)
    joined(project, "Begun", 1)
    expect(project, "New", email="new@example.org")
    expect(project, "Silent", email="silent@example.org", invited_at=NOW)
    api = Api(alice, project)
    for to, name in (({"to": "unfinished"}, "Begun"), ({"to": "missing"}, "Silent"), ({}, "New")):
        first, again = (api("post", "roster-invitations", to, key=f"key-{name}") for _each in range(2))
        assert first.status_code == 202
        assert first.json() == again.json() == {"results": [{"name": name, "is_sent": True, "told": "on its way."}]}
        assert api("post", "roster-invitations", to).json() == {"results": []}, "without a key, within the hour"
    assert [one.to for one in mail.outbox] == [["begun@example.org"], ["silent@example.org"], ["new@example.org"]]
    for wrong in ({"to": "everybody"}, {"again": True}):
        assert api("post", "roster-invitations", wrong).status_code == 400


def test_a_form_that_names_no_group_writes_to_nobody(project, owner):
    expect(project, "New", email="new@example.org")
    for to in ({}, {"again": "1"}, {"to": "everybody"}):
        assert owner.post(reverse("expected-send", args=[project.pk]), to).status_code == 400
    assert not mail.outbox


@pytest.mark.parametrize("values", [{"overlap": 1000}, {"overlap": 20, "n_sets": 8}])
def test_many_take_no_more_queries_than_few(project, owner, values):
    set_up(project, target=6, **values)
    draw_plan(project)
    school = tagged(project, "school-3", "item-1")
    joined(project, "First", 2, tag=school)
    url = reverse("expected-people", args=[project.pk])

    def n_queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as found:
            owner.get(url)
        return len(found)

    n_queries()
    few = n_queries()
    for n in range(12):
        joined(project, f"Judge {n}", n % 3, **({"tag": school} if n % 2 else {}))
    assert n_queries() == few
    assert few <= 30
    assert "Remind 13 people who have not finished" in page(owner, project, "expected-people")
