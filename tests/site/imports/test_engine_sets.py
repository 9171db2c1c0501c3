"""What the engine reads the site reads, and the export of comparisons comes back, of every kind of task."""

import gzip

import pytest

from annotate.criteria import Criterion
from annotate.files.limits import Unusable
from annotate.files.writers import csv_chunks, jsonl_chunks
from annotate.fitting.reading import read_labels
from annotate.imports.comparisons.actions import Comparison
from annotate.imports.comparisons.engine_sets import answer_of, groups_by_rank, groups_of
from annotate.imports.comparisons.tables import guess
from annotate.models import Project
from annotate.publishing.exports.registry import TABLES
from models_engine.io.label_tables import read_labels as read_file
from tests.conftest import make_annotator
from tests.site.imports.test_comparison_tables import media, take  # noqa: F401 (a fixture)
from tests.site.labelling.test_task_types import make_items_more, next_for, send
from tests.site.task_types import TASKS, form_of, set_task


def answered(project: Project, *, shared: bool = False) -> None:
    for name in ("Otter", "Heron; = Crane"):
        person = make_annotator(project, name)
        for seed in range(3):
            order = list(range(project.k))[::-1] if seed % 2 else list(range(project.k))
            if project.task_type == "best_worst":
                order = [order[0], order[-1]]
            form = form_of(project, order[: project.m or project.k])
            if shared:
                form |= {"rank_a": "1", "rank_b": "1", "rank_c": "2", "rank_d": "3"}
            send(next_for(person, seed), form)


@pytest.mark.slow
@pytest.mark.parametrize("task", [*TASKS, ("ranking", 4, None, True)], ids=str)
def test_the_export_of_comparisons_comes_back(project, task):
    make_items_more(project, 6)
    shared = len(task) == 4
    set_task(project, *task[:3], overlap=9, shared_places=shared)
    answered(project, shared=shared)
    table = TABLES["comparisons"]
    content = b"".join(csv_chunks(table.names(project), table.rows(Criterion(project))))
    copy = Project.objects.create(name="Copy", question="Which?")
    set_task(copy, *task[:3], shared_places=shared)
    for item in project.items.order_by("pk"):
        copy.items.create(key=item.key, body=item.body)
    job = take(copy, content, "comparisons.csv")
    assert (job.state, job.n_bad) == ("done", 0)
    again, first = read_labels(Criterion(copy)).data, read_labels(Criterion(project)).data
    assert (again.ranks.tolist(), again.starts.tolist()) == (first.ranks.tolist(), first.starts.tolist())
    assert again.items.tolist() == first.items.tolist()


def test_lists_of_json_keep_keys_apart_whatever_they_hold(project):
    make_items_more(project, 6)
    set_task(project, "ranking", 4, overlap=9)
    answered(project)
    table = TABLES["labels"]
    content = b"".join(jsonl_chunks(table.names(project), table.rows(Criterion(project))))
    assert b"more 0; [a], =" in content
    copy = Project.objects.create(name="Copy", question="Which?")
    set_task(copy, "ranking", 4)
    for item in project.items.order_by("pk"):
        copy.items.create(key=item.key, body=item.body)
    assert take(copy, content, "labels.jsonl").state == "done"
    again, first = read_labels(Criterion(copy)).data, read_labels(Criterion(project)).data
    assert (again.ranks.tolist(), again.items.tolist()) == (first.ranks.tolist(), first.items.tolist())


def test_a_set_of_the_engine_may_be_a_list(project):
    project.items.filter(key="item-1").update(key="a;b")
    set_task(project, "best", 3)
    rows = [{"annotator": "u", "chosen": ["a;b"], "set": ["item-0", "a;b", "item-2"]}]
    job = take(project, b"".join(jsonl_chunks(list(rows[0]), [list(rows[0].values())])), "sets.jsonl")
    assert (job.state, job.errors) == ("done", [])
    assert project.labels.get().chosen.key == "a;b"


