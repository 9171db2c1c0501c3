"""Everything of the engine but its Django tables and its executor on Dask runs where neither is installed."""

import re
import subprocess
import sys
import tomllib

import pytest

import models_engine
from tests.paths import ROOT

SCRIPT = """
import importlib, pathlib, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"django", "annotate", "rest_framework", "channels", "dask", "distributed"}:
            raise ModuleNotFoundError(f"No module named {name!r} here")
sys.meta_path.insert(0, Blocked())
root = pathlib.Path("models_engine")
for path in sorted(root.rglob("*.py")):
    parts = path.with_suffix("").parts
    if "migrations" not in parts and parts[1] not in {*DJANGO, "cluster"}:
        importlib.import_module(".".join(parts).removesuffix(".__init__"))
from models_engine.__main__ import main
sys.exit(main(["fit", sys.argv[1], "--output", sys.argv[2]]))
"""


@pytest.mark.process
def test_all_modules_import_and_a_fit_runs_with_django_blocked(tmp_path):
    labels = tmp_path / "labels.csv"
    labels.write_text("annotator,left,right,outcome\na,x,y,1\nb,y,z,1\n")
    django_files = {
        path.stem
        for path in (ROOT / "models_engine").glob("*.py")
        if re.search(r"^(from|import) django", path.read_text(), re.M)
    }
    assert django_files <= {"apps", "models"}, "the only Django files of the engine"
    script = SCRIPT.replace("DJANGO", repr(django_files))
    done = subprocess.run(
        [sys.executable, "-c", script, str(labels), str(tmp_path / "out")], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "ranking.csv").read_text().count("\n") == 4


def test_the_version_matches_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert models_engine.__version__ == project["version"]
