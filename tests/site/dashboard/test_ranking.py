"""The ranking's page: the headline and the table say what the fit can carry, in the order asked for."""

import re
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.criteria import Criterion
from annotate.dashboard.ranking import table
from annotate.fitting.estimator_choices import CAUTIONS
from annotate.items.actions import set_title
from annotate.models import Context, FitState, Item, Project, Tag, User
from annotate.publishing.results_links.actions import make_link
from models_engine.models import Estimate, Fit
from tests.conftest import make_annotator
from tests.site.api_client import Api
from tests.site.factories import estimate_annotator, make_fit, spread_fit
from tests.site.pages import HTMX, page, rows_shown, signed_in

pytestmark = pytest.mark.embedded

PAGES = ["ranking", "annotators", "progress", "engine", "exports"]


@pytest.fixture
def owner(alice) -> Client:
    return signed_in(alice)


@pytest.fixture
def items(project) -> list[Item]:
    return list(project.items.order_by("pk"))


def said(html: str) -> str:
    """The headline without the marks around titles."""
    start = html.index('class="lead headline-lead"')
    text = html[html.index(">", start) + 1 : html.index("</p>", start)]
    return text.replace("<bdi>", "").replace("</bdi>", "").replace("&#x27;", "'")


# --- The headline ----------------------------------------------------------------------------------------------------


def fit_of(project, items, utilities, sd=0.05, n=20, **values) -> Fit:
    rows = [(item, utility, sd, n) for item, utility in zip(items, utilities, strict=False)]
    return make_fit(project, [rows], **values)


def test_a_clear_leader_and_places_that_cannot_be_told_apart(owner, project, items):
    fit_of(project, items, [3, 1.0, 0.9, 0.8, 0.7, -3], sd=0.4)
    assert said(page(owner, project)) == "“Text number 0” leads. No clear gap between places 2 and 5 yet."


def test_every_place_told_apart(owner, project, items):
    fit_of(project, items, [3, 2, 1, 0, -1, -2])
    assert said(page(owner, project)) == "“Text number 0” leads. “Text number 1” is clearly second."


def test_two_items_only(owner, project, items):
    fit_of(project, items[:2], [1, -1])
    assert said(page(owner, project)) == "“Text number 0” leads. “Text number 1” is behind it."


def test_tied_needs_data(owner, project, items):
    fit_of(project, items, [1.0, 0.99, -1, -2, -3, -4], sd=0.02)
    assert said(page(owner, project)) == "“Text number 0” and “Text number 1” are tied for the lead."
    fit_of(project, items, [1.0, 0.99, -1, -2, -3, -4], sd=0.3)
    html = page(owner, project)
    assert said(html) == "“Text number 0” leads so far. Its true place is very likely between 1 and 2."
    assert "tied</span>" not in html
    assert "not enough data" in html


def neighbours_of(html: str) -> str:
    """What is said of neighbours above the table."""
    if 'id="neighbours"' not in html:
        return ""
    start = html.index(">", html.index('id="neighbours"')) + 1
    return html[start : html.index("</p>", start)].replace("&#x27;", "'")


def test_open_pairs_of_neighbours_are_told_once_and_not_in_every_row(owner, project, items):
    fit_of(project, items, [0.1, 0.05, 0, 0, -0.05, -0.1], sd=1)
    html = page(owner, project)
    told = "There is not enough data yet to say which of two neighbours is ahead."
    assert neighbours_of(html) == f"{told} Each item's 90% places show where it may truly stand."
    assert "Against the next" not in html.split("how-to-read")[0], "a column that says nothing is left out"
    fit_of(project, items, [0.1, 0, 0, 0, 0, -0.1], sd=1, diagnostics={"reliability": {"value": 0.82}})
    assert "reliable all the same (reliability 0.82)" in neighbours_of(page(owner, project))
    fit_of(project, items, [0.1, 0, 0, 0, 0, -0.1], sd=1, diagnostics={"reliability": {"value": 0.5}})
    assert "reliable" not in neighbours_of(page(owner, project))


