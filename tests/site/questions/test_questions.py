"""The page and the operations of given questions: the list, filters, changing, withdrawing, the order."""

import pytest
from django.urls import reverse

from annotate.labelling.plan import given
from annotate.models import Event, EventVerb
from annotate.questions.queries import Connection, read_connection
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.api_client import Api
from tests.site.pages import signed_in


@pytest.fixture
def questions(project, alice) -> None:
    """A chain of three questions, asked in order; the first has an answer."""
    items = list(project.items.order_by("pk").values_list("pk", flat=True))
    chain = [given.NewQuestion((items[n], items[n + 1])) for n in range(3)]
    given.add_questions(project=project, actor=alice, questions=chain, order="in_order", now=NOW)
    project.refresh_from_db()
    answer_one(make_annotator(project, "a"))


@pytest.fixture
def client(alice):
    return signed_in(alice)


@pytest.fixture
def page(client, project):
    return lambda query="": " ".join(
        client.get(reverse("questions", args=[project.pk]) + query).content.decode().split()
    )


def test_without_questions_the_page_says_what_is_asked(page):
    assert "Questions are drawn from the items" in page()


def test_the_page_lists_questions_with_their_answers(questions, page):
    shown = page()
    assert "3 questions are asked, 0 of them have all their answers; 5 answers are still needed." in shown
    assert "1 of 2" in shown
    assert "2 items are in no question" in shown


@pytest.mark.parametrize(
    ("query", "n"), [("?state=unanswered", 2), ("?state=partly", 1), ("?item=item-1", 2), ("?item=nowhere", 0)]
)
def test_the_list_can_be_filtered(questions, page, query, n):
    assert page(query).count('name="number" value=') == n


def test_ticked_questions_are_withdrawn_asked_again_and_given_a_priority(client, project, questions, page):
    address = reverse("questions", args=[project.pk])
    client.post(address, {"number": ["1", "2"], "action": "withdraw"})
    assert list(given.questions_of(project).values_list("number", "place")) == [(1, None), (3, 3)]
    client.post(address, {"number": ["1"], "action": "ask"})
    client.post(address, {"number": ["3"], "action": "priority", "priority": "8"})
    assert list(given.questions_of(project).values_list("place", "priority")) == [(1, 0), (3, 8)]
    verbs = {EventVerb.QUESTIONS_WITHDRAWN, EventVerb.QUESTIONS_ASKED_AGAIN, EventVerb.QUESTIONS_CHANGED}
    assert Event.objects.filter(project=project, verb__in=verbs).count() == 3


def test_nothing_ticked_is_said(client, project, questions, page):
    response = client.post(reverse("questions", args=[project.pk]), {"action": "withdraw"})
    assert (response.status_code, "No question is ticked" in response.content.decode()) == (400, True)


def test_the_order_is_changed_and_drawing_begins_again(client, project, questions, page):
    address = reverse("questions-order", args=[project.pk])
    client.post(address, {"order": "balanced"})
    project.refresh_from_db()
    assert project.given_order == "balanced"
    client.post(address, {"action": "draw"})
    project.refresh_from_db()
    assert (project.given_order, project.labels.count()) == ("", 1)


def test_a_page_takes_as_many_statements_whatever_the_number_of_questions(
    client, project, alice, questions, page, django_assert_max_num_queries
):
    items = list(project.items.order_by("pk").values_list("pk", flat=True))
    more = [given.NewQuestion((one, other)) for one in items for other in items if one < other]
    page()
    with django_assert_max_num_queries(20) as few:
        page()
    given.add_questions(project=project, actor=alice, questions=more, now=NOW)
    with django_assert_max_num_queries(len(few)):
        page()


def test_groups_that_nothing_joins_are_told(project, alice, page):
    items = list(project.items.order_by("pk"))
    for place, item in enumerate(items):
        item.competitor = f"model {place % 4}"
        item.save()
    apart = [given.NewQuestion((items[0].pk, items[1].pk)), given.NewQuestion((items[2].pk, items[3].pk))]
    given.add_questions(project=project, actor=alice, questions=apart, now=NOW)
    assert read_connection(project) == Connection(n_groups=1, n_left_out=2, n_boards=2)
    assert "The competitors fall into 2 groups" in page()


def test_the_operations_add_list_change_and_withdraw(project, alice):
    api = Api(alice, project)
    sent = {"questions": [{"items": ["item-0", "item-1"], "priority": 4}, {"items": ["item-1", "item-0"]}]}
    assert api("post", "given-questions", sent).json() == {"n_added": 1, "n_merged": 1}
    [row] = api("get", "given-questions").json()["results"]
    expected = {"number": 1, "items": ["item-0", "item-1"], "priority": 4, "state": "unanswered", "n_answers": 0}
    assert row == expected
    assert api("patch", "given-questions", {"numbers": [1], "priority": 2}).json() == {"n_changed": 1}
    assert api("put", "given-questions-order", {"order": "priority"}).json() == {
        "order": "priority",
        "n_asked": 1,
        "n_full": 0,
        "n_answers": 0,
        "n_left": 2,
    }
    assert api("post", "given-questions-withdraw", {"numbers": [1]}).json() == {"n_changed": 1}
    assert api("get", "given-questions").json()["count"] == 0
    assert api("post", "given-questions-withdraw", {"draw_again": True}).status_code == 200
    assert api("get", "given-questions-order").json()["order"] == ""


def test_one_wrong_question_refuses_all_with_its_place(project, alice):
    api = Api(alice, project)
    sent = {"questions": [{"items": ["item-0", "item-1"]}, {"items": ["item-0", "nowhere"]}, {"items": ["item-0"]}]}
    response = api("post", "given-questions", sent)
    assert response.status_code == 422
    assert set(response.json()["errors"]) == {"questions.1", "questions.2"}
    assert given.questions_of(project).count() == 0
