"""Minutes of ordinary work, and what every process then holds in memory."""

import argparse
import statistics
import threading
import time
from collections import defaultdict
from pathlib import Path

from django.urls import reverse

from tests.faults.crowd import Crowd
from tests.faults.faults import children, is_fork_server
from tests.faults.scene import Scene
from tests.load.client import HIDDEN, AnnotatorClient

EVERY = 2.0
PAGES = ["ranking", "progress", "annotators", "trust", "engine", "items", "exports", "report"]


def soak(scene: Scene, options: argparse.Namespace) -> None:
    over = threading.Event()
    try:
        scene.start()
        project = scene.project("Soak")
        crowd = Crowd(scene.port, project.join_token, options.annotators, think=0.5).start()
        reader = threading.Thread(target=read_pages, args=(scene.port, str(project.pk), over, tally := {}), daemon=True)
        reader.start()
        samples = measure(scene, 60 * options.minutes)
        over.set()
        crowd.stop()
        stored, doubled = scene.count(project, crowd)
        show(scene, samples)
        pages = ", ".join(f"{n} of {page} ({status})" for (page, status), n in sorted(tally.items()))
        print(f"\n{len(crowd.acknowledged)} answers acknowledged, {stored} stored, {doubled} doubled, ", end="")
        print(f"{crowd.longest_silence():.1f} s the longest silence; pages: {pages}", flush=True)
    finally:
        over.set()
        scene.stop_processes()


def read_pages(port: int, project: str, over: threading.Event, tally: dict) -> None:
    """An owner who looks at every page in turn."""
    client = AnnotatorClient("127.0.0.1", port)
    page = client.request("GET", "/accounts/login/")
    form = {**dict(HIDDEN.findall(page.text)), "login": "alice@example.org", "password": "correct horse battery"}
    client.request("POST", "/accounts/login/", form)
    while not over.is_set():
        addresses = {name: reverse(name, args=[project]) for name in PAGES}
        addresses["labels"] = reverse("export", args=[project, "labels", "csv"])
        for name, address in addresses.items():
            reply = client.request("GET", address)
            tally[name, reply.status] = tally.get((name, reply.status), 0) + 1
            over.wait(0.5)


def measure(scene: Scene, seconds: float) -> list[dict[str, float]]:
    """Samples of the resident megabytes of each kind of process."""
    samples, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        samples.append(resident(scene))
        time.sleep(EVERY)
    return samples


def resident(scene: Scene) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    found["web, the first process"] += megabytes(scene.web.child.pid)
    for number, pid in enumerate(sorted(children(scene.web.child.pid))):
        found[f"web, process {number + 2}"] += megabytes(pid)
    found["engine"] += megabytes(scene.engine.child.pid)
    for pid in children(scene.engine.child.pid):
        if is_fork_server(pid):
            found["engine's fork server"] += megabytes(pid)
            for number, job in enumerate(sorted(children(pid))):
                found[f"engine's job process {number + 1}"] += megabytes(job)
    return found


def megabytes(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024
    except (OSError, IndexError, ValueError):  # it ended meanwhile
        return 0.0


def show(scene: Scene, samples: list[dict[str, float]]) -> None:
    """Prints a line of each process: the medians of the first and the last tenth, and the most."""
    tenth = max(1, len(samples) // 10)
    print(f"\n| process ({scene.vendor}) | RSS in the first tenth, MB | in the last tenth | most |\n|---|---|---|---|")
    for name in sorted({name for sample in samples for name in sample}):
        values = [sample[name] for sample in samples if name in sample]
        first = [sample[name] for sample in samples[:tenth] if name in sample] or values[:1]
        last = [sample[name] for sample in samples[-tenth:] if name in sample] or values[-1:]
        print(f"| {name} | {statistics.median(first):.0f} | {statistics.median(last):.0f} | {max(values):.0f} |")
