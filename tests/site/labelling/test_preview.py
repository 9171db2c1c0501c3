"""The owner's preview: the task page of every task type with real items, for drafts too, and nothing is written."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.models import Item, Project
from tests.conftest import make_items
from tests.site.pages import HTMX, signed_in
from tests.site.task_types import TASKS, form_of, set_task

READS = ("SELECT", "SAVEPOINT", "RELEASE")


def address(project, query: str = "") -> str:
    return reverse("preview", args=[project.pk]) + query


@pytest.fixture
def browser(alice):
    return signed_in(alice)


@pytest.fixture
def draft(project):
    Item.objects.bulk_create(Item(project=project, key=f"more-{n}", body=f"Another text {n}") for n in range(4))
    make_items(Project.objects.create(name="Another", question="Which?"), 2)
    Project.objects.filter(pk=project.pk).update(state=Project.State.DRAFT)
    project.refresh_from_db()
    return project


@pytest.mark.embedded
@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task[0]} of {task[1]}")
def test_every_task_is_shown_with_real_items_and_answering_goes_on_by_reading_alone(browser, draft, task):
    set_task(draft, *task)
    n_named = {"best_worst": 2, "ranking": draft.k, "top": draft.m}.get(draft.task_type, 1)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        first = browser.get(address(draft))
        second = browser.post(address(draft, "?n=0"), form_of(draft, list(range(n_named))), headers=HTMX)
        undone = browser.post(address(draft, "?n=0"), {"token": "preview"}, headers=HTMX)
    assert not [q["sql"] for q in queries if not q["sql"].lstrip().startswith(READS)]
    assert [response.status_code for response in (first, second, undone)] == [200, 200, 200]
    assert "nothing is stored" in first.content.decode()
    shown = [[option.body for option in response.context["task"].options] for response in (first, second, undone)]
    assert len(set(shown[0])) == draft.k
    assert set(shown[0]) <= set(draft.items.values_list("body", flat=True))
    assert shown[0] == shown[2]
    task = second.context["task"]
    assert task.n_done == 1
    assert "A" in task.last.words
    assert reverse("submit", args=["preview"]) not in second.content.decode()
    assert 'id="undo"' in second.content.decode()


def test_an_answer_that_would_be_refused_is_refused_with_what_was_given(browser, draft):
    set_task(draft, "ranking", 4)
    response = browser.post(address(draft, "?n=3"), {"answer": "ranking", "rank_a": "1"}, headers=HTMX)
    page = response.content.decode()
    assert response.status_code == 400
    assert "Your answer was not counted." in page
    assert response.context["task"].options[0].rank == "1"
    assert response.context["task"].n_done == 3


def test_the_time_to_read_is_waited_for_as_annotators_do(browser, draft):
    draft.min_seconds = 3
    draft.save()
    assert 'data-wait="3000"' in browser.get(address(draft)).content.decode()


def test_it_ends_at_the_cap_and_says_what_is_missing(browser, draft):
    draft.cap = 2
    draft.save()
    stop = browser.get(address(draft, "?n=2")).context["task"].stop
    assert stop.heading == "All done"
    draft.items.update(retired_at="2026-11-20T12:00Z")
    page = browser.get(address(draft)).content.decode()
    assert "This project has 0 items, but each task needs at least 2." in page


@pytest.mark.parametrize("query", ["?n=-1", "?n=x", "?n=999999999999999999999", "?n=²", "?screen=<b>"])
def test_odd_addresses_show_a_task(browser, draft, query):
    assert browser.get(address(draft, query)).context["task"].token


def test_the_phone_is_a_frame_that_only_this_page_may_hold(browser, draft):
    page = browser.get(address(draft, "?screen=phone")).content.decode()
    assert f'src="{address(draft, "?frame=1")}"' in page
    framed = browser.get(address(draft, "?frame=1"))
    assert framed["X-Frame-Options"] == "SAMEORIGIN"
    assert "frame-ancestors 'self'" in framed["Content-Security-Policy"]
    assert "preview-bar" not in framed.content.decode()
    elsewhere = browser.get(reverse("ranking", args=[draft.pk]))
    assert elsewhere["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in elsewhere["Content-Security-Policy"]
