"""The task page over HTTP: asking, answering, undoing, switching keys, with and without htmx, for the right people."""

import random
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from rest_framework.throttling import SimpleRateThrottle

from annotate.access import SESSION_KEY
from annotate.labelling import assignment
from annotate.models import Annotator, FitState, Item, Label, Presentation
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.participation.test_joining import BACKEND

HTMX = {"HX-Request": "true"}


def task_of(project) -> str:
    return reverse("label", args=[project.pk])


def as_annotator(annotator: Annotator) -> Client:
    """The browser of somebody who joined by the link."""
    client = Client()
    session = client.session
    session[SESSION_KEY] = {str(annotator.project_id): str(annotator.key)}
    session.save()
    return client


@pytest.fixture
def otter(project) -> Annotator:
    return make_annotator(project, "Quiet Otter")


@pytest.fixture
def client(otter) -> Client:
    return as_annotator(otter)


@pytest.fixture
def shown(otter) -> Presentation:
    return assignment.next_presentation(annotator=otter, now=timezone.now(), rng=random.Random(1))


def submit_url(presentation: Presentation) -> str:
    return reverse("submit", args=[presentation.token])


def rows() -> tuple[int, int, int]:
    return Annotator.objects.count(), Presentation.objects.count(), Label.objects.count()


# --- Asking -----------------------------------------------------------------------------------------------------------


def test_looking_never_writes(client, project):
    before = rows()
    page = client.get(task_of(project)).content.decode()
    assert "Start" in page
    assert rows() == before
    assert not FitState.objects.filter(project=project).exists()


def test_start_opens_a_task_and_pressing_it_again_shows_the_same(client, project):
    assert client.post(task_of(project))["Location"] == task_of(project)
    client.post(task_of(project))
    assert Presentation.objects.count() == 1


def test_the_task_shows_both_texts_the_answers_allowed_and_no_more(client, project, shown):
    project.outcomes, project.more_means = ["tie", "skip"], "more convincing"
    project.save()
    page = client.get(task_of(project)).content.decode()
    for item in shown.items.all():
        assert item.body in page
        assert item.key not in page
    assert "A is more convincing" in page
    for value, words in (("a", "A is"), ("b", "B is"), ("tie", "Tie"), ("skip", "Skip")):
        assert f'value="{value}"' in page
        assert words in page
    for value in ("both_good", "both_bad", "cant_judge"):
        assert value not in page


@pytest.mark.parametrize("meaning", ["", "x" * 41, "Better arguments win."])
def test_words_that_do_not_fit_a_button_are_left_out(client, project, shown, meaning):
    project.more_means = meaning
    project.save()
    page = client.get(task_of(project)).content.decode()
    assert "Choose A" in page
    assert "A is " not in page


def test_the_items_stand_in_the_order_that_is_stored(client, project, shown):
    page = client.get(task_of(project)).content.decode()
    first, second = shown.presented.select_related("item")
    assert page.index(first.item.body) < page.index(second.item.body)


def test_a_task_whose_lease_ran_out_still_shows_and_its_answer_counts(client, project, shown):
    Presentation.objects.update(leased_until=timezone.now() - timedelta(hours=2))
    assert submit_url(shown) in client.get(task_of(project)).content.decode()
    client.post(submit_url(shown), {"answer": "a"})
    assert Label.objects.get().voided_at is None


@pytest.mark.parametrize(("state", "told"), [("draft", "is not open yet"), ("paused", "paused"), ("closed", "closed")])
def test_a_project_that_is_not_open_says_so_and_asks_nothing(client, project, shown, state, told):
    project.state = state
    project.save()
    for response in (client.get(task_of(project)), client.post(task_of(project), follow=True)):
        page = response.content.decode()
        assert told in page
        assert shown.token not in page
        assert "Thank you" not in page  # for what?
    assert client.post(task_of(project), headers=HTMX).status_code == 200


def test_the_excluded_are_told(client, project, otter, shown):
    otter.excluded_at = NOW
    otter.save()
    page = client.get(task_of(project)).content.decode()
    assert "You can&#x27;t answer here" in page
    assert shown.token not in page


