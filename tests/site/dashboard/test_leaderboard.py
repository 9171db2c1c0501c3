"""The page of the leaderboard: who sees it, what it says, any pair, categories, style; API, exports, public page."""

import csv
import io
import json

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.criteria import Criterion
from annotate.models import FitState, ResultsLink
from annotate.publishing.results_links.actions import make_link
from annotate.publishing.run_records.job import write_run_record
from models_engine.__main__ import main
from models_engine.models import Leaderboard
from tests.conftest import NOW
from tests.site.api_client import Api
from tests.site.competitions import make_competition
from tests.site.fitting.test_run import fit_now
from tests.site.pages import page, rows_shown, signed_in
from tests.site.replay import replay

NAMES = ["Alpaca", "Llama", "Orca"]


@pytest.fixture
def competition(project):
    project.estimator, project.top_k, project.style_features = "BradleyTerry", 3, ["length"]
    project.save()

    def write():
        make_competition(project, NAMES, n_prompts=6, tags=["code", "law"])
        fit_now(project)

    replay("competition", write)
    project.refresh_from_db()
    return project


def test_the_page_names_the_leader_and_ranks_all(competition, vera):
    html = page(signed_in(vera), competition, "leaderboard")
    assert "“Orca”" in html.partition('class="lead headline-lead"')[2][:200]
    assert rows_shown(html) == ["Orca", "Llama", "Alpaca"]
    assert "From 54 answers by 3 people on 6 prompts or contexts." in html
    assert "Chance to be in the top 3" not in html, "all three are among the best three"
    assert "With style held equal" in html
    assert 'id="style-form"' not in html, "a viewer changes nothing"


def test_the_ranking_leads_to_the_leaderboard_instead_of_counting_rankings(competition, vera):
    html = page(signed_in(vera), competition)
    assert reverse("leaderboard", args=[competition.pk]) in html.partition("</nav>")[2]
    assert "“Orca”" in html.partition('class="lead headline-lead"')[2][:200]
    assert "In the largest connected part" not in html


def test_any_pair_can_be_chosen(competition, vera):
    html = page(signed_in(vera), competition, "leaderboard", "?a=Alpaca&b=Llama&category=law")
    chosen = html.partition('id="pair"')[2].partition("</section>")[0]
    assert "<option selected>Alpaca</option>" in chosen
    assert "Seen: <bdi>Alpaca</bdi> preferred" in chosen
    assert rows_shown(html.partition('id="category-1"')[2])[:1], "the category's own table"
    same = page(signed_in(vera), competition, "leaderboard", "?a=Orca&b=Orca")
    assert "Choose two different competitors." in same


def with_effects(competition, **effects: tuple[float, float]) -> None:
    """Stores what a fit says of Orca in each category: (effect, standard deviation)."""
    stored = Leaderboard.objects.get(fit__project_id=competition.pk, fit__published=True)
    for tag in stored.board["tags"]:
        for row in tag["rows"]:
            if row["name"] == "Orca":
                row["effect"], row["effect_sd"] = effects[tag["name"]]
    stored.save()


def test_the_page_says_where_a_competitor_shines(competition, vera):
    with_effects(competition, code=(0.2, 0.3), law=(0.9, 0.2))
    html = page(signed_in(vera), competition, "leaderboard")
    shown = html.partition('id="shine"')[2].partition("</section>")[0]
    assert "<bdi>Orca</bdi> does better than elsewhere in: <strong>law</strong>" in shown
    assert shown.index(">law</th>") < shown.index(">code</th>"), "where it does best comes first"
    assert "<strong>better</strong>" in shown
    assert "not enough data" in shown
    assert "logits" not in shown
    vera.is_expert = True
    vera.save()
    assert "Better than elsewhere by (logits)" in page(signed_in(vera), competition, "leaderboard")
    other = page(signed_in(vera), competition, "leaderboard", "?of=Llama").partition('id="shine"')[2]
    assert "<option selected>Llama</option>" in other
    with_effects(competition, code=(-0.9, 0.1), law=(0.1, 0.3))
    html = page(signed_in(vera), competition, "leaderboard", "?of=nobody")
    assert "In no category is <bdi>Orca</bdi> clearly better than elsewhere." in html
    assert "<strong>worse</strong>" in html


def test_without_two_categories_nothing_shines(competition, vera):
    stored = Leaderboard.objects.get(fit__project_id=competition.pk, fit__published=True)
    stored.board["tags"] = stored.board["tags"][:1]
    stored.save()
    assert 'id="shine"' not in page(signed_in(vera), competition, "leaderboard")


