"""Every task type from the form to the engine and out and in again; what a task refuses; how its sets are drawn."""

import json
import random
from itertools import combinations

import numpy as np
import pytest
from django.db import IntegrityError, connection, transaction
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.http import urlencode
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotate.core.errors import InvalidAnswer, NothingToCompare
from annotate.criteria import Criterion
from annotate.demo.manifest import open_folder
from annotate.files.writers import csv_chunks
from annotate.fitting.reading import read_labels
from annotate.imports.comparisons.actions import import_comparisons
from annotate.labelling import assignment, item_sets
from annotate.labelling.actions import Answer, check_answer, record_label
from annotate.labelling.forms import AnswerForm
from annotate.labelling.outcomes import EXTRA_OUTCOMES, TIES, decode_ranks, encode_ranks, n_ranked
from annotate.labelling.queries import current_task
from annotate.labelling.undo import undo_label
from annotate.models import Annotator, ItemSet, Label, Presentation, Project
from annotate.projects.actions import FixedByLabels, change_project
from annotate.publishing.exports.registry import TABLES
from models_engine.data import Comparisons
from models_engine.estimators.table import ESTIMATORS
from models_engine.io.label_tables import read_labels as read_file
from tests.budget import examples
from tests.conftest import NOW, make_annotator
from tests.site.labelling.test_labelling import HTMX, as_annotator
from tests.site.pages import BACKEND, leases_looked_at
from tests.site.projects.test_projects import VALID, settings_of
from tests.site.task_types import TASKS, expected_ranks, form_of, set_task, shown_keys

SLOW = settings(
    max_examples=examples(2),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def next_for(annotator: Annotator, seed: int = 0) -> Presentation:
    return assignment.next_presentation(annotator=annotator, now=NOW, rng=random.Random(seed))


def send(presentation: Presentation, data: dict[str, str]) -> Label:
    answer = AnswerForm(QueryDict(urlencode(data))).to_answer("", presentation.project)
    return record_label(presentation=presentation, answer=answer, now=NOW)


@st.composite
def answers(draw, project: Project) -> list[int] | str:
    """An order of as many places as the task names, or another outcome."""
    others = [outcome.value for outcome in EXTRA_OUTCOMES if project.k == 2 or outcome not in TIES]
    if draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(others))
    return draw(st.permutations(range(project.k)))[: n_ranked(project)]


# --- There and back ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS, ids=str)
@SLOW
@given(st.data())
def test_every_answer_goes_from_the_form_to_the_engine_and_out_and_in_again(project, alice, tmp_path, task, data):
    with transaction.atomic():
        there_and_back(project, alice, tmp_path, task, data)
        transaction.set_rollback(True)


def there_and_back(project, alice, folder, task, data) -> None:
    set_task(project, *task, overlap=9, comments=True)
    make_items_more(project, 6)
    people = [make_annotator(project, name) for name in ("Otter", "Heron; = Crane")]
    said, expected = [], []
    for i in range(6):
        answer = data.draw(answers(project))
        presentation = next_for(people[i % 2], seed=i)
        grade = data.draw(st.sampled_from(["slightly", "clearly"]))
        comment = data.draw(st.sampled_from(["", "=1+1", 'Said "so", twice;\nand why', "ضعيف"]))
        sent = {"answer": answer} if isinstance(answer, str) else form_of(project, answer, grade)
        label = send(presentation, sent | {"comment": comment})
        graded = project.task_type == "graded" and isinstance(answer, list)
        said.append((label.annotator.pseudonym, shown_keys(label), answer, grade if graded else "", comment))
        if isinstance(answer, list):
            expected.append(expected_ranks(project, answer))
        elif answer in TIES:
            expected.append([0, 0])
    assert [order_said(label) for label in project.labels.order_by("pk")] == said

    labels = read_labels(Criterion(project))
    assert labels.data.ranks.reshape(-1, project.k).tolist() == expected
    assert sorted(labels.data.positions.tolist()) == sorted(list(range(project.k)) * len(expected))

    (folder / "labels.csv").write_bytes(b"".join(csv_chunks(TABLES["labels"].names(project), rows_of(project))))
    copy = imported(project, alice, folder)
    assert [order_said(label) for label in copy.labels.order_by("pk")] == said
    again = read_labels(Criterion(copy))
    assert again.data.data_hash() == labels.data.data_hash()

    if len(expected):
        columns = TABLES["comparisons"].names(project)
        rows = TABLES["comparisons"].rows(Criterion(project))
        (folder / "comparisons.csv").write_bytes(b"".join(csv_chunks(columns, rows)))
        by_engine = read_file(folder / "comparisons.csv")
        assert by_engine.data.ranks.tolist() == labels.data.ranks.tolist()
        keys = list(project.items.order_by("pk").values_list("key", flat=True))
        assert [by_engine.items[i].replace("%3B", ";") for i in by_engine.data.items] == [
            keys[i] for i in labels.data.items
        ]


