"""The leaderboard that a fit stores: who is on it, in which order, what it counts, and when it is not computed anew."""

import json

import numpy as np
import pytest
from django.urls import reverse

from annotate.criteria import Criterion
from annotate.fitting.leaderboard import computing
from annotate.fitting.leaderboard.reading import read_board_data
from annotate.fitting.leaderboard.style import counts_of, style_matrix
from annotate.fitting.reading import read_labels
from annotate.items.bulk_actions import name_competitor
from annotate.items.features import add_features
from annotate.models import Annotator, Context, Item, Label
from models_engine.models import Leaderboard
from tests.conftest import NOW
from tests.site.competitions import make_competition
from tests.site.fitting.test_run import fit_now
from tests.site.replay import replay

NAMES = ["Alpaca", "Llama", "Orca"]


@pytest.fixture
def competition(project):
    project.estimator, project.top_k, project.style_features = "BradleyTerry", 2, ["length"]
    project.save()

    def write():
        make_competition(project, NAMES, n_prompts=9, tags=["code", "law", "code"])
        fit_now(project)

    replay("competition", write)
    project.refresh_from_db()
    return project


def board_of(project) -> dict:
    return Leaderboard.objects.get(fit__project_id=project.pk, fit__published=True).board


def test_a_fit_stores_who_leads_with_places_scores_and_counts(competition):
    board = board_of(competition)
    assert (board["problem"], board["n_labels"], board["n_annotators"], board["n_contexts"]) == ("", 81, 3, 9)
    assert [row["name"] for row in board["rows"]] == ["Orca", "Llama", "Alpaca"]
    first = board["rows"][0]
    assert (first["rank"], first["n_contexts"], first["n_items"], first["n_labels"], first["n_annotators"]) == (
        (1, 9, 9, 54, 3)
    )
    assert all(row["score_low"] < row["score"] < row["score_high"] for row in board["rows"])
    assert first["score"] > 50 > board["rows"][-1]["score"]
    assert 0 < first["p_top_k"] <= 1, "two of three places"


def test_the_table_of_pairs_is_what_was_seen_and_what_is_expected(competition):
    board = board_of(competition)
    wins, expected = np.array(board["wins"]), np.array(board["expected"])
    assert (wins + wins.T)[np.triu_indices(3, 1)].tolist() == [27, 27, 27]
    assert wins[0, 2] > wins[2, 0]
    assert np.allclose(expected + expected.T, 1, atol=1e-3)
    better, on_new = np.array(board["better"]), np.array(board["better_on_new"])
    assert better[0, 2] > on_new[0, 2] > 0.5, "one prompt tells less than the average"


def test_categories_borrow_from_each_other_and_count_their_own(competition):
    tags = {tag["name"]: tag for tag in board_of(competition)["tags"]}
    assert {name: tag["n_labels"] for name, tag in tags.items()} == {"code": 54, "law": 27}
    assert {row["n_contexts"] for row in tags["law"]["rows"]} == {3}
    assert tags["code"]["rows"][0]["name"] == "Orca"


def test_the_length_of_texts_is_held_equal_where_that_is_chosen(competition):
    style = board_of(competition)["style"]
    [feature] = style["features"]
    assert feature["name"] == "length"
    assert feature["low"] < feature["worth"] < feature["high"]
    gap = {row["name"]: row["sd"] for row in style["rows"]}
    plain = {row["name"]: row["sd"] for row in board_of(competition)["rows"]}
    assert gap["Alpaca"] > plain["Alpaca"], "what length explains is less sure of who wrote long"


MARKED = "# Tides\n\n- the moon\n  * the sun\n1. first\n2) second\nno - list\n#hashtag\n## Why\n-5 degrees"
TURNS = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "### So\n- one\n- two"}]
SECTIONS = [{"kind": "text", "text": "- one"}, {"kind": "markdown", "text": "# Head\n\n1. two"}]