def test_settled_pairs_of_neighbours_are_shown_and_the_open_ones_counted(owner, project, items):
    fit_of(project, items, [3, 1.0, 0.9, 0.8, 0.7, -3], sd=0.2)
    html = page(owner, project)
    n_open = Estimate.objects.filter(next_state="not_enough").count()
    assert 0 < n_open < 5
    assert f"For {n_open} of 5 pairs of neighbours there is not enough data to say which is ahead." in html
    assert html.count('class="next next-separated"') == 5 - n_open
    assert "tied</span>" not in html
    assert html.count('<span class="visually-hidden">not enough data</span>') == n_open
    assert 'id="neighbours"' not in page(owner, project, query="?sort=score")


def test_nothing_is_said_of_neighbours_where_all_are_settled(owner, project, items):
    fit_of(project, items, [3, 2, 1, 0, -1, -2], sd=0.05)
    assert neighbours_of(page(owner, project)) == ""


def test_nobody_leads_where_all_intervals_overlap(owner, project, items):
    fit_of(project, items, [0.1, 0.05, 0, 0, -0.05, -0.1], sd=1)
    assert said(page(owner, project)) == "No leader yet: no clear gap between places 1 and 6."


def test_a_chain_without_a_break_gives_the_leaders_likely_places(owner, project, items):
    fit = fit_of(project, items, [1.0, 0.6, 0.2, -0.2, -0.6, -1.0], sd=0.3)
    worst = Estimate.objects.get(fit=fit, rank=1).rank_high
    assert 1 < worst < 6
    expected = f"“Text number 0” leads so far. Its true place is very likely between 1 and {worst}."
    assert said(page(owner, project)) == expected


def test_few_comparisons_give_no_headline(owner, project, items):
    fit_of(project, items, [3, 2, 1, 0, -1, -2], n=4)
    assert said(page(owner, project)) == "Too early to say: 6 of 6 items have fewer than 5 comparisons."


def test_a_fit_that_did_not_converge_gives_no_headline(owner, project, items):
    fit_of(project, items, [3, 2, 1, 0, -1, -2], converged=False, message="stopped after 100 iterations")
    html = page(owner, project)
    assert said(html) == "No result to rely on yet: the calculation did not converge."
    assert "Fit 1 did not converge." in html
    assert "stopped after 100 iterations" in html


def test_titles_are_escaped_in_the_headline_and_everywhere(owner, project, items):
    bad = '<script>alert("x")</script>'
    Item.objects.filter(pk=items[0].pk).update(body=bad)
    Project.objects.filter(pk=project.pk).update(name=bad, question=bad, more_means=bad)
    tag = Tag.objects.create(project=project, name=bad)
    tag.items.add(*items[:3])
    annotator = make_annotator(project, bad)
    fit = fit_of(project, items, [3, 2, 1, 0, -1, -2], message=bad)
    estimate_annotator(fit, annotator)
    FitState.objects.filter(project=project).update(error=bad, error_at=timezone.now())
    for name in PAGES:
        assert "<script>alert" not in page(owner, project, name)
    assert "<script>alert" not in page(owner, project, query="?view=plot")
    assert "<script>alert" not in owner.get(reverse("export", args=[project.pk, "ranking", "svg"])).content.decode()


def test_it_says_in_words_where_the_estimator_is_known_to_be_overconfident(owner, project, items):
    fit_of(project, items, [3, 2, 1, 0, -1, -2], estimator="BradleyTerry")
    html = unescape(page(owner, project))
    assert str(CAUTIONS["BradleyTerry"]) in html.partition('id="how-to-read"')[2]
    assert "then they hold the true value about 2 times in 3." in html.partition('id="how-to-read"')[0]
    fit_of(project, items, [3, 2, 1, 0, -1, -2], estimator="GPPL")
    assert "too narrow" not in page(owner, project)


# --- The table -------------------------------------------------------------------------------------------------------


