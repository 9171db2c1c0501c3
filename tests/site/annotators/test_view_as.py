"""Owners and managers see an annotator's own pages as they would find them now; it writes nothing but the log."""

import random
from datetime import timedelta

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.access import SESSION_KEY
from annotate.labelling import assignment
from annotate.models import Annotator, Completion, Event, Item, Presentation, Project
from annotate.participation.actions import change_rules
from annotate.participation.questionnaire.actions import QuestionValues, RequestedQuestion, change_questions
from tests.conftest import answer_one, make_annotator
from tests.site.pages import HTMX, signed_in
from tests.site.task_types import set_task

PAGES = ["", "?see=answers", "?see=consent", "?see=questionnaire", "?see=done", "?see=nothing"]


@pytest.fixture
def ada(project) -> Annotator:
    """Somebody with answers behind them and a task before them."""
    ada = make_annotator(project, "Ada")
    now = timezone.now()
    for seed in range(3):
        answer_one(ada, now=now - timedelta(minutes=5 - seed), seed=seed)
    assignment.next_presentation(annotator=ada, now=now, rng=random.Random(4))
    return ada


def address(annotator, query="") -> str:
    return reverse("see-as", args=[annotator.project_id, annotator.key]) + query


def as_themselves(annotator) -> Client:
    client = Client()
    session = client.session
    session[SESSION_KEY] = {str(annotator.project_id): str(annotator.key)}
    session.save()
    return client


def everything() -> dict:
    """Every row of every table, but for sign-ins' own."""
    left_out = {"Session", "AccessLog", "AccessAttempt"}
    models = [model for model in apps.get_models(include_auto_created=True) if model.__name__ not in left_out]
    return {model._meta.label: sorted(map(repr, model.objects.values_list())) for model in models}


def test_nothing_is_written_but_who_looked_once_an_hour(ada, alice):
    owner = signed_in(alice)
    before = everything()
    for query in PAGES:
        for method in ("get", "post"):
            assert getattr(owner, method)(address(ada, query), {"answer": "a", "token": "x"}).status_code in (200, 302)
    after = everything()
    before["annotate.Event"] = after.pop("annotate.Event")
    del before["annotate.Event"]
    assert after == before
    event = Event.objects.get(annotator=ada)
    assert (event.verb, event.actor) == ("seen as an annotator", alice)
    Event.objects.update(at=timezone.now() - timedelta(minutes=61))
    owner.get(address(ada))
    assert Event.objects.filter(annotator=ada).count() == 2


def test_the_task_is_the_one_before_them(ada, alice):
    theirs = as_themselves(ada).get(reverse("label", args=[ada.project_id])).context["task"]
    response = signed_in(alice).get(address(ada))
    seen, html = response.context["task"], response.content.decode()
    assert [option.item_id for option in seen.options] == [option.item_id for option in theirs.options]
    assert (seen.n_done, seen.last.words, seen.n_left) == (3, theirs.last.words, theirs.n_left)
    assert "View only" in html
    assert reverse("annotator", args=[ada.project_id, ada.key]) in html
    secrets = [ada.resume_token, *Presentation.objects.values_list("token", flat=True)]
    assert not [secret for secret in secrets if secret in html]
    assert "alice@example.org" not in html


def test_their_answers_are_shown_and_no_button_of_theirs_works(ada, alice):
    owner = signed_in(alice)
    html = owner.get(address(ada, "?see=answers")).content.decode()
    theirs = as_themselves(ada).get(reverse("own-answers", args=[ada.project_id]))
    assert html.count('class="card own-answer"') == theirs.content.decode().count('class="card own-answer"') == 3
    assert not [token for token in Presentation.objects.values_list("token", flat=True) if token in html]
    told = "You are only viewing: nothing was saved."
    assert told in owner.post(address(ada, "?see=answers")).content.decode()
    part = owner.post(address(ada), {"answer": "a"}, headers=HTMX).content.decode()
    assert told in part
    assert part.lstrip().startswith("<section")


def test_what_comes_before_the_task_is_what_is_seen(ada, alice, project):
    owner = signed_in(alice)
    change_rules(project=project, actor=alice, values={"consent": "Do you agree?"}, now=timezone.now())
    assert "Do you agree?" in owner.get(address(ada), follow=True).content.decode()
    assert "Do you agree?" in owner.get(address(ada, "?see=answers"), follow=True).content.decode()
    change_rules(project=project, actor=alice, values={"consent": ""}, now=timezone.now())
    asked = QuestionValues(at_end=False, kind="text", label="Your town", choices=[], least=None, most=None)
    change_questions(
        project=project, actor=alice, wanted=[RequestedQuestion(None, asked, True)], removed=[], now=timezone.now()
    )
    assert "Your town" in owner.get(address(ada), follow=True).content.decode()
    Completion.objects.create(project=project, annotator=ada, kind="complete", code="TEA-42", at=timezone.now())
    Annotator.objects.update(ended=True, fields_before=9)
    assert "TEA-42" in owner.get(address(ada), follow=True).content.decode()


@pytest.mark.parametrize(("values", "words"), [({"excluded_at": timezone.now()}, "You can't answer here")])
def test_it_says_why_there_is_no_task(ada, alice, values, words):
    Annotator.objects.filter(pk=ada.pk).update(**values)
    assert words in signed_in(alice).get(address(ada)).content.decode().replace("&#x27;", "'")


def test_every_layout_is_shown(project, alice):
    Item.objects.bulk_create(Item(project=project, key=f"more-{n}", body=f"Another text {n}") for n in range(4))
    owner = signed_in(alice)
    for task in (("best", 4, None), ("best_worst", 4, None), ("ranking", 4, None)):
        set_task(project, *task)
        someone = make_annotator(Project.objects.get(pk=project.pk), f"For {task[0]}")
        assignment.next_presentation(annotator=someone, now=timezone.now(), rng=random.Random(1))
        assert len(owner.get(address(someone)).context["task"].options) == 4
        Presentation.objects.all().delete()


def test_it_is_for_those_who_manage_and_of_their_own_project(ada, manuel, vera, charlie):
    statuses = [signed_in(one).get(address(ada)).status_code for one in (manuel, vera, charlie)]
    assert statuses == [200, 403, 404]
    elsewhere = make_annotator(Project.objects.create(name="Elsewhere", question="Which?"), "Eve")
    url = reverse("see-as", args=[ada.project_id, elsewhere.key])
    assert signed_in(manuel).get(url).status_code == 404