def make_items_more(project: Project, n: int) -> None:
    for i in range(n):
        project.items.create(key=f"more {i}; [a], =", body=str(i))


def rows_of(project: Project):
    return TABLES["labels"].rows(Criterion(project))


def order_said(label: Label) -> tuple[str, list[str], list[int] | str, str, str]:
    """Who said what of which items, from the stored row."""
    places = list(label.presentation.presented.order_by("position").values_list("item", flat=True))
    said = label.outcome
    if label.outcome == "choice":
        said = [places.index(label.chosen_id)]
    elif label.ranks:
        said = decode_ranks(label.outcome, label.ranks)
    return label.annotator.pseudonym, shown_keys(label), said, label.grade, label.comment


def imported(project: Project, alice, folder) -> Project:
    """A second project with the same items and the labels of the exported file."""
    rules = {"task_type": project.task_type, "k": project.k, "m": project.m}
    manifest = {
        "name": "Copy",
        "question": "Which?",
        **rules,
        "labels": {"file": "labels.csv", "annotator": "annotator", "shown": "shown_order"}
        | {"outcome": "outcome", "ranking": "ranking", "grade": "grade", "comment": "comment"},
    }
    (folder / "crowdrank.json").write_text(json.dumps(manifest))
    copy = Project.objects.create(**open_folder(folder, {}).project, outcomes=list(EXTRA_OUTCOMES))
    for item in project.items.order_by("pk"):
        copy.items.create(key=item.key, body=item.body)
    comparisons = open_folder(folder, {}).comparisons()
    report = import_comparisons(
        project=copy, actor=alice, comparisons=comparisons, source="x", now=NOW, rng=random.Random(0)
    )
    assert report.refused == []
    return copy


@given(st.integers(2, 10), st.data())
def test_ranks_say_the_order_and_nothing_else(k, data):
    order = data.draw(st.permutations(range(k)))
    for outcome, named in (("ranking", order), ("top", order[: data.draw(st.integers(1, k - 1))])):
        assert decode_ranks(outcome, encode_ranks(outcome, named, k)) == named
    if k > 2:
        assert decode_ranks("best_worst", encode_ranks("best_worst", order[:2], k)) == order[:2]


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize("task", [("best", 4, None), ("best_worst", 5, None), ("ranking", 4, None), ("top", 5, 2)])
@pytest.mark.parametrize("name", ["CrowdBT", "BradleyTerry", "CollaborativeGP", "PlackettLuce"])
def test_every_estimator_offered_takes_every_task(project, task, name):
    """Everybody answers by the items' keys: the ranking has to come out in that order."""
    set_task(project, *task, overlap=9)
    for number in range(4):
        annotator = make_annotator(project, f"P{number}")
        for seed in range(5):
            try:
                presentation = next_for(annotator, seed)
            except NothingToCompare:
                break
            keys = list(presentation.presented.order_by("position").values_list("item__key", flat=True))
            best_first = sorted(range(len(keys)), key=lambda place: int(keys[place].split("-")[1]))
            order = [best_first[0], best_first[-1]] if task[0] == "best_worst" else best_first[: n_ranked(project)]
            send(presentation, form_of(project, order))
    data = read_labels(Criterion(project)).data
    utilities = ESTIMATORS[name].estimator().fit(data).utilities()
    told_apart = utilities if task[0] in ("ranking",) else utilities[[0, len(utilities) - 1]]
    assert np.all(np.diff(told_apart) < 0)


