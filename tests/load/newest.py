"""Measures the seconds from an answer to the ranking that holds it: `python -m tests.load.newest --estimator CrowdBT`.

A real worker process fits a seeded project. Then answers come in one at a time, some while the worker fits, and this
process looks every .2 s for what changed, as the relay of live pages does, and draws the page's fragment. Printed are
the seconds from each answer's commit to the first fragment that says that it holds it, and of the full fits.
"""

import argparse
import os
import random
import statistics
import tempfile
import time
from pathlib import Path

import django
from django.core.management import call_command
from django.utils import timezone

from tests.load.answer import settings_for
from tests.load.servers import engine

POLL_SECONDS = 0.2  # annotate.live.consumers.POLL_SECONDS


def measure(options: argparse.Namespace, folder: Path) -> tuple[list[float], list[float]]:
    """Return seconds from answers to the ranking with them, and the seconds of the full fits meanwhile."""
    from annotate.jobs.fit_requests import request_fit  # noqa: PLC0415  (its models need Django set up)
    from annotate.labelling.item_sets import set_key  # noqa: PLC0415
    from annotate.live.queries import revisions  # noqa: PLC0415
    from annotate.models import Annotator, FitState, Item, ItemSet, Membership, Project, ProvisionalRanking, User  # noqa: PLC0415
    from models_engine.models import Fit  # noqa: PLC0415
    from tests.load import seed  # noqa: PLC0415
    from tests.site.pages import HTMX, page, signed_in  # noqa: PLC0415

    seed.ALIAS, seed.LABELS_EACH = "default", options.labels // options.people
    seed.seed_project(options.items, options.labels)
    Project.objects.update(estimator=options.estimator)
    project, owner = Project.objects.get(), User.objects.create_user("owner", "owner@example.org", "owner")
    Membership.objects.create(project=project, user=owner, role="owner")
    client, rng = signed_in(owner), random.Random(2)
    items, people = list(Item.objects.all()), list(Annotator.objects.all())
    worker = engine(dict(os.environ), folder).start()

    def new_pair() -> list[Item]:
        pair = rng.sample(items, 2)
        known = ItemSet.objects.filter(project=project, key=set_key([one.pk for one in pair])).exists()
        return new_pair() if known else pair

    def is_held(version: int) -> bool:
        fitted = FitState.objects.filter(pk=project.pk, fitted__gte=version)
        heard = ProvisionalRanking.objects.filter(project=project, version__gte=version, rows__isnull=False)
        return fitted.exists() or heard.exists()

    def wait_for(version: int, limit: float) -> float:
        began, seen = time.perf_counter(), revisions([project.pk])[project.pk]
        while time.perf_counter() - began < limit:
            time.sleep(POLL_SECONDS)
            now = revisions([project.pk])[project.pk]
            if (now["fit"], now["newest"]) != (seen["fit"], seen["newest"]):
                seen, holds = now, is_held(version)
                page(client, project, **HTMX)
                if holds:
                    return time.perf_counter() - began
        raise TimeoutError(f"no ranking with the answer within {limit} seconds; see {folder / 'engine.log'}")

    try:
        wait_for(FitState.objects.get(pk=project.pk).wanted, options.limit)
        time.sleep(options.pause)  # the pause after the fit, and the start of what idle workers do
        found, began = [], Fit.objects.count()
        for _ in range(options.answers):
            pair = [new_pair()]
            seed.write(project, people, pair, 0, rng, timezone.now())
            request_fit(project)
            found.append(wait_for(FitState.objects.get(pk=project.pk).wanted, options.limit))
            time.sleep(rng.uniform(0, options.pause))
        return found, list(Fit.objects.filter(number__gt=began).exclude(seconds=None).values_list("seconds", flat=True))
    finally:
        worker.stop()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load.newest", description=__doc__)
    parser.add_argument("--estimator", default="CrowdBT")
    parser.add_argument("--items", type=int, default=1_000)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--labels", type=int, default=50_000)
    parser.add_argument("--answers", type=int, default=12)
    parser.add_argument("--pause", type=float, default=3.0, help="seconds between two answers at most")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds to wait at most")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(settings_for(Path(folder)))
        django.setup()
        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        seconds, fits = measure(options, Path(folder))
    median, longest = statistics.median(seconds), max(seconds)
    print(
        f"{options.estimator}: {len(seconds)} answers, median {median:.2f} s, longest {longest:.2f} s to the ranking;"
    )
    print(f"full fits took {min(fits, default=0):.2f} to {max(fits, default=0):.2f} s ({len(fits)} of them)")


if __name__ == "__main__":
    main()
