"""manage.py serve: the small deployment in one command, site and worker."""

import socket
from argparse import SUPPRESS, ArgumentParser
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from annotate.core import server
from annotate.core.child_processes import Child
from annotate.core.database_outages import require_database
from annotate.core.folders import COMMAND


class Command(BaseCommand):
    help = "Serves the site with a worker beside it. Sets an empty database up; refuses one of an older version."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1: this machine only)")
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--workers", type=int, default=1, help="web processes; one per core is best (1)")
        parser.add_argument("--no-worker", action="store_true", help="workers run elsewhere, by `manage.py worker`")
        parser.add_argument("--no-engine", action="store_true", help=SUPPRESS)  # the old name, until version 0.3
        parser.add_argument("--socket", type=int, help=SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["socket"] is not None:  # a helper: what follows was done by the process that started it
            server.run(socket.socket(fileno=options["socket"]), [], welcome="")
            return
        host, port, workers = options["host"], options["port"], options["workers"]
        if workers < 1:
            raise CommandError(f"--workers {workers} is too few: at least one web process has to answer.")
        listener = server.listen(host, port)
        check_static_files()
        require_database()
        prepare_database()
        if options["no_engine"]:
            warning = "`--no-engine` is called `--no-worker` now; the old name works until version 0.3."
            self.stderr.write(self.style.WARNING(warning))
        children = [] if options["no_worker"] or options["no_engine"] else [Child("worker")]
        children += server.web_processes(listener, workers - 1)
        server.run(listener, children, f"Crowdrank answers at {server.address(host, port)}")


def check_static_files() -> None:
    """Raises CommandError where pages would lack their style because nothing has been collected."""
    manifest = getattr(staticfiles_storage, "manifest_name", None)
    if manifest and not staticfiles_storage.exists(manifest):
        raise CommandError(f"There are no static files in {settings.STATIC_ROOT}. Run `{COMMAND} collectstatic` first.")


def prepare_database() -> None:
    """Creates the tables of an empty database; raises CommandError where an older version's would have to change."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if not plan:
        return
    if executor.loader.applied_migrations:
        names = ", ".join(str(migration) for migration, _ in plan)
        raise CommandError(
            f"The database is of an older version; {len(plan)} migrations are missing ({names}). "
            f"Back it up, then run `{COMMAND} migrate`."
        )
    call_command("migrate", verbosity=0, interactive=False)
