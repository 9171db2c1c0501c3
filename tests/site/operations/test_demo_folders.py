"""Folders of real data: the manifest's keys, what a bad one is told, and the two data sets that are known."""

import csv
import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from django.db.models import F

from annotate.demo.known import KNOWN
from annotate.demo.manifest import BadFolder, open_folder
from annotate.demo.projects import make_real, set_owner
from annotate.management.commands.demo import Command
from annotate.models import ItemSet, Label, PresentedItem, Project
from tests.conftest import NOW
from tests.paths import DATA

pytestmark = pytest.mark.embedded


WINNERS = {
    "name": "Beers",
    "question": "Which tastes better?",
    "items": {"text_format": "beer {}"},
    "labels": {"file": "answers.csv", "annotator": "who", "winner": "won", "loser": "lost"},
}
SIDES = {
    "name": "Beers",
    "question": "Which tastes better?",
    "more_means": "tastier",
    "estimator": "BradleyTerry",
    "items": {"file": "beers.csv.gz", "key": "id", "text": "label", "tags": ["kind", "country"]},
    "labels": {
        "file": "answers.csv",
        "annotator": "who",
        "annotator_format": "taster {}",
        "left": "a",
        "right": "b",
        "outcome": "said",
        "outcomes": {"1": "left", "2": "right", "=": "tie", "?": "cant_judge"},
        "at": "when",
        "response_ms": "ms",
    },
}


@pytest.fixture
def folder(tmp_path):
    def write(manifest, **files) -> Path:
        if manifest is not None:
            (tmp_path / "crowdrank.json").write_text(json.dumps(manifest))
        for name, text in files.items():
            file = tmp_path / name.replace("__", ".")
            data = text.encode("utf-8-sig")
            file.write_bytes(gzip.compress(data) if file.suffix == ".gz" else data)
        return tmp_path

    return write


@pytest.mark.parametrize("wanted", [True, False])
def test_a_crowd_is_marked_only_where_it_is_wanted(db, folder, wanted):
    data = open_folder(folder(WINNERS, answers__csv="who,won,lost\nann,10,9\n"), KNOWN)
    Command().fill(set_owner("correct horse battery"), data, crowd=wanted)
    project = Project.objects.get()
    assert (project.name, project.simulated) == ("Beers", wanted)


def test_winners_and_losers(folder):
    path = folder(WINNERS, answers__csv="who,won,lost\nann,10,9\nann,9,2\n" + "bob,10,2\n" * 400)
    found = open_folder(path, KNOWN)
    rows = found.comparisons()
    assert [(item.key, item.text) for item in found.items(rows)] == [
        ("2", "beer 2"),
        ("9", "beer 9"),
        ("10", "beer 10"),
    ]
    winners = [row.shown[row.outcome == "right"] for row in rows]
    assert winners == ["10", "9"] + ["10"] * 400
    assert 150 < sum(row.outcome == "left" for row in rows) < 250, "sides that nobody knows are drawn by lot"
    assert rows == open_folder(path, KNOWN).comparisons(), "and the same lots are drawn again"


def test_sides_and_outcomes(folder, alice):
    beers = 'id,label,kind,country\nx,"A dark\none",stout,IE\ny,Pale ale,ale,\nz,Wheat,,DE\n'
    answers = (
        "who,a,b,said,when,ms\n1,x,y,1,2026-01-02T03:04:05Z,900\n2,y,x,=,,\n2,z,x,?,2026-01-02T03:04:05,\n1,z,y,2,,\n"
    )
    found = open_folder(folder(SIDES, beers__csv__gz=beers, answers__csv=answers), KNOWN)
    assert found.outcomes == ["cant_judge", "tie"]
    project, report = make_real(alice, found, NOW, lambda done, of: None)
    assert (report.n_labels, report.n_annotators, report.refused) == (4, 2, [])
    project.refresh_from_db()
    assert (project.state, project.more_means, project.estimator) == ("open", "tastier", "BradleyTerry")
    assert project.items.get(key="x").body == "A dark\none"
    assert {tag.name for tag in project.items.get(key="x").tags.all()} == {"stout", "IE"}
    labels = list(Label.objects.order_by("pk"))
    assert [label.outcome for label in labels] == ["choice", "tie", "cant_judge", "choice"]
    assert [label.chosen and label.chosen.key for label in labels] == ["x", None, None, "y"]
    assert labels[0].annotator.pseudonym == "taster 1"
    assert labels[0].created_at == labels[2].created_at
    assert labels[0].response_ms == 900


