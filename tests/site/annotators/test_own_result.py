"""What annotators see when they stop: thanks and, where it is shown, everybody's places, their own, their group."""

import pytest
from django.test import Client
from django.urls import reverse

from annotate.annotators.exclusion import exclude_annotator
from annotate.annotators.own_result import queries
from annotate.models import Annotator, AnnotatorTaste, ItemTranslation, Project, ProjectTranslation, TasteMap
from tests.conftest import NOW, answer_one, make_annotator
from tests.site.annotators.test_pages import draw_taste_map
from tests.site.factories import spread_fit
from tests.site.fitting.test_tastes import divided  # noqa: F401  (a fixture)
from tests.site.labelling.test_labelling import as_annotator
from tests.site.pages import page
from tests.site.replay import replay

pytestmark = pytest.mark.embedded


def enough(annotator: Annotator, query: str = "") -> str:
    return page(as_annotator(annotator), annotator.project, "enough", query)


@pytest.fixture
def otter(project) -> Annotator:
    """Has given three answers; the ranking is published."""
    Project.objects.update(show_result="after", show_result_after=3)
    otter = make_annotator(Project.objects.get(), "Quiet Otter")
    for seed in range(3):
        answer_one(otter, seed=seed)
    spread_fit(project, list(project.items.order_by("pk")))
    return otter


@pytest.fixture
def mapped(divided, quick_draws) -> Project:  # noqa: F811
    """Eight people of two opposed tastes, with a taste map."""
    replay("mapped", lambda: draw_taste_map(divided))
    Project.objects.update(show_result="after", show_result_after=10, show_groups=True)
    return Project.objects.get(pk=divided.pk)


def test_the_task_leads_to_the_end_and_the_end_back(project, otter):
    browser = as_annotator(otter)
    browser.post(reverse("label", args=[project.pk]))
    url = reverse("enough", args=[project.pk])
    assert f'<a href="{url}">Enough for now</a>' in page(browser, project, "label")
    html = enough(otter)
    assert "You have given 3 answers." in html
    assert "Give more answers" in html
    newcomer = make_annotator(project, "Brisk Heron")
    assert url not in page(as_annotator(newcomer), project, "label")
    assert "No answers yet" in enough(newcomer)


def test_everybodys_places_are_shown_where_nobody_has_a_ranking_of_their_own(project, otter):
    html = enough(otter)
    texts = [item.body for item in project.items.order_by("pk")]
    assert [html.index(text) for text in texts] == sorted(html.index(text) for text in texts)
    assert "What others think" in html
    assert ">You<" not in html
    assert "item-0" not in html, "keys and titles are the owner's"


def test_question_and_items_are_in_the_readers_language(project, otter):
    Project.objects.update(language="en", languages=["fr"])
    ProjectTranslation.objects.create(project=project, language="fr", question="Lequel ?")
    for item in project.items.all():
        ItemTranslation.objects.create(item=item, language="fr", body=f"Texte {item.key}")
    html = enough(otter, "?lang=fr")
    assert "Lequel ?" in html
    assert [f"Texte {item.key}" in html for item in project.items.all()] == [True] * 6
    assert not any(item.body in html for item in project.items.all())
    for place in ("own-ideas", "own-answers"):
        assert "Lequel ?" in page(as_annotator(otter), project, place, "?lang=fr")


def test_retired_items_are_not_shown(project, otter):
    project.items.filter(key="item-2").update(retired_at=NOW)
    assert "Text number 2" not in enough(otter)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"show_result": "never"}, None),
        ({"show_result": "after", "show_result_after": 5}, "After 2 more answers you see what others think."),
        ({"show_result": "end"}, "You will see what others think when you have nothing left to answer"),
        ({"show_result": "end", "state": "closed"}, "What others think"),
        ({"show_result": "end", "cap": 3}, "What others think"),
        ({"show_result": "after", "show_result_after": 5, "state": "closed"}, "What others think"),
        ({"show_result": "after", "show_result_after": 3, "state": "paused"}, "What others think"),
    ],
)
def test_the_owner_says_when_the_result_is_shown(project, otter, values, told):
    Project.objects.update(**values)
    html = enough(otter)
    assert told is None or told in html
    assert ("<h2" in html) == (told == "What others think")
    assert ("Text number" in html) == (told == "What others think")


