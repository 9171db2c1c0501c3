"""Ideas of annotators: sent, moderated, limited, found similar; in the log, the export and a person's own data."""

import json
import random
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from rest_framework.throttling import SimpleRateThrottle

from annotate.annotators.exclusion import exclude_annotator
from annotate.core.errors import AnnotatorExcluded, ProjectNotOpen
from annotate.ideas.actions import (
    IdeaDecided,
    NoReason,
    approve_idea,
    approve_ideas,
    merge_idea,
    refuse_idea,
    submit_idea,
)
from annotate.ideas.rules import IdeaEmpty, IdeasClosed, IdeasNotPossible, IdeaTooLong, TooManyIdeas
from annotate.models import Annotator, Event, Idea, Item, Label, Project, Webhook, WebhookDelivery
from annotate.privacy.erasure.actions import erase_annotator
from annotate.privacy.own_data.export import files_of
from annotate.projects.actions import change_project, delete_project
from annotate.projects.setup.presets import PRESETS
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.api_client import Api
from tests.site.labelling.test_labelling import as_annotator
from tests.site.pages import page, signed_in

RNG = random.Random(1)


@pytest.fixture
def open_project(project) -> Project:
    Project.objects.filter(pk=project.pk).update(ideas_open=True)
    return Project.objects.get(pk=project.pk)


@pytest.fixture
def otter(open_project) -> Annotator:
    return make_annotator(open_project, "Quiet Otter")


def send(annotator: Annotator, text: str = "More trees along the river", now=NOW) -> Idea:
    annotator = Annotator.objects.select_related("project").get(pk=annotator.pk)
    return submit_idea(annotator=annotator, text=text, now=now, rng=RNG)


def own(browser: Client, project: Project) -> str:
    return page(browser, project, "own-ideas")


def test_an_idea_waits_and_becomes_an_item_when_approved(open_project, otter, alice):
    browser, owner = as_annotator(otter), signed_in(alice)
    url = reverse("own-ideas", args=[open_project.pk])
    assert f'href="{url}"' in page(browser, open_project, "label")
    response = browser.post(url, {"text": "  <b>More</b>  trees\nalong the river "}, follow=True)
    html = " ".join(response.content.decode().split())
    assert "&lt;b&gt;More&lt;/b&gt; trees along the river" in html
    assert "Waiting for the organisers." in html
    assert open_project.items.count() == 6
    queue = page(owner, open_project, "ideas")
    assert "&lt;b&gt;More&lt;/b&gt; trees along the river" in queue
    assert '<span class="count">1<span' in page(owner, open_project, "ranking")
    idea = Idea.objects.get()
    response = owner.post(reverse("idea-decide", args=[open_project.pk, idea.pk]), {"action": "approve"}, follow=True)
    assert "It is asked first until it has been compared as often as the others." in response.content.decode()
    item = open_project.items.get(key=f"idea-{idea.pk}")
    assert (item.kind, item.body, item.n_taken) == ("text", idea.text, 0)
    assert [tag.name for tag in item.tags.all()] == ["idea"]
    assert "It is in: people are asked about it." in own(browser, open_project)
    [event] = Event.objects.filter(verb="idea approved")
    assert (event.actor, event.annotator, event.details) == (alice, otter, {"key": item.key, "edited": False})
    assert "approved an idea of Quiet Otter as the item" in page(owner, open_project, "log")


