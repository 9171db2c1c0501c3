"""What others remove between a look and a write: it is removed once, logged once, and not found afterwards."""

from copy import copy

import pytest
from django.db import connection
from django.urls import reverse

from annotate.accounts.invitations import invite_address
from annotate.annotators.conflicts.actions import add_conflicts, remove_conflict
from annotate.annotators.conflicts.table import NewNeverShown, Who
from annotate.annotators.machines.actions import remove_machine, store_answers
from annotate.annotators.machines.answers import NewAnswer
from annotate.annotators.roster.actions import add_people, remove_person
from annotate.annotators.roster.table import NewPerson
from annotate.core.errors import ItemsDeleted
from annotate.criteria import Criterion
from annotate.ideas.actions import merge_idea
from annotate.items.actions import (
    bring_back_item,
    delete_item,
    set_captions,
    set_competitor,
    set_tags,
    set_title,
)
from annotate.items.metadata import set_metadata
from annotate.labelling.plan.given import NewQuestion, add_questions
from annotate.lti.courses import disconnect
from annotate.models import (
    ConflictOfInterest,
    EntryLink,
    ExpectedPerson,
    FitState,
    Idea,
    Item,
    LtiCourse,
    Project,
    RunRecord,
    Webhook,
)
from annotate.privacy.erasure.actions import BY_OWNER, erase_annotator
from annotate.projects.actions import delete_project
from annotate.projects.members.actions import remove_member, withdraw_invitation
from annotate.quality.gold.actions import add_gold_sets, remove_gold_set
from annotate.quality.gold.table import NewGoldSet
from annotate.webhooks.actions import remove_webhook, replace_secret, send_test
from tests.conftest import NOW, make_annotator
from tests.site.api_client import Api
from tests.site.factories import spread_fit
from tests.site.gold_sets import make_known
from tests.site.labelling.test_released_meanwhile import Once
from tests.site.machines import make_machine
from tests.site.pages import signed_in
from tests.site.participation.lti_platform import lti_platform


def make_webhook(project: Project) -> Webhook:
    return Webhook.objects.create(project=project, url="https://example.org/", events=["goal.met"], created_at=NOW)


def make_conflict(project: Project) -> ConflictOfInterest:
    return ConflictOfInterest.objects.create(annotator=make_annotator(project, "Otter"), item=project.items.first())


REMOVALS = {
    "webhook removed": (lambda p: {"webhook": make_webhook(p)}, remove_webhook),
    "member removed": (lambda p: {"membership": p.memberships.get(user__username="vera")}, remove_member),
    "invitation withdrawn": (
        lambda p: {"invitation": invite_address(project=p, address="new@example.org", role="viewer", now=NOW)},
        withdraw_invitation,
    ),
    "expected person removed": (
        lambda p: {"person": ExpectedPerson.objects.create(project=p, name="Judge")},
        remove_person,
    ),
    "never shown removed": (lambda p: {"entry": make_conflict(p)}, remove_conflict),
    "right answer removed": (lambda p: {"known": make_known(p, "gold", 1)[0]}, remove_gold_set),
    "machine removed": (lambda p: {"machine": make_machine(p)}, remove_machine),
    "course disconnected": (
        lambda p: {"course": LtiCourse.objects.create(project=p, platform=lti_platform(), memberships_url="/m")},
        disconnect,
    ),
}


@pytest.mark.parametrize("verb", REMOVALS)
def test_two_who_remove_the_same_are_one_change_in_the_log(project, alice, vera, verb):
    make, remove = REMOVALS[verb]
    one = make(project)
    other = {name: copy(row) for name, row in one.items()}
    remove(**one, actor=alice, now=NOW)
    remove(**other, actor=alice, now=NOW)
    assert list(project.events.filter(verb=verb).values_list("actor", flat=True)) == [alice.pk]


@pytest.mark.parametrize("act", [replace_secret, lambda actor, **given: send_test(**given)])
def test_a_webhook_removed_meanwhile_is_neither_changed_nor_tested(project, alice, act):
    webhook = make_webhook(project)
    remove_webhook(webhook=Webhook.objects.get(), actor=alice, now=NOW)
    with pytest.raises(Webhook.DoesNotExist):
        act(webhook=webhook, actor=alice, now=NOW)
    assert list(project.events.values_list("verb", flat=True)) == ["webhook removed"]