def make_items_from(project: Project, start: int, stop: int) -> None:
    for i in range(start, stop):
        project.items.create(key=f"item-{i}", body=f"Text number {i}")


# --- What is refused --------------------------------------------------------------------------------------------------


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("task", "data", "words"),
    [
        (("best", 4, None), {"answer": "e"}, "Item number 5 was not shown; there were 4"),
        (("best", 4, None), {"answer": "tie"}, "“tie” is not one"),
        (("best", 4, None), {"answer": "ranking", "rank_a": "1"}, "“ranking” is not one"),
        (("best_worst", 4, None), {"answer": "a"}, "“choice” is not one"),
        (("best_worst", 4, None), {"answer": "best_worst", "best": "a"}, "Places given: 1; needed: 2"),
        (("best_worst", 4, None), {"answer": "best_worst", "best": "a", "worst": "a"}, "an item twice"),
        (("best_worst", 4, None), {"answer": "best_worst", "best": "a", "worst": "z"}, "Item number 26"),
        (("ranking", 3, None), {"answer": "ranking", "rank_a": "1", "rank_b": "2"}, "Places given: 2; needed: 3"),
        (("ranking", 3, None), {"answer": "ranking", "rank_a": "1", "rank_b": "1"}, "Two items have place 1"),
        (("ranking", 3, None), {"answer": "ranking", "rank_a": "1", "rank_b": "3"}, "No item has place 2"),
        (("ranking", 3, None), {"answer": "ranking", "rank_a": "0", "rank_b": "1"}, "Two items have place 0"),
        (("ranking", 3, None), {"answer": "ranking", "rank_a": "x", "rank_b": "-1"}, "Places given: 0; needed"),
        (("ranking", 3, None), {"answer": "ranking", "rank_a": "1", "rank_b": "2", "rank_d": "3"}, "Item number 4"),
        (("top", 4, 2), {"answer": "top", "rank_a": "1", "rank_b": "2", "rank_c": "3"}, "Places given: 3; needed: 2"),
        (("pair", 2, None), {"answer": "a_clearly"}, "does not ask how much better"),
        (("best", 4, None), {"answer": "a_clearly"}, "does not ask how much better"),
        (("graded", 2, None), {"answer": "a"}, "does not say how much better"),
        (("graded", 2, None), {"answer": "a_hugely"}, "does not say how much better"),
        (("graded", 2, None), {"answer": "c_clearly"}, "Item number 3 was not shown"),
        (("pair", 2, None), {"answer": "ranking", "rank_a": "1", "rank_b": "2"}, "“ranking” is not one"),
    ],
)
def test_an_answer_of_another_shape_is_refused_and_nothing_is_stored(project, task, data, words):
    set_task(project, *task)
    presentation = next_for(make_annotator(project, "Otter"))
    with pytest.raises(InvalidAnswer, match=words):
        send(presentation, data)
    assert not Label.objects.exists()
    presentation.refresh_from_db()
    assert presentation.state == "open"


def test_a_set_of_another_size_takes_no_answer(project):
    """Shown before the owner changed the task."""
    presentation = next_for(make_annotator(project, "Otter"))
    set_task(project, "best", 3)
    with pytest.raises(InvalidAnswer, match="task has changed"):
        send(presentation, {"answer": "a"})


