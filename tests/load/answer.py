"""Measures the CPU time of an answer and the next task in one process: `python -m tests.load.answer --beside ../other`.

Nothing but this process works: the figure is what the web process spends on an answer, without HTTP and threads. With
`--beside` another checkout is measured in turns with this one, `--turns` times each, since machines are noisy.
"""

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

import django
from django.core.management import call_command
from django.test import Client

HERE = Path(__file__).resolve().parents[2]
TOKEN = re.compile(r'/label/([\w-]{10,})/"')
HELD = re.compile(r'data-token="([\w-]+)"')  # the token of the task, then that of the question ahead
HIDDEN = re.compile(r'<input type="hidden" name="([\w-]+)" value="([^"]*)"')


def milliseconds_each(n_items: int, n_labels: int, n_answers: int) -> float:
    """Return the CPU time of an answer and the next task on the database that DATABASE_URL names, which is empty."""
    django.setup()
    from tests.load import seed  # noqa: PLC0415  (its models need Django set up)

    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    seed.ALIAS = "default"
    address = f"/join/{seed.seed_project(n_items, n_labels)}/"
    client, page = join(address)
    rng = random.Random(1)
    page = answer_often(client, page, 20, rng)  # what is compiled and kept is from here on
    began = time.process_time()
    answer_often(client, page, n_answers, rng)
    return 1000 * (time.process_time() - began) / n_answers


def join(address: str) -> tuple[Client, str]:
    """Return a browser that has joined by this link, and the page with its first task."""
    client = Client()
    form = dict(HIDDEN.findall(client.get(address).content.decode()))
    joined = client.post(address, {**form, "pseudonym": "One"})
    return client, client.post(joined["Location"], follow=True).content.decode()


def answer_often(client: Client, page: str, n: int, rng: random.Random) -> str:
    """Answers the task on the page and those that come after it, as the page does; return the last page."""
    for _ in range(n):
        token, ahead = [*HELD.findall(page), "", ""][:2]
        form = {"answer": rng.choice("ab"), "response_ms": "1500", **({"shown": ahead} if ahead else {})}
        reply = client.post(
            f"/label/{token or TOKEN.findall(page)[0]}/",
            urlencode(form),
            content_type="application/x-www-form-urlencoded",
            headers={"HX-Request": "true"},
        )
        page = reply.content.decode()
    return page


def settings_for(folder: Path) -> dict[str, str]:
    """Return what the site runs with while it is measured, its database in the folder."""
    return {
        "DJANGO_SETTINGS_MODULE": "annotate.settings",
        "DATABASE_URL": f"sqlite:///{folder}/db.sqlite3",
        "STATIC_ROOT": f"{folder}/static",
        "SECRET_KEY": "only for this measurement, fifty characters long or more",
        "ALLOWED_HOSTS": "testserver",
        "DEBUG": "false",
        "HTTPS": "false",
        "RATE_LIMIT_ANSWER": "1000000/min",
    }


def measure(root: Path, options: argparse.Namespace) -> float:
    """Return the figure of a checkout, measured in a process of its own with this very file."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "PYTHONPATH": str(root), **settings_for(Path(folder))}
        numbers = [str(n) for n in (options.items, options.labels, options.answers)]
        done = subprocess.run(
            [sys.executable, __file__, "--alone", *numbers], cwd=root, env=env, stdout=subprocess.PIPE, check=True
        )
    return float(done.stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load.answer", description=__doc__)
    parser.add_argument("--items", type=int, default=3_000)
    parser.add_argument("--labels", type=int, default=15_000)
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--beside", type=Path, help="another checkout, with the same dependencies")
    options = parser.parse_args()
    roots = [HERE, *([options.beside.resolve()] if options.beside else [])]
    figures: dict[Path, list[float]] = {root: [] for root in roots}
    for turn in range(options.turns):
        for root in roots:
            figures[root].append(measure(root, options))
            print(f"{turn + 1} of {options.turns}: {root.name}: {figures[root][-1]:.2f} ms", flush=True)
    for root in roots:
        best = min(figures[root])
        print(f"{root.name}: {best:.2f} ms of CPU for an answer and the next task, the best of {options.turns}")
    if options.beside:
        print(f"ratio: {min(figures[roots[0]]) / min(figures[roots[1]]):.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        print(milliseconds_each(*map(int, sys.argv[2:])))
    else:
        main()
