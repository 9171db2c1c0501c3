"""Grades: set by the owner by score or by share; the probability of each for each item, on pages and in exports."""

import csv
import io
from math import log
from statistics import NormalDist

import pytest
from django.urls import reverse

from annotate.dashboard.grades.forms import find_problems
from annotate.dashboard.grades.queries import grades_of
from annotate.models import Event, Project
from models_engine.models import Estimate, Fit
from tests.site.api_client import Api
from tests.site.factories import make_fit, spread_fit
from tests.site.pages import page, rows_shown, signed_in

ABC = [{"name": "A", "limit": 80.0}, {"name": "B", "limit": 40.0}, {"name": "C", "limit": None}]


def posted(by: str, *grades: tuple[str, str]) -> dict[str, str]:
    lines = {f"name_{n}": name for n, (name, _limit) in enumerate(grades)}
    return {"grades_by": by, **lines, **{f"limit_{n}": limit for n, (_name, limit) in enumerate(grades)}}


def graded(project: Project, by: str = "score", grades=ABC) -> Fit:
    Project.objects.filter(pk=project.pk).update(grades=grades, grades_by=by)
    project.refresh_from_db()
    return spread_fit(project, list(project.items.order_by("pk")), sd=0.3)


def odds(score: float) -> float:
    return log(score / (100 - score))


def above_by_hand(estimate: Estimate, boundary: float) -> float:
    """P(score over the boundary), the log odds being normal with the score's 90% interval."""
    low, high = odds(estimate.score_low), odds(estimate.score_high)
    return 1 - NormalDist((low + high) / 2, (high - low) / (2 * 1.6448536)).cdf(odds(boundary))


def test_probabilities_are_those_of_a_normal_with_the_scores_interval(project):
    fit = graded(project)
    rows = grades_of(project, fit).rows
    assert len(rows) == 6
    for row in rows:
        over_80, over_40 = above_by_hand(row.estimate, 80), above_by_hand(row.estimate, 40)
        assert row.probabilities == pytest.approx([over_80, over_40 - over_80, 1 - over_40], abs=1e-6)
        assert row.grade == "ABC"[row.probabilities.index(max(row.probabilities))]


def test_a_boundary_at_the_end_of_an_interval_is_passed_with_one_in_twenty(project):
    fit = spread_fit(project, list(project.items.order_by("pk")), sd=0.3)
    best = fit.estimates.get(rank=1)
    project.grades = [{"name": "Pass", "limit": best.score_low}, {"name": "Fail", "limit": None}]
    assert grades_of(project, fit).rows[0].probabilities == pytest.approx([0.95, 0.05], abs=1e-6)


def test_shares_cut_between_the_items_that_they_part(project):
    grades = [{"name": "A", "limit": 33.0}, {"name": "B", "limit": 50.0}, {"name": "C", "limit": None}]
    fit = graded(project, "share", grades)
    found = grades_of(project, fit)
    assert [row.grade for row in found.rows] == ["A", "A", "B", "B", "B", "C"]
    first, second = (line.begins for line in found.lines[:2])
    scores = [row.estimate.score for row in found.rows]
    assert scores[1] > first > scores[2]
    assert scores[4] > second > scores[5]


def test_a_share_too_small_for_an_item_leaves_its_grade_nearly_empty(project):
    grades = [{"name": "A", "limit": 1.0}, {"name": "B", "limit": 1.0}, {"name": "C", "limit": None}]
    found = grades_of(project, graded(project, "share", grades))
    assert {row.grade for row in found.rows} == {"C"}
    assert sum(line.expected for line in found.lines) == pytest.approx(6)


def test_a_boundary_is_settled_where_few_items_are_expected_on_the_wrong_side(project):
    fit = graded(project)
    found = grades_of(project, fit)
    for line, boundary in zip(found.lines, (80, 40), strict=False):
        over = [above_by_hand(row.estimate, boundary) for row in found.rows]
        error = sum(min(p, 1 - p) for p in over) / len(over)
        assert line.is_settled == (error <= 0.05)
        assert line.expected >= 0
    assert found.lines[-1].is_settled is None
    assert sum(line.expected for line in found.lines) == pytest.approx(6)


def test_items_of_other_parts_have_no_grade(project, alice):
    items = list(project.items.order_by("pk"))
    Project.objects.filter(pk=project.pk).update(grades=ABC)
    parts = [[(item, 1.0 - n, 0.3, 9) for n, item in enumerate(items[:4])], [(item, 0.0, 0.3, 9) for item in items[4:]]]
    make_fit(project, parts)
    html = page(signed_in(alice), project, "grades")
    assert set(rows_shown(html)) == {item.key for item in items[:4]}
    assert "2 items have no grade: no answer connects them with these." in html


def test_the_page_shows_plot_tables_and_form(project, alice, vera):
    graded(project)
    html = page(signed_in(alice), project, "grades")
    assert html.count('class="grade-cut"') == 2
    assert 'data-input="id_limit_0"' in html
    assert 'id="grades-form"' in html
    assert "boundaries are settled" in html
    seen = page(signed_in(vera), project, "grades")
    assert 'id="grades-form"' not in seen
    assert "data-input" not in seen
    assert rows_shown(seen) == rows_shown(html)


def test_by_share_nothing_can_be_dragged(project, alice):
    graded(project, "share", [{"name": "A", "limit": 50.0}, {"name": "B", "limit": None}])
    html = page(signed_in(alice), project, "grades")
    assert 'class="grade-cut"' in html
    assert "data-input" not in html


