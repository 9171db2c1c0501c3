"""The export: every column means what the page says, nothing is dropped, nothing runs, memory stays flat."""

import csv
import io
import json
import subprocess
import sys
from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pyarrow import parquet

from annotate.criteria import Criterion
from annotate.files import writers
from annotate.files.writers import csv_chunks
from annotate.fitting import reading as fitting_reading
from annotate.models import Annotator, Idea, Item, Label, Machine, Project, Tag
from annotate.publishing.exports.registry import TABLES, listed
from models_engine.models import Estimate
from tests.conftest import NOW, make_annotator
from tests.paths import ROOT
from tests.site.factories import estimate_annotator, make_fit, make_labels, spread_fit
from tests.site.machines import make_machine
from tests.site.pages import signed_in

ENGINE_COLUMNS = ["item", "utility", "sd", "low", "high", "rank", "rank_low", "rank_high", "p_top_k", "n_comparisons"]


@pytest.fixture
def owner(alice) -> Client:
    return signed_in(alice)


def address(project: Project, table: str, file_format: str = "csv") -> str:
    return reverse("export", args=[project.pk, table, file_format])


def body(client: Client, project: Project, table: str, file_format: str = "csv") -> str:
    response = client.get(address(project, table, file_format))
    assert response.status_code == 200
    return b"".join(response.streaming_content).decode()


def table_of(client: Client, project: Project, table: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(body(client, project, table), newline="")))


def objects_of(client: Client, project: Project, table: str) -> list[dict]:
    return [json.loads(line) for line in body(client, project, table, "jsonl").splitlines()]


# --- Who -------------------------------------------------------------------------------------------------------------


@pytest.mark.embedded
@pytest.mark.parametrize("table", TABLES)
def test_only_those_who_may_see_take_away(project, bob, vera, charlie, table):
    url = address(project, table)
    assert reverse("account_login") in Client().get(url)["Location"]
    for user, status in ((charlie, 404), (bob, 403), (vera, 200)):
        client = signed_in(user)
        assert client.get(url).status_code == status
        assert client.post(url).status_code == 405


def unused(project) -> set[str]:
    return {table.name for table, _ in listed(Project.objects.get(pk=project.pk)).unused}


def test_tables_that_a_project_does_not_use_are_folded_away_and_have_no_rows(owner, project):
    make_labels(project, [make_annotator(project, "Quiet Otter")], 3)
    spread_fit(project, list(project.items.all()))
    assert unused(project) == {
        *("overall", "overall_leaderboard", "tracks", "leaderboard", "leaderboard_pairs", "leaderboard_cohorts"),
        *("grades", "counts", "machines", "machine_answers", "questions", "ideas", "deviations"),
    }
    for name in unused(project):
        assert list(TABLES[name].rows(Criterion(project))) == []
    page = owner.get(reverse("exports", args=[project.pk])).content.decode()
    used, folded = page.split("13 tables about things that this project does not use")
    for name in TABLES:
        assert f'id="table-{name}"' in (folded if name in unused(project) else used)


def test_the_page_asks_once_about_machines(owner, project):
    with CaptureQueriesContext(connection) as queries:
        owner.get(reverse("exports", args=[project.pk]))
    assert sum(Machine._meta.db_table in query["sql"] for query in queries) == 1


def test_tables_come_out_as_a_project_uses_what_they_are_about(project, alice):
    Project.objects.filter(pk=project.pk).update(
        criteria=[{"name": "Clear", "question": "Clearer?"}, {"name": "Right", "question": "Righter?"}],
        has_competitors=True,
        grades=[{"name": "A", "limit": 60}, {"name": "B", "limit": None}],
        given_order="balanced",
    )
    Tag.objects.create(project=project, name="school")
    Idea.objects.create(project=project, text="A pond", created_at=NOW)
    make_machine(project)
    assert unused(project) == {"counts", "deviations"}


@pytest.mark.parametrize("path", ["users.csv", "labels.xlsx", "labels.svg", "..%2Flabels.csv", "ranking.svg"])
def test_what_there_is_not_is_not_found(owner, project, path):
    url = reverse("exports", args=[project.pk]) + path
    assert owner.get(url).status_code == 404