def test_ideas_are_edited_merged_and_refused_and_their_authors_told(open_project, otter, alice):
    owner, browser = signed_in(alice), as_annotator(otter)
    texts = ["Mor trees", "Text number two", "Buy this watch"]
    edited, merged, refused = [send(otter, text, NOW + timedelta(seconds=i)) for i, text in enumerate(texts)]
    for idea, values in (
        (edited, {"action": "approve", "text": "More trees"}),
        (merged, {"action": "merge", "other": "item-2"}),
        (refused, {"action": "refuse", "reason": "Advertising"}),
    ):
        url = reverse("idea-decide", args=[open_project.pk, idea.pk])
        assert owner.post(url, values).status_code == 302
        assert "has been decided in the meantime" in owner.post(url, values).content.decode()
    html = own(browser, open_project)
    assert "It is in, in these words: “More trees”." in html
    assert "It says the same as “Text number 2”, so nothing was added." in html
    assert "Not added: Advertising" in html
    assert open_project.items.count() == 7
    assert {"idea approved", "idea merged", "idea refused"} <= set(Event.objects.values_list("verb", flat=True))
    with pytest.raises(IdeaDecided):
        approve_idea(idea=refused, actor=alice, now=NOW, rng=RNG)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"action": "merge", "other": "nothing"}, "No item has the key “nothing”."),
        ({"action": "merge"}, "Choose an item."),
        ({"action": "refuse", "reason": " "}, "Say why the idea is not added"),
        ({"action": "approve", "text": " "}, "Write your idea first."),
        ({"action": "explode"}, "explode"),
    ],
)
def test_a_wrong_decision_changes_nothing(open_project, otter, alice, values, told):
    url = reverse("idea-decide", args=[open_project.pk, send(otter).pk])
    response = signed_in(alice).post(url, values)
    assert response.status_code == 400
    assert told in response.content.decode()
    assert Idea.objects.get().state == "waiting"


def test_many_are_approved_at_once_and_none_twice(open_project, otter, alice):
    ideas = [send(otter, f"Idea {word}", NOW) for word in ("one", "two", "three")]
    client, url = signed_in(alice), reverse("ideas", args=[open_project.pk])
    assert "Tick the ideas to approve first." in client.post(url).content.decode()
    client.post(url, {"ideas": [ideas[0].pk, ideas[1].pk]})
    assert [idea.state for idea in Idea.objects.order_by("pk")] == ["approved", "approved", "waiting"]
    assert client.post(url, {"ideas": [ideas[0].pk, ideas[2].pk]}).status_code == 400
    made = approve_ideas(project=open_project, actor=alice, ideas=[one.pk for one in ideas], now=NOW, rng=RNG)
    assert [item.body for item in made] == ["Idea three"]
    assert open_project.items.count() == 9


def test_approved_at_once_where_the_owner_says_so(open_project, otter):
    Project.objects.update(ideas_at_once=True)
    Item.objects.create(project=open_project, key=f"idea-{Idea.objects.count() + 1}", body="Taken")
    idea = send(otter)
    assert idea.state == "approved"
    assert idea.item.body == "More trees along the river"
    assert Event.objects.get(verb="idea approved at once").actor is None


def test_the_same_text_again_is_the_same_idea(open_project, otter):
    assert send(otter) == send(otter, "More  trees along the river")
    assert Idea.objects.count() == 1


def test_limits_say_value_and_limit(open_project, otter, monkeypatch):
    Project.objects.update(ideas_each=2, idea_length=20)
    with pytest.raises(IdeaTooLong, match="21 characters; the limit is 20"):
        send(otter, "x" * 21)
    with pytest.raises(IdeaEmpty):
        send(otter, " \0 ")
    send(otter, "One")
    send(otter, "Two")
    with pytest.raises(TooManyIdeas, match="added 2 ideas"):
        send(otter, "Three")
    monkeypatch.setattr("annotate.ideas.rules.MAX_IDEAS", 2)
    with pytest.raises(TooManyIdeas, match="has 2 ideas"):
        send(make_annotator(open_project, "Brisk Heron"), "Four")


@pytest.mark.parametrize("scope", ["idea", "project-ideas"])
def test_ideas_are_limited_in_each_hour(open_project, otter, monkeypatch, scope):
    monkeypatch.setitem(SimpleRateThrottle.THROTTLE_RATES, scope, "1/hour")
    browser, url = as_annotator(otter), reverse("own-ideas", args=[open_project.pk])
    statuses = [browser.post(url, {"text": text}).status_code for text in ("", "More trees", "Fewer cars")]
    assert statuses == [400, 302, 429]
    assert Idea.objects.count() == 1