def test_who_may_not_look(project, otter, alice):
    url = reverse("enough", args=[project.pk])
    assert Client().get(url).status_code == 404
    Project.objects.update(state="draft")
    assert as_annotator(otter).get(url).status_code == 409
    Project.objects.update(state="open", consent_version="x")
    assert as_annotator(otter).get(url)["Location"] == reverse("consent", args=[project.pk])
    exclude_annotator(annotator=otter, actor=alice, reason="", now=NOW)
    assert as_annotator(otter).get(url).status_code == 403
    assert as_annotator(otter).get(url + "?criterion=9").status_code == 404


@pytest.mark.slow
def test_own_places_stand_beside_everybodys(mapped):
    """Half of the crowd ranks the items by their order, the other half the other way round."""
    first, *_, last = mapped.annotators.order_by("pk")
    items = list(mapped.items.order_by("pk"))
    for person, places in ((first, range(1, 7)), (last, range(6, 0, -1))):
        browser = as_annotator(person)
        shown = browser.get(reverse("enough", args=[mapped.pk])).context["result"]
        own = {row.text: row.own_place for row in shown.rows}
        assert [own[item.body] for item in items] == list(places)
        assert [row.place for row in shown.rows] == [1, 2, 3, 4, 5, 6]
    api = (
        Client()
        .get(reverse("api-own-result", args=[mapped.pk]), headers={"Authorization": f"Annotator {first.resume_token}"})
        .json()
    )
    assert {row["text"]: row["own_place"] for row in api["results"]} == {
        item.body: place for place, item in enumerate(items, 1)
    }


def test_a_group_is_told_where_the_owner_allows_and_it_is_not_too_small(mapped, monkeypatch):
    TasteMap.objects.update(n_groups=2)
    AnnotatorTaste.objects.update(certainty=0.7)
    first = mapped.annotators.order_by("pk").first()
    own = first.tastes.get()
    fellows = AnnotatorTaste.objects.filter(group=own.group).count()
    monkeypatch.setattr(queries, "MIN_GROUP", fellows)
    html = enough(first)
    assert f"You seem to be in group {own.group + 1} of 2." in html
    assert f"{fellows} people answer alike." in html
    AnnotatorTaste.objects.update(certainty=0.95)
    assert f"You are in group {own.group + 1} of 2." in enough(first)
    monkeypatch.setattr(queries, "MIN_GROUP", fellows + 1)
    assert "group" not in enough(first)
    monkeypatch.setattr(queries, "MIN_GROUP", fellows)
    Project.objects.update(show_groups=False)
    assert "group" not in enough(first)


def test_a_poll_without_an_end_has_kind_words(project):
    Project.objects.update(overlap=1000, break_every=2)
    otter = make_annotator(Project.objects.get(), "Quiet Otter")
    browser = as_annotator(otter)
    browser.post(reverse("label", args=[project.pk]))
    html = page(browser, project, "label")
    assert "Answer as many as you like" in html
    assert "at most" not in html
    answer_one(otter)
    browser.post(reverse("label", args=[project.pk]))
    assert "1 answered, as many as you like" in page(browser, project, "label")
    answer_one(otter, seed=1)
    html = page(browser, project, "label")
    assert "Thank you: 2 answers, a great help. Go on, or is it enough for now?" in html
    assert ">More</button>" in html
    assert "Enough for now</a>" in html


def test_studies_that_end_with_a_code_offer_no_way_to_stop_before(project):
    Project.objects.update(has_ending=True)
    otter = make_annotator(Project.objects.get(), "Quiet Otter")
    answer_one(otter)
    browser = as_annotator(otter)
    browser.post(reverse("label", args=[project.pk]))
    assert "Enough for now" not in page(browser, project, "label")