def changed(manifest, **changes):
    copy = json.loads(json.dumps(manifest))
    for name, value in changes.items():
        part = copy
        *path, last = name.split("__")
        for step in path:
            part = part[step]
        if value is None:
            del part[last]
        else:
            part[last] = value
    return copy


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ([], "one JSON object"),
        (changed(WINNERS, question=None), "“question” is missing"),
        (changed(WINNERS, labels=None), "“labels”"),
        (changed(WINNERS, labels__annotator=None), "“labels.annotator” is missing"),
        (changed(WINNERS, labels__loser=None), "“labels.loser” is missing"),
        (changed(WINNERS, colour="red"), "“colour” is unknown"),
        (changed(WINNERS, labels__weight="w"), "“labels.weight” is unknown"),
        (changed(SIDES, labels__outcomes={"1": "first"}), "“first”"),
        (changed(SIDES, items__key=None), "“items.key” is missing"),
    ],
)
def test_a_bad_manifest_is_told_by_its_key(folder, manifest, words):
    with pytest.raises(BadFolder, match=words):
        open_folder(folder(manifest, answers__csv="who,won,lost\n"), KNOWN)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (None, "answers.csv does not exist"),
        ("who,won\nann,1\n", "no column “lost”; it has who, won"),
        ("who,won,lost\nann,1\n", "row 1: it has fewer cells"),
        ("", "no column “who”"),
    ],
)
def test_bad_files_are_told_by_row_and_column(folder, answers, words):
    files = {} if answers is None else {"answers__csv": answers}
    found = open_folder(folder(WINNERS, **files), KNOWN)
    with pytest.raises(BadFolder, match=words):
        found.comparisons()


def test_a_time_that_is_none(folder):
    found = open_folder(folder(SIDES, answers__csv="who,a,b,said,when,ms\n1,x,y,1,yesterday,\n"), KNOWN)
    with pytest.raises(BadFolder, match="Row 1: “yesterday”"):
        found.comparisons()


def test_what_is_no_folder_of_comparisons(folder, tmp_path):
    with pytest.raises(BadFolder, match="is not a folder"):
        open_folder(tmp_path / "nowhere", KNOWN)
    with pytest.raises(BadFolder, match=r"has no crowdrank\.json and is neither readability_crowd nor ukpconvarg1"):
        open_folder(folder(None, stuff__csv="a,b\n"), KNOWN)
    (tmp_path / "crowdrank.json").write_text("{")
    with pytest.raises(BadFolder, match="is not JSON"):
        open_folder(tmp_path, KNOWN)


def real(name: str) -> Path:
    path = DATA / name
    if not path.is_dir():
        pytest.skip(f"the data set {name} is not in {DATA} (CROWDRANK_DATA names another folder)")
    return path


def import_real(name, owner):
    project, report = make_real(owner, open_folder(real(name), KNOWN), NOW, lambda done, of: None)
    return Project.objects.get(pk=project.pk), report


@pytest.mark.slow
def test_readability(alice):
    project, report = import_real("readability_crowd", alice)
    assert (report.n_rows, report.n_labels, report.n_annotators, project.items.count()) == (12728, 12726, 624, 490)
    assert [refused.reason for refused in report.refused] == [
        f"worker {worker} compares item “267” with itself." for worker in (83, 467)
    ]
    assert project.items.get(key="12").body == "document 12"
    assert (project.question, project.more_means) == ("Which text is harder to read?", "harder to read")
    with gzip.open(real("readability_crowd") / "comparisons.csv.gz", "rt") as lines:
        rows = [row for row in csv.DictReader(lines) if row["harder"] != row["easier"]]
    wins = Counter(Label.objects.values_list("chosen__key", flat=True))
    assert wins == Counter(row["harder"] for row in rows)
    left = PresentedItem.objects.filter(position=0, item=F("presentation__label__chosen")).count()
    assert 0.48 < left / len(rows) < 0.52
    pairs = Counter(frozenset((row["harder"], row["easier"])) for row in rows)
    assert ItemSet.objects.count() == len(pairs) == 1418
    assert sorted(ItemSet.objects.values_list("n_taken", flat=True)) == sorted(pairs.values())


@pytest.mark.slow
def test_convincing_arguments(alice):
    project, report = import_real("ukpconvarg1", alice)
    assert (report.n_rows, report.n_labels, report.n_annotators, project.items.count()) == (84445, 84445, 3815, 1052)
    outcomes = Counter(Label.objects.values_list("outcome", flat=True))
    assert outcomes == {"choice": 32849 + 32491, "tie": 19105}
    assert project.tags.count() == 32
    assert project.overlap == 5
    assert set(project.outcomes) == {"tie"}
