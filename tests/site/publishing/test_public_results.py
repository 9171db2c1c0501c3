"""The published ranking in plain words: places, scores, duels won, groups, taking part, the picture beside links."""

import io
import re
from html import unescape

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from PIL import Image

from annotate.criteria import Criterion
from annotate.fitting.arrays import to_bytes
from annotate.fitting.duels import count_duels
from annotate.fitting.stored_duels import duels_of
from annotate.models import AnnotatorTaste, ParticipationRules, Project, ResultsLink, TasteMap
from annotate.publishing.results_links.groups import MIN_GROUP, public_groups
from models_engine.data import Comparisons
from tests.conftest import NOW, make_annotator
from tests.site.api_client import Api
from tests.site.factories import spread_fit
from tests.site.pages import signed_in

JARGON = re.compile(r"\b(utility|utilities|logits?|labels?|annotators?|n)\b", re.IGNORECASE)


@pytest.fixture
def link(project) -> ResultsLink:
    return ResultsLink.objects.create(project=project, made_at=NOW)


def page(link: ResultsLink, query: str = "") -> str:
    return " ".join(Client().get(reverse("results", args=[link.token]) + query).content.decode().split())


def words(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", html[html.index("<main") : html.index("</main>")]))


def fit_with_duels(project: Project):
    items = list(project.items.order_by("pk"))
    arrays = {
        "site/items": np.array([one.pk for one in items]),
        "site/won": np.array([9, 5, 4, 3, 2, 0], dtype=np.float32),
        "site/duels": np.array([12, 10, 10, 10, 10, 0]),
    }
    return spread_fit(project, items, arrays=to_bytes(arrays), n_labels=26, n_annotators=5)


def test_places_scores_and_duels_in_plain_words(project, link):
    fit_with_duels(project)
    told = words(page(link))
    assert "Score 88" in told
    assert "won 75% of 12 duels" in told
    assert "of 0 duels" not in told
    assert "A duel is one person's answer about two of them" in told
    assert not JARGON.findall(told)


OUT_OF_ORDER = "can therefore have a lower score than one just below it"


def test_a_lower_place_with_a_higher_score_is_explained_where_items_divide_people(project, link, alice):
    fit = fit_with_duels(project)
    assert OUT_OF_ORDER not in page(link)
    fit.estimates.update(divisiveness=0.4)
    for query in ("", "?view=table"):
        assert OUT_OF_ORDER in page(link, query)
    assert "Divisive" not in page(link, "?view=table")
    assert OUT_OF_ORDER in signed_in(alice).get(reverse("report", args=[project.pk])).content.decode()


def test_duels_are_the_pairs_that_answers_put_in_order():
    pairs = Comparisons.from_pairs([0, 0, 1], [1, 1, 2], [1.0, 0.5, 0.0], annotators=[0, 0, 0], n_items=4)
    assert count_duels(pairs)["won"].tolist() == [1.5, 0.5, 1, 0]
    assert count_duels(pairs)["duels"].tolist() == [2, 3, 1, 0]
    best_of_three = Comparisons.from_choices([2], [[0, 1, 2]], annotators=[0], n_items=3)
    assert [counts.tolist() for counts in count_duels(best_of_three).values()] == [[1, 1, 2], [0, 0, 2]]


def test_a_project_of_several_says_what_a_duel_is(project, link):
    Project.objects.filter(pk=project.pk).update(task_type="best", k=4)
    fit_with_duels(project)
    assert "People saw 4 at a time. Each answer counts as one duel" in page(link)


def test_taking_part_is_offered_where_the_owner_wants_and_anybody_may(project, alice):
    spread_fit(project, list(project.items.order_by("pk")))
    signed_in(alice).post(reverse("results-links", args=[project.pk]), {"lifetime": "", "invites": "on"})
    link, address = ResultsLink.objects.get(), reverse("join", args=[project.join_token])
    assert link.invites
    assert not link.shows_groups
    assert address in page(link)
    rules = ParticipationRules.objects.create(project=project, open_link=False)
    assert address not in page(link)
    rules.delete()
    Project.objects.filter(pk=project.pk).update(state=Project.State.PAUSED)
    assert address not in page(link)


def tastes_of(project: Project, sizes: list[int]) -> None:
    items = list(project.items.order_by("pk"))
    likes = np.array([[1.0, 0.5, 0, 0, 0, -1.0], [-1.0, 0, 0, 0, 0, 1.0]])
    arrays = {"items": np.array([one.pk for one in items]), "loadings": likes.T, "shares": np.ones(2), "likes": likes}
    TasteMap.objects.create(project=project, fit_number=1, n_groups=2, n_grouped=sum(sizes), arrays=to_bytes(arrays))
    for group, size in enumerate(sizes):
        for i in range(size):
            who = make_annotator(project, f"Person {group}-{i}")
            AnnotatorTaste.objects.create(
                annotator=who, fit_number=1, n_labels=10, scores=[0, 0], score_sds=[1, 1], group=group
            )


def test_groups_are_told_of_if_the_owner_wants_and_they_are_not_too_small(project, link):
    spread_fit(project, list(project.items.order_by("pk")))
    tastes_of(project, [MIN_GROUP, MIN_GROUP - 1])
    assert "Groups of people who differ" not in page(link)
    ResultsLink.objects.update(shows_groups=True)
    html = page(link)
    assert "Groups of people who differ" in html
    assert "Person 0-0" not in html
    (group,) = public_groups(Criterion(project))
    assert (group.n, [item.key for item in group.likes]) == (MIN_GROUP, ["item-0", "item-1"])


def test_other_sites_get_a_picture_with_words(project, link):
    fit_with_duels(project)
    html = page(link, "?lang=en")
    told = dict(re.findall(r'<meta property="og:([a-z:_]+)" content="([^"]*)"', html))
    assert told["image"] == f"http://testserver/results/{link.token}/card.png?lang=en"
    assert told["url"] == f"http://testserver/results/{link.token}/?lang=en"
    assert "1. Text number 0; 2. Text number 1" in told["image:alt"]
    response = Client().get(told["image"])
    picture = Image.open(io.BytesIO(response.content))
    assert (response["Content-Type"], picture.size, picture.format) == ("image/png", (1200, 630), "PNG")
    assert len(picture.getcolors(maxcolors=100_000)) > 5
    ResultsLink.objects.update(revoked_at=NOW)
    assert Client().get(told["image"]).status_code == 410


def test_the_language_is_chosen_by_a_link_without_a_cookie(project, link):
    spread_fit(project, list(project.items.order_by("pk")))
    response = Client().get(reverse("results", args=[link.token]) + "?lang=de")
    assert '<html lang="de"' in response.content.decode()
    assert not response.cookies
    assert '<html lang="en"' in page(link, "?lang=xx")
    assert '<html lang="en"' in page(link, "?lang=%3Cscript")


def test_programs_read_duels_and_set_the_switches(project, alice):
    fit = fit_with_duels(project)
    made = Api(alice, project)("post", "results-links", {"invites": True, "shows_groups": True}).json()
    assert (made["invites"], made["shows_groups"]) == (True, True)
    first = Client().get(reverse("api-results", args=[made["token"]])).json()["results"][0]
    assert (first["duels_won"], first["n_duels"]) == (9.0, 12)
    assert len(duels_of(fit)) == 5
