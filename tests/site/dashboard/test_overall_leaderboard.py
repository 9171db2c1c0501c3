"""The weighted total of competitors over criteria: computed with each fit; page, export, API, link, access."""

import csv
import io

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from scipy.special import expit

from annotate.criteria import list_criteria
from annotate.fitting.leaderboard.total import board_total, load_board
from annotate.models import OVERALL, CriterionAnswer, DerivedRanking, Label, Project, ResultsLink
from annotate.publishing.exports.registry import TABLES
from models_engine.models import Fit, Leaderboard
from tests.conftest import NOW
from tests.site.api_client import Api
from tests.site.competitions import make_competition
from tests.site.fitting.test_criteria import CRITERIA
from tests.site.fitting.test_run import fit_now
from tests.site.pages import page, signed_in
from tests.site.replay import replay

NAMES = ["Alpaca", "Llama", "Orca"]
pytestmark = pytest.mark.slow


@pytest.fixture
def fitted(project) -> Project:
    """Clarity is for Orca, correctness the other way round; clarity counts three times as much."""
    project.estimator, project.criteria, project.weights, project.top_k = "BradleyTerry", CRITERIA, [3.0, 1.0], 2
    project.save()

    def write() -> None:
        make_competition(project, NAMES, n_prompts=6)
        for label in Label.objects.filter(project=project):
            pair = [one.item for one in label.presentation.presented.select_related("item")]
            other = next(item for item in pair if item.pk != label.chosen_id)
            CriterionAnswer.objects.create(label=label, criterion=2, outcome="choice", chosen=other)
        fit_now(project)

    replay("competition by two criteria", write)
    project.refresh_from_db()
    return project


def stored(project: Project) -> DerivedRanking:
    return DerivedRanking.objects.get(project=project, criterion=OVERALL, track="")


def last_fit(project: Project) -> Fit:
    return Fit.objects.get(project_id=project.pk, number=stored(project).fit_number)


@pytest.mark.embedded
def test_the_worker_stores_the_total_of_both_leaderboards(fitted):
    """Against both stored posteriors, drawn from their normals and ranked here."""
    rng, rows = np.random.default_rng(7), stored(fitted).details["leaderboard"]["rows"]
    boards = [load_board(one, last_fit(fitted)) for one in list_criteria(fitted)]
    draws = 0
    for weight, one in zip((0.75, 0.25), boards, strict=True):
        own = one.restrict(NAMES)
        left, right = np.triu_indices(3, 1)
        margin, noise = own.mean[left] - own.mean[right], rng.standard_normal((200_000, 1))
        spread = np.sqrt(own.taste.difference_variance(left, right))
        side = own.likelihood.side or 0.0
        chance = (expit(margin + spread * noise + side) + expit(margin + spread * noise - side)).mean(axis=0) / 2
        units = np.linspace(0.1, 1.5, 1401)
        loss = [-(chance * np.log(expit(u * margin)) + (1 - chance) * np.log(expit(-u * margin))).sum() for u in units]
        unit = units[np.argmin(loss)]  # the logistic curve nearest to the chances of answers about new prompts
        draws = draws + weight * unit * rng.multivariate_normal(own.mean, own.covariance(), 60_000, method="svd")
    ranks = (-draws).argsort(axis=1).argsort(axis=1) + 1
    for row in rows:
        mine = NAMES.index(row["name"])
        assert row["utility"] == pytest.approx(draws[:, mine].mean(), abs=0.03)
        assert row["sd"] == pytest.approx(draws[:, mine].std(), rel=0.06)
        assert row["p_first"] == pytest.approx((ranks[:, mine] == 1).mean(), abs=0.03)
        assert row["p_top_k"] == pytest.approx((ranks[:, mine] <= 2).mean(), abs=0.03)
        assert row["score"] == pytest.approx(100 * expit(draws[:, mine]).mean(), abs=1)
        assert [row["score_low"], row["score_high"]] == pytest.approx(
            100 * expit(np.quantile(draws[:, mine], [0.05, 0.95])), abs=2
        )
        assert (row["n_contexts"], row["n_labels"]) == (6, 36)
    assert [row["name"] for row in rows] == ["Orca", "Llama", "Alpaca"]


def test_the_page_shows_it_to_who_may_see(fitted, alice, vera, bob, charlie, django_assert_max_num_queries):
    for user in (alice, vera):
        html = page(signed_in(user), fitted, "overall")
        shown = html.partition('id="competitors"')[2].partition("</section>")[0]
        assert shown.index('data-competitor="Orca"') < shown.index('data-competitor="Llama"')
        assert "Chance to be first" in shown
        assert "Prompts and answers are those by the criterion that has the fewest." in shown
    address = reverse("overall", args=[fitted.pk])
    assert signed_in(bob).get(address).status_code == 403, "an annotator"
    assert signed_in(charlie).get(address).status_code == 404, "an outsider"
    client = signed_in(vera)
    with django_assert_max_num_queries(18):
        page(client, fitted, "overall")


def test_export_and_api_tell_the_same(fitted, alice):
    response = signed_in(alice).get(reverse("export", args=[fitted.pk, "overall_leaderboard", "csv"]))
    lines = list(csv.DictReader(io.StringIO(response.getvalue().decode("utf-8-sig"))))
    told = Api(alice, fitted)("get", "overall").json()["leaderboard"]
    assert [line["competitor"] for line in lines] == [row["competitor"] for row in told["rows"]]
    assert float(lines[0]["p_first"]) == pytest.approx(told["rows"][0]["p_first"])
    assert float(lines[0]["score_2"]) == pytest.approx(told["rows"][0]["scores"][1]["score"])
    assert len(lines[0]) == len(TABLES["overall_leaderboard"].names(fitted))
    assert "posterior" not in Api(alice, fitted)("get", "leaderboard").json()


def test_a_link_shows_it_where_it_shows_the_leaderboard(fitted):
    link = ResultsLink.objects.create(project=fitted, made_at=NOW, criterion=OVERALL)
    address = reverse("results", args=[link.token])
    assert 'id="competitors"' not in Client().get(address).content.decode()
    ResultsLink.objects.update(shows_leaderboard=True)
    assert 'data-competitor="Orca"' in Client().get(address).content.decode()


def shown_with(project: Project, user) -> str:
    """The page once the worker has computed the total again."""
    row = stored(project)
    row.details["leaderboard"] = board_total(project, last_fit(project))
    row.save()
    return page(signed_in(user), project, "overall").partition('id="competitors"')[2].partition("</section>")[0]


def test_the_page_says_what_is_missing(fitted, alice):
    board = Leaderboard.objects.get(fit__project_id=fitted.pk, fit__criterion=1)
    whole = board.board
    board.board = {**whole, "rows": [{**one, "part": int(one["name"] == "Llama")} for one in whole["rows"]]}
    board.save()
    shown = shown_with(fitted, alice)
    assert "so no total: <bdi>Llama</bdi>" in shown
    assert 'data-competitor="Llama"' not in shown
    board.board = {**whole, "rows": [{**one, "part": n} for n, one in enumerate(whole["rows"])]}
    board.save()
    assert "Fewer than two competitors have a place" in shown_with(fitted, alice)
    board.board = {name: value for name, value in whole.items() if name != "posterior"}
    board.save()
    assert "It appears here with the next update" in shown_with(fitted, alice)
    board.delete()
    assert "No leaderboard yet by “Clarity”." in shown_with(fitted, alice)
