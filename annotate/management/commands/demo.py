"""manage.py demo: a filled site on this machine, with its worker and a simulated crowd, or on a folder of real data."""

import fcntl
import os
import shutil
import signal
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, TextIO

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse
from django.utils import timezone

from annotate.core import server
from annotate.core.child_processes import Child, stop_with_starter
from annotate.core.folders import COMMAND
from annotate.demo.answers import make_leaderboard
from annotate.demo.environment import folder as demo_folder
from annotate.demo.jury import make_jury
from annotate.demo.known import KNOWN
from annotate.demo.manifest import BadFolder, Folder, open_folder
from annotate.demo.poll import make_poll
from annotate.demo.projects import OWNER, make_ideas, make_mottoes, make_posters, make_real, new_password, set_owner
from annotate.imports.comparisons.actions import Report
from annotate.models import Project

HOST = "127.0.0.1"
SHOWN_REFUSALS = 20


class Command(BaseCommand):
    help = "Fills a database in .demo/ and serves it on this machine with the engine and a simulated crowd."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--data", help="a folder of real comparisons, shown instead of the demo's own projects")
        parser.add_argument(
            "--crowd", action="store_true", help="with --data: let the simulated crowd answer there too"
        )
        parser.add_argument("--keep", action="store_true", help="continue with the database of the last demo")

    def handle(self, *args: Any, **options: Any) -> None:
        stop_with_starter()
        path = demo_folder()
        if settings.DATABASES["default"]["NAME"] != str(path / "db.sqlite3"):
            raise CommandError(f"The demo runs on its own database only; start it with `{COMMAND} demo`.")
        listener = server.listen(HOST, options["port"])
        data = self.open_data(options["data"])
        lock = take_lock(path)
        signal.signal(signal.SIGTERM, server.interrupt)
        try:
            self.prepare(path, keep=options["keep"])
            password = os.environ.get("DEMO_PASSWORD") or new_password()
            owner = set_owner(password)
            if not Project.objects.exists():
                self.fill(owner, data, crowd=options["crowd"])
            children = [Child("worker")]
            if Project.objects.filter(simulated=True).exists():
                children.append(Child("crowd"))
            server.run(listener, children, welcome(options["port"], password))
        except KeyboardInterrupt:
            pass
        finally:
            lock.close()

    def open_data(self, name: str | None) -> Folder | None:
        try:
            return open_folder(Path(name).expanduser(), KNOWN) if name else None
        except BadFolder as error:
            raise CommandError(str(error)) from error

    def prepare(self, path: Path, *, keep: bool) -> None:
        if not keep:
            for old in path.glob("db.sqlite3*"):
                old.unlink()
            shutil.rmtree(path / "media", ignore_errors=True)
        call_command("migrate", verbosity=0, interactive=False)
        call_command("collectstatic", verbosity=0, interactive=False)

    def fill(self, owner: Any, data: Folder | None, *, crowd: bool) -> None:
        started = time.perf_counter()
        now = timezone.now()
        if data is None:
            make_ideas(owner, now, id=settings.LANDING_PROJECT)
            make_posters(owner, now)
            make_mottoes(owner, now)
            make_jury(owner, now)
            make_leaderboard(owner, now)
            make_poll(owner, now)
            return
        try:
            project, report = make_real(owner, data, now, self.progress)
        except BadFolder as error:
            raise CommandError(str(error)) from error
        if crowd:
            Project.objects.filter(pk=project.pk).update(simulated=True)
        self.tell(project, report, time.perf_counter() - started)

    def progress(self, done: int, of: int) -> None:
        if self.stdout.isatty():
            self.stdout.write(f"\rImporting: {done:,} of {of:,} comparisons", ending="\n" if done == of else "")
            self.stdout.flush()

    def tell(self, project: Project, report: Report, seconds: float) -> None:
        write = self.stdout.write
        write(
            f"“{project}”: {report.n_rows:,} rows, {report.n_labels:,} labels by {report.n_annotators:,} annotators on "
            f"{project.items.count():,} items, imported in {seconds:.1f} s."
        )
        if report.refused:
            write(f"{len(report.refused):,} rows refused:")
        for refused in report.refused[:SHOWN_REFUSALS]:
            write(f"  row {refused.row:,}: {refused.reason}")
        if len(report.refused) > SHOWN_REFUSALS:
            write(f"  and {len(report.refused) - SHOWN_REFUSALS:,} more.")


def welcome(port: int, password: str) -> str:
    """Return what to type where."""
    address = server.address(HOST, port)
    lines = ["", f"Crowdrank answers at {address}", "", f"  Owner     {OWNER}", f"  Password  {password}", ""]
    for project in Project.objects.order_by("created_at"):
        lines += [
            f"  {project}" + (" (answers are simulated)" if project.simulated else ""),
            f"    dashboard  {address}{reverse('ranking', args=[project.pk])[1:]}",
            f"    join link  {address}{reverse('join', args=[project.join_token])[1:]}",
        ]
        lines += [
            f"    projector  {address}{reverse('results-live', args=[link.token])[1:]}"
            for link in project.results_links.filter(hides_names=True, revoked_at=None)
        ]
    return "\n".join([*lines, "", "  Ctrl-C ends it.", ""])


def take_lock(path: Path) -> TextIO:
    """Hold a lock while the demo runs: a second one would delete the database under the first."""
    file = (path / "lock").open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise CommandError(
            f"A demo is running in {path} already. Stop it, or set DEMO_FOLDER to another folder for this one."
        ) from error
    return file