def test_at_the_cap_thanks_and_undo(client, project, otter):
    project.cap = 2
    project.save()
    answer_one(otter)
    answer_one(otter)
    page = client.get(task_of(project)).content.decode()
    assert "You have given 2 answers" in page
    assert "Thank you" in page
    assert "you chose A" in page
    assert "Look again" not in page


def test_when_nothing_is_left_it_says_so_and_offers_to_look_again(client, project, otter):
    for _ in range(15):
        answer_one(otter)
    page = client.get(task_of(project)).content.decode()
    assert "Thank you for coming! All questions have been answered for now" in page
    assert "15 answers of yours count" in page
    assert "Look again" in page


def test_progress_with_and_without_a_cap(client, project, otter):
    answer_one(otter)
    client.post(task_of(project))
    assert "1 answered" in client.get(task_of(project)).content.decode()
    project.cap = 40
    project.save()
    page = client.get(task_of(project)).content.decode()
    assert "1 of 40" in page
    assert 'data-heading="Task 2 of 40."' in page


# --- Answering --------------------------------------------------------------------------------------------------------


def test_an_answer_without_javascript_is_stored_and_leads_to_the_next_task(client, project, shown):
    response = client.post(submit_url(shown), {"answer": "b"})
    assert (response.status_code, response["Location"]) == (303, task_of(project))
    label = Label.objects.get()
    assert label.chosen_id == shown.presented.get(position=1).item_id
    assert label.session
    assert Presentation.objects.get(state="open", ahead=False).token in client.get(task_of(project)).content.decode()


def test_an_answer_by_htmx_brings_the_next_task_and_nothing_else(client, project, shown):
    project.cap = 40
    project.save()
    response = client.post(submit_url(shown), {"answer": "a", "response_ms": "1500"}, headers=HTMX)
    page = response.content.decode()
    assert response.status_code == 200
    assert "<html" not in page
    assert page.lstrip().startswith('<section id="task"')
    assert submit_url(Presentation.objects.get(state="open", ahead=False)) in page
    assert "1 of 40" in page
    assert 'data-heading="Task 2 of 40."' in page
    assert "you chose A" in page


@pytest.mark.parametrize("answer", ["tie", "both_good", "both_bad", "cant_judge", "skip"])
def test_every_other_answer(client, shown, answer):
    client.post(submit_url(shown), {"answer": answer})
    label = Label.objects.get()
    assert (label.outcome, label.chosen_id) == (answer, None)


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_sent_twice_it_is_one_label_and_the_same_page(client, shown, headers):
    first = client.post(submit_url(shown), {"answer": "a"}, headers=headers)
    second = client.post(submit_url(shown), {"answer": "a"}, headers=headers)
    assert (first.status_code, first.get("Location")) == (second.status_code, second.get("Location"))
    assert Label.objects.count() == 1
    assert Presentation.objects.filter(ahead=False).count() == 2
    if headers:
        token = Presentation.objects.get(state="open", ahead=False).token
        assert token in first.content.decode()
        assert token in second.content.decode()
        assert "stands" not in second.content.decode()


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_changed_answer_from_an_old_page_is_told_not_taken(client, shown, headers):
    client.post(submit_url(shown), {"answer": "a"})
    page = client.post(submit_url(shown), {"answer": "b"}, headers=headers, follow=True).content.decode()
    assert "had already answered that task (you chose A). Your first answer counts." in page
    assert Label.objects.get().chosen_id == shown.presented.get(position=0).item_id


def test_a_late_answer_that_no_longer_counts_is_told(client, project, otter, shown):
    project.overlap = 1
    project.save()
    project.items.exclude(pk__in=shown.items.all()).update(retired_at=NOW)
    Presentation.objects.update(leased_until=timezone.now() - timedelta(minutes=1))
    assignment.next_presentation(annotator=make_annotator(project, "Quick"), now=timezone.now(), rng=random.Random(1))
    page = client.post(submit_url(shown), {"answer": "a"}, headers=HTMX).content.decode()
    assert "came too late" in page
    assert Label.objects.get().void_reason == "late"