def test_only_tasks_that_can_be_done_are_stored(project):
    for task in [("pair", 3, None), ("best", 1, None), ("best", 11, None), ("best_worst", 2, None), ("top", 4, None)]:
        with pytest.raises(IntegrityError), transaction.atomic():
            set_task(project, *task)
    for m in (0, 1, 4, 5):
        with pytest.raises(IntegrityError), transaction.atomic():
            set_task(project, "top", 4, m)


def test_a_label_has_ranks_if_and_only_if_it_is_an_order(project):
    set_task(project, "ranking", 3)
    label = send(next_for(make_annotator(project, "Otter")), form_of(project, [2, 0, 1]))
    for values in ({"ranks": ""}, {"outcome": "skip"}, {"outcome": "choice", "chosen": project.items.first()}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Label.objects.filter(pk=label.pk).update(**values)


def test_ties_are_about_two_items(project):
    check_answer(set_task(project, "ranking", 2), Answer("tie"), 2)
    with pytest.raises(InvalidAnswer):
        check_answer(set_task(project, "ranking", 3), Answer("tie"), 3)


# --- Sent twice, undone, told -----------------------------------------------------------------------------------------


def test_the_same_order_again_is_the_same_label_and_undo_asks_for_it_anew(project):
    set_task(project, "ranking", 4)
    otter = make_annotator(project, "Otter")
    presentation = next_for(otter)
    first = send(presentation, form_of(project, [2, 0, 3, 1]))
    assert send(presentation, form_of(project, [0, 1, 2, 3])) == first
    assert first.ranks == "1302"
    assert current_task(annotator=otter, now=NOW).last.words == "you ranked C, A, D, B"
    again = undo_label(annotator=otter, now=NOW)
    assert list(again.presented.values_list("item")) == list(presentation.presented.values_list("item"))
    assert Label.objects.get().void_reason == "undone"


@pytest.mark.parametrize(
    ("task", "order", "words"),
    [
        (("best", 4, None), [3], "you chose D"),
        (("best_worst", 4, None), [1, 3], "you called B best, D worst"),
        (("top", 5, 2), [4, 0], "you ranked E, A"),
        (("graded", 2, None), [1], "you said B is slightly better"),
    ],
)
def test_the_last_answer_is_told(project, task, order, words):
    set_task(project, *task)
    otter = make_annotator(project, "Otter")
    send(next_for(otter), form_of(project, order))
    assert current_task(annotator=otter, now=NOW).last.words == words


def test_grades_change_nothing_that_fits_count(project):
    set_task(project, "graded", 2, overlap=9)
    for name, grade in (("Otter", "slightly"), ("Heron", "clearly")):
        send(next_for(make_annotator(project, name)), form_of(project, [0], grade))
    first, second = read_labels(Criterion(project)).data.pairs().weight
    assert first == second == 1
    with pytest.raises(IntegrityError), transaction.atomic():
        Label.objects.update(outcome="skip", chosen=None)


# --- Comments ---------------------------------------------------------------------------------------------------------


def test_a_comment_goes_with_any_answer_and_only_where_it_is_asked(project):
    presentation = next_for(make_annotator(set_task(project, "best", 3, comments=True), "Otter"))
    label = send(presentation, {"answer": "skip", "comment": "  Two are\r\nthe same\0 "})
    assert (label.outcome, label.comment) == ("skip", "Two are\nthe same")
    presentation = next_for(make_annotator(project, "Heron"))
    with pytest.raises(InvalidAnswer, match="2001 characters; the limit is 2000"):
        send(presentation, {"answer": "a", "comment": "x" * 2001})
    set_task(project, "best", 3, comments=False)
    with pytest.raises(InvalidAnswer, match="no longer accepts comments"):
        send(presentation, {"answer": "a", "comment": "x"})
    assert send(presentation, {"answer": "a", "comment": "  "}).comment == ""


# --- Drawing ----------------------------------------------------------------------------------------------------------


@pytest.mark.embedded
def test_a_task_of_ten_takes_as_many_queries_as_one_of_two(project):
    make_items_from(project, 6, 40)
    counts = []
    for name, task in (("Otter", ("pair", 2)), ("Heron", ("ranking", 10))):
        annotator = make_annotator(set_task(project, *task, overlap=1), name)
        browser, url = as_annotator(annotator), reverse("label", args=[project.pk])
        browser.post(url)
        for seed in range(2):  # the second time nothing is new to the process or the session
            with CaptureQueriesContext(connection) as asking:
                page = browser.get(url)
            assert page.content.decode().count('class="option') >= project.k
            token = annotator.presentations.get(state="open", ahead=False).token
            data = form_of(project, list(range(n_ranked(project))))
            leases_looked_at(project)
            with CaptureQueriesContext(connection) as answering:
                answer = browser.post(reverse("submit", args=[token]), data, headers=HTMX)
            assert answer.status_code == 200, seed
        counts.append((len(asking), len(answering)))
    pair, ranking = counts
    assert ranking[0] <= pair[0]
    assert ranking[1] <= pair[1]


@pytest.mark.embedded
@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 4, 10])
def test_sets_are_drawn_so_that_every_item_is_shown_equally_often(project, k):
    """Sixty items, each shown twice; so few of their sets are drawn that none comes up again but once in 2000 runs."""
    set_task(project, "ranking", k, overlap=1)
    make_items_from(project, 6, 60)
    for i in range(2 * 60 // k):
        send(next_for(make_annotator(project, f"P{i}"), seed=i), form_of(project, list(range(k))))
        shown = set(project.items.values_list("n_taken", flat=True))
        assert max(shown) - min(shown) <= 1
    assert shown == {2}
    assert set(ItemSet.objects.values_list("n_taken", flat=True)) == {1}


@pytest.mark.slow
def test_overlap_and_no_repeats_hold_for_sets(project):
    """Six items make 20 sets of three; each is answered by exactly `overlap` people, by nobody twice."""
    set_task(project, "best", 3, overlap=2)
    crowd = [make_annotator(project, f"P{i}") for i in range(3)]
    n = 0
    for annotator in crowd * 20:
        try:
            send(next_for(annotator, seed=n), {"answer": "abc"[n % 3]})
        except NothingToCompare:
            continue
        n += 1
    assert n == 40
    assert ItemSet.objects.filter(n_taken=2).count() == 20
    shown = [label.presentation.item_set.key for label in Label.objects.filter(annotator=crowd[0])]
    assert len(set(shown)) == len(shown)
    every = {item_sets.set_key(items) for items in combinations(project.items.values_list("pk", flat=True), 3)}
    assert set(ItemSet.objects.values_list("key", flat=True)) == every


@pytest.mark.embedded
@pytest.mark.slow
def test_places_are_drawn_at_random_and_stored(project):
    """One item of every set of six: 240 showings, each place 40 times; 99.99% of such draws stay within 40 +- 24."""
    set_task(project, "ranking", 6, overlap=500)
    first = project.items.first()
    places = []
    for i in range(240):
        presentation = next_for(make_annotator(project, f"P{i}"), seed=i)
        places.append(presentation.presented.get(item=first).position)
    counts = np.bincount(places, minlength=6)
    assert counts.min() >= 16
    assert counts.max() <= 64


def test_too_few_items_are_told(project):
    set_task(project, "ranking", 10)
    with pytest.raises(NothingToCompare, match="has 6 items, but each task needs at least 10"):
        next_for(make_annotator(project, "Otter"))


def test_the_engines_own_constructors_are_what_labels_become(project):
    """Two rankings written down by hand."""
    set_task(project, "ranking", 3, overlap=9)
    for name, order in (("Otter", [2, 0, 1]), ("Heron", [0, 1, 2])):
        send(next_for(make_annotator(project, name)), form_of(project, order))
    shown = [[int(key.split("-")[1]) for key in shown_keys(label)] for label in Label.objects.order_by("pk")]
    rankings = [[shown[0][place] for place in (2, 0, 1)], shown[1]]
    expected = Comparisons.from_rankings(rankings, annotators=[0, 1], shown=shown, n_items=6)
    assert read_labels(Criterion(project)).data.data_hash() == expected.data_hash()


# --- The owner's word -------------------------------------------------------------------------------------------------


@pytest.fixture
def owner(client, alice):
    client.force_login(alice, BACKEND)
    return client


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        (("pair", "", ""), ("pair", 2, None)),
        (("pair", "7", "3"), ("pair", 2, None)),
        (("best", "2", ""), ("best", 2, None)),
        (("graded", "5", ""), ("graded", 2, None)),
        (("best_worst", "4", "2"), ("best_worst", 4, None)),
        (("ranking", "10", ""), ("ranking", 10, None)),
        (("top", "5", "2"), ("top", 5, 2)),
    ],
)
def test_the_owner_says_what_annotators_do(owner, sent, stored):
    owner.post(reverse("project-create"), VALID | dict(zip(("task_type", "k", "m"), sent, strict=True)))
    project = Project.objects.get()
    assert (project.task_type, project.k, project.m) == stored


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (("best", "", ""), "No items at a time are too few for “Best of several”: give 2 to 10."),
        (("best", "1", ""), "greater than or equal to 2"),
        (("best", "11", ""), "less than or equal to 10"),
        (("best", "four", ""), "Enter a whole number"),
        (("best_worst", "2", ""), "2 items at a time are too few for “Best and worst of several”: give 3 to 10."),
        (("top", "2", "2"), "too few for “Ranking of the best few”: give 3 to 10."),
        (
            ("top", "4", ""),
            "4 items are shown, so 2 to 3 can be ranked. To rank all of them, choose “Ranking of several”.",
        ),
        (("top", "4", "4"), "4 items are shown, so 2 to 3 can be ranked"),
        (("top", "4", "1"), "greater than or equal to 2"),
        (("", "4", ""), "This field is required"),
    ],
)
def test_a_task_that_can_not_be_done_is_told(owner, sent, words):
    response = owner.post(reverse("project-create"), VALID | dict(zip(("task_type", "k", "m"), sent, strict=True)))
    assert words in response.content.decode()
    assert not Project.objects.exists()