def test_a_page_of_what_was_deleted_meanwhile_is_not_found_and_logged(project, alice, caplog):
    meanwhile = Once("SELECT", '"annotate_project"."id" = ', lambda: delete_project(project=project))
    client = signed_in(alice)
    client.raise_request_exception = False
    with connection.execute_wrapper(meanwhile):
        answer = client.post(reverse("project-delete", args=[project.pk]), {"name": project.name})
    assert meanwhile.done
    assert answer.status_code == 404
    assert "DoesNotExist" in caplog.text, "a mistake of ours would look the same"


def test_a_link_made_while_links_are_downloaded_leaves_the_table_whole(project, alice):
    items = list(project.items.all())
    EntryLink.objects.create(project=project, item=items[0], made_at=NOW)
    ExpectedPerson.objects.create(project=project, name="Judge 1")
    more = {
        "entry-links": (
            "annotate_entrylink",
            lambda: EntryLink.objects.create(project=project, item=items[1], made_at=NOW),
        ),
        "expected-links": (
            "annotate_expectedperson",
            lambda: ExpectedPerson.objects.create(project=project, name="Judge 2"),
        ),
    }
    for name, (table, make) in more.items():
        meanwhile = Once("SELECT", table, make)
        with connection.execute_wrapper(meanwhile):
            answer = signed_in(alice).get(reverse(name, args=[project.pk]))
        assert meanwhile.done
        assert answer.status_code == 200


def machine_answer(project: Project, item: int) -> None:
    machine, other = make_machine(project), project.items.last().pk
    rows = [NewAnswer(items=(item, other), task="pair", outcome="choice", chosen=other)]
    store_answers(machine=machine, criterion=Criterion(project), rows=rows, now=NOW)


def merged_idea(project: Project, item: int, **given) -> None:
    idea = Idea.objects.create(project=project, text="Likewise", created_at=NOW)
    merge_idea(idea=idea, item=Item(pk=item, key="gone"), **given)


NAMING = {
    "right answer": lambda project, item, other, given: add_gold_sets(
        project=project, rows=[NewGoldSet(1, "gold", (item, other), "tie", (), "")], only_for_checks=False, **given
    ),
    "question": lambda project, item, other, given: add_questions(
        project=project, questions=[NewQuestion((item, other))], **given
    ),
    "conflict": lambda project, item, other, given: add_conflicts(
        project=project, rows=[NewNeverShown(Who(make_annotator(project, "Otter").pk), item, None)], **given
    ),
    "roster": lambda project, item, other, given: add_people(
        project=project, rows=[NewPerson("Judge", "", "", (), (item,), ())], **given
    ),
    "machine's answer": lambda project, item, other, given: machine_answer(project, item),
    "merged idea": lambda project, item, other, given: merged_idea(project, item, **given),
}


@pytest.mark.parametrize("what", NAMING)
def test_nothing_is_written_that_names_an_item_deleted_meanwhile(project, alice, what):
    item, other = project.items.order_by("pk")[:2]
    gone = item.pk
    delete_item(item=item, actor=alice, now=NOW)
    with pytest.raises(ItemsDeleted):
        NAMING[what](project, gone, other.pk, {"actor": alice, "now": NOW})
    assert not project.item_sets.exists()


CHANGES = {
    "title": lambda item, given: set_title(item=item, title="Other", **given),
    "tags": lambda item, given: set_tags(item=item, names=["new"], **given),
    "competitor": lambda item, given: set_competitor(item=item, name="Team", **given),
    "metadata": lambda item, given: set_metadata(item=item, metadata={"a": 1}, **given),
    "captions": lambda item, given: set_captions(item=item, text="Hello", language="en", **given),
    "brought back": lambda item, given: bring_back_item(item=item, **given),
    "deleted": lambda item, given: delete_item(item=item, **given),
}


@pytest.mark.parametrize("what", CHANGES)
def test_an_item_deleted_meanwhile_takes_no_change_and_the_log_tells_of_none(project, alice, what):
    item = project.items.first()
    delete_item(item=Item.objects.get(pk=item.pk), actor=alice, now=NOW)
    with pytest.raises(Item.DoesNotExist):
        CHANGES[what](item, {"actor": alice, "now": NOW})
    assert list(project.events.values_list("verb", flat=True)) == ["item deleted"]