def test_rows_carry_the_fits_figures(owner, project, items):
    fit = fit_of(project, items, [1.25, 0.5, 0, -0.25, -0.5, -1], sd=0.2)
    first = Estimate.objects.get(fit=fit, rank=1)
    first.rank_low, first.rank_high, first.p_top, first.n_comparisons = 1, 3, 0.876, 1234
    first.score, first.score_low, first.score_high = 77.6, 71.2, 83.4
    first.save()
    project.top_k = 2
    project.save()
    simple = row_of(page(owner, project), items[0])
    for text in ("Text number 0", ">78<", "71 to 83", "1,234", ">3<"):
        assert text in simple
    for text in ("1.25", "0.92 to 1.58", ".88"):
        assert text not in simple
    User.objects.update(is_expert=True)
    expert = row_of(page(owner, project), items[0])
    for text in (">78<", "71 to 83", "1.25", "0.92 to 1.58", ".88"):
        assert text in expert


def row_of(html: str, item: Item) -> str:
    return html[html.index(f'id="item-{item.pk}"') :].partition("</tr>")[0]


def test_a_fit_made_without_scores_says_that_they_come(owner, project, items):
    fit = fit_of(project, items, [1.25, 0.5, 0, -0.25, -0.5, -1], sd=0.2)
    Estimate.objects.filter(fit=fit).update(
        score=None, score_low=None, score_high=None, rank_class=None, highest_class=None
    )
    html = page(owner, project)
    assert "Scores appear with the next update" in html
    assert ">-</td>" in row_of(html, items[0])
    assert said(html).startswith("“Text number 0” leads")
    assert page(owner, project, query="?view=plot").count("mark-dot") == 2 * 6  # drawn wide and for phones


@pytest.mark.parametrize("is_expert", [False, True])
def test_a_class_spans_the_columns_that_the_table_has(owner, project, items, is_expert):
    User.objects.update(is_expert=is_expert)
    fit_of(project, items, [3, 1.0, 0.9, 0.8, 0.7, -3], sd=0.4)
    html = page(owner, project)
    span = html.partition('<tr class="rank-class"')[2].partition('colspan="')[2].partition('"')[0]
    assert int(span) == html.partition("<thead")[2].partition("</thead>")[0].count('role="columnheader"')


def test_the_average_is_the_axis_of_scores(owner, project, items):
    fit_of(project, items, [3, 2, 1, 0, -1, -2], sd=0.3)
    html = page(owner, project)
    axis = html[html.index('<svg class="axis"') :].partition("</svg>")[0]
    assert ">50<" in axis
    grid = html[html.index('<symbol id="grid"') :].partition("</symbol>")[0]
    assert grid.count("mark-axis") == 1


def test_p_top_k_is_left_out_where_it_says_nothing(owner, project, items):
    User.objects.update(is_expert=True)
    fit_of(project, items, [3, 2, 1, 0, -1, -2], settings={"top_k": 6})
    assert "c-top" not in page(owner, project)
    fit_of(project, items, [3, 2, 1, 0, -1, -2], settings={"top_k": 5})
    html = page(owner, project)
    assert "c-top" in html
    assert "Chance to be in the top 5" in html


def test_items_of_contexts_have_one_ranking_for_each(owner, project, items):
    for number in range(2):
        context = Context.objects.create(project=project, body=f"Prompt {number}", digest=str(number))
        Item.objects.filter(pk__in=[item.pk for item in items[3 * number : 3 * number + 3]]).update(context=context)
    make_fit(project, [[(item, 0.0, 0.1, 9) for item in items[:3]], [(item, 0.0, 0.1, 9) for item in items[3:]]])
    assert "One ranking for each of 2 prompts or contexts." in page(owner, project)


def test_the_ranking_is_shared_out_by_connected_part(owner, project, items):
    first, second = Tag.objects.create(project=project, name="school"), Tag.objects.create(project=project, name="food")
    first.items.add(*items[:3])
    second.items.add(*items[3:5])
    parts = [[(item, 1.0 - i, 0.1, 9) for i, item in enumerate(items[:3])]]
    parts += [[(item, 1.0 - i, 0.1, 9) for i, item in enumerate(items[3:5])], [(items[5], 0.0, 1.0, 0)]]
    make_fit(project, parts)
    html = page(owner, project)
    assert "2 separate rankings." in html
    assert said(html).startswith("In the largest connected part (3 items):")
    assert "Part 1: <bdi>school</bdi>" in html
    assert "Part 2: <bdi>food</bdi>" in html
    assert "1 item here has no comparison" in html
    assert str(items[5].pk) not in rows_shown(html)