@pytest.mark.embedded
@pytest.mark.parametrize("answer", ["", "c", "z", "A", "choice", "maybe", "0", "a" * 200, "\x00", "<script>"])
@pytest.mark.parametrize("headers", [{}, HTMX])
def test_an_answer_that_is_none_is_told_and_the_task_stays(client, project, shown, answer, headers):
    response = client.post(submit_url(shown), {"answer": answer}, headers=headers)
    page = response.content.decode()
    assert response.status_code == 400
    assert "Your answer was not counted." in page
    assert submit_url(shown) in page
    assert "<script>" not in page.replace("<script type", "").replace("<script src", "")
    assert not Label.objects.exists()


def test_an_answer_that_the_project_does_not_allow_is_told(client, project, shown):
    project.outcomes = []
    project.save()
    response = client.post(submit_url(shown), {"answer": "tie"}, headers=HTMX)
    assert response.status_code == 400
    assert "“tie” is not one of this project&#x27;s: choice" in response.content.decode()


@pytest.mark.parametrize(("state", "told"), [("paused", "paused"), ("closed", "closed")])
@pytest.mark.parametrize("headers", [{}, HTMX])
def test_an_answer_after_the_end_is_refused_and_told(client, project, shown, state, told, headers):
    project.state = state
    project.save()
    response = client.post(submit_url(shown), {"answer": "a"}, headers=headers)
    page = response.content.decode()
    assert response.status_code == 409
    assert told in page
    assert "Your answer was not counted." in page
    assert '<section id="task"' in page
    assert not Label.objects.exists()


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_the_last_answer_of_all_is_stored_and_thanked(client, project, shown, headers):
    project.cap = 1
    project.save()
    response = client.post(submit_url(shown), {"answer": "a"}, headers=headers, follow=True)
    assert response.status_code == 200
    assert "You have given 1 answer, which" in response.content.decode()
    assert Label.objects.count() == 1


def test_a_session_that_ran_out_loses_nothing(project, otter, shown):
    stranger = Client()
    response = stranger.post(submit_url(shown), {"answer": "a"})
    assert response["Location"] == task_of(project)
    label = Label.objects.get()
    assert label.annotator == otter
    assert label.session
    assert "you chose A" in stranger.get(task_of(project)).content.decode()  # known again


def test_the_session_column_tells_sessions_apart_and_gives_none_away(client, otter, shown):
    client.post(submit_url(shown), {"answer": "a"})
    client.post(submit_url(Presentation.objects.get(state="open", ahead=False)), {"answer": "a"})
    elsewhere = as_annotator(otter)
    elsewhere.post(submit_url(Presentation.objects.get(state="open", ahead=False)), {"answer": "a"})
    first, second, third = Label.objects.order_by("pk").values_list("session", flat=True)
    assert first == second != third
    assert len(first) == 16
    assert first not in client.session.session_key


def test_too_many_answers_are_told_to_wait_and_none_is_stored(client, monkeypatch, shown):
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", {"answer": "1/day"})
    client.post(submit_url(shown), {"answer": "nonsense"})
    refused = client.post(submit_url(shown), {"answer": "a"}, headers=HTMX)
    assert refused.status_code == 429
    assert "Wait" in refused.content.decode()
    assert not Label.objects.exists()


# --- Whose answer -----------------------------------------------------------------------------------------------------


def test_another_annotators_token_finds_nothing(project, shown):
    heron = as_annotator(make_annotator(project, "Brisk Heron"))
    assert heron.post(submit_url(shown), {"answer": "a"}).status_code == 404
    assert not Label.objects.exists()


def test_nor_is_it_for_an_annotator_with_an_account(project, shown, bobs, bob):
    browser = Client()
    browser.force_login(bob, BACKEND)
    assert browser.post(submit_url(shown), {"answer": "a"}).status_code == 404
    assert SESSION_KEY not in browser.session
    assert not Label.objects.exists()


def test_a_wrong_token_finds_nothing(client):
    assert client.post(reverse("submit", args=["A" * 22]), {"answer": "a"}).status_code == 404
    assert client.get(reverse("submit", args=["A" * 22])).status_code == 405


@pytest.fixture
def bobs(project, bob) -> Presentation:
    annotator = make_annotator(project, "Bob", user=bob, source="account")
    return assignment.next_presentation(annotator=annotator, now=timezone.now(), rng=random.Random(2))


