"""Excluding an annotator: the ranking before and after it side by side, from the list, the message and the log."""

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.annotators.exclusion import exclude_annotator, readmit_annotator
from annotate.criteria import Criterion
from annotate.dashboard.fits.comparison import fits_around_event
from annotate.models import Annotator, Event
from models_engine.models import Fit
from tests.conftest import make_annotator
from tests.site.factories import make_labels
from tests.site.fitting.test_run import fit_now
from tests.site.pages import page, signed_in


@pytest.fixture
def careless(project) -> Annotator:
    """One of three, whose labels the published fit counts."""
    project.estimator = "BradleyTerry"
    project.save()
    people = [make_annotator(project, name) for name in ("Ada", "Ben", "Careless")]
    make_labels(project, people, 45)
    later_fit(project)
    return people[-1]


def later_fit(project) -> Fit:
    return fit_now(project, now=timezone.now())


def excluded(annotator, alice) -> Event:
    exclude_annotator(annotator=annotator, actor=alice, reason="At random", now=timezone.now())
    return Event.objects.latest("pk")


def test_the_two_fits_around_it_are_found(project, careless, alice):
    before = Fit.objects.get()
    event = excluded(careless, alice)
    waiting = fits_around_event(Criterion(project), event=str(event.pk))
    assert (waiting.before, waiting.after) == (before, None)
    after = later_fit(project)
    readmit_annotator(annotator=careless, actor=alice, now=timezone.now())
    again = later_fit(project)
    found = fits_around_event(Criterion(project), event=str(event.pk))
    assert (found.before, found.after) == (before, after)
    latest = fits_around_event(Criterion(project), annotator=str(careless.key))
    assert (latest.before, latest.after) == (after, again)
    assert [fit.n_labels for fit in (before, after)] == [45, 30]
    assert again.n_labels > 30


def test_a_fit_under_way_meanwhile_is_neither(project, careless, alice):
    event = excluded(careless, alice)
    under_way = later_fit(project)
    Fit.objects.filter(pk=under_way.pk).update(data_version=event.details["version"] - 1)
    found = fits_around_event(Criterion(project), event=str(event.pk))
    assert (found.before.number, found.after) == (under_way.number - 1, None)


@pytest.mark.slow
def test_the_pages_lead_there_and_tell(project, careless, alice):
    alice.is_expert = True  # who sees utilities with their ±
    alice.save()
    owner = signed_in(alice)
    people = page(owner, project, "annotators")
    assert 'name="reason"' not in people, "the form of one person at a time"
    assert f"?exclude={careless.key}#annotator-{careless.key}" in people
    people = page(owner, project, "annotators", f"?exclude={careless.key}")
    assert people.count('name="reason"') == 1
    assert "15 of 45 answers are from Careless and will no longer count." in people
    address = reverse("annotator-exclude", args=[project.pk, careless.key])
    told = owner.post(address, {"reason": ""}, follow=True).content.decode()
    compare = f"{reverse('compare', args=[project.pk])}?annotator={careless.key}"
    assert told.count(f'href="{compare}"') == 2, "by the message and by the person"
    event = Event.objects.get(verb="annotator excluded")
    assert f'href="{reverse("compare", args=[project.pk])}?event={event.pk}"' in page(owner, project, "log")
    waiting = page(owner, project, "compare", f"?event={event.pk}")
    assert "The ranking after it is being computed." in waiting
    assert 'data-refreshed-by="fit"' in waiting
    later_fit(project)
    html = page(owner, project, "compare", f"?event={event.pk}")
    assert "excluded Careless; 15 labels voided." in html
    assert "Fit 1: BradleyTerry, 45 answers. Fit 2: BradleyTerry, 30 answers." in html
    assert "±" in html
    assert "data-refreshed-by" not in html.partition("<main")[2]


@pytest.mark.embedded
@pytest.mark.parametrize("query", ["?event=0", "?event=x", "?annotator=x", "?event=" + "9" * 50])
def test_what_never_happened_is_the_plain_page(project, careless, alice, query):
    assert "Before and after" not in page(signed_in(alice), project, "compare", query)


def test_without_an_earlier_ranking_it_says_so(project, alice):
    ada = make_annotator(project, "Ada")
    event = excluded(ada, alice)
    assert "There was no ranking before it." in page(signed_in(alice), project, "compare", f"?event={event.pk}")