def test_a_part_is_named_only_by_a_tag_that_all_of_it_carries(owner, project, items):
    tag = Tag.objects.create(project=project, name="school")
    tag.items.add(*items[:2])
    make_fit(project, [[(item, 0.0, 0.1, 9) for item in items[:3]], [(item, 0.0, 0.1, 9) for item in items[3:]]])
    assert "Part 1: <bdi>" not in page(owner, project)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [0, 1, 2, 3, 4, 5]),
        ("?sort=-rank", [5, 4, 3, 2, 1, 0]),
        ("?sort=utility", [5, 4, 3, 2, 1, 0]),
        ("?sort=-n_comparisons", [5, 4, 3, 2, 1, 0]),
        ("?sort=-item", [5, 4, 3, 2, 1, 0]),
        ("?sort=-p_top_k", [0, 1, 2, 3, 4, 5]),
        ("?q=number%204", [4]),
        ("?q=ITEM-2", [2]),
        ("?tag=even", [0, 2, 4]),
        ("?tag=even&sort=-rank", [4, 2, 0]),
        ("?page=99", [0, 1, 2, 3, 4, 5]),
    ],
)
def test_sort_search_and_filter_by_address(owner, project, items, query, expected):
    Tag.objects.create(project=project, name="even").items.add(*items[::2])
    rows = [(item, 3.0 - i, 0.4, 10 + i) for i, item in enumerate(items)]
    make_fit(project, [rows])
    for headers in ({}, HTMX):
        shown = rows_shown(page(owner, project, query=query, headers=headers))
        assert shown == [str(items[i].pk) for i in expected]


def test_another_criterion_keeps_the_order_that_was_chosen(owner, project, items):
    project.criteria = [{"name": "Clarity", "question": "Clearer?"}, {"name": "Style", "question": "Better style?"}]
    project.save()
    fit_of(project, items, [3, 2, 1, 0, -1, -2])
    html = unescape(page(owner, project, query="?sort=-item&page=1"))
    assert re.search(r'href="\?(sort=-item&criterion=2|criterion=2&sort=-item)"', html)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("?sort=fit__arrays", "Order: Select a valid choice. fit__arrays is not one of the available choices."),
        ("?sort=password&page=-1", "Page: Ensure this value is greater than or equal to 1."),
        ("?page=zwei", "Page: Enter a whole number."),
        ("?q=" + "x" * 201, "at most 200 characters (it has 201)"),
        ("?tag=nowhere", "Tag: Select a valid choice. nowhere is not one of the available choices."),
        ("?view=matrix", "View: Select a valid choice."),
        ("?q=%00", "Null characters are not allowed."),
    ],
)
def test_what_an_address_asks_wrongly_is_said_and_left_out(owner, project, items, query, words):
    Tag.objects.create(project=project, name="even").items.add(*items[::2])
    spread_fit(project, items)
    html = page(owner, project, query=query)
    assert words in html
    assert len(rows_shown(html)) == 6


def test_a_search_without_result_says_so(owner, project, items):
    spread_fit(project, items)
    html = page(owner, project, query="?q=zebra")
    assert "None of 6 items matches." in html


def test_neighbours_are_compared_only_where_they_stand_together(owner, project, items):
    rows = [(item, 3.0 - i, 0.1, 10) for i, item in enumerate(items)]
    make_fit(project, [rows])
    assert page(owner, project).count("next-separated") == 5
    assert page(owner, project, query="?q=number%203").count("next-separated") == 0
    assert page(owner, project, query="?sort=-utility").count("next-separated") == 0