def test_the_task_can_change_and_earlier_answers_stay(owner, project):
    otter = make_annotator(project, "Otter")
    before = next_for(otter)
    url = reverse("settings-answers", args=[project.pk])
    owner.post(url, settings_of(project, task_type="ranking", k=4))
    project.refresh_from_db()
    before.refresh_from_db()
    assert (project.task_type, project.k, before.state) == ("ranking", 4, "expired")
    assert set(ItemSet.objects.values_list("n_taken", flat=True)) == {0}
    send(next_for(Annotator.objects.get(pk=otter.pk)), form_of(project, [3, 1, 0, 2]))

    page = owner.get(url).content.decode()
    assert page.count("People have already answered this") == 11
    assert "Answers given so far keep their kind" in page
    owner.post(url, settings_of(project, task_type="top", k=5, m=2, comments=True))
    project.refresh_from_db()
    assert (project.task_type, project.k, project.m, project.comments) == ("top", 5, 2, True)
    assert project.labels.get().presentation.task == "ranking:4"
    with pytest.raises(FixedByLabels):
        change_project(project=project, actor=None, values={"more_means": "longer"}, now=NOW)


def test_opening_takes_as_many_items_as_are_shown(owner, project):
    set_task(project, "best", 7, state="draft")
    page = owner.post(reverse("project-state", args=[project.pk]), {"state": "open"}, follow=True).content.decode()
    assert "you need at least 7" in page
    project.refresh_from_db()
    assert project.state == "draft"


def test_ties_are_not_offered_where_more_than_two_are_shown(project):
    assert {"tie", "both_good", "both_bad"} <= set(project.outcomes)
    otter = make_annotator(set_task(project, "best", 3), "Otter")
    next_for(otter)
    assert [other.value for other in current_task(annotator=otter, now=NOW).others] == ["cant_judge", "skip"]
