"""On PostgreSQL what an owner removes or brings back waits for annotators' steps, and steps for it: neither fails."""

import random

import pytest
from django.utils import timezone

from annotate.accounts.invitations import InvitationOver, invite_address, make_account
from annotate.annotators.conflicts.actions import remove_conflict
from annotate.annotators.roster.actions import remove_person
from annotate.items.actions import bring_back_item, import_items, retire_item
from annotate.items.rows import NewItem
from annotate.locks import lock_annotator, lock_project
from annotate.models import ConflictOfInterest, ExpectedPerson, Item, Tag, User, Webhook
from annotate.participation.actions import replace_join_link
from annotate.quality.gold.actions import remove_gold_set
from annotate.webhooks.actions import replace_secret, send_test
from tests.conftest import NOW, make_annotator
from tests.site.gold_sets import make_known
from tests.site.test_locks import PATIENCE, Held, several, waits

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["several"]


def removes_gold_set(project, given):
    known = make_known(project, "gold", 1)[0]
    return lambda: remove_gold_set(known=known, **given)


def removes_person(project, given):
    person = ExpectedPerson.objects.create(project=project, name="Judge")
    return lambda: remove_person(person=person, **given)


def removes_conflict(project, given):
    entry = ConflictOfInterest.objects.create(annotator=make_annotator(project, "Stoat"), item=project.items.first())
    return lambda: remove_conflict(entry=entry, **given)


def brings_back(project, given):
    item = project.items.first()
    retire_item(item=item, **given)
    return lambda: bring_back_item(item=Item.objects.get(pk=item.pk), **given)


def replaces_secret(project, given):
    webhook = Webhook.objects.create(project=project, url="https://example.org/", created_at=NOW)
    return lambda: replace_secret(webhook=webhook, **given)


def sends_test(project, given):
    webhook = Webhook.objects.create(project=project, url="https://example.org/", created_at=NOW)
    return lambda: send_test(webhook=webhook, now=NOW)


def replaces_link(project, given):
    return lambda: replace_join_link(project=project, **given)


@pytest.mark.parametrize(
    "prepare",
    [replaces_link, removes_gold_set, removes_person, removes_conflict, brings_back, replaces_secret, sends_test],
)
def test_the_change_waits_for_a_step_under_way(several, project, alice, prepare):
    change = prepare(project, {"actor": alice, "now": NOW})
    step = Held(lock_annotator, make_annotator(project, "Otter"))
    assert step.has.wait(PATIENCE)
    owner = Held(change)
    assert waits(owner)
    step.end()
    assert owner.has.wait(PATIENCE)
    owner.end()


def test_a_change_that_waits_holds_no_row_that_a_step_may_need(several, project, alice):
    """Else the two wait for each other, and PostgreSQL undoes one of them."""
    known = make_known(project, "gold", 1)[0]
    step = Held(lock_project, project.pk)
    assert step.has.wait(PATIENCE)
    owner = Held(lambda: remove_gold_set(known=known, actor=alice, now=NOW))
    assert waits(owner)
    type(known).objects.filter(pk=known.pk).update(why="because")  # would wait for the owner
    step.end()
    assert owner.has.wait(PATIENCE)
    owner.end()
    assert not type(known).objects.exists()


def test_new_items_wait_before_they_write_tags_that_others_may_write(several, project, alice):
    rows = [NewItem(place=0, key="new", body="New", kind=Item.Kind.TEXT, tags=("finals",))]
    step = Held(lock_project, project.pk)
    assert step.has.wait(PATIENCE)
    importing = Held(
        lambda: import_items(
            project=project, actor=alice, rows=rows, upload="u", source="-", now=NOW, rng=random.Random(1)
        )
    )
    assert waits(importing)
    Tag.objects.create(project=project, name="finals")  # would wait for the import
    step.end()
    assert importing.has.wait(PATIENCE)
    importing.end()
    assert project.items.get(key="new").tags.get().name == "finals"


def test_of_two_who_use_an_invitation_at_once_one_makes_the_account(several, project):
    invitation = invite_address(project=project, address="new@example.org", role="viewer", now=timezone.now())

    def use() -> None:
        user = User(username="new", email=invitation.address)
        make_account(invitation=invitation, user=user, password="a long enough secret", now=timezone.now())

    refused: list[Exception] = []

    def use_too() -> None:
        try:
            use()
        except Exception as error:
            refused.append(error)

    first = Held(use)
    assert first.has.wait(PATIENCE)
    second = Held(use_too)
    assert waits(second)
    first.end()
    assert second.has.wait(PATIENCE)
    second.end()
    assert [type(one) for one in refused] == [InvitationOver]
    assert User.objects.filter(email="new@example.org").count() == 1