def test_an_accounts_token_is_for_the_account_alone(project, bobs, bob, charlie, alice):
    browser = Client()
    for user in (charlie, alice):
        browser.force_login(user, BACKEND)
        assert browser.post(submit_url(bobs), {"answer": "a"}).status_code == 404
    browser.force_login(bob, BACKEND)
    assert browser.post(submit_url(bobs), {"answer": "a"}).status_code == 303
    assert Label.objects.get().annotator.user == bob


@pytest.mark.parametrize("change", ["removed", "viewer"])
def test_a_member_who_may_not_annotate_any_more_may_not(project, bobs, bob, change):
    membership = project.memberships.get(user=bob)
    if change == "removed":
        membership.delete()
    else:
        membership.role = change
        membership.save()
    browser = Client()
    browser.force_login(bob, BACKEND)
    assert browser.get(task_of(project)).status_code == (404 if change == "removed" else 403)
    assert browser.post(task_of(project)).status_code == (404 if change == "removed" else 403)
    assert browser.post(submit_url(bobs), {"answer": "a"}).status_code == 404
    assert browser.post(undo_url(project)).status_code == 404
    assert not Label.objects.exists()


def test_signed_out_the_answer_waits_in_the_address_until_its_annotator_is_back(project, bobs, bob):
    browser = Client()
    response = browser.post(
        submit_url(bobs), {"answer": "b", "response_ms": "2100", "client_at": "2026-11-20T12:00:00Z"}
    )
    assert response.status_code == 401
    assert project.name not in response.content.decode()
    login = response.context["link"]
    assert not Label.objects.exists()
    signed_in = browser.post(login, {"login": bob.email, "password": "correct horse battery", "next": next_of(login)})
    assert signed_in["Location"] == next_of(login)
    back = browser.get(signed_in["Location"])
    page = back.content.decode()
    assert "you chose B" in page
    assert "Send that answer" in page
    unsent = back.context["unsent"]
    assert browser.post(submit_url(bobs), unsent.values).status_code == 303
    label = Label.objects.get()
    assert (label.chosen_id, label.response_ms) == (bobs.presented.get(position=1).item_id, 2100)
    assert "Send that answer" not in browser.get(next_of(login)).content.decode()


def next_of(login: str) -> str:
    return parse_qs(urlsplit(login).query)["next"][0]


@pytest.mark.parametrize(
    "query", ["unsent=nonsense&answer=a", "unsent={token}&answer=rubbish", "unsent={token}", "unsent="]
)
def test_a_made_up_unsent_answer_is_not_offered(client, project, shown, query):
    page = client.get(task_of(project) + "?" + query.format(token=shown.token)).content.decode()
    assert "Send that answer" not in page


def test_an_unsent_answer_of_another_annotator_is_not_offered(project, shown):
    heron = as_annotator(make_annotator(project, "Brisk Heron"))
    page = heron.get(f"{task_of(project)}?unsent={shown.token}&answer=a").content.decode()
    assert submit_url(shown) not in page
    assert "Send that answer" not in page


# --- Undoing ----------------------------------------------------------------------------------------------------------


def undo_url(project) -> str:
    return reverse("undo", args=[project.pk])


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_undo_asks_the_same_again_in_the_same_order(client, project, shown, headers):
    client.post(submit_url(shown), {"answer": "a"})
    response = client.post(undo_url(project), {"token": shown.token}, headers=headers, follow=True)
    again = Presentation.objects.get(state="open", ahead=False)
    assert again.reopens == shown
    assert list(again.presented.values_list("item_id")) == list(shown.presented.values_list("item_id"))
    assert submit_url(again) in response.content.decode()
    assert Label.objects.get().void_reason == "undone"


def test_a_double_click_on_undo_undoes_once(client, project, otter, shown):
    client.post(submit_url(shown), {"answer": "a"})
    second = Presentation.objects.get(state="open", ahead=False)
    client.post(submit_url(second), {"answer": "a"})
    for _ in range(2):
        response = client.post(undo_url(project), {"token": second.token}, headers=HTMX)
        assert response.status_code == 200
    assert list(Label.objects.order_by("pk").values_list("void_reason", flat=True)) == ["", "undone"]


