"""The pages of annotators, progress and engine: figures against the same ones computed another way."""

from datetime import timedelta

import numpy as np
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotate.annotators.queries import medians
from annotate.core.stored_messages import store_message
from annotate.criteria import Criterion
from annotate.fitting.reading import read_labels
from annotate.models import Event, Item, Label, Project
from models_engine.models import Fit
from tests.conftest import NOW, make_annotator
from tests.site.factories import estimate_annotator, make_fit, make_labels, spread_fit
from tests.site.pages import page, rows_shown, signed_in

pytestmark = pytest.mark.embedded


@pytest.fixture
def owner(alice) -> Client:
    return signed_in(alice)


@pytest.fixture
def items(project) -> list[Item]:
    return list(project.items.order_by("pk"))


def test_annotators_with_their_figures(owner, project, items):
    otter, heron = make_annotator(project, "Quiet Otter"), make_annotator(project, "Amber Heron")
    make_labels(project, [otter], 5, response_ms=2400)
    make_labels(project, [otter], 1, outcome=Label.Outcome.SKIP, response_ms=2400)
    make_labels(project, [otter], 2, voided_at=timezone.now(), void_reason="undone")
    fit = spread_fit(project, items)
    estimate_annotator(fit, otter, agreement=0.75, reliability=0.91, reliability_low=0.8, reliability_high=0.96)
    html = page(owner, project, "annotators")
    row = html[html.index(f'id="annotator-{otter.key}"') :].partition("</tr>")[0]
    for text in (">6 ", "+ 2 voided", ">1<", "2.4 s", "75%", ".91", ".80 to .96", "Exclude"):
        assert text in row
    other = html[html.index(f'id="annotator-{heron.key}"') :].partition("</tr>")[0]
    assert other.count(">-<") >= 2


def test_medians_are_those_of_the_statistics_module(project):
    people = [make_annotator(project, f"P{i}") for i in range(4)]
    make_labels(project, people[:1], 1)
    make_labels(project, people[1:2], 8)
    make_labels(project, people[2:3], 31)
    make_labels(project, people[2:3], 5, voided_at=timezone.now(), void_reason="undone", response_ms=1)
    make_labels(project, people[3:], 2, response_ms=None)
    times: dict[int, list[int]] = {}
    for label in Label.objects.filter(voided_at=None, response_ms__isnull=False):
        times.setdefault(label.annotator_id, []).append(label.response_ms)
    assert medians(Label.objects.filter(project=project)) == {pk: np.median(values) for pk, values in times.items()}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "bca"),
        ("?sort=labels", "acb"),
        ("?sort=pseudonym", "abc"),
        ("?sort=-pseudonym", "cba"),
        ("?sort=time", "cba"),
        ("?sort=-agreement", "acb"),
        ("?sort=reliability", "cab"),
        ("?sort=-skips", "bac"),
        ("?sort=-last_seen", "cab"),
        ("?q=B", "b"),
        ("?sort=resume_token", "bca"),
        ("?page=x", "bca"),
    ],
)
def test_annotators_sorted_and_found_by_address(owner, project, items, query, expected):
    a, b, c = (make_annotator(project, name) for name in "abc")
    later = NOW + timedelta(days=1)
    make_labels(project, [a], 1, response_ms=9000, start=later)
    make_labels(project, [b], 7, response_ms=5000)
    make_labels(project, [b], 2, outcome=Label.Outcome.SKIP, response_ms=5000)
    make_labels(project, [c], 3, response_ms=1000, start=later + timedelta(days=1))
    fit = spread_fit(project, items)
    estimate_annotator(fit, a, agreement=0.9, reliability=0.7)
    estimate_annotator(fit, c, agreement=0.8, reliability=0.6)
    names = {str(person.key): person.pseudonym for person in (a, b, c)}
    assert "".join(names[key] for key in rows_shown(page(owner, project, "annotators", query))) == expected


def test_excluded_annotators_can_be_readmitted(owner, project):
    otter = make_annotator(project, "Quiet Otter", excluded_at=timezone.now())
    html = page(owner, project, "annotators")
    assert reverse("annotator-readmit", args=[project.pk, otter.key]) in html
    assert reverse("annotator-exclude", args=[project.pk, otter.key]) not in html
    assert "1 is excluded." in html


def test_nobody_has_joined(owner, project):
    assert "Nobody has joined yet." in page(owner, project, "annotators")


def columns_shown(html: str) -> dict[str, int]:
    table = html[html.index('id="time-figures"') :].partition("</table>")[0]
    cells = [cell.partition("</t")[0].rpartition(">")[2] for cell in table.split("<t") if cell[:2] in ("h ", "d ")]
    return {label: int(n.replace(",", "")) for label, n in zip(cells[2::2], cells[3::2], strict=True)}


