"""What the owner does not publish: titles where items are shown by their words, keys, and items outside the track."""

import pytest
from django.test import Client
from django.urls import reverse

from annotate.models import OVERALL, Project, ResultsLink, Tag
from models_engine.models import Leaderboard
from tests.conftest import NOW
from tests.site.factories import make_overall, spread_fit
from tests.site.fitting.test_criteria import CRITERIA
from tests.site.publishing.test_public_results import tastes_of

pytestmark = pytest.mark.embedded


def shown_by_words(project: Project) -> None:
    for item in project.items.all():
        item.name = f"Pupil {item.key}"
        item.save()
        item.tags.add(Tag.objects.get_or_create(project=project, name="Posters")[0])
    Project.objects.filter(pk=project.pk).update(items_shown_by="text", criteria=CRITERIA)
    fit = spread_fit(project, list(project.items.order_by("pk")), sd=2.0)
    make_overall(project, fit)
    make_overall(project, fit, criterion=1, track="Posters")
    tastes_of(project, [5, 5])


@pytest.mark.parametrize(
    ("name", "about"),
    [
        ("results", {}),
        ("results", {"track": "Posters"}),
        ("results", {"criterion": OVERALL}),
        ("results-live", {}),
        ("results-live", {"track": "Posters"}),
    ],
)
def test_titles_and_keys_stay_with_the_owner(project, name, about):
    shown_by_words(project)
    link = ResultsLink.objects.create(project=project, made_at=NOW, shows_groups=True, **about)
    html = Client().get(reverse(name, args=[link.token])).content.decode()
    assert "Text number 0" in html
    assert not [word for word in ("Pupil", "item-0") if word in html.replace('id="item-', "")]


def test_groups_tell_only_of_items_of_the_track(project):
    first = project.items.order_by("pk").first()
    first.tags.add(Tag.objects.create(project=project, name="Posters"))
    fit = spread_fit(project, list(project.items.order_by("pk")))
    make_overall(project, fit, criterion=1, track="Posters")
    tastes_of(project, [5, 5])
    link = ResultsLink.objects.create(project=project, made_at=NOW, track="Posters", shows_groups=True)
    html = Client().get(reverse("results", args=[link.token])).content.decode()
    assert "Groups of people who differ" in html
    groups = html.partition('id="groups"')[2].partition("</section>")[0]
    assert "Text number 0" in groups
    assert "Text number 1" not in groups


def test_a_link_of_one_track_holds_no_leaderboard_of_all_items(project):
    fit = spread_fit(project, list(project.items.order_by("pk")))
    Leaderboard.objects.create(fit=fit, board={"problem": "Not enough"})
    Project.objects.filter(pk=project.pk).update(has_competitors=True)
    link = ResultsLink.objects.create(project=project, made_at=NOW, track="Posters", shows_leaderboard=True)
    address = reverse("results", args=[link.token])
    assert Client().get(address).context["board"] is None
    ResultsLink.objects.update(track="")
    assert Client().get(address).context["board"] is not None
