"""The engine's files of competitors and graded labels give the site the board that the engine's command line writes."""

import csv
import json

import numpy as np
import pytest
from django.core.management import call_command

from annotate.models import Item
from models_engine.__main__ import main as engine
from models_engine.models import Leaderboard
from models_engine.simulate import competition
from tests.site.fitting.test_run import fit_now

pytestmark = pytest.mark.embedded
NAMES = ["Alpaca", "Orca", "Llama"]


def write(path, rows) -> str:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return str(path)


@pytest.mark.slow
def test_the_board_is_that_of_the_engine_with_grades_counted(project, tmp_path, settings):
    settings.MEDIA_ROOT = str(tmp_path / "media")
    Item.objects.all().delete()
    project.task_type, project.estimator = "graded", "BradleyTerry"
    project.save()
    rng = np.random.default_rng(0)
    truth = competition(rng, 3, 12, 6, item_sd=0.5)
    data = truth.graded(240, (0.3, 1.2), rng)
    pairs, key = data.pairs(), [f"p{n // 3}-{NAMES[n % 3]}" for n in range(36)]
    labels = [("annotator", "left", "right", "outcome", "grade")]
    columns = zip(pairs.annotator, pairs.left, pairs.right, pairs.outcome, pairs.grade, strict=True)
    labels += [(f"w{who}", key[a], key[b], outcome, grade or "") for who, a, b, outcome, grade in columns]
    labels_csv = write(tmp_path / "labels.csv", labels)
    rows = [(one, NAMES[n % 3], f"prompt {n // 3}", "law" if n < 18 else "code") for n, one in enumerate(key)]
    competitors_csv = write(tmp_path / "competitors.csv", [("item", "competitor", "context", "tag"), *rows])
    out = tmp_path / "out"
    assert engine(["fit", labels_csv, "--competitors", competitors_csv, "--output", str(out)]) == 0
    call_command("import_file", "items", str(project.pk), competitors_csv)
    call_command("import_file", "comparisons", str(project.pk), labels_csv)
    fit_now(project)
    board = Leaderboard.objects.get().board
    assert len(json.loads((out / "leaderboard.json").read_text())["likelihood"]["cuts"]) == 2
    with (out / "leaderboard.csv").open() as file:
        written = {row["competitor"]: row for row in csv.DictReader(file)}
    for row in board["rows"]:
        own = written[row["name"]]
        assert row["rank"] == int(own["rank"])
        assert row["utility"] == pytest.approx(float(own["utility"]), abs=0.02)
        assert row["n_labels"] == int(own["n_labels"])
    assert len(board["tags"]) == 2
