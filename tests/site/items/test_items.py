"""The owner's list of items: finding, retiring, bringing back, deleting what nobody has seen."""

import pytest
from django.urls import reverse

from annotate.models import Event, FitState, Item, Label, Project, Tag
from tests.conftest import NOW, answer_one, make_annotator

LOGIN = "allauth.account.auth_backends.AuthenticationBackend"


@pytest.fixture
def owner(client, alice):
    client.force_login(alice, LOGIN)
    return client


@pytest.fixture
def url(project):
    return reverse("items", args=[project.pk])


def found(response):
    return [line.item.key for line in response.context["items"].lines]


def test_items_are_listed_with_their_unvoided_labels(owner, project, url):
    annotator = make_annotator(project, "A")
    label = answer_one(annotator)
    undone = answer_one(annotator)
    shown = set(label.presentation.items.values_list("key", flat=True))
    Label.objects.filter(pk=undone.pk).update(voided_at=NOW, void_reason="undone")
    type(undone.presentation).objects.filter(pk=undone.presentation_id).update(state="voided")
    lines = owner.get(url).context["items"].lines
    assert {line.item.key for line in lines if line.n_labels} == shown
    assert {line.n_labels for line in lines} == {0, 1}


@pytest.mark.slow
def test_they_can_be_searched_and_filtered(owner, project, url):
    tag = Tag.objects.create(project=project, name="school")
    project.items.get(key="item-2").tags.add(tag)
    project.items.filter(key="item-3").update(retired_at=NOW)
    assert found(owner.get(url, {"q": "number 4"})) == ["item-4"]
    assert found(owner.get(url, {"q": "ITEM-5"})) == ["item-5"]
    assert found(owner.get(url, {"tag": "school"})) == ["item-2"]
    assert found(owner.get(url, {"state": "retired"})) == ["item-3"]
    assert "item-3" not in found(owner.get(url, {"state": "active"}))
    assert "No items found" in owner.get(url, {"q": "nowhere"}).content.decode()
    for nonsense in ({"state": "x"}, {"tag": "x"}, {"page": "x"}, {"page": "-3"}, {"page": "99999"}, {"q": "a\0b"}):
        assert owner.get(url, nonsense).status_code == 200


def test_without_items_the_page_says_what_to_do(owner, project, url):
    project.items.all().delete()
    assert "No items yet" in owner.get(url).content.decode()


def test_an_item_is_retired_and_brought_back(owner, project, url):
    answer_one(make_annotator(project, "A"))
    item = project.items.get(key="item-1")
    page = owner.post(f"{url}?state=active&page=1", {"item": item.pk, "action": "retire"}, follow=True)
    assert page.redirect_chain == [(f"{url}?state=active&page=1", 302)]
    assert "“item-1” is retired" in page.content.decode()
    item.refresh_from_db()
    assert item.retired_at
    assert FitState.objects.get().wanted == 2
    owner.post(url, {"item": item.pk, "action": "retire"})
    owner.post(url, {"item": item.pk, "action": "bring-back"})
    item.refresh_from_db()
    assert item.retired_at is None
    assert list(Event.objects.order_by("pk").values_list("verb", flat=True)) == ["item retired", "item brought back"]


def test_only_what_nobody_has_seen_can_be_deleted(owner, project, url):
    label = answer_one(make_annotator(project, "A"))
    shown = label.presentation.items.first()
    unseen = project.items.exclude(pk__in=label.presentation.items.all()).first()
    owner.post(url, {"item": unseen.pk, "action": "delete"})
    assert not Item.objects.filter(pk=unseen.pk).exists()
    page = owner.post(url, {"item": shown.pk, "action": "delete"}, follow=True).content.decode()
    assert "has been shown to annotators" in page
    assert Item.objects.filter(pk=shown.pk).exists()
    assert owner.post(url, {"item": unseen.pk, "action": "delete"}).status_code == 404


@pytest.mark.parametrize(
    "data", [{}, {"item": "x", "action": "retire"}, {"item": "1"}, {"item": "9" * 30, "action": "retire"}]
)
def test_nonsense_changes_nothing(owner, project, url, data):
    page = owner.post(url, data, follow=True)
    assert "The request named no item and action" in page.content.decode()
    assert not Event.objects.exists()


