"""The command `worker`, and the names that it and its option had before."""

import io

import pytest
from django.core.management import CommandError, call_command

from annotate.core import child_processes, server
from annotate.management.commands import serve

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("command", "warning"), [("worker", ""), ("engine", "`engine` is called `worker` now")])
def test_the_worker_runs_under_both_names(command, warning):
    out, err = io.StringIO(), io.StringIO()
    call_command(command, once=True, stdout=out, stderr=err)
    assert out.getvalue() == "0 fits published.\n"
    assert warning in err.getvalue()
    assert bool(warning) == bool(err.getvalue())


@pytest.mark.parametrize(
    ("options", "children", "warns"),
    [([], ["worker"], False), (["--no-worker"], [], False), (["--no-engine"], [], True)],
)
def test_the_site_starts_with_or_without_a_worker(monkeypatch, options, children, warns):
    started: list[child_processes.Child] = []

    def run(listener, kept, _welcome):
        listener.close()
        started.extend(kept)

    monkeypatch.setattr(server, "run", run)
    monkeypatch.setattr(serve, "check_static_files", lambda: None)
    err = io.StringIO()
    call_command("serve", "--port", "0", *options, stderr=err)
    assert [child.name for child in started] == children
    assert ("--no-engine` is called `--no-worker` now" in err.getvalue()) == warns


def test_a_site_needs_a_web_process():
    with pytest.raises(CommandError, match="--workers 0 is too few"):
        call_command("serve", "--port", "0", "--workers", "0")
