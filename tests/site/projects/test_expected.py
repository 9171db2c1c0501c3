"""What to expect before the start, on *Which questions*: figures, goals, answers of larger sets, contexts, drafts."""

import re

import numpy as np
import pytest
from django.urls import reverse
from numpy.testing import assert_allclose

from annotate.models import Context, Project
from annotate.projects.policy.expected import answers_for, expectations_of, goals_of
from models_engine.analysis.expected_quality import expected_quality
from tests.conftest import make_items
from tests.site.pages import signed_in


@pytest.fixture
def project(project) -> Project:
    project.items.all().delete()
    make_items(project, 40)
    project.top_k = 5
    project.save()
    return project


def test_the_page_shows_pictures_and_the_same_figures_as_tables(project, alice):
    html = signed_in(alice).get(reverse("policy", args=[project.pk])).content.decode()
    assert "What to expect" in html
    assert "For 40 items." in html
    assert "Share of the best 5 that are found." in html
    assert html.count('class="mark-area"') == 4  # two goals, two rules
    found = expected_quality(40, "best", 5)
    assert f'<td class="number">{found.chosen[-1, 1]:.2f}</td>' in html
    assert f"{found.chosen[-1, 0]:.2f} – {found.chosen[-1, 2]:.2f}" in html
    german = signed_in(alice).get(reverse("policy", args=[project.pk]), headers={"Accept-Language": "de"})
    paths = re.findall(r' d="(M[^"]*)"', german.content.decode())
    assert len(paths) >= 8
    assert not [path for path in paths if "," in path]  # what SVG reads has points in every language


def test_one_best_item_is_said_in_the_singular(project):
    project.top_k = 1
    assert expectations_of(project).pictures[1].measure == "How often the best item is found."


def test_the_goal_of_the_projects_own_rule_comes_first(project):
    project.class_shares = [20, 60, 20]
    assert goals_of(project, 40) == [("whole", 0), ("best", 5), ("classes", 3)]
    project.policy = "classes"
    assert goals_of(project, 40)[0] == ("classes", 3)
    project.policy, project.top_k = "best", 40
    assert goals_of(project, 40) == [("whole", 0), ("classes", 3)]  # all items are no best ones
    assert goals_of(project, 1) == []


def test_an_answer_to_a_larger_set_counts_for_more_pairs(project):
    pairs = expectations_of(project).pictures[0].n_answers
    project.task_type, project.k = "ranking", 4
    sets = expectations_of(project)
    assert not sets.is_of_pairs
    # A ranking of four is worth 3 x 3/5 comparisons for each of four items: 3.6 pairs.
    assert [round(int(n.replace(",", "")) / 3.6) for n in pairs] == [int(n) for n in sets.pictures[0].n_answers]


def test_no_more_answers_are_shown_than_the_project_holds(project):
    project.items.filter(pk__in=project.items.values_list("pk", flat=True)[20:]).delete()
    project.overlap = 1  # 20 items, 190 pairs: 7 answers an item fit, 10 do not
    assert expectations_of(project).pictures[0].n_answers[-1] == "140"
    project.items.filter(pk__in=project.items.values_list("pk", flat=True)[2:]).delete()
    told = expectations_of(project)
    assert (told.n_items, told.pictures) == (2, [])


def test_contexts_are_rankings_of_their_own(project):
    one, other = (Context.objects.create(project=project, digest=str(n), body=str(n)) for n in (1, 2))
    keys = list(project.items.order_by("pk").values_list("pk", flat=True))
    project.items.filter(pk__in=keys[:20]).update(context=one)
    project.items.filter(pk__in=keys[20:]).update(context=other)
    told = expectations_of(project)
    assert told.n_rankings == 2
    assert_allclose(
        [float(mean) for _, mean, _ in told.pictures[0].chosen.points],
        expected_quality(20, "whole").chosen[: len(told.pictures[0].n_answers), 1],
        atol=0.0051,
    )


def test_a_draft_without_items_gets_an_example(project, alice, django_assert_num_queries):
    project.items.all().delete()
    with django_assert_num_queries(1):
        told = expectations_of(project)
    assert (told.is_example, told.n_items) == (True, 100)
    assert told.pictures
    assert "There are no items yet; this is an example of 100 items." in (
        signed_in(alice).get(reverse("policy", args=[project.pk])).content.decode()
    )


def test_the_number_of_answers_that_reach_as_much():
    n, means = np.array([10.0, 20.0, 40.0]), np.array([0.2, 0.4, 0.8])
    assert answers_for(n, means, 0.6) == pytest.approx(30.0)
    assert answers_for(n, means, 0.1) == 10.0
    assert answers_for(n, means, 0.9) is None
