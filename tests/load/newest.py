"""Measures the seconds from an answer to the ranking that holds it: `python -m tests.load.newest --estimator CrowdBT`.

A real worker process fits a seeded project. Then answers come in one at a time, some while the worker fits, and this
process looks every .2 s for what changed, as the relay of live pages does, and draws the page's fragment. Printed are
the seconds from each answer's commit to the first fragment that says that it holds it, and of the full fits.

On a machine too busy for that, `--cpu` has no worker: it fits in this process and prints the CPU seconds of the fit, of
the quick step after 1, 1 and 100 more answers, and of the page's fragment.
"""

import argparse
import os
import random
import statistics
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import django
from django.core.management import call_command
from django.utils import timezone

from tests.load.answer import settings_for
from tests.load.servers import engine

POLL_SECONDS = 0.2  # annotate.live.consumers.POLL_SECONDS


class Site:
    """A seeded project with its owner's browser, and more answers to come."""

    def __init__(self, options: argparse.Namespace) -> None:
        from annotate.models import Annotator, Item, Membership, Project, User  # noqa: PLC0415  (need Django set up)
        from tests.load import seed  # noqa: PLC0415
        from tests.site.pages import signed_in  # noqa: PLC0415

        seed.ALIAS, seed.LABELS_EACH = "default", options.labels // options.people
        seed.seed_project(options.items, options.labels)
        Project.objects.update(estimator=options.estimator)
        self.project, owner = Project.objects.get(), User.objects.create_user("owner", "owner@example.org", "owner")
        Membership.objects.create(project=self.project, user=owner, role="owner")
        self.client, self.rng, self.write = signed_in(owner), random.Random(2), seed.write
        self.items, self.people = list(Item.objects.all()), list(Annotator.objects.all())

    def new_pair(self) -> list[Any]:
        from annotate.labelling.item_sets import set_key  # noqa: PLC0415
        from annotate.models import ItemSet  # noqa: PLC0415

        pair = self.rng.sample(self.items, 2)
        known = ItemSet.objects.filter(project=self.project, key=set_key([one.pk for one in pair])).exists()
        return self.new_pair() if known else pair

    def answer(self, n: int) -> int:
        """Stores n answers about new pairs; returns the version of the data with them."""
        from annotate.jobs.fit_requests import request_fit  # noqa: PLC0415
        from annotate.models import FitState  # noqa: PLC0415

        self.write(self.project, self.people, [self.new_pair() for _ in range(n)], 0, self.rng, timezone.now())
        request_fit(self.project)
        return int(FitState.objects.get(pk=self.project.pk).wanted)

    def draw(self) -> str:
        from tests.site.pages import HTMX, page  # noqa: PLC0415

        return page(self.client, self.project, **HTMX)

    def wait_for(self, version: int, limit: float) -> float:
        """Returns the seconds until a ranking with this version of the data has been drawn."""
        from annotate.live.queries import revisions  # noqa: PLC0415
        from annotate.models import FitState, ProvisionalRanking  # noqa: PLC0415

        fitted = FitState.objects.filter(pk=self.project.pk, fitted__gte=version)
        provisional = ProvisionalRanking.objects.filter(project=self.project, version__gte=version, rows__isnull=False)
        began, seen = time.perf_counter(), revisions([self.project.pk])[self.project.pk]
        while time.perf_counter() - began < limit:
            time.sleep(POLL_SECONDS)
            now = revisions([self.project.pk])[self.project.pk]
            if (now["fit"], now["newest"]) != (seen["fit"], seen["newest"]):
                seen, holds = now, fitted.exists() or provisional.exists()
                self.draw()
                if holds:
                    return time.perf_counter() - began
        raise TimeoutError(f"no ranking with the answer within {limit} seconds")


def measure(options: argparse.Namespace, folder: Path) -> None:
    """Prints seconds from answers to the ranking with them, and the seconds of the full fits meanwhile."""
    from models_engine.models import Fit  # noqa: PLC0415

    site = Site(options)
    worker = engine(dict(os.environ), folder).start()
    try:
        site.wait_for(options.labels, options.limit)
        seconds, began = [], Fit.objects.count()
        for _ in range(options.answers):
            time.sleep(site.rng.uniform(0, options.pause))
            seconds.append(site.wait_for(site.answer(1), options.limit))
    finally:
        worker.stop()
    fits = list(Fit.objects.filter(number__gt=began).exclude(seconds=None).values_list("seconds", flat=True))
    median, longest = statistics.median(seconds), max(seconds)
    print(
        f"{options.estimator}: {len(seconds)} answers, median {median:.2f} s, longest {longest:.2f} s to the ranking;"
    )
    print(f"full fits took {min(fits, default=0):.2f} to {max(fits, default=0):.2f} s ({len(fits)} of them)")


def measure_cpu(options: argparse.Namespace) -> None:
    """Prints CPU seconds of the full fit, of steps and of fragments, all in this process."""
    from annotate.fitting import provisional_queue, run, scheduling  # noqa: PLC0415

    def go_on(step: int, total: int, objective: float) -> bool:
        return True

    site, later = Site(options), timedelta(hours=1)
    began = time.process_time()
    run.run(scheduling.claim_next(owner="load", now=timezone.now() + later), progress=go_on)
    print(f"{options.estimator}, {options.labels:,} labels: full fit {time.process_time() - began:.2f} s of CPU")
    site.draw()
    for n in (1, 1, 100):
        site.answer(n)
        began = time.process_time()
        row = provisional_queue.QUEUE.claim_next(owner="load", now=timezone.now() + later)
        provisional_queue.QUEUE.work(row, progress=go_on)
        step, began = time.process_time() - began, time.process_time()
        said = "in a quick step" in site.draw()
        drawn = time.process_time() - began
        print(f"{n} more: step {step:.2f}, fragment {drawn:.2f} s of CPU{'' if said else ', which does not say it'}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load.newest", description=__doc__)
    parser.add_argument("--estimator", default="CrowdBT")
    parser.add_argument("--items", type=int, default=1_000)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--labels", type=int, default=50_000)
    parser.add_argument("--answers", type=int, default=12)
    parser.add_argument("--pause", type=float, default=3.0, help="seconds between two answers at most")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds to wait at most")
    parser.add_argument("--cpu", action="store_true", help="CPU seconds in this process, without a worker")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(settings_for(Path(folder)))
        django.setup()
        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        if options.cpu:
            measure_cpu(options)
        else:
            measure(options, Path(folder))


if __name__ == "__main__":
    main()
