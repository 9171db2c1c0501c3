"""Comparisons made elsewhere, in every format: read rightly, sent round, refused by row, fitted like the file."""

import csv
import io
import json
import random
from datetime import UTC, datetime

import numpy as np
import pytest
from django.core.files.base import ContentFile
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st

from annotate.criteria import Criterion
from annotate.files.decoding import decode
from annotate.files.limits import BadFile
from annotate.files.writers import csv_chunks, jsonl_chunks
from annotate.fitting.reading import read_labels
from annotate.imports import job as imports_job
from annotate.imports.actions import start_import
from annotate.imports.guessing import guess_votes
from annotate.models import Annotator, Event, ImportJob, Item, Label, Membership, Project
from annotate.publishing.exports import labels as label_table
from annotate.publishing.exports.preflib import kind, preflib_chunks
from models_engine.data import Comparisons
from models_engine.estimators.table import ESTIMATORS
from tests.budget import examples
from tests.conftest import NOW, make_annotator, make_items
from tests.site.factories import make_labels
from tests.site.pages import signed_in

AOI = (
    "Vote ID,Session ID,Wikisurvey ID,Winner ID,Winner Text,Loser ID,Loser Text,Prompt ID,Appearance ID,Left Choice ID,"
    "Right Choice ID,Created at,Updated at,Response Time (s),Session Identifier,Valid\n"
    "1,7,1,11,Parks,12,Buses,1,a,11,12,2012-01-02 03:04:05 UTC,,2.5,x,TRUE\n"
    "2,7,1,12,Buses,11,Parks,1,b,12,11,2012-01-02 03:05:05 UTC,,2.5,x,FALSE\n"
)
AOI_SKIPS = (
    "Record Type,Record ID,Session ID,Left Choice ID,Left Choice Text,Right Choice ID,Right Choice Text,Created at\n"
    "Skip,1,7,11,Parks,12,Buses,2012-01-02 03:04:05 UTC\nOrphaned Appearance,2,7,11,Parks,12,Buses,\n"
)
ARENA = [
    {"model_a": "x", "model_b": "y", "winner": "model_b", "judge": "u1", "tstamp": 1682351591.1},
    {"model_a": "x", "model_b": "y", "winner": "tie", "judge": "u1", "tstamp": 1682351592},
    {"model_a": "y", "model_b": "x", "winner": "tie (bothbad)", "judge": "u2", "tstamp": 1682351593},
]


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = str(tmp_path)


def take(project, content: bytes, name: str, leave_out=False, **voting) -> ImportJob:
    """The file all the way, as guessed."""
    text = decode(content, name).text
    mapping = guess_votes(text, name)
    mapping["voting"] |= voting
    job = start_import(
        project=project,
        actor=None,
        kind="comparisons",
        source=name,
        file=ContentFile(text.encode()),
        mapping=mapping,
        now=NOW,
        at_once=True,
        leave_out=leave_out,
    )
    imports_job.import_now(job)
    job.refresh_from_db()
    return job


def said(project) -> list[tuple]:
    """What each label says: who, the keys shown, outcome, who was chosen."""
    rows = Label.objects.filter(project=project).order_by("pk").select_related("chosen", "annotator", "presentation")
    return [
        (
            label.annotator.pseudonym,
            tuple(p.item.key for p in label.presentation.presented.select_related("item")),
            label.outcome,
            label.chosen and label.chosen.key,
        )
        for label in rows
    ]


def winners(project):
    return [(who, outcome, chosen) for who, _shown, outcome, chosen in said(project)]


