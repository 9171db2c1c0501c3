"""Comments on each item: sent with an answer, required where comments are, told to their author, exported, erased."""

import random
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.core.errors import InvalidAnswer
from annotate.criteria import Criterion
from annotate.labelling import assignment
from annotate.labelling.actions import Answer, record_label
from annotate.models import MAX_COMMENT_LENGTH, ItemComment, Label
from annotate.privacy.erasure.actions import BY_OWNER, erase_annotator
from annotate.privacy.own_data.export import ANSWERS, answer_rows
from annotate.privacy.retention.actions import drop_personal_data
from annotate.publishing.exports.labels import COLUMNS, rows
from tests.conftest import NOW, make_annotator
from tests.site.labelling.test_eligibility import set_up
from tests.site.labelling.test_known_items import shown_to
from tests.site.labelling.test_labelling import as_annotator, submit_url, task_of
from tests.site.pages import HTMX


def say(annotator, *comments: str, answer="choice", seed=0) -> Label:
    """Answer the next task with comments on its items."""
    shown = assignment.next_presentation(annotator=annotator, now=NOW, rng=random.Random(seed))
    said = Answer(answer, chosen=0 if answer == "choice" else None, item_comments=comments)
    return record_label(presentation=shown, answer=said, now=NOW + timedelta(minutes=seed))


@pytest.mark.parametrize("criteria", [[], [{"name": "Clear", "question": "?"}, {"name": "Right", "question": "?"}]])
def test_each_item_needs_its_comment_where_they_are_required(project, criteria):
    set_up(project, item_comments=True, comment_required=True, criteria=criteria, outcomes=["skip"])
    otter = make_annotator(project, "Quiet Otter")
    client, shown = as_annotator(otter), shown_to(otter)
    assert 'name="comment_b"' in client.get(task_of(project)).content.decode()
    answer = {"answer": "each", "answer_1": "a", "answer_2": "b"} if criteria else {"answer": "a"}
    refused = client.post(submit_url(shown), answer | {"comment_a": "Kept <this>"}, headers=HTMX)
    html = refused.content.decode()
    assert (refused.status_code, otter.labels.count()) == (400, 0)
    assert "Write one on B, then send." in html
    assert "Kept &lt;this&gt;</textarea>" in html
    client.post(submit_url(shown), answer | {"comment_a": "One\r\nline\0 ", "comment_b": "Two"})
    items = list(shown.presented.order_by("position").values_list("item", flat=True))
    assert list(ItemComment.objects.order_by("pk").values_list("item", "text")) == [
        (items[0], "One\nline"),
        (items[1], "Two"),
    ]
    client.post(submit_url(shown_to(otter)), {"answer": "skip"})
    assert otter.labels.count() == 2
    assert "Your comment on B:" in client.get(reverse("own-answers", args=[project.pk])).content.decode()


def test_what_cannot_be_stored_is_refused(project):
    set_up(project, item_comments=False)
    otter = make_annotator(project, "Quiet Otter")
    with pytest.raises(InvalidAnswer, match="no longer accepts comments"):
        say(otter, "Hello")
    set_up(project, item_comments=True)
    with pytest.raises(InvalidAnswer, match="limit is 2000"):
        say(otter, "", "x" * (MAX_COMMENT_LENGTH + 1))
    with pytest.raises(InvalidAnswer, match="3 comments on items; 2 items"):
        say(otter, "", "", "c")
    assert (ItemComment.objects.count(), Label.objects.count()) == (0, 0)


def test_the_api_takes_and_tells_them(project, settings):
    set_up(project, item_comments=True)
    otter = make_annotator(project, "Quiet Otter")
    client, shown = as_annotator(otter), shown_to(otter)
    body = {"outcome": "choice", "chosen": 0, "item_comments": ["", "Clear ", ""]}
    secret = {"Authorization": f"Annotator {otter.resume_token}"}
    sent = client.post(reverse("api-answer", args=[shown.token]), body, "application/json", headers=secret)
    assert sent.status_code == 200, sent.content
    assert sent.json()["next"]["task"]["item_comments"] is True
    own = client.get(reverse("api-answers", args=[project.pk]), headers=secret).json()["results"]
    assert own[0]["item_comments"] == [{"letter": "B", "text": "Clear"}]


def test_they_are_exported_and_go_with_their_author(project, alice):
    set_up(project, item_comments=True)
    otter, heron = (make_annotator(project, name) for name in ("Quiet Otter", "Brisk Heron"))
    say(otter, "", "Clear", seed=1)
    say(heron, "Good", seed=2)
    at = [column.name for column in COLUMNS].index("item_comments")
    assert [row[at] for row in rows(Criterion(project))] == [["", "Clear"], ["Good", ""]]
    theirs = dict(zip(ANSWERS, next(answer_rows(type(otter).objects.filter(pk=otter.pk))), strict=True))
    assert theirs["item_comments"] == ["", "Clear"]
    erase_annotator(annotator=otter, by=BY_OWNER, actor=alice, now=timezone.now())
    assert [one.text for one in ItemComment.objects.all()] == ["Good"]
    drop_personal_data(project, [heron])
    assert not ItemComment.objects.exists()
