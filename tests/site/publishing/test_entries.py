"""Comments released to entrants: by item, moderated, behind secret links that show nothing else and nobody's name."""

import csv
import io

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.annotators.exclusion import exclude_annotator, readmit_annotator
from annotate.models import EntryLink, Event, GoldSet, ItemComment, Label, Presentation, Project, Tag
from annotate.privacy.erasure.actions import BY_OWNER, erase_annotator
from tests.conftest import NOW, make_annotator, member
from tests.site.factories import make_overall, spread_fit
from tests.site.labelling.test_eligibility import set_up
from tests.site.labelling.test_item_comments import say
from tests.site.pages import signed_in


@pytest.fixture
def judge(project):
    set_up(project, item_comments=True)
    return make_annotator(project, "Judge Zephyrine")


@pytest.fixture
def said(judge) -> list[ItemComment]:
    """Two comments by one judge, on two items."""
    say(judge, "Bold idea", "Weak demo", seed=1)
    return list(ItemComment.objects.select_related("item").order_by("pk"))


@pytest.fixture
def owner(project, alice) -> Client:
    return signed_in(alice)


def post(client: Client, project: Project, name: str, *args, **data):
    return client.post(reverse(name, args=[project.pk, *args]), data)


def link_of(item) -> EntryLink:
    return EntryLink.objects.get(item=item, revoked_at=None)


def page_of(item) -> str:
    response = Client().get(reverse("entry-page", args=[link_of(item).token]))
    assert response.status_code == 200
    return response.content.decode()


def test_only_what_is_released_and_of_the_entry_is_shown(project, owner, judge, said):
    post(owner, project, "entry-links-make")
    assert EntryLink.objects.count() == project.items.count()
    assert "Bold idea" not in page_of(said[0].item)
    post(owner, project, "comments-release", action="release")
    html = page_of(said[0].item)
    assert "Bold idea" in html
    others = project.items.exclude(pk=said[0].item_id)
    for secret in ("Weak demo", judge.pseudonym, str(judge.key), *(item.body for item in others)):
        assert secret not in html
    later = make_annotator(project, "Judge Later")
    say(later, "Came later", "Came later", seed=2)
    assert not any("Came later" in page_of(one.item) for one in ItemComment.objects.filter(text="Came later")[:2])


def test_the_page_is_unlisted_and_takes_no_cookie(project, owner, said):
    post(owner, project, "entry-links-make")
    response = Client().get(reverse("entry-page", args=[link_of(said[0].item).token]))
    assert response["X-Robots-Tag"] == "noindex, nofollow"
    assert response["Referrer-Policy"] == "no-referrer"
    assert "no-store" in response["Cache-Control"]
    assert not response.cookies


def test_hidden_void_and_erased_comments_are_not_shown(project, owner, alice, judge, said):
    post(owner, project, "entry-links-make")
    post(owner, project, "comments-release", action="release")
    post(owner, project, "comment-hide", said[0].pk, action="hide")
    assert "Bold idea" not in page_of(said[0].item)
    assert Event.objects.filter(verb="comment hidden", details__key=said[0].item.key).exists()
    post(owner, project, "comment-hide", said[0].pk, action="show")
    assert "Bold idea" in page_of(said[0].item)
    exclude_annotator(annotator=judge, actor=alice, reason="", now=timezone.now())
    assert "Bold idea" not in page_of(said[0].item)
    readmit_annotator(annotator=judge, actor=alice, now=timezone.now())
    assert "Bold idea" in page_of(said[0].item)
    erase_annotator(annotator=judge, by=BY_OWNER, actor=alice, now=timezone.now())
    assert "Bold idea" not in page_of(said[0].item)


def test_a_tag_is_released_and_withdrawn_alone(project, owner, said):
    tag = Tag.objects.create(project=project, name="health")
    said[0].item.tags.add(tag)
    post(owner, project, "comments-release", action="release", tag="health")
    assert list(ItemComment.objects.filter(released_at__isnull=False)) == [said[0]]
    assert post(owner, project, "comments-release", action="release", tag="gone").status_code == 404
    post(owner, project, "comments-release", action="release")
    post(owner, project, "comments-release", action="withdraw", tag="health")
    assert list(ItemComment.objects.filter(released_at__isnull=False)) == [said[1]]


def test_a_hidden_comment_is_not_released(project, owner, said):
    post(owner, project, "comment-hide", said[0].pk, action="hide")
    post(owner, project, "comments-release", action="release")
    assert list(ItemComment.objects.filter(released_at__isnull=False)) == [said[1]]