@pytest.mark.parametrize(
    ("every", "unit", "n_columns"),
    [
        (timedelta(seconds=110), "minute", 54),
        (timedelta(minutes=15), "ten minutes", 44),
        (timedelta(minutes=25), "hour", 13),
        (timedelta(hours=6), "day", 8),
        (timedelta(days=10), "month", 11),
    ],
)
def test_labels_over_time_add_up_and_show_the_empty_ones(owner, project, every, unit, n_columns):
    people = [make_annotator(project, "P")]
    make_labels(project, people, 30, every=every)
    make_labels(project, people, 2, every=every, voided_at=timezone.now(), void_reason="undone")
    shown = columns_shown(page(owner, project, "progress"))
    expected: dict[str, int] = {}
    for label in Label.objects.filter(voided_at=None):
        stamp = {"minute": "%-d %b, %H:%M", "hour": "%-d %b, %H:00", "day": "%-d %b %Y", "month": "%B %Y"}.get(unit)
        at = label.created_at
        key = at.strftime(stamp) if stamp else f"{at:%-d %b, %H}:{at.minute // 10}0"
        expected[key] = expected.get(key, 0) + 1
    assert {key: n for key, n in shown.items() if n} == expected
    assert sum(shown.values()) == 30
    assert len(shown) == n_columns


def test_progress_counts_answers_voids_and_coverage(owner, project, items):
    people = [make_annotator(project, f"P{i}") for i in range(2)]
    make_labels(project, people, 6)
    make_labels(project, people, 3, outcome=Label.Outcome.TIE)
    make_labels(project, people, 2, voided_at=timezone.now(), void_reason="excluded")
    make_fit(project, [[(item, 0.0, 0.3, n) for item, n in zip(items, [0, 3, 4, 5, 19, 60], strict=True)]])
    html = page(owner, project, "progress")
    assert "9 answers count; 2 more are void. 3 of 6 items have fewer than 5 comparisons." in html
    assert "of 11 given" in html
    assert 'Annotator excluded</th><td class="number">2</td>' in html
    assert '>Tie</th><td class="number">3</td>' in html
    for words, n in (("none", 1), ("1 to 4", 2), ("5 to 9", 1), ("10 to 19", 1), ("20 to 49", 0), ("50 or more", 1)):
        assert f'>{words}</th><td class="number">{n}</td>' in html


def test_answers_that_say_nothing_about_the_ranking_are_counted_apart(owner, project):
    """So that this page and the report name the same number of answers."""
    people = [make_annotator(project, f"P{i}") for i in range(2)]
    make_labels(project, people, 3)
    make_labels(project, people, 2, outcome=Label.Outcome.SKIP)
    make_labels(project, people, 1, outcome=Label.Outcome.CANT_JUDGE)
    html = page(owner, project, "progress")
    assert "3 answers count; 3 say nothing about the ranking" in html
    assert '>Skip</th><td class="number">2</td>' in html
    assert read_labels(Criterion(project)).data.n_labels == 3


def test_rows_refused_at_import_are_shown_with_their_reasons(owner, project):
    make_labels(project, [make_annotator(project, "P")], 1)
    details = {"source": "pairs.csv", "rows": 120, "labels": 118, "refused": 2}
    details["refusals"] = [[17, "An item cannot be compared with itself."], [40, "There is no item “q”."]]
    Event.objects.create(project=project, verb="comparisons imported", details=details, at=timezone.now())
    html = page(owner, project, "progress")
    assert "pairs.csv" in html
    assert "120 rows, 2 refused." in html
    assert "Row 17:" in html
    assert "An item cannot be compared with itself." in html


def test_the_engine_page_of_an_empty_project_leads_to_the_next_step(owner, project):
    html = page(owner, project, "engine")
    assert "Nothing to compute yet." in html
    assert "Find the join link" in html
    Project.objects.filter(pk=project.pk).update(state="draft")
    html = page(owner, project, "engine")
    assert "Find the join link" not in html
    assert "Continue setting up" in html


def test_the_engine_page_tells_where_a_large_fit_was_computed(owner, project, items):
    fit = spread_fit(project, items)
    assert "Computed on" not in page(owner, project, "engine")
    for where, told in (
        ({"n_workers": 1}, "a cluster with 1 worker<"),
        ({"n_workers": 3}, "a cluster with 3 workers"),
        ({"failure": store_message("the cluster has no workers")}, "the cluster has no workers"),
    ):
        Fit.objects.filter(pk=fit.pk).update(diagnostics=fit.diagnostics | {"cluster": where})
        html = page(owner, project, "engine")
        assert "Computed on" in html
        assert told in html


def test_the_engine_page_tells_of_every_fit(owner, project, items):
    spread_fit(project, items, seconds=0.5)
    second = spread_fit(project, items, seconds=1.25, warm=True)
    Fit.objects.create(
        project_id=project.pk, number=3, estimator="CrowdBT", data_version=3, status="failed", message="singular",
        started_at=timezone.now(),
    )  # fmt: skip
    html = page(owner, project, "engine")
    assert "Fit 2 includes every answer so far." in html
    assert "1.25 s" in html
    assert "singular" in html
    assert "Objective by iteration" in html
    assert second.number == 2
