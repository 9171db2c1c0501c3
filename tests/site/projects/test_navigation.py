"""The navigation of a project: which pages are in it, for whom, and where one stands."""

import re
from html import unescape

import pytest
from django.urls import get_resolver, reverse

from annotate.criteria import Criterion
from annotate.projects.navigation import GROUPS, navigation
from tests.site.pages import page, signed_in
from tests.site.test_access import RULES

PAGES = [one for group in GROUPS for one in group.pages]


def titles(links):
    return [str(link.title) for link in links]


def test_each_page_is_in_one_group():
    names = [name for one in PAGES for name in one.url_names]
    assert len(names) == len(set(names))
    assert set(names) <= {str(name) for name in get_resolver().reverse_dict}


def test_whoever_sees_a_link_may_open_it():
    assert [one.url_name for one in PAGES if not one.roles <= set(RULES[one.url_name][0])] == []


def test_owners_see_six_groups_and_the_pages_of_one(project):
    found = navigation(project, "owner", "tastes")
    assert titles(found.groups) == ["Results", "People", "Trust and progress", "Set up", "More", "Invite"]
    assert titles(found.pages) == ["Ranking", "Groups", "Grades", "Scaled scores", "Report", "Results links"]
    assert [link.current for link in found.groups] == ["true", "", "", "", "", ""]
    assert [link.current for link in found.pages] == ["", "page", "", "", "", ""]


def test_viewers_see_no_page_that_changes_anything(project):
    found = navigation(project, "viewer", "ranking")
    assert titles(found.groups) == ["Results", "People", "Trust and progress", "Preview", "More"]
    assert titles(found.pages) == ["Ranking", "Groups", "Grades", "Scaled scores", "Report"]


def test_annotators_with_an_account_have_no_navigation(project):
    assert navigation(project, "annotator", "preview").groups == []


def test_links_keep_the_criterion(project):
    project.criteria = [{"name": "A", "question": "?"}, {"name": "B", "question": "?"}]
    addresses = [link.address for link in navigation(project, "owner", "ranking", Criterion(project, 2)).pages]
    assert addresses[0].endswith("?criterion=2")
    assert addresses[1] == reverse("overall", args=[project.pk])
    assert "criterion" not in addresses[6]


# The preview is shown in the frame of the task, as annotators see it.
@pytest.mark.embedded
@pytest.mark.parametrize("one", [one for one in PAGES if one.url_name != "preview"], ids=lambda one: one.url_name)
def test_a_page_marks_its_place(project, alice, one):
    html = page(signed_in(alice), project, one.url_name)
    address = reverse(one.url_name, args=[project.pk])
    assert html.count('aria-current="page"') >= 1
    assert f'<a href="{address}" aria-current="page">' in html
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", html, re.S)
    assert heading
    if one.url_name != "setup":  # whose heading is the next step
        assert str(one.title).casefold() in unescape(heading[1]).casefold(), "it is called otherwise in the menu"