def test_who_may_not_add_an_idea(open_project, otter, alice):
    exclude_annotator(annotator=otter, actor=alice, reason="", now=NOW)
    with pytest.raises(AnnotatorExcluded):
        send(otter)
    heron = make_annotator(open_project, "Brisk Heron", ended="complete")
    assert send(heron).state == "waiting", "who has finished may still add one"
    Project.objects.update(state="paused")
    with pytest.raises(ProjectNotOpen):
        send(heron, "Another")
    Project.objects.update(state="open", ideas_open=False)
    with pytest.raises(IdeasClosed):
        send(heron, "Another")
    assert "This project takes no ideas" in own(as_annotator(heron), open_project)


def test_consent_comes_before_an_idea(open_project, otter):
    Project.objects.update(consent_version="x")
    response = as_annotator(otter).post(reverse("own-ideas", args=[open_project.pk]), {"text": "More trees"})
    assert response["Location"] == reverse("consent", args=[open_project.pk])
    assert not Idea.objects.exists()


def test_only_projects_of_plain_texts_take_ideas(project, alice):
    Item.objects.filter(key="item-0").update(kind="markdown")
    with pytest.raises(IdeasNotPossible, match="1 item of this project is not"):
        change_project(project=project, actor=alice, values={"ideas_open": True}, now=NOW)
    client, url = signed_in(alice), reverse("settings-participants", args=[project.pk])
    values = {"ideas_open": "on", "idea_length": 300, "ideas_each": 5, "show_result": "never", "show_result_after": 10}
    response = client.post(url, values)
    assert response.status_code == 400
    assert "Ideas are plain texts" in response.content.decode()
    assert Api(alice, project)("patch", "project", {"ideas_open": True}).status_code == 409
    Item.objects.update(kind="text")
    assert client.post(url, values).status_code == 302
    project.refresh_from_db()
    assert (project.ideas_open, project.idea_length, project.ideas_each) == (True, 300, 5)
    assert client.post(url, values | {"idea_length": 5}).status_code == 400


def test_a_public_poll_takes_ideas_and_shows_its_result_after_ten_answers():
    values = PRESETS["poll"].participants
    assert (values["ideas_open"], values["show_result"], values["show_result_after"]) == (True, "after", 10)


def test_similar_items_are_shown_before_an_idea_is_sent_and_to_who_decides(open_project, otter, alice):
    Item.objects.filter(key="item-3").update(body="Plant more trees along the streets", name="Not for annotators")
    browser, url = as_annotator(otter), reverse("own-ideas", args=[open_project.pk])
    html = browser.post(url, {"text": "More trees along our streets"}).content.decode()
    assert "Similar: is it one of these?" in html
    assert "Plant more trees along the streets" in html
    assert "Not for annotators" not in html
    assert not Idea.objects.exists()
    browser.post(url, {"text": "More trees along our streets", "anyway": "1"})
    queue = page(signed_in(alice), open_project, "ideas")
    assert 'name="item" value="item-3" checked' in queue
    merge = {"action": "merge", "item": "item-3"}
    signed_in(alice).post(reverse("idea-decide", args=[open_project.pk, Idea.objects.get().pk]), merge)
    assert Idea.objects.get().item.key == "item-3"


def test_an_excluded_author_s_items_stay(open_project, otter, alice):
    item = approve_idea(idea=send(otter), actor=alice, now=NOW, rng=RNG)
    exclude_annotator(annotator=otter, actor=alice, reason="", now=NOW)
    assert Item.objects.get(pk=item.pk).retired_at is None
    assert Idea.objects.get().annotator == otter