def test_a_problem_is_told_and_leads_to_the_ranking(competition, vera):
    Leaderboard.objects.update(board={"problem": "It took too long.", "digest": ""})
    html = page(signed_in(vera), competition, "leaderboard")
    assert "It took too long." in html
    assert reverse("ranking", args=[competition.pk]) in html
    assert "It took too long." not in page(signed_in(vera), competition)


def test_without_competitors_the_page_is_in_no_menu_and_says_how_to_name_them(project, alice):
    fit_now(project)
    html = page(signed_in(alice), project)
    assert reverse("leaderboard", args=[project.pk]) not in html
    assert "Name who made each item" in page(signed_in(alice), project, "leaderboard")


def test_a_manager_chooses_what_is_held_equal(competition, manuel):
    client, url = signed_in(manuel), reverse("leaderboard", args=[competition.pk])
    before = FitState.objects.get(project=competition).wanted
    assert client.post(url, {"features": []}).status_code == 302
    competition.refresh_from_db()
    assert competition.style_features == []
    assert FitState.objects.get(project=competition).wanted == before + 1
    assert client.post(url, {"features": ["shoe size"]}).status_code == 400
    assert client.post(url, {"features": ["lists", "headings"]}).status_code == 302


def test_the_page_takes_as_many_queries_with_more_competitors(competition, vera, django_assert_max_num_queries):
    client = signed_in(vera)
    with django_assert_max_num_queries(14):
        page(client, competition, "leaderboard")


def test_the_api_reads_it_and_sets_what_is_held_equal(competition, alice):
    api = Api(alice, competition)
    board = api("get", "leaderboard").json()
    assert [row["competitor"] for row in board["rows"]] == ["Orca", "Llama", "Alpaca"]
    assert board["style_features"] == ["length"]
    assert board["better"][0][2] > 0.5 > board["better"][2][0]
    assert {tag["tag"] for tag in board["tags"]} == {"code", "law"}
    assert all(row["effect_sd"] > 0 for tag in board["tags"] for row in tag["rows"])
    assert api("patch", "leaderboard", {"style_features": []}).json()["style_features"] == []
    refused = api("patch", "leaderboard", {"style_features": ["shoe size"]})
    assert refused.status_code == 422
    assert "shoe size" in refused.content.decode()


def test_exports_have_boards_and_pairs(competition, alice):
    def table(name: str) -> list[dict]:
        response = signed_in(alice).get(reverse("export", args=[competition.pk, name, "csv"]))
        text = b"".join(response.streaming_content).decode("utf-8-sig")
        return list(csv.DictReader(io.StringIO(text)))

    boards = table("leaderboard")
    assert {(row["board"], row["category"]) for row in boards} == {
        ("all", ""),
        ("category", "code"),
        ("category", "law"),
        ("style", ""),
    }
    assert boards[0]["competitor"] == "Orca"
    assert {row["board"]: bool(row["effect_sd"]) for row in boards} == {"all": False, "category": True, "style": False}
    pairs = {(row["competitor"], row["other"]): row for row in table("leaderboard_pairs")}
    assert len(pairs) == 6
    assert int(pairs["Orca", "Llama"]["wins"]) + int(pairs["Llama", "Orca"]["wins"]) == 18


def test_the_public_page_shows_the_leaderboard_first_where_its_owner_says_so(competition, alice, client):
    for shown in (False, True):
        make_link(
            project=competition,
            actor=alice,
            criterion=1,
            expires_at=None,
            now=timezone.now(),
            shows_leaderboard=shown,
        )
    without, link = ResultsLink.objects.order_by("shows_leaderboard")
    assert "Llama" not in client.get(reverse("results", args=[without.token])).content.decode()
    html = client.get(reverse("results", args=[link.token])).content.decode()
    assert rows_shown(html)[:3] == ["Orca", "Llama", "Alpaca"]


def test_the_run_record_has_the_competitors_and_the_command_line_ranks_them(competition, tmp_path):
    record, out = tmp_path / "record", tmp_path / "out"
    record.mkdir()
    write_run_record(Criterion(competition), record, progress=lambda *_step: True, now=NOW)
    assert json.loads((record / "leaderboard.json").read_text())["rows"][0]["name"] == "Orca"
    files = [str(record / "labels.csv"), "--competitors", str(record / "competitors.csv"), "--output", str(out)]
    assert main(["fit", *files, "--estimator", "BradleyTerry"]) == 0
    with (out / "leaderboard.csv").open() as file:
        found = {row["competitor"]: float(row["utility"]) for row in csv.DictReader(file)}
    published = {row["name"]: row["utility"] for row in Leaderboard.objects.get().board["rows"]}
    assert found == pytest.approx(published, abs=1e-6)
