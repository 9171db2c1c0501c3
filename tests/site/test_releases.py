"""What `make audit` says of a lock file, from what pip-audit answers."""

import json
import runpy

import pytest

from tests.paths import ROOT

pytestmark = pytest.mark.embedded
READ = runpy.run_path(str(ROOT / ".ci" / "audit.py"))["read"]
CLEAN = {"name": "django", "version": "5.2.9", "vulns": []}
FLAW = {"id": "PYSEC-2026-1", "fix_versions": ["2.1"]}


def answered(*packages: dict) -> str:
    return json.dumps({"dependencies": packages, "fixes": []})


def test_a_vulnerable_package_is_named_with_the_version_that_mends_it():
    lines, is_vulnerable = READ("x.lock", answered(CLEAN, {"name": "pillow", "version": "2", "vulns": [FLAW]}), "")
    assert is_vulnerable
    assert lines == ["x.lock: pillow 2 has PYSEC-2026-1, mended in 2.1"]


def test_what_could_not_be_looked_up_is_not_called_clean():
    unknown = {"name": "numpy", "skip_reason": "Dependency not found on PyPI"}
    lines, is_vulnerable = READ("x.lock", answered(CLEAN, unknown), "")
    assert not is_vulnerable
    assert lines == ["SKIPPED the audit of 1 of 2 packages of x.lock, numpy the first"]


def test_data_out_of_reach_are_said():
    lines, is_vulnerable = READ("x.lock", "", "Traceback\nConnectionError: no route\n")
    assert (lines, is_vulnerable) == (["SKIPPED the audit of x.lock: ConnectionError: no route"], False)


def test_a_clean_lock_is_said_to_be():
    assert READ("x.lock", answered(CLEAN), "")[0] == ["x.lock: 1 packages, none with a known vulnerability"]
