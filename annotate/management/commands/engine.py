"""manage.py engine: the old name of `manage.py worker`; it works until version 0.3."""

from typing import Any

from annotate.management.commands.worker import Command as WorkerCommand


class Command(WorkerCommand):
    help = "The old name of `worker`, until version 0.3."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stderr.write(self.style.WARNING("`engine` is called `worker` now; the old name works until version 0.3."))
        super().handle(*args, **options)