def test_exports_are_limited(owner, project, monkeypatch):
    monkeypatch.setattr("annotate.core.rate_limits._Limit.THROTTLE_RATES", {"export": "2/min"})
    codes = [owner.get(address(project, "items")).status_code for _ in range(3)]
    assert codes == [200, 200, 429]


@pytest.mark.parametrize("table", TABLES)
def test_no_file_holds_an_address_or_a_secret(owner, project, bob, table):
    annotator = make_annotator(project, "Quiet Otter", user=bob, source=Annotator.Source.ACCOUNT)
    make_labels(project, [annotator], 3, voided_by=bob, voided_at=NOW, void_reason="excluded")
    spread_fit(project, list(project.items.all()))
    secrets = [annotator.resume_token, str(annotator.key), project.join_token]
    secrets += [label.presentation.token for label in project.labels.select_related("presentation")]
    for file_format in writers.FORMATS:
        response = owner.get(address(project, table, file_format))
        content = b"".join(response.streaming_content)
        text = str(parquet.read_table(io.BytesIO(content)).to_pylist() if file_format == "parquet" else content)
        assert "@" not in text
        assert "example.org" not in text
        assert not [secret for secret in secrets if secret in text]


# --- Names and words -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Convincing arguments", "convincing-arguments-items.csv"),
        ('../../etc "; rm\r\nX: y', "etc-rm-x-y-items.csv"),
        ("مقارنة", "project-items.csv"),
        ("x" * 200, "x" * 60 + "-items.csv"),
    ],
)
def test_file_names_are_harmless(owner, project, name, expected):
    Project.objects.filter(pk=project.pk).update(name=name)
    response = owner.get(address(project, "items"))
    assert response["Content-Disposition"] == f'attachment; filename="{expected}"'
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Cache-Control"] == "no-store"


@pytest.mark.embedded
@pytest.mark.parametrize("table", TABLES)
def test_every_column_is_explained_and_the_header_is_the_first_line(owner, project, table):
    page = owner.get(reverse("exports", args=[project.pk]), {"columns": table}).content.decode()
    for column in TABLES[table].columns(project):
        assert f"<code>{column.name}</code>" in page
        assert str(column.meaning).strip()
    assert body(owner, project, table).splitlines()[0].split(",") == TABLES[table].names(project)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\tx", "'\tx"),
        ("\r=x", "'\r'=x"),
        ("\n=x", "'\n'=x"),
        ("a=b", "a=b"),
        ("", ""),
        (None, ""),
        (-1.5, "-1.5"),
        (-3, "-3"),
        (0.1 + 0.2, "0.30000000000000004"),
        (True, "true"),
        (["=a", "b"], '["=a", "b"]'),
        (datetime.fromisoformat("2026-11-20T13:00:00+01:00"), "2026-11-20T12:00:00+00:00"),
    ],
)
def test_cells(value, expected):
    _, line = csv_chunks(["other", "cell"], [["x", value]])
    assert next(csv.reader(io.StringIO(line.decode(), newline="")))[1] == expected


def test_formulas_are_defused_in_csv_and_kept_in_json(owner, project):
    bad = '=HYPERLINK("http://evil.example","x")'
    item, other = project.items.order_by("pk")[:2]
    Item.objects.filter(pk=item.pk).update(key=bad, body="+" + bad)
    Project.objects.filter(pk=project.pk).update(question="@" + bad)
    annotator = make_annotator(project, "-" + bad)
    Tag.objects.create(project=project, name=bad).items.add(item)
    project.items.exclude(pk__in=[item.pk, other.pk]).delete()
    make_labels(project, [annotator], 2)
    fit = make_fit(project, [[(item, 1.0, 0.1, 9), (other, -1.0, 0.1, 9)]])
    estimate_annotator(fit, annotator)
    for table in TABLES:
        for row in csv.reader(io.StringIO(body(owner, project, table), newline="")):
            for value in row:
                assert not value.startswith(("=", "+", "@", "\t", "\r"))
                assert not value.startswith("-") or float(value) < 0
    row = next(row for row in objects_of(owner, project, "labels") if row["left"] == bad)
    assert (row["left_text"], row["criterion"], row["annotator"]) == ("+" + bad, "@" + bad, "-" + bad)


