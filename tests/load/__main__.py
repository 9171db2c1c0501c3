"""Measures submit-and-next under load: `python -m tests.load --annotators 200 --items 10000 --labels 100000`.

Open loop: every annotator answers at times drawn beforehand (exponential gaps of 3 s on average), and a latency counts
from the time an answer was due, so that a slow server can't slow its own test down. The server and its engine are real
processes; with DATABASE_URL naming a PostgreSQL they use a database of their own there, else a SQLite file.
"""

import argparse
import json
import os
import platform
import random
import statistics
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotate.settings")
os.environ.setdefault("DEBUG", "true")
django.setup()

from django.db import connection  # noqa: E402  (Django must be set up first)

from tests.load.client import AnnotatorClient  # noqa: E402
from tests.load.database import own_database, production_environment  # noqa: E402
from tests.load.seed import seed_project  # noqa: E402
from tests.load.servers import Process, engine, free_port, wait_until_it_answers, web  # noqa: E402


@dataclass
class Measured:
    latencies: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def annotate(client: AnnotatorClient, times: list[float], start: float, rng: random.Random, measured: Measured) -> None:
    for due in times:
        pause = start + due - time.perf_counter()
        if pause > 0:
            time.sleep(pause)
        reply = client.answer(rng.choice("ab"))
        if reply.status == 200 and client.token:
            measured.latencies.append(time.perf_counter() - start - due)
        else:
            measured.failures.append(f"{reply.status}: {reply.text[:200]}")
            if not client.look():
                return


def answer_times(rng: random.Random, mean: float, seconds: float) -> list[float]:
    times, now = [], rng.expovariate(1 / mean)
    while now < seconds:
        times.append(now)
        now += rng.expovariate(1 / mean)
    return times


def pids_of(process: Process) -> list[int]:
    """Return the ids of a running process and its children, from /proc."""
    pids = [process.child.pid]
    for pid in pids:  # grows while children are found
        for task in Path(f"/proc/{pid}/task").iterdir():  # a thread's children are its own in /proc
            pids += [int(child) for child in (task / "children").read_text().split()]
    return pids


def anonymous_mb(process: Process) -> float:
    """Return the memory, mapped files left out, of the largest of a process and its children, which answers."""
    told = [Path(f"/proc/{pid}/status").read_text() for pid in pids_of(process)]
    return max(int(text.partition("RssAnon:")[2].split()[0]) for text in told) / 1024


def cpu_seconds(process: Process) -> float:
    """User and system time of a running process and its children, from /proc."""
    total = 0
    for pid in pids_of(process):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def run(options: argparse.Namespace, url: str, folder: Path) -> dict:
    env, port = production_environment(url, folder), free_port()
    began = time.perf_counter()
    join_token = seed_project(options.items, options.labels)
    print(
        f"seeded {options.items} items and {options.labels} labels in {time.perf_counter() - began:.0f} s", flush=True
    )
    server = web(env, port, folder, options.workers).start()
    worker = engine(env, folder).start() if not options.no_worker else None
    try:
        wait_until_it_answers(port)
        clients = [AnnotatorClient("127.0.0.1", port, shows_ahead=True) for _ in range(options.annotators)]
        for number, client in enumerate(clients):
            client.join(join_token, f"Load {number:03d}")
        print(f"{len(clients)} annotators joined; measuring for {options.seconds} s", flush=True)
        return measure(options, clients, server, worker)
    finally:
        server.stop()
        if worker:
            worker.stop()


def measure(
    options: argparse.Namespace, clients: list[AnnotatorClient], server: Process, worker: Process | None
) -> dict:
    measured = Measured()
    rngs = [random.Random(options.seed * 1000 + i) for i in range(len(clients))]
    plans = [answer_times(rng, options.think, options.seconds) for rng in rngs]
    cpu_before = {"generator": time.process_time(), "server": cpu_seconds(server)}
    if worker:
        cpu_before["engine"] = cpu_seconds(worker)
    start = time.perf_counter()
    threads = [
        threading.Thread(target=annotate, args=(client, plan, start, rng, measured))
        for client, plan, rng in zip(clients, plans, rngs, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - start
    cpu = {"generator": time.process_time(), "server": cpu_seconds(server)}
    if worker:
        cpu["engine"] = cpu_seconds(worker)
    cuts = statistics.quantiles(measured.latencies, n=100)
    return {
        "database": connection.vendor,
        "annotators": len(clients),
        "web_processes": options.workers,
        "items": options.items,
        "labels_before": options.labels,
        "answers": len(measured.latencies),
        "answers_per_second": round(len(measured.latencies) / seconds, 1),
        "failures": len(measured.failures),
        "first_failure": measured.failures[:1],
        "median_ms": round(1000 * statistics.median(measured.latencies), 1),
        "p95_ms": round(1000 * cuts[94], 1),
        "p99_ms": round(1000 * cuts[98], 1),
        "max_ms": round(1000 * max(measured.latencies), 1),
        "cpu_ms_each": {
            name: round(1000 * (cpu[name] - cpu_before[name]) / len(measured.latencies), 2) for name in cpu
        },
        "web_process_mb": round(anonymous_mb(server)),
        "cpu_share": {name: round((cpu[name] - cpu_before[name]) / seconds, 2) for name in cpu},
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--annotators", type=int, default=200)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--labels", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--think", type=float, default=3.0, help="mean seconds between answers of one annotator")
    parser.add_argument("--workers", type=int, default=1, help="web processes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-worker", action="store_true", help="measure the web process alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, own_database(Path(name)) as url:
        print(json.dumps(run(options, url, Path(name)), indent=2))


if __name__ == "__main__":
    main()
