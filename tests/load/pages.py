"""Measures the CPU of every page about a large project: `python -m tests.load.pages --items 1000 --labels 100000`.

In one process, after the worker has fitted; the second of two requests counts, without the network.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import django
from django.core.management import call_command

from tests.load.answer import settings_for

LIMIT_MS = 150


def rows_of(options: argparse.Namespace) -> list[tuple[float, int, int, str]]:
    """Return (milliseconds, queries, bytes, name) of each page of a project's owner, the dearest first."""
    from django.db import connection  # noqa: PLC0415  (its models need Django set up)
    from django.test.utils import CaptureQueriesContext  # noqa: PLC0415

    from annotate.models import Annotator, Membership, Project, User  # noqa: PLC0415
    from tests.load import seed  # noqa: PLC0415
    from tests.site.pages import signed_in  # noqa: PLC0415
    from tests.site.test_access import RULES  # noqa: PLC0415
    from tests.site.test_query_counts import address  # noqa: PLC0415

    seed.ALIAS, seed.LABELS_EACH = "default", options.labels // options.people
    seed.seed_project(options.items, options.labels)
    project, owner = Project.objects.get(), User.objects.create_user("owner", "owner@example.org", "owner")
    Membership.objects.create(project=project, user=owner, role="owner")
    call_command("worker", once=True)
    client, found = signed_in(owner), []
    for name in sorted(name for name, (get, _) in RULES.items() if get):
        url = address(name, project, Annotator.objects.first())
        client.get(url)
        with CaptureQueriesContext(connection) as queries:
            began = time.process_time()
            response = client.get(url)
            took = time.process_time() - began
        if response.status_code == 200 and not response.streaming and "html" in response["Content-Type"]:
            found.append((1000 * took, len(queries), len(response.content), name))
    return sorted(found, reverse=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load.pages", description=__doc__)
    parser.add_argument("--items", type=int, default=1_000)
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--labels", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(settings_for(Path(folder)))
        django.setup()
        call_command("migrate", verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        rows = rows_of(options)
    print(f"{'ms of CPU':>10} {'queries':>8} {'kB':>6}  page")
    for milliseconds, queries, size, name in rows:
        print(f"{milliseconds:10.0f} {queries:8} {size / 1000:6.0f}  {name}")
    print(f"{sum(row[0] > LIMIT_MS for row in rows)} of {len(rows)} pages take more than {LIMIT_MS} ms.")


if __name__ == "__main__":
    main()