def test_text_of_every_kind_survives_the_round_trip(owner, project):
    texts = [
        'quote " and, comma',
        "line\nbreak\r\nand; semicolon",
        "عربي עברית 漢字 🙂",
        "'apostrophe",
        " lead",
        "\u2028",
    ]
    for item, text in zip(project.items.order_by("pk"), texts, strict=True):
        Item.objects.filter(pk=item.pk).update(body=text)
    assert [row["text"] for row in table_of(owner, project, "items")] == texts
    # JSON lines are separated by \n alone; U+2028 is a line break to some readers, so it is asked of bytes.
    lines = body(owner, project, "items", "jsonl").strip("\n").split("\n")
    assert [json.loads(line)["text"] for line in lines] == texts


# --- What is in them -------------------------------------------------------------------------------------------------


def test_labels_are_all_there_with_everything_about_them(owner, project):
    otter = make_annotator(project, "Quiet Otter")
    made = make_labels(project, [otter], 3, session="s1", client_at=NOW, response_ms=2345)
    made += make_labels(project, [otter], 1, outcome=Label.Outcome.BOTH_BAD)
    made += make_labels(project, [otter], 1, outcome=Label.Outcome.SKIP)
    made += make_labels(project, [otter], 2, voided_at=NOW + timedelta(hours=1), void_reason="undone")
    rows = table_of(owner, project, "labels")
    assert [int(row["label"]) for row in rows] == [label.pk for label in made]
    for label, row in zip(made, rows, strict=True):
        shown = [one.item for one in label.presentation.presented.order_by("position")]
        assert [row["left"], row["right"]] == [item.key for item in shown]
        assert [row["left_text"], row["right_text"]] == [item.body for item in shown]
        assert json.loads(row["shown_order"]) == [item.key for item in shown]
        if label.chosen:
            assert row["winner"] == label.chosen.key
            assert {row["winner"], row["loser"]} == {row["left"], row["right"]}
            assert row[row["outcome"]] == row["winner"]
        else:
            assert (row["outcome"], row["winner"], row["loser"]) == (label.outcome, "", "")
        assert row["valid"] == ("false" if label.voided_at else "true")
        assert row["voided"] == ("true" if label.voided_at else "false")
        assert row["void_reason"] == label.void_reason
        assert datetime.fromisoformat(row["created_at"]) == label.created_at
        assert datetime.fromisoformat(row["presented_at"]) == label.presentation.created_at
        assert (row["task_type"], row["k"], row["criterion"]) == ("pair", "2", project.question)
        assert (row["annotator"], row["annotator_source"]) == ("Quiet Otter", "link")
        assert row["is_repeat"] == ("true" if label.presentation.repeat else "false")
        assert int(row["pair"]) == label.presentation.item_set_id
    assert (rows[0]["response_seconds"], rows[0]["session"], rows[0]["app_version"]) == ("2.345", "s1", "0.1.0")
    assert datetime.fromisoformat(rows[0]["client_at"]) == NOW
    assert rows[-1]["voided_at"] == (NOW + timedelta(hours=1)).isoformat()


def test_json_lines_have_types(owner, project):
    make_labels(project, [make_annotator(project, "P")], 1, response_ms=1500)
    row = objects_of(owner, project, "labels")[0]
    assert row["response_seconds"] == 1.5
    assert row["k"] == 2
    assert row["voided"] is False
    assert row["voided_at"] is None
    assert row["shown_order"] == [row["left"], row["right"]]


def test_another_projects_rows_stay_out(owner, project):
    other = Project.objects.create(name="Other", question="Which?")
    Item.objects.bulk_create(Item(project=other, key=f"o{i}", body="other") for i in range(3))
    make_labels(other, [make_annotator(other, "Other")], 5)
    make_labels(project, [make_annotator(project, "Mine")], 2)
    spread_fit(other, list(other.items.all()))
    assert len(table_of(owner, project, "labels")) == 2
    assert {row["annotator"] for row in table_of(owner, project, "annotators")} == {"Mine"}
    assert len(table_of(owner, project, "items")) == 6
    assert table_of(owner, project, "ranking") == []