def test_an_erased_author_s_ideas_go_and_items_made_of_them_stay(open_project, otter, alice):
    Webhook.objects.create(project=open_project, url="https://example.org/", events=["idea.submitted"], created_at=NOW)
    approved, _waiting, refused = (send(otter, f"Idea {word}") for word in ("one", "two", "three"))
    item = approve_idea(idea=approved, actor=alice, text="Idea 1", now=NOW, rng=RNG)
    refuse_idea(idea=refused, actor=alice, reason="Otter again", now=NOW)
    messages = [json.loads(one.body) for one in WebhookDelivery.objects.all()]
    assert [(one["type"], one["data"]["text"]) for one in messages] == [
        ("idea.submitted", f"Idea {word}") for word in ("one", "two", "three")
    ]
    assert messages[0]["data"]["annotator"] == str(otter.key)
    mine = dict(files_of(Annotator.objects.filter(pk=otter.pk)))
    assert "Idea two" in b"".join(mine["ideas.csv"]).decode()
    erase_annotator(annotator=otter, by="owner", actor=alice, now=NOW)
    [left] = Idea.objects.all()
    assert (left.pk, left.annotator, left.text, left.item) == (approved.pk, None, "", item)
    assert Item.objects.get(pk=item.pk).body == "Idea 1"
    assert not WebhookDelivery.objects.exists()
    assert "Otter again" not in str(list(Event.objects.values_list("details", flat=True)))
    assert "author erased" in page(signed_in(alice), open_project, "ideas", "?state=all")


def test_the_export_and_the_api_tell_what_became_of_ideas(open_project, otter, alice):
    api, mine = Api(alice, open_project), {"Authorization": f"Annotator {otter.resume_token}"}
    base = f"/api/v1/projects/{open_project.pk}/own-ideas/"
    sent = [
        otter_client.post(base, json.dumps({"text": text}), content_type="application/json", headers=mine)
        for otter_client in [Client()]
        for text in ("More trees", "More trees", "Fewer cars", "Text number 3")
    ]
    assert [one.status_code for one in sent] == [201] * 4
    trees, _again, cars, same = (one.json()["id"] for one in sent)
    similar = Client().post(
        f"{base}similar/", json.dumps({"text": "Text number 3!"}), content_type="application/json", headers=mine
    )
    assert similar.json()[0] == {"text": "Text number 3", "similarity": 1.0}
    assert [row["id"] for row in api("get", "ideas", state="waiting").json()["results"]] == [trees, cars, same]
    assert api("post", "idea-approve", {"text": "More big trees"}, args=[trees]).json()["item"] == f"idea-{trees}"
    assert api("post", "idea-merge", {"item": "item-3"}, args=[same]).json()["state"] == "merged"
    assert api("post", "idea-merge", {"item": "none"}, args=[cars]).status_code == 422
    assert api("post", "idea-refuse", {"reason": "Off topic"}, args=[cars]).json()["reason"] == "Off topic"
    assert api("post", "idea-refuse", {"reason": "Off topic"}, args=[cars]).status_code == 409
    told = Client().get(base, headers=mine).json()
    assert [(row["state"], row["same_as"], row["reason"]) for row in told] == [
        ("merged", "Text number 3", ""),
        ("refused", None, "Off topic"),
        ("approved", None, ""),
    ]
    table = b"".join(signed_in(alice).get(reverse("export", args=[open_project.pk, "ideas", "csv"])).streaming_content)
    assert f"{trees},More trees,Quiet Otter,approved,idea-{trees}" in table.decode()


def test_a_reason_is_needed_to_refuse(open_project, otter, alice):
    with pytest.raises(NoReason):
        refuse_idea(idea=send(otter), actor=alice, reason=" ", now=NOW)


def test_a_project_is_deleted_with_its_ideas(open_project, otter, alice):
    merge_idea(idea=send(otter), actor=alice, item=open_project.items.first(), now=NOW)
    delete_project(project=open_project)
    assert not Idea.objects.exists()
    assert not Label.objects.exists()


def test_the_queue_takes_as_many_queries_with_twenty_ideas(open_project, otter, alice, django_assert_max_num_queries):
    client = signed_in(alice)
    for i in range(20):
        Idea.objects.create(project=open_project, annotator=otter, text=f"Idea {i}", created_at=NOW)
    with django_assert_max_num_queries(12):
        page(client, open_project, "ideas")


def test_an_idea_counts_no_answer(open_project, otter):
    send(otter)
    assert answer_one(otter).voided_at is None