def test_a_revoked_link_is_dead_and_another_can_be_made(project, owner, said):
    post(owner, project, "entry-links-make")
    old = link_of(said[0].item)
    post(owner, project, "entry-link-revoke", old.pk)
    assert Client().get(reverse("entry-page", args=[old.token])).status_code == 410
    assert Client().get(reverse("entry-page", args=[old.pk.hex])).status_code == 404
    assert owner.get(reverse("entry-link-print", args=[project.pk, old.pk])).status_code == 404
    post(owner, project, "entry-links-make")
    assert link_of(said[0].item).pk != old.pk


def test_place_and_score_only_where_the_owner_shows_them(project, owner, said):
    items = list(project.items.order_by("pk"))
    fit = spread_fit(project, items)
    EntryLink.objects.create(project=project, item=items[0], made_at=NOW)
    assert "Place 1 of" not in page_of(items[0])
    Project.objects.update(entry_places=True)
    html = page_of(items[0])
    assert f"Place 1 of {len(items)}; very likely between 1 and" in html
    assert "50 is average" in html
    criteria = [{"name": "Idea", "question": "?"}, {"name": "Craft", "question": "?"}]
    Project.objects.update(criteria=criteria, weights=[1.0, 1.0])
    assert "Place 1 of" not in page_of(items[0])  # no overall ranking yet
    make_overall(project, fit)
    assert "Place 1 of" in page_of(items[0])


def test_the_links_come_as_csv_and_each_as_a_page_to_print(project, owner, said):
    post(owner, project, "entry-links-make")
    post(owner, project, "comments-release", action="release")
    text = b"".join(owner.get(reverse("entry-links", args=[project.pk])).streaming_content).decode("utf-8-sig")
    rows = {row["key"]: row for row in csv.DictReader(io.StringIO(text))}
    assert len(rows) == project.items.count()
    assert Event.objects.filter(verb="export taken", details__table="entry links").count() == 1
    own = rows[said[0].item.key]
    assert (own["comments"], link_of(said[0].item).token in own["link"]) == ("1", True)
    sheet = owner.get(reverse("entry-link-print", args=[project.pk, link_of(said[0].item).pk])).content.decode()
    assert "Bold idea" in sheet
    assert own["link"] in sheet


def test_managers_moderate_and_owners_release(project, said):
    manager = signed_in(member(project, "manager", "manager"))
    html = manager.get(reverse("comments", args=[project.pk])).content.decode()
    assert "Bold idea" in html
    assert "Release to entrants" not in html
    assert post(manager, project, "comments-release", action="release").status_code == 403
    assert post(manager, project, "comment-hide", said[0].pk, action="hide").status_code == 302


def test_programs_do_the_same(project, owner, said):
    def call(method, name, *args, **body):
        url = reverse(name, args=[project.pk, *args])
        return getattr(owner, method)(url, body or None, content_type="application/json").json()

    listed = owner.get(reverse("api-comments", args=[project.pk])).json()["results"]
    assert {(row["text"], row["annotator"]) for row in listed} == {
        ("Bold idea", "Judge Zephyrine"),
        ("Weak demo", "Judge Zephyrine"),
    }
    assert call("patch", "api-comment", said[1].pk, hidden=True)["hidden_at"]
    assert call("post", "api-comments-release", released=True) == {"n_comments": 1}
    assert call("post", "api-entry-links", item=said[0].item.key) == {"n_links": 1}
    token = owner.get(reverse("api-entry-links", args=[project.pk])).json()["results"][0]["token"]
    shown = Client().get(reverse("api-entry-page", args=[token])).json()
    assert shown == {"title": said[0].item.title, "comments": ["Bold idea"], "place": None, "n_items": 0}
    bad = owner.post(
        reverse("api-comments-release", args=[project.pk]),
        {"released": True, "tag": "x"},
        content_type="application/json",
    )
    assert bad.status_code == 422


def test_practice_and_void_answers_are_not_listed(project, owner, judge):
    def listed() -> bool:
        return "Only trying" in owner.get(reverse("comments", args=[project.pk])).content.decode()

    shown = say(judge, "Only trying", seed=1).presentation
    assert listed()
    values = {"project": project, "purpose": "practice", "item_set": shown.item_set, "outcome": "tie"}
    Presentation.objects.update(purpose="practice", known=GoldSet.objects.create(**values))
    assert not listed()
    Presentation.objects.update(purpose="ordinary", known=None)
    Label.objects.update(voided_at=NOW, void_reason="undone")
    assert not listed()


def test_one_item_gets_a_link(project, owner, said):
    post(owner, project, "entry-links-make", item=said[0].item_id)
    assert [link.item for link in EntryLink.objects.all()] == [said[0].item]
    assert post(owner, project, "entry-links-make", item="none").status_code == 404
