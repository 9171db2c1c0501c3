"""What the Makefile does for a checkout whose environment is a link, as in a worktree that shares it."""

import shutil
import subprocess
import sys

import pytest

from tests.paths import ROOT

pytestmark = [pytest.mark.process, pytest.mark.embedded, pytest.mark.slow]


def test_an_environment_behind_a_link_is_kept(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "shared"], check=True, capture_output=True)
    made = (tmp_path / "shared" / "pyvenv.cfg").read_text()
    (tmp_path / ".venv").symlink_to("shared")
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "requirements-bootstrap.lock").touch()
    done = subprocess.run(["make", ".venv/bin/uv"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / ".venv").is_symlink()
    assert (tmp_path / "shared" / "bin" / "uv").exists()
    assert (tmp_path / "shared" / "pyvenv.cfg").read_text() == made