def test_the_same_title_given_by_two_is_one_change(project, alice):
    item, same = project.items.first(), project.items.first()
    set_title(item=item, title="First", actor=alice, now=NOW)
    set_title(item=same, title="First", actor=alice, now=NOW)
    assert project.events.count() == 1


def test_conflicts_of_people_who_are_gone_are_left_out(project, alice):
    otter, stoat = (make_annotator(project, name) for name in ("Otter", "Stoat"))
    judge = ExpectedPerson.objects.create(project=project, name="Judge")
    item = project.items.first().pk
    rows = [NewNeverShown(who, item, None) for who in (Who(otter.pk), Who(stoat.pk), Who(None, judge.pk))]
    erase_annotator(annotator=otter, by=BY_OWNER, actor=alice, now=NOW)
    remove_person(person=judge, actor=alice, now=NOW)
    assert add_conflicts(project=project, actor=alice, rows=rows, now=NOW).n_rows == 1
    assert ConflictOfInterest.objects.get().annotator == stoat


@pytest.mark.django_db(transaction=True)  # when foreign keys are looked at
@pytest.mark.parametrize("by", ["page", "program"])
def test_a_change_about_somebody_erased_meanwhile_is_refused_in_words(project, alice, by, caplog):
    otter = make_annotator(project, "Otter")

    def erase() -> None:
        erase_annotator(annotator=otter, by=BY_OWNER, actor=alice, now=NOW)

    looked = {"page": ("SELECT", '"annotate_event"'), "program": ("SELECT", '"annotate_annotator"."pseudonym"')}[by]
    meanwhile = Once(*looked, erase)
    client, program = signed_in(alice), Api(alice, project)
    tags = {"action": "tag", "rows": [{"annotator": "Otter", "tags": ["g"]}]}
    with connection.execute_wrapper(meanwhile):
        if by == "page":
            answer = client.get(reverse("see-as", args=[project.pk, otter.key]))
        else:
            answer = program("post", "annotator-tags", tags)
    assert meanwhile.done
    assert answer.status_code == 409
    assert "has just changed or deleted what this is about" in answer.content.decode()
    assert "FOREIGN KEY" in caplog.text or "foreign key" in caplog.text
    assert set(project.events.values_list("verb", flat=True)) - {"access token made"} == {"annotator erased"}


@pytest.mark.parametrize("by", ["page", "program"])
def test_the_page_of_somebody_erased_meanwhile_is_not_found(project, alice, by):
    otter = make_annotator(project, "Otter")
    meanwhile = Once(
        "SELECT", '"annotate_annotator"."key" = ', lambda: erase_annotator(annotator=otter, by=BY_OWNER, now=NOW)
    )
    client, program = signed_in(alice), Api(alice, project)
    with connection.execute_wrapper(meanwhile):
        if by == "page":
            answer = client.get(reverse("annotator", args=[project.pk, otter.key]))
        else:
            answer = program("get", "annotator", args=[otter.key])
    assert meanwhile.done
    assert answer.status_code == 404


def test_a_run_record_that_went_as_it_was_asked_for_is_not_found(project, alice):
    fit = spread_fit(project, list(project.items.all()), n_labels=6)
    FitState.objects.update_or_create(project=project, defaults={"published_fit": fit.number})
    meanwhile = Once("INSERT", "annotate_runrecord", RunRecord.objects.all().delete)
    with connection.execute_wrapper(meanwhile):
        answer = Api(alice, project)("post", "records")
    assert meanwhile.done
    assert answer.status_code == 404


def test_a_machine_removed_while_it_is_excluded_is_not_found(project, alice):
    machine = make_machine(project)
    meanwhile = Once("SELECT", "annotate_machine", lambda: remove_machine(machine=copy(machine), actor=alice, now=NOW))
    with connection.execute_wrapper(meanwhile):
        answer = Api(alice, project)("patch", "machine", {"excluded": True}, args=[machine.annotator.key])
    assert meanwhile.done
    assert answer.status_code == 404