@pytest.mark.parametrize(
    ("body", "kind", "counts"),
    [
        (MARKED, "markdown", (4, 2)),
        (MARKED, "text", (4, 2)),
        ("<h2>A</h2><ul><li>b<li class='c'>d</ul><h1>e</h1><hr><link>", "html", (2, 2)),
        (json.dumps(TURNS), "chat", (2, 1)),
        (json.dumps(SECTIONS), "sections", (2, 1)),
        ("A plain answer.", "text", (0, 0)),
    ],
)
def test_lists_and_headings_of_a_text_are_counted(body, kind, counts):
    assert tuple(counts_of(body, kind, ["lists", "headings"]).values()) == counts


def test_lists_and_headings_are_held_equal_and_an_imported_feature_of_the_name_counts_instead(competition):
    items = list(competition.items.order_by("pk"))
    for number, item in enumerate(items):
        item.body += "\n- one" * (number % 3) + "\n# Head" * (number % 2)
        item.save()
    competition.style_features = ["lists", "headings", "length"]
    ids = np.array([item.pk for item in items])
    names, matrix = style_matrix(competition, ids)
    assert names == ["lists", "headings", "length"]
    assert np.allclose(np.expm1(matrix[:, 0]), [n % 3 for n in range(len(items))])
    assert np.allclose(np.expm1(matrix[:, 1]), [n % 2 for n in range(len(items))])
    add_features(competition, ["lists"], [(item.pk, [float(n)]) for n, item in enumerate(items)])
    names, matrix = style_matrix(competition, ids)
    assert np.allclose(matrix[:, names.index("lists")], range(len(items)))


def test_nothing_is_computed_again_where_nothing_changed(competition, alice):
    criterion, labels = Criterion(competition), read_labels(Criterion(competition))
    former = Leaderboard.objects.get(fit__project_id=competition.pk, fit__published=True).fit

    def never(*_step):
        raise AssertionError("nothing has changed")

    again = computing.compute_leaderboard(criterion, labels, former, never)
    assert again == board_of(competition)
    pks = list(competition.items.filter(competitor="Llama").values_list("pk", flat=True))
    name_competitor(project=competition, actor=alice, items=pks, name="Orca", now=NOW)
    with pytest.raises(AssertionError):
        computing.compute_leaderboard(criterion, labels, former, never)


def test_answers_that_show_an_unnamed_item_or_two_contexts_are_left_out(competition):
    Item.objects.filter(project=competition, key="Alpaca-0").update(competitor="")
    other = Context.objects.get(project=competition, body="Prompt 2")
    Item.objects.filter(project=competition, key="Alpaca-1").update(context=other)
    criterion = Criterion(competition)
    found = read_board_data(criterion, read_labels(criterion))
    assert (found.data.n_labels, found.n_left_out) == (81 - 6 - 6, 12)


def test_what_cannot_be_computed_says_why_and_the_ranking_stays(competition):
    Item.objects.filter(project=competition).exclude(competitor="Orca").update(competitor="")
    Item.objects.filter(project=competition, key="Llama-0").update(competitor="Llama")
    Item.objects.filter(project=competition, key="Orca-0").update(competitor="")
    fit = fit_now(competition)
    assert fit.published
    assert "No two competitors have been compared yet" in board_of(competition)["problem"]


def test_without_competitors_there_is_no_board(project):
    project.estimator = "BradleyTerry"
    project.save()
    fit_now(project)
    assert not Leaderboard.objects.exists()


def test_somebody_who_answers_against_all_others_counts_little_and_the_page_says_so(competition, alice, client):
    assert board_of(competition)["n_careless"] == 0
    contrary = Annotator.objects.filter(project=competition).order_by("pk").first()
    for label in contrary.labels.select_related("presentation"):
        other = label.presentation.items.exclude(pk=label.chosen_id).get()
        Label.objects.filter(pk=label.pk).update(chosen=other)
    fit_now(competition)
    board = board_of(competition)
    assert board["n_careless"] == 1
    assert [row["name"] for row in board["rows"]] == ["Orca", "Llama", "Alpaca"]
    client.force_login(alice)
    html = client.get(reverse("leaderboard", args=[competition.pk])).content.decode()
    assert "1 person seems to answer at random: their answers count little." in html
