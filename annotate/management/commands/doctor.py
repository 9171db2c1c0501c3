"""Says whether a site has everything it needs, and what to do where it has not: `manage.py doctor`."""

import sys
from typing import Any

from django.core.management.base import BaseCommand

from annotate.operations.doctor import CHECKS, GOOD, PROBLEM, WARNING, examine


class Command(BaseCommand):
    help = "Checks settings, database, disk, clock, permissions, migrations, static files, mail, Redis and engine."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Exits with 1 where there is a problem; a warning alone is none."""
        found = list(examine())
        style = {GOOD: self.style.SUCCESS, WARNING: self.style.WARNING, PROBLEM: self.style.ERROR}
        for topic in CHECKS:
            findings = [one for one in found if one.topic == topic]
            for one in findings:
                self.stdout.write(f"{topic}: {style[one.level](one.level)}. {one.text}")
                if one.advice:
                    self.stdout.write(f"    {one.advice}")
            if not findings:
                self.stdout.write(f"{topic}: {style[GOOD](GOOD)}.")
        n_problems = sum(one.level == PROBLEM for one in found)
        self.stdout.write(f"{n_problems} problem{'' if n_problems == 1 else 's'}.")
        if n_problems:
            sys.exit(1)
