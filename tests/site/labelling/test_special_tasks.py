"""Gold questions, attention checks and repeats: when they come, what they never touch, what nobody sees."""

import random
import re
from collections import Counter, defaultdict
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotate.core import errors
from annotate.criteria import Criterion
from annotate.fitting.reading import read_labels
from annotate.labelling import assignment, special_tasks
from annotate.labelling.actions import Answer, record_label
from annotate.labelling.undo import undo_label
from annotate.models import AskedBy, Item, Label, Presentation, Purpose
from annotate.projects.actions import set_state
from annotate.publishing.exports import labels as table
from tests.conftest import NOW, make_annotator, make_items
from tests.site.gold_sets import answer_all, make_known, true_counts
from tests.site.labelling.test_eligibility import set_up
from tests.site.labelling.test_labelling import as_annotator, submit_url, task_of
from tests.site.pages import HTMX

SPECIAL = [Purpose.GOLD, Purpose.ATTENTION, Purpose.REPEAT, Purpose.PRACTICE]


@pytest.fixture
def otter(project):
    return make_annotator(project, "Quiet Otter")


@pytest.mark.embedded
@pytest.mark.slow
def test_every_so_many_tasks_one_is_gold_at_a_random_place_and_never_the_same(project):
    set_up(project, gold_every=4, overlap=50)
    make_items(project, 0)
    make_known(project, "gold", 3)
    places = set()
    for n in range(4):
        shown = answer_all(make_annotator(project, f"Crowd {n}"), 15)
        gold = [place for place, one in enumerate(shown) if one.purpose == Purpose.GOLD]
        assert [place // 4 for place in gold] == [0, 1, 2], "one in each block until none is left"
        assert len({shown[place].item_set_id for place in gold}) == 3
        places |= {place % 4 for place in gold}
    assert len(places) > 1
    true_counts(project)


def test_repeats_come_later_in_mirrored_order(project, otter):
    set_up(project, repeat_percent=50, overlap=50)
    shown = answer_all(otter, 14)
    repeats = [place for place, one in enumerate(shown) if one.purpose == Purpose.REPEAT]
    assert len(repeats) >= 3
    assert len({shown[place].item_set_id for place in repeats}) == len(repeats), "none is repeated twice"
    for place in repeats:
        first = next(i for i, one in enumerate(shown) if one.item_set_id == shown[place].item_set_id)
        assert place - first > special_tasks.MIN_ANSWERS_BEFORE_REPEAT
        order = [list(shown[i].presented.values_list("item", flat=True)) for i in (first, place)]
        assert order[0] == order[1][::-1]
        assert (shown[first].purpose, shown[place].repeat) == (Purpose.ORDINARY, 1)
    true_counts(project)


def test_repeats_are_of_questions_that_the_ranking_did_not_choose_where_there_are_any(project, otter):
    set_up(project, overlap=50)
    shown = answer_all(otter, 12)
    Presentation.objects.filter(annotator=otter).update(asked_by=AskedBy.ADAPTIVE)
    assert special_tasks.next_repeat(otter), "all were chosen by the ranking: better one of these than none"
    fair = shown[2]
    Presentation.objects.filter(pk=fair.pk).update(asked_by=AskedBy.CONTROL)
    assert special_tasks.next_repeat(otter).item_set_id == fair.item_set_id


@pytest.mark.parametrize(("gold", "repeats"), [(False, False), (True, False), (False, True)])
def test_what_is_not_ordinary_reaches_the_consensus_only_where_the_project_says_so(project, otter, gold, repeats):
    set_up(project, gold_every=3, attention_every=5, repeat_percent=25, count_gold=gold, count_repeats=repeats)
    make_known(project, "gold", 1)
    make_known(project, "attention", 1)
    answer_all(otter, 12)  # both checks are among the first 6; then nothing takes the place of a repeat, one in each 4
    by_purpose = Counter(otter.labels.values_list("presentation__purpose", flat=True))
    assert all(by_purpose[purpose] for purpose in ("gold", "attention", "repeat"))
    found = read_labels(Criterion(project))
    assert found.data.n_labels == by_purpose["ordinary"] + gold * by_purpose["gold"] + repeats * by_purpose["repeat"]
    only_checked = set(project.items.filter(retired_at__isnull=False).values_list("pk", flat=True))
    assert bool(only_checked & set(found.item_ids.tolist())) == gold
    names = [column.name for column in table.COLUMNS]
    rows = [dict(zip(names, row, strict=True)) for row in table.rows(Criterion(project))]
    assert sum(row["valid"] for row in rows) == found.data.n_labels
    for row in rows:
        assert row["is_gold"] == (row["purpose"] in ("gold", "attention"))
        assert row["is_right"] == ((row["winner"].endswith(("0", "2", "4"))) if row["is_gold"] else None)


def without_content(html: str, presentation: Presentation) -> str:
    """The page but for the secrets and texts that differ from task to task."""
    html = html.replace(presentation.token, "TOKEN")
    html = re.sub(r'name="csrfmiddlewaretoken" value="[^"]+"|X-CSRFToken": "[^"]+"|nonce-[^"\']+', "", html)
    for item in presentation.items.all():
        html = html.replace(item.body, "TEXT")
    html = re.sub(r'name="token" value="[^"]+"', "", html)
    return re.sub(r"\d+ (s|min) ago|\d{4}-\d\d-\d\dT[\d:.+]+|\d+ \w+ \d{4}, [\d:]+ \w+", "WHEN", html)


@pytest.mark.parametrize("purpose", ["gold", "attention", "repeat"])
def test_nothing_on_the_page_tells_a_check_from_an_ordinary_task(project, purpose):
    """The same annotator at the same place, once with an ordinary task and once with this one."""
    pages = {}
    make_known(project, purpose, 1) if purpose != "repeat" else None
    set_up(project, overlap=50, cap=40)
    otter = make_annotator(project, "Quiet Otter")
    client = as_annotator(otter)
    answer_all(otter, 7)
    Label.objects.update(created_at=NOW)
    for kind in ("ordinary", purpose):
        if kind != "ordinary":
            special = (
                special_tasks.next_repeat(otter) if purpose == "repeat" else special_tasks.next_gold(otter, purpose)
            )
            Presentation.objects.filter(state="open").delete()
            items = special.in_order(random.Random(1))
            shown = assignment.create_presentation(otter, special.item_set_id, items, NOW, special=special)
        else:
            shown = assignment.next_presentation(annotator=otter, now=NOW, rng=random.Random(1))
        assert shown.purpose == kind
        whole = client.get(task_of(project))
        answered = client.post(submit_url(shown), {"answer": "rubbish"}, headers=HTMX)
        assert answered.status_code == 400
        pages[kind] = [without_content(one.content.decode(), shown).splitlines() for one in (whole, answered)]
        pages[kind].append(sorted(whole.headers))
        for word in SPECIAL:
            assert word not in "".join(pages[kind][0])
        shown.presented.all().delete()
        shown.delete()
    for ordinary, special in zip(pages["ordinary"], pages[purpose], strict=True):
        assert ordinary == special


def statements(queries: CaptureQueriesContext) -> list[str]:
    """What the database was asked, without the values."""
    values = re.compile(r"'[^']*'|\bNULL\b|\bs\d+_x\d+|-?\b\d+(\.\d+)?\b")
    # PostgreSQL's are shown with a second space before a number below zero.
    return [re.sub(" +", " ", values.sub("?", one["sql"])) for one in queries.captured_queries]


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize("n_sets", [None, 40])
def test_checks_are_served_answered_and_taken_back_by_the_same_statements(project, alice, n_sets):
    """What the server does for a task, and so how long it takes, is the same whatever the task is."""
    set_up(project, gold_every=4, attention_every=5, repeat_percent=25, state="draft", n_sets=n_sets, overlap=1)
    Item.objects.bulk_create(Item(project=project, key=f"more-{i}", body=f"More {i}") for i in range(8))
    make_known(project, "gold", 7)
    make_known(project, "attention", 5)
    set_state(project=project, actor=alice, state="open", now=NOW)
    otter = make_annotator(project, "Quiet Otter")
    answer_all(otter, special_tasks.MIN_ANSWERS_BEFORE_REPEAT + 3)
    client = as_annotator(otter)
    client.post(task_of(project))
    # From now on the question after the open one is held ready.
    client.post(submit_url(otter.presentations.get(state="open", ahead=False)), {"answer": "a"}, headers=HTMX)
    served, answered, undone = defaultdict(set), defaultdict(set), defaultdict(set)
    for _ in range(14):
        shown = otter.presentations.get(state="open", ahead=False)
        cache.clear()  # the look for expired leases is taken by one request in each second
        with CaptureQueriesContext(connection) as queries:
            assert client.post(submit_url(shown), {"answer": "a"}, headers=HTMX).status_code == 200
        following = otter.presentations.get(state="open", ahead=False).purpose
        served[following].add(tuple(statements(queries)))
        answered[shown.purpose].add(tuple(statements(queries)))
        with CaptureQueriesContext(connection) as queries:
            client.get(task_of(project))
        served[following].add(tuple(statements(queries)))
    for _ in range(20):
        if len(undone) > 1 and "ordinary" in undone:
            break
        open_now = otter.presentations.get(state="open", ahead=False)
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            client.post(reverse("undo", args=[project.pk]), headers=HTMX)
        undone[open_now.purpose].add(tuple(statements(queries)))
        client.post(submit_url(otter.presentations.get(state="open", ahead=False)), {"answer": "a"}, headers=HTMX)
        client.post(task_of(project))
        shown = otter.presentations.get(state="open", ahead=False)
        client.post(submit_url(shown), {"answer": "b"}, headers=HTMX)
    for done in (served, answered):
        assert {"ordinary", "gold", "attention", "repeat"} <= set(done)
        assert [purpose for purpose, one in done.items() if one != done["ordinary"]] == []
    assert len(served["ordinary"]) == 2, "one way to be answered and served, one to be shown again"
    assert len(undone) > 1
    differing = {line for one in undone.values() for done in one for line in set(done) ^ set(max(undone["ordinary"]))}
    assert all(one == undone["ordinary"] for one in undone.values()), "\n".join(differing)


def test_checks_count_in_progress_and_caps_and_can_be_undone(project, otter):
    set_up(project, gold_every=2, cap=4)
    make_known(project, "gold", 4)
    shown = answer_all(otter, 4)
    assert {one.purpose for one in shown} == {"ordinary", "gold"}
    with pytest.raises(errors.CapReached):
        answer_all(otter, 1)
    for one in reversed(shown):
        again = undo_label(annotator=otter, now=NOW)
        assert (again.purpose, again.known_id, again.item_set_id) == (one.purpose, one.known_id, one.item_set_id)
    true_counts(project)


def test_a_check_that_comes_late_counts_without_touching_overlap(project, otter):
    set_up(project, gold_every=2, overlap=1)
    make_known(project, "gold", 1)
    gold = None
    while gold is None:
        shown = assignment.next_presentation(annotator=otter, now=NOW, rng=random.Random(1))
        if shown.purpose == Purpose.GOLD:
            gold = shown
            break
        record_label(presentation=shown, answer=Answer("choice", 0), now=NOW)
    later = NOW + timedelta(hours=1)
    assert assignment.release_expired(project, later) == 1
    true_counts(project)
    gold.refresh_from_db()
    assert record_label(presentation=gold, answer=Answer("choice", 0), now=later).voided_at is None
    true_counts(project)