def test_long_rankings_come_in_pages_and_short_ones_whole(owner, project):
    items = Item.objects.bulk_create(Item(project=project, key=f"more-{i}", body=f"More {i}") for i in range(110))
    spread_fit(project, items)
    assert len(rows_shown(page(owner, project))) == 20
    last = page(owner, project, query="?page=5")
    assert len(rows_shown(last)) == 30
    assert "81 to 110 of 110" in last
    spread_fit(project, items[:40])
    assert len(rows_shown(page(owner, project))) == 40


def test_items_added_after_the_fit_are_announced(owner, project, items):
    spread_fit(project, items)
    make_items_after = Item.objects.bulk_create(Item(project=project, key=f"new-{i}", body="New") for i in range(2))
    assert len(make_items_after) == 2
    assert "2 items are new and join with the next update" in page(owner, project)


def test_an_item_erased_since_the_fit_leaves_no_trace(owner, project, items):
    spread_fit(project, items)
    items[2].delete()
    assert len(rows_shown(page(owner, project))) == 5


def test_a_new_fit_replaces_what_was_cached(owner, project, items):
    fit_of(project, items, [3, 2, 1, 0, -1, -2])
    assert "“Text number 0” leads." in said(page(owner, project))
    fit_of(project, items[::-1], [3, 2, 1, 0, -1, -2])
    assert "“Text number 5” leads." in said(page(owner, project, headers=HTMX))


def test_changed_words_of_the_project_are_not_hidden_by_the_cache(owner, project, items):
    spread_fit(project, items)
    page(owner, project)
    Project.objects.filter(pk=project.pk).update(more_means="louder", question="Which is louder?")
    html = page(owner, project)
    assert "louder" in html
    assert "Which is louder?" in html


def test_a_changed_title_is_not_hidden_by_the_cache(owner, project, items, alice):
    """Titles are often people's names: one that was taken away is gone from the next page on."""
    set_title(item=items[0], actor=alice, title="Ada of Newt", now=timezone.now())
    spread_fit(project, items)
    assert "Ada of Newt" in page(owner, project)
    set_title(item=items[0], actor=alice, title="", now=timezone.now())
    assert "Ada of Newt" not in page(owner, project)


def test_the_plot_draws_every_row_and_is_a_file_too(owner, project, items):
    spread_fit(project, items)
    html = page(owner, project, query="?view=plot")
    assert html.count('class="mark-dot"') == 2 * 6  # drawn wide and for phones
    assert 'role="img"' in html
    response = owner.get(reverse("export", args=[project.pk, "ranking", "svg"]))
    assert response["Content-Type"] == "image/svg+xml"
    assert response.content.count(b"<circle") == 6
    assert b"style" not in response.content


def test_an_item_never_compared_leaves_without_a_place_and_p_top_only_where_it_says_something(project, alice):
    """Once such an item left by CSV and API as the first of its part, surely among the best k."""
    items = list(project.items.order_by("pk"))
    make_fit(
        project,
        [
            [(item, 1.0 - place, 0.3, 12) for place, item in enumerate(items[:3])],
            [(item, 1.0 - place, 0.3, 12) for place, item in enumerate(items[3:5])],
            [(items[5], 0.0, 1.0, 0)],
        ],
        settings={"top_k": 2},
    )
    link = make_link(project=project, actor=alice, criterion=1, expires_at=None, now=timezone.now())
    read = Api(alice, project)("get", "ranking").json()["results"]
    public = Client().get(reverse("api-results", args=[link.token])).json()["results"]
    for rows in (read, public):
        assert [row["p_top_k"] is None for row in rows] == [False, False, False, True, True, True]
        assert [row["rank"] for row in rows] == [1, 2, 3, 1, 2, None]
        assert (rows[5]["rank_low"], rows[5]["tier"]) == (None, None)
    exported = list(table.rows(Criterion(project)))
    names = [column.name for column in table.COLUMNS]
    assert [row[names.index("rank")] for row in exported] == [1, 2, 3, 1, 2, None]
    assert [row[names.index("p_top_k")] is None for row in exported] == [False, False, False, True, True, True]