def test_an_item_of_another_project_is_not_found(owner, project, url):
    other = Project.objects.create(name="Other", question="?")
    item = Item.objects.create(project=other, key="x", body="x")
    assert owner.post(url, {"item": item.pk, "action": "retire"}).status_code == 404


def test_who_may(client, project, url, manuel, vera, bob, charlie):
    item = project.items.first()
    for user, status in ((vera, 403), (bob, 403), (charlie, 404), (manuel, 200)):
        client.force_login(user, LOGIN)
        assert client.get(url).status_code == status
        client.post(url, {"item": item.pk, "action": "retire"})
        item.refresh_from_db()
        assert bool(item.retired_at) == (status == 200)
    client.logout()
    assert client.get(url).status_code == 302


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 500])
def test_queries_do_not_grow_with_items_or_labels(owner, project, url, n, django_assert_num_queries):
    Item.objects.bulk_create(Item(project=project, key=f"more-{i}", body=f"More {i}") for i in range(n))
    tag = Tag.objects.create(project=project, name="all")
    for item in project.items.all():
        item.tags.add(tag)
    for i in range(n // 10):
        answer_one(make_annotator(project, f"A{i}"))
    with django_assert_num_queries(11):
        owner.get(url)


def tags_by_key(project):
    return {item.key: sorted(item.tags.values_list("name", flat=True)) for item in project.items.all()}


def test_many_items_are_tagged_at_once(owner, project, url):
    first, second, third = project.items.order_by("pk")[:3]
    foreign = Item.objects.create(project=Project.objects.create(name="X", question="?"), key="f", body="f")
    chosen = [first.pk, second.pk, foreign.pk, "x"]
    owner.post(url, {"action": "tag", "tags": "school, long,school", "items": chosen})
    owner.post(url, {"action": "tag", "tags": "long", "items": [second.pk, third.pk]})
    assert {key: tags for key, tags in tags_by_key(project).items() if tags} == {
        first.key: ["long", "school"],
        second.key: ["long", "school"],
        third.key: ["long"],
    }
    assert not foreign.tags.exists()
    assert [event.details["items"] for event in Event.objects.filter(verb="items tagged").order_by("pk")] == [2, 1]
    owner.post(url, {"action": "untag", "tags": "long", "items": [first.pk]})
    assert tags_by_key(project)[first.key] == ["school"]
    assert found(owner.get(url, {"tag": "long"})) == [second.key, third.key]


def test_all_that_a_search_finds_is_changed_at_once(owner, project, url):
    owner.post(f"{url}?q=number+4", {"action": "tag", "tags": "four", "every": "on"})
    assert [key for key, tags in tags_by_key(project).items() if tags] == ["item-4"]
    owner.post(f"{url}?tag=four", {"action": "retire-all", "every": "on"})
    assert list(project.items.filter(retired_at__isnull=False).values_list("key", flat=True)) == ["item-4"]
    owner.post(url, {"action": "bring-back-all", "every": "on"})
    assert not project.items.filter(retired_at__isnull=False).exists()
    verbs = ["items tagged", "items retired", "items brought back"]
    assert list(Event.objects.order_by("pk").values_list("verb", flat=True)) == verbs


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({"action": "tag", "tags": " , "}, "No tag is given"),
        ({"action": "tag", "tags": "school"}, "No items are selected"),
        ({"action": "tag", "tags": "x" * 101, "every": "on"}, "101 characters; the limit is 100"),
        ({"action": "burn", "every": "on"}, "burn"),
    ],
)
def test_what_can_not_be_done_to_many_is_told(owner, project, url, sent, told):
    answer = owner.post(url, sent, follow=True)
    assert told in answer.content.decode()
    assert not Tag.objects.exists()


@pytest.mark.parametrize("number", ["9" * 19, "9" * 5000, "²", "-1", ""])
def test_numbers_that_no_item_has_are_no_items(project, owner, url, number):
    own = project.items.first()
    values = {"action": "retire-all", "items": [number, own.pk]}
    assert owner.post(url, values).status_code == 302
    assert list(project.items.filter(retired_at__isnull=False)) == [own]
