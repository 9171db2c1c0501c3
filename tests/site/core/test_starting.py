"""Commands start without looking for garbage, and run with it."""

import gc

import pytest
from django.core.management import BaseCommand

from annotate.core import starting

pytestmark = pytest.mark.embedded


@pytest.fixture
def _collecting():
    yield
    gc.enable()


@pytest.mark.usefixtures("_collecting")
def test_collecting_is_looked_for_while_a_command_runs_but_not_among_what_was_imported(monkeypatch):
    gc.unfreeze()
    seen, frozen = [], gc.get_freeze_count()

    class Looking(BaseCommand):
        requires_system_checks = ()

        def handle(self, *_args, **_options):
            seen.append((gc.isenabled(), gc.get_freeze_count() - frozen > 10_000))

    def load(_app, _name):
        seen.append((gc.isenabled(), gc.get_freeze_count() - frozen > 10_000))
        return Looking()

    monkeypatch.setattr("django.core.management.load_command_class", load)
    starting.run_command(["manage.py", "check"])
    assert seen == [(False, False), (True, True)]