def test_the_ranking_has_places_and_scores_first_and_figures_exactly(owner, project):
    items = list(project.items.order_by("pk"))
    fit = make_fit(
        project,
        [[(i, 1 / 3 - n, 0.1, 9) for n, i in enumerate(items[:4])], [(items[4], 0.5, 0.1, 9), (items[5], 0, 0.1, 9)]],
    )
    names = TABLES["ranking"].names(project)
    assert names[:8] == ["item", "title", "rank", "rank_low", "rank_high", "score", "score_low", "score_high"]
    assert set(ENGINE_COLUMNS) <= set(names)
    rows = table_of(owner, project, "ranking")
    estimates = {items[i].key: Estimate.objects.get(fit=fit, item_id=items[i].pk) for i in range(6)}
    assert len(rows) == 6
    for row in rows:
        e = estimates[row["item"]]
        assert [float(row[name]) for name in ("utility", "sd", "low", "high")] == [e.utility, e.sd, e.low, e.high]
        assert [int(row[name]) for name in ("rank", "rank_low", "rank_high")] == [e.rank, e.rank_low, e.rank_high]
        scores = [float(row[name]) for name in ("score", "score_low", "score_high")]
        assert scores == [e.score, e.score_low, e.score_high]
        assert (int(row["rank_class"]), int(row["highest_class"])) == (e.rank_class, e.highest_class)
        assert (float(row["p_top_k"]), int(row["n_comparisons"])) == (e.p_top, e.n_comparisons)
        assert (int(row["part"]), int(row["tier"]), row["next_state"]) == (e.part, e.tier, e.next_state)
        assert (row["fit"], row["divisiveness"], row["taste_1"]) == ("1", "", "")
    assert [int(row["part"]) for row in rows] == [0, 0, 0, 0, 1, 1]


def test_annotators_with_their_figures(owner, project):
    otter = make_annotator(project, "Quiet Otter", excluded_at=NOW)
    make_annotator(project, "Amber Heron")
    make_labels(project, [otter], 3, response_ms=2000)
    make_labels(project, [otter], 1, outcome=Label.Outcome.SKIP, response_ms=8000)
    fit = spread_fit(project, list(project.items.all()))
    tastes = {"taste_distance": 1.5, "taste_distance_low": 1.0, "taste_distance_high": 2.0, "scores": [0.5, -1.25]}
    estimate_annotator(fit, otter, agreement=0.75, reliability=0.9, **tastes)
    first, second = table_of(owner, project, "annotators")
    assert (first["annotator"], first["n_labels"], first["n_skips"], first["n_voided"]) == (
        "Quiet Otter",
        "4",
        "1",
        "0",
    )
    assert (first["median_seconds"], first["agreement"], first["reliability"]) == ("2.0", "0.75", "0.9")
    assert (first["taste_distance"], first["excluded"], first["fit"]) == ("1.5", "true", "1")
    assert (first["taste_distance_low"], first["taste_distance_high"]) == ("1.0", "2.0")
    assert [first[f"taste_{n}"] for n in range(1, 6)] == ["0.5", "-1.25", "", "", ""]
    assert second["taste_1"] == ""
    assert (second["n_labels"], second["median_seconds"], second["reliability"]) == ("0", "", "")


@pytest.mark.process
def test_comparisons_are_what_the_fit_counts_and_what_the_command_line_reads(owner, project, tmp_path):
    people = [make_annotator(project, name) for name in ("Quiet Otter", "Amber Heron")]
    make_labels(project, people, 60)
    make_labels(project, people, 6, outcome=Label.Outcome.TIE)
    make_labels(project, people, 4, outcome=Label.Outcome.SKIP)
    make_labels(project, people, 4, outcome=Label.Outcome.CANT_JUDGE)
    make_labels(project, people, 5, voided_at=timezone.now(), void_reason="undone")
    text = body(owner, project, "comparisons")
    data = fitting_reading.read_labels(Criterion(project)).data
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == data.n_labels == 66
    assert [float(row["outcome"]) for row in rows] == data.pairs().outcome.tolist()
    (tmp_path / "comparisons.csv").write_text(text)
    command = [sys.executable, "-m", "models_engine", "fit", str(tmp_path / "comparisons.csv")]
    done = subprocess.run([*command, "--output", str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "ranking.csv").open(newline="") as file:
        assert next(csv.reader(file)) == ENGINE_COLUMNS