def test_packed_labels_come_as_the_engine_reads_them(project):
    packed = gzip.compress(b"annotator,left,right,outcome\nu,item-0,item-1,1\nu,item-2,item-1,0.5\n")
    job = take(project, packed, "labels.csv.gz")
    assert (job.state, job.n_written) == ("done", 2)


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("annotator,left,right,outcome\nu,item-0,item-1,1\nu,item-2,item-1,0.5\n", ("pair", 2, None)),
        ("worker,left,right,label\nu,item-0,item-1,item-1\n", ("pair", 2, None)),
        ("annotator,winner,loser\nu,item-0,item-1\n", ("pair", 2, None)),
        ("annotator,ranking\nu,item-2;item-0;item-1\n", ("ranking", 3, None)),
        ("annotator,chosen,set\nu,item-2,item-0;item-1;item-2\n", ("best", 3, None)),
        ("annotator,top,set\nu,item-2;item-0,item-0;item-1;item-2;item-3\n", ("top", 4, 2)),
        ("annotator,best,worst,set\nu,item-2,item-1,item-0;item-1;item-2;item-3\n", ("best_worst", 4, None)),
        ("annotator,set,ranks\nu,item-0;item-1;item-2,2;0;1\n", ("ranking", 3, None)),
        ("annotator,set,ranks\nu,item-0;item-1;item-2;item-3,1;0;1;2\n", ("best_worst", 4, None)),
        ("annotator,set,ranks\nu,item-0;item-1,0;0\n", ("pair", 2, None)),
    ],
)
def test_each_layout_of_the_engine_is_read_as_the_engine_reads_it(project, tmp_path, text, task):
    set_task(project, *task)
    job = take(project, text.encode(), "labels.csv")
    assert (job.state, job.n_bad) == ("done", 0)
    (tmp_path / "labels.csv").write_text(text)
    by_engine, here = read_file(tmp_path / "labels.csv"), read_labels(Criterion(project)).data
    keys = list(project.items.order_by("pk").values_list("key", flat=True))
    for label in range(here.n_labels):
        own = slice(here.starts[label], here.starts[label + 1])
        theirs = slice(by_engine.data.starts[label], by_engine.data.starts[label + 1])
        assert {keys[i]: r for i, r in zip(here.items[own], here.ranks[own], strict=True)} == {
            by_engine.items[i]: r
            for i, r in zip(by_engine.data.items[theirs], by_engine.data.ranks[theirs], strict=True)
        }


def test_numbered_grades_are_kept(project):
    set_task(project, "graded", 2)
    take(project, b"annotator,left,right,outcome,grade\nu,item-0,item-1,1,2\nv,item-0,item-1,0,1\n", "labels.csv")
    assert list(project.labels.order_by("pk").values_list("grade", flat=True)) == ["clearly", "slightly"]


@pytest.mark.parametrize("ranks", [["0"], ["0", "1", "x"], ["0", "1", "-1"], ["0", "1", "99999"]])
def test_ranks_that_do_not_fit_are_told(ranks):
    with pytest.raises(Unusable, match="does not give each of the 3 items a rank"):
        groups_by_rank(["a", "b", "c"], ranks)


@pytest.mark.parametrize("values", [{"best": "a", "worst": "a"}, {"chosen": "z"}, {"top": "a;a"}, {}])
def test_an_answer_that_names_others_is_told(values):
    with pytest.raises(Unusable, match="name items of the set, each once"):
        groups_of(values, ["a", "b", "c"])


def test_an_order_that_the_project_does_not_ask_for_is_told(project):
    set_task(project, "best", 3)
    with pytest.raises(Unusable, match="no answer to a task of this project"):
        answer_of(project, Comparison(1, "u", ("a", "b", "c"), ""), [["a"], ["b"], ["c"]])


def test_names_tell_the_layout():
    assert guess(["annotator", "best", "worst", "set"]).format == "sets"
    assert guess(["annotator", "ranking"]).format == "sets"
    assert guess(["annotator", "left", "right", "outcome"]).format == "pairs"