def test_each_format_is_known_by_its_file_and_read(project):
    project.outcomes = ["tie", "both_bad", "skip"]
    project.save()
    cases = [
        (b"worker,task,left,right,label\nw1,t,item-0,item-1,item-1\n", "crowdkit.csv", [("w1", "choice", "item-1")]),
        (
            json.dumps(ARENA).encode(),
            "arena.json",
            [("u1", "choice", "y"), ("u1", "tie", None), ("u2", "both_bad", None)],
        ),
        (b"[(0, 1), (2, 0)]", "choix.txt", [("imported", "choice", "item-0"), ("imported", "choice", "item-2")]),
        (b"[[0, 1], [2, 0]]\n", "choix.json", [("imported", "choice", "item-0"), ("imported", "choice", "item-2")]),
        (b"0,1\n2,0\n", "choix.csv", [("imported", "choice", "item-0"), ("imported", "choice", "item-2")]),
        (AOI.encode(), "votes.csv", [("7", "choice", "11")]),
        (AOI_SKIPS.encode(), "nonvotes.csv", [("7", "skip", None)]),
        (
            b"# FILE NAME: a.soi\n# ALTERNATIVE NAME 1: item-3\n# ALTERNATIVE NAME 2: item-4\n2: 2,1\n1: {1,2}\n",
            "a.toi",
            [("voter 1", "choice", "item-4"), ("voter 2", "choice", "item-4"), ("voter 3", "tie", None)],
        ),
    ]
    for content, name, expected in cases:
        Label.objects.all().delete()
        numbers = "places" if name.startswith("choix") else "keys"
        job = take(project, content, name, leave_out=True, create=True, numbers=numbers)
        assert (job.state, winners(project)) == ("done", expected), (name, job.errors, job.message)
    assert Item.objects.get(key="11").body == "Parks"
    assert Label.objects.first().annotator.source == Annotator.Source.IMPORT
    votes = ImportJob.objects.get(source="votes.csv")
    assert votes.errors == [[3, "The file marks this answer as not counted."]]
    assert Event.objects.filter(verb="comparisons imported").count() == len(cases)


def test_recorded_sides_are_kept_where_winner_and_loser_are_named(project):
    """A side drawn by lot would hide a bias towards one side, or feign one."""
    votes = "".join(
        f"{n},{n},1,11,Parks,12,Buses,1,a,12,11,2012-01-02 03:04:{n:02} UTC,,2.5,x,TRUE\n" for n in range(8)
    )
    take(project, (AOI.splitlines()[0] + "\n" + votes).encode(), "votes.csv", create=True)
    assert {shown for _who, shown, _outcome, _chosen in said(project)} == {("12", "11")}


def test_an_unknown_column_is_answered_with_the_names_that_there_are():
    names = [f"measurement of the winner {n}" for n in range(14)]
    with pytest.raises(BadFile) as refused:
        guess_votes(",".join(names) + "\n" + "," * 13 + "\n", "a.csv", columns={"left": "winner"})
    assert str(refused.value) == (f"The file has no column “winner”. It has: {', '.join(names[:12])} and 2 more.")


def test_scores_count_in_a_column_called_outcome_alone(project):
    """The engine's own files say 1 where the left item is preferred, whatever the items' keys are."""
    project.outcomes = ["tie"]
    project.save()
    rows = b"ann,0,1,1\nann,1,0,1.0\nben,0,2,0\nben,1,2,0.5\n"
    take(project, b"annotator,left,right,outcome\n" + rows, "engine.csv", create=True)
    assert winners(project) == [
        ("ann", "choice", "0"),
        ("ann", "choice", "1"),
        ("ben", "choice", "2"),
        ("ben", "tie", None),
    ]
    Label.objects.all().delete()
    take(project, b"worker,left,right,label\n" + rows[:10], "crowdkit.csv")
    assert winners(project) == [("ann", "choice", "1")]
    job = take(project, b"worker,left,right,label\nann,1,2,0.5\n", "crowdkit.csv")
    assert [place for place, _why in job.errors] == [2]


def test_times_are_kept(project):
    take(project, json.dumps(ARENA[:1]).encode(), "arena.json", create=True)
    assert Label.objects.get().created_at == datetime(2023, 4, 24, 15, 53, 11, 100000, tzinfo=UTC)


