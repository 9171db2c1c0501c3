"""Practice: first, with feedback, until it is passed or failed."""

from collections import Counter

import pytest
from django.urls import reverse

from annotate.annotators.exclusion import exclude_annotator, readmit_annotator
from annotate.core import errors
from annotate.criteria import Criterion
from annotate.fitting.reading import read_labels
from annotate.models import Presentation, Purpose
from annotate.quality.gold.actions import admit_annotator
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.gold_sets import answer_all, make_known, true_counts
from tests.site.labelling.test_eligibility import set_up
from tests.site.labelling.test_labelling import as_annotator, submit_url, task_of
from tests.site.pages import HTMX, page, signed_in
from tests.site.participation_steps import finish, open_to_platform


@pytest.fixture
def otter(project):
    return make_annotator(project, "Quiet Otter")


def practise(client, project, right: bool) -> str:
    """Answers the open practice task; what the page says then."""
    shown = Presentation.objects.get(state="open", purpose="practice")
    place = list(shown.presented.values_list("item", flat=True)).index(shown.known.named[0])
    letter = "ab"[place if right else 1 - place]
    return " ".join(client.post(submit_url(shown), {"answer": letter}, headers=HTMX).content.decode().split())


@pytest.mark.slow
def test_practice_comes_first_with_feedback_until_it_is_passed(project, otter):
    set_up(project, practice_pass=2, practice_tries=2, cap=40)
    make_known(project, "practice", 2)
    client = as_annotator(otter)
    client.post(task_of(project))
    assert "Practice 1 of 2" in client.get(task_of(project)).content.decode()
    told = practise(client, project, right=False)
    assert "Not quite." in told
    assert "because" in told
    assert told.count("Text practice") == 2, "what was compared stays in sight"
    assert told.count('class="is-named"') == 1, "the right one is marked"
    assert 'form="undo"' not in told
    own = client.get(reverse("own-answers", args=[project.pk])).content.decode()
    assert '<span class="chip">Practice</span>' in own, "one that doesn't count says so"
    assert "Next practice task" in client.get(task_of(project)).content.decode(), "it waits for the reader"
    client.post(task_of(project))
    told = practise(client, project, right=True)
    assert "1 of 2 right; you need 2" in told
    client.post(task_of(project))
    assert "Practice 1 of 2" in client.get(task_of(project)).content.decode()
    practise(client, project, right=True)
    client.post(task_of(project))
    assert "you have passed the practice" in practise(client, project, right=True)
    client.post(task_of(project))
    real = Presentation.objects.get(state="open", ahead=False)
    assert real.purpose == Purpose.ORDINARY
    assert "0 of 40" in client.get(task_of(project)).content.decode(), "practice counts for nothing"
    client.post(submit_url(real), {"answer": "a"})
    assert read_labels(Criterion(project)).data.n_labels == 1
    true_counts(project)
    otter.refresh_from_db()
    assert (otter.practised, otter.screened_out_at) == (4, None)


def test_the_end_tells_of_no_practice_answer(project, otter, alice):
    set_up(project, practice_pass=1, practice_tries=1, cap=1)
    make_known(project, "practice", 1)
    open_to_platform(project, alice, thanks="You were kind.")
    client = as_annotator(otter)
    client.post(task_of(project))
    practise(client, project, right=True)
    client.post(task_of(project))
    client.post(submit_url(Presentation.objects.get(state="open", ahead=False)), {"answer": "a"})
    told = finish(client, project).content.decode()
    assert "You were kind." in told
    assert "1 answer of yours counts." in told


def test_who_fails_the_practice_is_thanked_and_may_be_let_in(project, otter, alice):
    set_up(project, practice_pass=1, practice_tries=1)
    make_known(project, "practice", 1)
    client = as_annotator(otter)
    client.post(task_of(project))
    assert "Thank you for trying" in practise(client, project, right=False)
    assert "Thank you for trying" in client.get(task_of(project)).content.decode()
    otter.refresh_from_db()
    assert otter.screened_out_at is not None
    with pytest.raises(errors.ScreenedOut):
        answer_one(otter)
    owner = signed_in(alice)
    assert "Failed the practice" in page(owner, project, "annotators")
    assert owner.post(reverse("annotator-let-in", args=[project.pk, otter.key])).status_code == 302
    assert answer_one(otter).presentation.purpose == Purpose.ORDINARY
    assert "admitted Quiet Otter" in page(owner, project, "project-manage")


def test_who_had_begun_is_not_asked_to_practise(project, otter):
    answer_one(otter)
    set_up(project, practice_pass=1)
    make_known(project, "practice", 1)
    assert answer_one(otter).presentation.purpose == Purpose.ORDINARY
    assert answer_one(make_annotator(project, "New")).presentation.purpose == Purpose.PRACTICE


def test_excluded_and_readmitted_with_checks_and_practice(project, otter, alice):
    set_up(project, practice_pass=1, practice_tries=1, gold_every=2, repeat_percent=25, cap=12)
    make_known(project, "practice", 1)
    make_known(project, "gold", 3)
    answer_one(otter, chosen=0)
    otter.refresh_from_db()
    if otter.screened_out_at:
        admit_annotator(annotator=otter, actor=alice, now=NOW)
    answer_all(otter, 12)
    before = Counter(otter.labels.filter(voided_at=None).values_list("presentation__purpose", flat=True))
    n_fitted = read_labels(Criterion(project)).data.n_labels
    assert exclude_annotator(annotator=otter, actor=alice, reason="", now=NOW) == before.total() == 13
    assert read_labels(Criterion(project)).data.n_labels == 0
    true_counts(project)
    assert readmit_annotator(annotator=otter, actor=alice, now=NOW).kept_voided == 0
    assert Counter(otter.labels.filter(voided_at=None).values_list("presentation__purpose", flat=True)) == before
    assert read_labels(Criterion(project)).data.n_labels == n_fitted
    true_counts(project)
