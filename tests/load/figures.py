"""Measures a few figures as ratios to a fixed computation, and compares them with the kept ones: `make bench-check`.

The yardstick is timed before and after each piece of work in the same process, so that a slow or busy machine slows
down both. Each is measured by CPU time several times and the best counts. Fails where one is slower than the tolerance
allows.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import django
import numpy as np
from django.core.management import call_command
from django.urls import reverse

from models_engine.estimators.table import ESTIMATORS
from models_engine.simulate import simulate_crowd
from tests.load import ratios
from tests.load.answer import answer_often, join, settings_for
from tests.migrated import copy_migrated

N_ITEMS, N_LABELS = 1_200, 100_000
# Estimator, items, annotators, labels: each some tenths of a second.
FITS = (("BradleyTerry", 500, 50, 20_000), ("CrowdBT", 200, 30, 4_000), ("CollaborativeGP", 50, 10, 600))

Work = Callable[[], float]  # returns what is to be divided by the yardstick: seconds of CPU


def yardstick() -> float:
    """Return the CPU seconds of a computation that never changes: half of it Python, half numpy."""
    began = time.process_time()
    counts: dict[str, int] = {}
    for n in range(60_000):
        word = f"{n * 7919 % 1009}"
        counts[word] = counts.get(word, 0) + len(word)
    rng = np.random.default_rng(1)
    square = rng.normal(size=(200, 200))
    for _ in range(4):
        np.linalg.cholesky(square @ square.T + 200 * np.eye(200))
        np.sort(rng.normal(size=100_000))
    return time.process_time() - began


def measure_ratio(work: Work, repeats: int) -> float:
    """Return the best of the work over the best of the yardstick, taken in turns."""
    yards, times = [yardstick()], []
    for _ in range(repeats):
        times.append(work())
        yards.append(yardstick())
    return min(times) / min(yards)


def timed(call: Callable[[], object]) -> Work:
    """Return work that takes as long as the call."""

    def work() -> float:
        began = time.process_time()
        call()
        return time.process_time() - began

    return work


def fits() -> Iterator[tuple[str, Work]]:
    for name, n_items, n_annotators, n_labels in FITS:
        rng = np.random.default_rng(1)
        data = simulate_crowd(rng, n_items, n_annotators).pairs(n_labels, rng)
        estimator = ESTIMATORS[name].estimator()
        work = timed(lambda estimator=estimator, data=data: estimator.fit(data).standard_deviations())
        yield f"{name}, {n_items:,} items, {n_labels:,} labels", work


def site() -> Iterator[tuple[str, Work]]:
    """Yields what the site does; Django is set up, its database empty."""
    # Models need Django set up.
    from annotate.criteria import Criterion  # noqa: PLC0415
    from annotate.fitting.reading import read_labels  # noqa: PLC0415
    from annotate.models import Membership, Project, User  # noqa: PLC0415
    from tests.load import seed  # noqa: PLC0415
    from tests.site.factories import spread_fit  # noqa: PLC0415
    from tests.site.pages import signed_in  # noqa: PLC0415

    call_command("collectstatic", interactive=False, verbosity=0)
    seed.ALIAS = "default"
    project = Project.objects.get(join_token=seed.seed_project(N_ITEMS, N_LABELS))
    yield f"reading {N_LABELS:,} labels into arrays", timed(lambda: read_labels(Criterion(project)))

    client, page = join(f"/join/{project.join_token}/")
    rng = random.Random(1)
    page = answer_often(client, page, 20, rng)  # what is compiled and kept is from here on

    def answer() -> float:
        nonlocal page
        began = time.process_time()
        page = answer_often(client, page, 50, rng)
        return (time.process_time() - began) / 50

    yield "an answer and the next task", answer

    spread_fit(project, list(project.items.order_by("pk")))
    owner = User.objects.create_user("owner@example.org", email="owner@example.org")
    Membership.objects.create(project=project, user=owner, role=Membership.Role.OWNER)
    viewer = signed_in(owner)
    address = reverse("ranking", args=[project.pk])
    found = viewer.get(address)
    assert found.status_code == 200, (found.status_code, found.headers)
    yield f"the ranking page of {N_ITEMS:,} items", timed(lambda: viewer.get(address))


def measure() -> dict[str, float]:
    """Return every ratio by the name of its figure."""
    found = {}
    for source, repeats in ((fits, 3), (site, 10)):
        for name, work in source():
            found[name] = measure_ratio(work, repeats)
            print(f"{name}: {found[name]:.3f}", file=sys.stderr, flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.load.figures", description=__doc__)
    parser.add_argument("--update", action="store_true", help="keep what is measured now")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        copy_migrated(Path(folder) / "db.sqlite3")
        os.environ.update(settings_for(Path(folder)))
        django.setup()
        measured = measure()
    rows = ratios.compare(ratios.read(ratios.FILE), measured)
    print(ratios.table(rows))
    if options.update:
        ratios.write(ratios.FILE, measured)
        return 0
    if ratios.has_failed(rows):
        print(f"Failed: more than {ratios.TOLERANCE} times as slow as kept, or not what is kept (UPDATE=1 keeps it).")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