def test_the_owner_sets_and_removes_them(project, alice):
    spread_fit(project, list(project.items.all()))
    client, url = signed_in(alice), reverse("grades", args=[project.pk])
    assert "No grades yet." in page(client, project, "grades")
    values = posted("score", ("A", "80"), ("", ""), ("B", "40.5"), ("C", ""))
    assert client.post(url, values).status_code == 302
    project.refresh_from_db()
    assert project.grades == [
        {"name": "A", "limit": 80.0},
        {"name": "B", "limit": 40.5},
        {"name": "C", "limit": None},
    ]
    assert Event.objects.filter(project=project, verb="settings changed").exists()
    assert "The grades are saved." in page(client, project, "grades")
    assert client.post(url, posted("score")).status_code == 302
    project.refresh_from_db()
    assert project.grades == []


def test_grades_can_be_set_before_there_is_a_ranking(project, alice):
    client, url = signed_in(alice), reverse("grades", args=[project.pk])
    assert client.post(url, posted("share", ("Pass", "70"), ("Fail", ""))).status_code == 302
    assert "No ranking yet." in page(client, project, "grades")


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("by", "grades", "said"),
    [
        ("score", [("A", 80), ("B", 85), ("C", None)], "“B” begins at 85, but “A” above it at 80. Write less than 80"),
        ("score", [("A", 80), ("B", 80), ("C", None)], "“B” begins at 80, but “A” above it at 80."),
        ("score", [("A", 100), ("B", None)], "“A” begins at 100; scores lie between 0 and 100."),
        ("score", [("A", None), ("B", None)], "Say where “A” begins"),
        ("score", [("A", 80), ("B", 40)], "“B” is the last grade and takes the rest. Empty its number"),
        ("score", [("A", 80)], "“A” is the only grade; it takes two or more."),
        ("score", [("A", 80), ("a", 40), ("C", None)], "“a” is there twice."),
        ("share", [("A", 60), ("B", 50), ("C", None)], "add up to 110% and leave it nothing."),
        ("share", [("A", 60), ("B", 30)], "All shares add up to 90%, not to 100%."),
        ("share", [("A", None), ("B", None)], "Say which share of the items has “A”"),
        ("share", [("A", 0), ("B", None)], "“A” has a share of 0%."),
    ],
)
def test_what_is_wrong_is_said_with_value_limit_and_next_step(project, alice, by, grades, said):
    text = [("" if limit is None else str(limit)) for _name, limit in grades]
    values = posted(by, *((name, limit) for (name, _), limit in zip(grades, text, strict=True)))
    response = signed_in(alice).post(reverse("grades", args=[project.pk]), values)
    assert response.status_code == 400
    assert said in response.content.decode()
    project.refresh_from_db()
    assert project.grades == []


@pytest.mark.parametrize(
    ("by", "limits"), [("score", [80, 40, None]), ("score", [50, 0]), ("share", [30, 30, None]), ("share", [30, 70])]
)
def test_what_is_right_has_no_problem(by, limits):
    assert find_problems(by, [{"name": str(n), "limit": limit} for n, limit in enumerate(limits)]) == []


def test_the_export_has_a_column_for_each_grade(project, alice):
    fit = graded(project)
    response = signed_in(alice).get(reverse("export", args=[project.pk, "grades", "csv"]))
    lines = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))
    assert [*lines[0]] == ["item", "title", "score", "grade", "p_grade", "fit", "p_1", "p_2", "p_3"]
    first = grades_of(project, fit).rows[0]
    assert (lines[0]["item"], lines[0]["grade"]) == (first.item.key, first.grade)
    assert [float(lines[0][f"p_{n}"]) for n in (1, 2, 3)] == pytest.approx(first.probabilities)


def test_without_grades_the_export_is_empty(project, alice):
    spread_fit(project, list(project.items.all()))
    response = signed_in(alice).get(reverse("export", args=[project.pk, "grades", "csv"]))
    assert len(b"".join(response.streaming_content).decode().splitlines()) == 1


def test_the_report_has_them(project, alice):
    graded(project)
    html = page(signed_in(alice), project, "report")
    assert "Grades and their boundaries" in html
    assert "Probability of each grade" in html


def test_the_api_reads_sets_and_removes_them(project, alice):
    spread_fit(project, list(project.items.order_by("pk")), sd=0.3)
    api = Api(alice, project)
    assert api("get", "grades").json() == {"by": "score", "grades": [], "fit": None, "n_pages": 0, "results": []}
    body = {"by": "score", "grades": [{"name": "A", "limit": 80}, {"name": "B", "limit": 40}, {"name": "C"}]}
    set_now = api("put", "grades", body).json()
    assert [one["name"] for one in set_now["grades"]] == ["A", "B", "C"]
    assert set_now["grades"][0]["begins"] == pytest.approx(80)
    assert set_now["results"][0]["grade"] == "A"
    assert sum(set_now["results"][0]["probabilities"]) == pytest.approx(1)
    wrong = api("put", "grades", {"by": "score", "grades": [*body["grades"][1:2], *body["grades"][:1], {"name": "C"}]})
    assert (wrong.status_code, set(wrong.json()["errors"])) == (422, {"grades.1.limit"})
    assert api("delete", "grades").json()["grades"] == []


def test_a_fit_without_scores_says_that_the_next_one_will_grade(project, alice):
    fit = graded(project)
    Estimate.objects.filter(fit=fit).update(score=None, score_low=None, score_high=None)
    assert "No scores yet." in page(signed_in(alice), project, "grades")
