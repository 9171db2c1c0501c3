"""The wheel, built and installed into empty environments: the engine and the client alone, and the site."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.request
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from tests.load.servers import free_port
from tests.migrated import copy_migrated
from tests.paths import ROOT
from tests.site.processes import wait_for, with_environment

pytestmark = [pytest.mark.process, pytest.mark.embedded]
UV = Path(sys.executable).with_name("uv")
SOURCES = ("annotate", "models_engine", "templates", "static", "docs")
# Nothing of this checkout, of its settings or of its environment reaches what is installed.
BARE = {"PATH": os.defpath, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
LABELS = "annotator,left,right,outcome\na,x,y,1\nb,y,z,1\na,x,z,0.5\n"


def run(*command: object, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(one) for one in command], capture_output=True, text=True, timeout=300, **options)


def install(environment: Path, *packages: object) -> subprocess.CompletedProcess[str]:
    """By uv, with the versions of the lock file: from its cache, or where that lacks some from the package index."""
    command = [UV, "pip", "install", "--python", environment / "bin" / "python", "-c", ROOT / "requirements.lock"]
    done = run(*command, "--offline", *packages)
    return done if done.returncode == 0 else run(*command, *packages)


def new_environment(folder: Path) -> Path:
    done = run(UV, "venv", "--python", sys.executable, folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built by the hatchling that pyproject.toml asks for, from a copy: building leaves files beside the sources."""
    if not UV.exists():
        pytest.skip(f"there is no uv beside {sys.executable}; `make install` puts it there")
    folder = tmp_path_factory.mktemp("wheel")
    builder = new_environment(folder / "builder")
    probe = install(builder, "hatchling>=1.27", "numpy", "scipy")
    if probe.returncode:
        pytest.skip(f"packages can't be installed here: {probe.stderr.strip()[-300:]}")
    source = folder / "source"
    for name in SOURCES:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "CITATION.cff"):
        shutil.copy(ROOT / name, source)
    python = builder / "bin" / "python"
    built = run(UV, "build", "--wheel", "--no-build-isolation", "--python", python, "--out-dir", folder, source)
    assert built.returncode == 0, built.stderr
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_every_page_static_file_and_translation(wheel):
    def files(folder: str, pattern: str) -> set[str]:
        return {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob(pattern) if path.is_file()}

    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
    bundled = {f"annotate/bundled/{name}" for folder in ("templates", "static") for name in files(folder, "*")}
    code = {name for folder in ("annotate", "models_engine") for name in files(folder, "*.py")}
    rest = inside - code
    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    documents = {name for name in named["force-include"].values() if name.endswith((".md", ".cff"))}
    documents |= {f"annotate/bundled/{name}" for name in files("docs/using", "*.md")}
    assert code <= inside
    assert len(bundled) > 200
    figures = {f"models_engine/analysis/{name}.json" for name in ("expected_quality", "stopping_errors")}
    assert rest == bundled | files("annotate", "*.mo") | files("annotate", "scripts/*") | documents | figures | {
        "models_engine/README.md"
    }


def test_engine_and_client_run_with_numpy_and_scipy_alone(wheel, tmp_path):
    environment = new_environment(tmp_path / "engine")
    done = install(environment, wheel)
    assert done.returncode == 0, done.stderr
    listed = json.loads(run(UV, "pip", "list", "--format", "json", "--python", environment / "bin" / "python").stdout)
    assert {package["name"] for package in listed} == {"crowdrank", "numpy", "scipy"}
    python, crowdrank = environment / "bin" / "python", environment / "bin" / "crowdrank"
    here = tmp_path / "here"
    here.mkdir()

    (here / "labels.csv").write_text(LABELS)
    fitted = run(python, "-m", "models_engine", "fit", "labels.csv", "--output", "out", cwd=here, env=BARE)
    assert fitted.returncode == 0, fitted.stderr
    assert (here / "out" / "ranking.csv").read_text().count("\n") == 4

    for client in ([python, "-m", "annotate.client"], [crowdrank, "client"]):
        asked = run(*client, "projects", cwd=here, env=BARE)
        assert (asked.returncode, asked.stderr.split(" to ")[0]) == (1, "Set CROWDRANK_URL")
    for command in (["demo"], []):
        refused = run(crowdrank, *command, cwd=here, env=BARE)
        assert refused.returncode == 1
        assert "pip install '.[site]'" in refused.stderr
        assert refused.stderr.count("\n") == 1
    assert {path.name for path in here.iterdir()} == {"labels.csv", "out"}


def fetch(address: str, **headers: str) -> str:
    """Raises HTTPError for anything but an answer."""
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=10) as reply:
        return reply.read().decode()


def test_the_demo_runs_from_the_installed_site(wheel, tmp_path):
    """On a database that was migrated before, which the installed migrations find complete."""
    environment = new_environment(tmp_path / "site")
    done = install(environment, f"{wheel}[site]")
    assert done.returncode == 0, done.stderr
    installed = {path for path in environment.rglob("*") if "__pycache__" not in path.parts}
    here = tmp_path / "here"
    here.mkdir()
    (here / ".demo").mkdir()
    copy_migrated(here / ".demo" / "db.sqlite3")
    mark = f"CROWDRANK_TEST={tmp_path}"
    command = [str(environment / "bin" / "crowdrank"), "demo", "--keep", "--port", str(port := free_port())]
    log = (here / "demo.log").open("wb")
    env = {**BARE, "CROWDRANK_TEST": str(tmp_path)}
    with closing(log), subprocess.Popen(command, cwd=here, env=env, stdout=log, stderr=log) as demo:
        try:
            check_pages(demo, f"http://127.0.0.1:{port}", here / "demo.log")
            demo.send_signal(signal.SIGTERM)
            assert demo.wait(60) == 0, (here / "demo.log").read_text()
            wait_for(lambda: not with_environment(mark), 60, "processes are left")
        finally:
            for pid in with_environment(mark):
                os.kill(pid, signal.SIGKILL)
    assert {path.name for path in here.iterdir()} == {".demo", "demo.log"}
    assert {path for path in environment.rglob("*") if "__pycache__" not in path.parts} == installed


def check_pages(demo: subprocess.Popen, site: str, log: Path) -> None:
    """The home page in both languages, its styles, and a project's entrance."""

    def said() -> str:
        assert demo.poll() is None, log.read_text()
        return log.read_text()

    wait_for(lambda: "Ctrl-C ends it" in said(), 180, "the demo did not start")
    assert "Skip to the content" in fetch(f"{site}/")
    home = fetch(f"{site}/", **{"Accept-Language": "de"})
    assert "Zum Inhalt springen" in home
    styles = re.findall(r'href="(/static/css/[\w.]+\.css)"', home)
    assert styles
    assert all("{" in fetch(f"{site}{style}") for style in styles)
    link = re.search(r"join link +(\S+)", said())
    assert link
    assert "<form" in fetch(link[1])