def test_undo_from_an_old_page_takes_nothing_back(client, project, shown):
    client.post(submit_url(shown), {"answer": "a"})
    second = Presentation.objects.get(state="open", ahead=False)
    client.post(submit_url(second), {"answer": "b"})
    response = client.post(undo_url(project), {"token": shown.token}, headers=HTMX)
    assert response.status_code == 409
    assert "Nothing was undone" in response.content.decode()
    assert not Label.objects.exclude(voided_at=None).exists()


def test_nothing_to_undo_is_told(client, project):
    response = client.post(undo_url(project), headers=HTMX)
    assert response.status_code == 409
    assert "You have no answer to undo" in response.content.decode()


def test_an_answer_undone_and_sent_again_from_an_old_page_is_told(client, project, shown):
    client.post(submit_url(shown), {"answer": "a"})
    client.post(undo_url(project), {"token": shown.token})
    page = client.post(submit_url(shown), {"answer": "a"}, headers=HTMX).content.decode()
    assert "already undone that answer" in page
    assert not Label.objects.filter(voided_at=None).exists()


def test_undo_after_the_end_is_refused_and_told(client, project, shown):
    client.post(submit_url(shown), {"answer": "a"})
    project.state = "closed"
    project.save()
    response = client.post(undo_url(project), {"token": shown.token}, headers=HTMX)
    assert response.status_code == 409
    assert "Nothing was undone." in response.content.decode()
    assert Label.objects.get().voided_at is None


def test_undo_and_keys_are_for_annotators(project, otter, shown, charlie, alice):
    browser = Client()
    answer_one(otter)
    for user in (None, charlie, alice):
        if user:
            browser.force_login(user, BACKEND)
        for name in ("undo", "shortcuts"):
            assert browser.get(reverse(name, args=[project.pk])).status_code == 405
            assert browser.post(reverse(name, args=[project.pk])).status_code == 404
    assert not Label.objects.exclude(voided_at=None).exists()


# --- Keys -------------------------------------------------------------------------------------------------------------


def test_keys_are_switched_off_and_on_again(client, project, otter, shown):
    url = reverse("shortcuts", args=[project.pk])
    assert 'data-shortcuts="on"' in client.get(task_of(project)).content.decode()
    assert 'data-shortcuts="off"' in client.post(url, {"shortcuts": "off"}, headers=HTMX).content.decode()
    assert 'data-shortcuts="off"' in client.get(task_of(project)).content.decode()
    assert client.post(url, {"shortcuts": "on"})["Location"] == task_of(project)
    otter.refresh_from_db()
    assert otter.shortcuts


# --- Queries ----------------------------------------------------------------------------------------------------------


def grow(project, n: int) -> None:
    """More items, other annotators' labels and own labels."""
    start = project.items.count()
    Item.objects.bulk_create(Item(project=project, key=f"more-{start + i}", body="x") for i in range(n))
    crowd = [make_annotator(project, f"Crowd {start}-{i}") for i in range(3)]
    own = project.annotators.get(pseudonym="Quiet Otter")
    for annotator in [*crowd, own]:
        for _ in range(n // 10):
            answer_one(annotator)


@pytest.mark.slow
@pytest.mark.parametrize("headers", [{}, HTMX])
def test_queries_do_not_grow_with_items_and_labels(
    client, project, otter, headers, django_assert_max_num_queries, django_assert_num_queries
):
    counts = {}
    for size in (20, 200):
        grow(project, size)
        client.post(task_of(project))
        for what, call in {
            "look": lambda: client.get(task_of(project)),
            "answer": lambda: client.post(
                submit_url(Presentation.objects.get(annotator=otter, state="open", ahead=False)),
                {"answer": "a"},
                headers=headers,
            ),
            "undo": lambda: client.post(undo_url(project), headers=headers),
        }.items():
            cache.clear()  # expired leases are looked for once a second
            most = 60 if headers else 40  # where none is held ready yet, two are opened, each in a step of its own
            with django_assert_max_num_queries(most) as queries:
                call()
            counts.setdefault(what, []).append(len(queries))
    for what, (few, many) in counts.items():
        assert many <= few, f"{what}: {few} queries with few rows, {many} with many"