def test_rows_that_can_be_no_label_are_listed_and_nothing_is_written(project):
    make_annotator(project, "Otter")
    content = (
        b"worker,left,right,label\nw,item-0,item-0,item-0\nw,item-0,gone,gone\nw,item-0,item-1,perhaps\n"
        b"Otter,item-0,item-1,item-1\nw,item-0,item-1,item-1\nw,item-0\n"
    )
    job = take(project, content, "votes.csv")
    assert (job.state, job.n_bad, Label.objects.count()) == ("checked", 5, 0)
    told = dict(job.errors)
    assert "compares item “item-0” with itself" in told[2]
    assert "no item with the key “gone”" in told[3]
    assert "The answer “perhaps” is neither of the two items" in told[4]
    assert "already answers here in person" in told[5]
    assert "The row has 2 columns" in told[7]


def test_the_same_file_twice_is_refused(project, alice):
    content = b"worker,left,right,label\nw,item-0,item-1,item-1\n"
    take(project, content, "votes.csv")
    owner = signed_in(alice)
    url = reverse("comparisons-import", args=[project.pk])
    shown = owner.post(url, {"file": ContentFile(content, "votes.csv")}, follow=True)
    assert "1 comparison can be imported" in shown.content.decode()
    again = owner.post(url, {"upload": shown.context["upload"].id, **dict(shown.context["fields"])}, follow=True)
    assert "they would count twice" in again.content.decode()
    assert Label.objects.count() == 1


def test_by_the_page_columns_are_chosen_and_errors_left_out(project, alice):
    content = b"by;one;two;best\nw;item-0;item-1;item-1\nw;item-2;item-2;item-2\n"
    owner = signed_in(alice)
    url = reverse("comparisons-import", args=[project.pk])
    shown = owner.post(url, {"file": ContentFile(content, "votes.csv")}, follow=True)
    assert "Choose which columns hold" in shown.content.decode()
    chosen = {"upload": shown.context["upload"].id, "cut": "pairs", "format": "pairs", "annotator": 0, "left": 1}
    chosen |= {"right": 2, "answer": 3, "someone": "imported", "before": "2019 "}
    shown = owner.get(url, chosen)
    text = " ".join(shown.content.decode().split())
    assert "1 comparison can be imported" in text
    assert "2019 w compares item “item-2” with itself" in text
    done = owner.post(url, {"upload": chosen["upload"], **dict(shown.context["fields"]), "left_out": 1}, follow=True)
    assert "1 row was left out." in " ".join(done.content.decode().split())
    assert said(project) == [("2019 w", ("item-0", "item-1"), "choice", "item-1")]


def test_a_column_that_may_name_annotators_is_not_passed_over_unsaid(project, alice):
    owner = signed_in(alice)
    url = reverse("comparisons-import", args=[project.pk])
    content = b"teacher;winner;loser\nann;item-0;item-1\nbob;item-1;item-2\n"
    shown = owner.post(url, {"file": ContentFile(content, "votes.csv")}, follow=True)
    text = " ".join(shown.content.decode().split())
    assert "2 comparisons can be imported" in text
    assert (
        "all comparisons would count as one person's, “imported”. If this column names them, choose it below:" in text
    )
    chosen = {"upload": shown.context["upload"].id, "cut": "winners", "format": "winners", "annotator": 0}
    again = owner.get(url, chosen | {"winner": 1, "loser": 2})
    assert again.context["parsed"].mapping["voting"]["columns"]["annotator"] == 0
    assert "would count as one person's" not in again.content.decode()
    for known in (b"who", b"participant"):
        named = ContentFile(content.replace(b"teacher", known), "votes.csv")
        assert "would count as one person's" not in owner.post(url, {"file": named}, follow=True).content.decode()


