"""Measures pushes to everybody who watches a results link: `python -m tests.load.viewers --viewers 2000`.

One web process, a SQLite file, and viewers who read their streams in this process. A push counts from the commit of
what it shows. Beside it: what a page costs that asks instead, as pages without streams do.
"""

import argparse
import asyncio
import http.client
import json
import os
import resource
import statistics
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import django
from django.core.management import call_command
from django.utils import timezone

from tests.load.servers import Process, free_port, wait_until_it_answers, web

N_ITEMS = 200
N_ASKED = 200
FURTHER_FILES = 200
RATES = {"RATE_LIMIT_RESULTS_LIVE": "10000000/min"}


class Viewer:
    """One page: it notes when each new version reached it."""

    def __init__(self) -> None:
        self.arrived: dict[str, float] = {}
        self.bytes = 0

    async def connect(self, port: int, path: str) -> None:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
        self.writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        head = await self.reader.readuntil(b"\r\n\r\n")
        assert b" 200 " in head, head

    async def read(self) -> None:
        event = b""
        while data := await self.reader.read(2**16):
            self.bytes += len(data)
            *whole, event = (event + data).split(b"\n\n")
            for one in whole:
                if (at := one.find(b"id: ")) >= 0:
                    self.arrived[one[at + 4 :].partition(b"\n")[0].decode()] = time.perf_counter()


def cpu_of(process: Process) -> float:
    fields = Path(f"/proc/{process.child.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(process: Process) -> float:
    """Return the resident memory in MB."""
    fields = Path(f"/proc/{process.child.pid}/statm").read_text().split()
    return int(fields[1]) * resource.getpagesize() / 1e6


async def watch(options: argparse.Namespace, port: int, path: str, push, server: Process) -> dict:
    viewers = [Viewer() for _ in range(options.viewers)]
    began, memory = time.perf_counter(), memory_of(server)
    for start in range(0, len(viewers), 50):
        await asyncio.gather(*(one.connect(port, path) for one in viewers[start : start + 50]))
    joined, tasks = time.perf_counter() - began, [asyncio.create_task(one.read()) for one in viewers]
    await asyncio.sleep(2)
    latencies, cpu = [], []
    for number in range(options.pushes):
        before = cpu_of(server)
        version, committed = await asyncio.to_thread(push, number)
        deadline = time.perf_counter() + 30
        while time.perf_counter() < deadline and not all(version in one.arrived for one in viewers):
            await asyncio.sleep(0.05)
        cpu.append(cpu_of(server) - before)
        latencies += [one.arrived[version] - committed for one in viewers]  # KeyError: somebody got nothing
        await asyncio.sleep(0.5)
    idle, since = cpu_of(server), time.perf_counter()
    await asyncio.sleep(5)
    cuts = statistics.quantiles(latencies, n=100)
    told = {
        "viewers": len(viewers),
        "seconds_to_join": round(joined, 1),
        "kB_of_a_push": round(viewers[0].bytes / options.pushes / 1000, 1),
        "median_ms": round(1000 * statistics.median(latencies)),
        "p95_ms": round(1000 * cuts[94]),
        "max_ms": round(1000 * max(latencies)),
        "cpu_ms_of_a_push_to_all": round(1000 * statistics.median(cpu)),
        "cpu_share_while_nothing_changes": round((cpu_of(server) - idle) / (time.perf_counter() - since), 3),
        "kB_of_memory_each": round(1000 * (memory_of(server) - memory) / len(viewers), 1),
    }
    for task in tasks:
        task.cancel()
    for one in viewers:
        one.writer.close()
    return told


def milliseconds_of_asking(port: int, path: str, server: Process) -> float:
    """Return the CPU of a request by a page that has the newest version already."""
    connection, before = http.client.HTTPConnection("127.0.0.1", port), cpu_of(server)
    for _ in range(N_ASKED):
        connection.request("GET", path, headers={"HX-Request": "true"})
        response = connection.getresponse()
        response.read()
        assert response.status == 204, response.status
    connection.close()
    return round(1000 * (cpu_of(server) - before) / N_ASKED, 1)


def run(options: argparse.Namespace, folder: Path, env: dict[str, str]) -> dict:
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    from annotate.models import Project, ResultsLink  # noqa: PLC0415  (its models need Django set up)
    from annotate.publishing.results_links.live import current_version  # noqa: PLC0415
    from tests.conftest import make_items  # noqa: PLC0415
    from tests.site.factories import spread_fit  # noqa: PLC0415

    project = Project.objects.create(name="Watched", question="Which is better?", state="open")
    spread_fit(project, make_items(project, N_ITEMS))
    link = ResultsLink.objects.create(project=project, made_at=timezone.now(), shows_join=True)

    def push(number: int) -> tuple[str, float]:
        deadline = timezone.now() + timedelta(days=1, seconds=number)
        ResultsLink.objects.filter(pk=link.pk).update(deadline=deadline)
        committed = time.perf_counter()
        return current_version(ResultsLink.objects.select_related("project").get(pk=link.pk)), committed

    port, path = free_port(), f"/results/{link.token}/live/"
    server = web(env, port, folder).start()
    try:
        wait_until_it_answers(port)
        told = asyncio.run(watch(options, port, f"{path}stream/?seen={current_version(link)}", push, server))
        seen = push(99)[0]
        return {**told, "cpu_ms_of_a_page_that_asks": milliseconds_of_asking(port, f"{path}?seen={seen}", server)}
    finally:
        server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load.viewers", description=__doc__)
    parser.add_argument("--viewers", type=int, default=2000)
    parser.add_argument("--pushes", type=int, default=10)
    options = parser.parse_args()
    files = options.viewers + FURTHER_FILES
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, max(files, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    with tempfile.TemporaryDirectory() as name:
        settings = {
            "DJANGO_SETTINGS_MODULE": "annotate.settings",
            "DATABASE_URL": f"sqlite:///{name}/db.sqlite3",
            "STATIC_ROOT": f"{name}/static",
            "SECRET_KEY": "only for this measurement, fifty characters long or more",
            "ALLOWED_HOSTS": "127.0.0.1",
            "DEBUG": "false",
            "HTTPS": "false",
            **RATES,
        }
        os.environ.update(settings)
        django.setup()
        print(json.dumps(run(options, Path(name), dict(os.environ)), indent=2))


if __name__ == "__main__":
    main()