def other_project(project, **values) -> Project:
    copy = Project.objects.create(
        name="Copy", question="Which?", state="open", overlap=50, outcomes=project.outcomes, **values
    )
    Membership.objects.create(project=copy, user=project.memberships.first().user, role="owner")
    make_items(copy, 6)
    return copy


@pytest.mark.parametrize("encode", [csv_chunks, jsonl_chunks])
@pytest.mark.parametrize("comment", ["=1+1", "'=1+1", "x;=1+1", "x;'=1+1"])
def test_our_own_export_comes_back_as_it_was(project, encode, comment):
    make_labels(project, [make_annotator(project, name) for name in ("Otter", "=SUM(A1)", "'=SUM(A1)")], 14)
    Label.objects.filter(pk=Label.objects.first().pk).update(voided_at=NOW, void_reason="undone")
    Label.objects.filter(pk=Label.objects.last().pk).update(comment=comment, response_ms=1500)
    names = [column.name for column in label_table.COLUMNS]
    content = b"".join(encode(names, label_table.rows(Criterion(project))))
    copy = other_project(project)
    job = take(copy, content, "labels.csv" if encode is csv_chunks else "labels.jsonl", leave_out=True)
    assert (job.state, job.n_bad) == ("done", 1)
    assert said(copy) == said(project)[1:]
    last = Label.objects.filter(project=copy).order_by("pk").last()
    assert (last.comment, last.response_ms, last.app_version) == (comment, 1500, "import")


def as_preflib(project: Project) -> bytes:
    criterion = Criterion(project)
    return b"".join(preflib_chunks(criterion, kind(criterion), NOW))


def test_preflib_comes_back_and_fits_the_same(project):
    make_labels(project, [make_annotator(project, f"Otter {n}") for n in range(4)], 30)
    content = as_preflib(project)
    copy = other_project(project)
    assert take(copy, content, "crowdrank.toi").state == "done"
    assert as_preflib(copy).splitlines()[12:] == content.splitlines()[12:]


def test_the_fit_of_an_import_is_the_fit_of_the_file(project):
    rng = random.Random(5)
    pairs = [rng.sample(range(6), 2) for _ in range(60)]
    out = io.StringIO()
    csv.writer(out).writerows([["worker", "left", "right", "label"], *(
        [f"w{n % 4}", f"item-{a}", f"item-{b}", f"item-{min(a, b) if n % 5 else b}"] for n, (a, b) in enumerate(pairs)
    )])  # fmt: skip
    take(project, out.getvalue().encode(), "votes.csv")
    left, right = np.array(pairs).T
    first = [float((min(a, b) if n % 5 else b) == a) for n, (a, b) in enumerate(pairs)]
    data = Comparisons.from_pairs(left, right, first, [n % 4 for n in range(60)], n_items=6, n_annotators=4)
    fit = ESTIMATORS["BradleyTerry"].estimator().fit
    expected, found = fit(data), fit(read_labels(Criterion(project)).data)
    np.testing.assert_allclose(found.utilities(), expected.utilities(), atol=1e-9)
    np.testing.assert_allclose(found.standard_deviations(), expected.standard_deviations(), atol=1e-9)


KEYS = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="\0"), min_size=1, max_size=12)


@given(st.lists(st.tuples(KEYS, KEYS, st.booleans()), min_size=1, max_size=6), st.sampled_from([",", ";", "\t"]))
@settings(max_examples=examples(40), deadline=None)
def test_whatever_the_keys_a_table_of_pairs_is_read_as_written(rows, delimiter):
    from_file = io.StringIO()
    writer = csv.writer(from_file, delimiter=delimiter)
    writer.writerow(["worker", "left", "right", "label"])
    writer.writerows(["w", a, b, a if first else b] for a, b, first in rows)
    mapping = guess_votes(from_file.getvalue(), "votes.csv")
    assert mapping["voting"]["format"] == "pairs"
    assert mapping["voting"]["columns"] == {"annotator": 0, "left": 1, "right": 2, "answer": 3}
