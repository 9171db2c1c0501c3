"""Tries the faults one after another, each on a project and processes of its own, and prints a line of each."""

import argparse
import re
import sys
import time
from pathlib import Path

from django.conf import settings
from django.db import connections
from django.utils import timezone

from annotate.models import Project
from tests.faults.crowd import Crowd
from tests.faults.fairness import LONG_SECONDS, measure_fairness
from tests.faults.faults import FAULTS, Fault
from tests.faults.scene import Scene
from tests.faults.services import CannotHaveIt
from tests.faults.shares import measure_shares
from tests.faults.soak import soak
from tests.load.database import ALIAS, own_database

BEFORE, AFTER = 4.0, 2.0


def run(options: argparse.Namespace, logs: Path, folder: Path, disk, postgres, redis) -> None:
    bad = False
    logs.mkdir(parents=True, exist_ok=True)
    with own_database(folder) as url:
        scene = Scene(url, folder, logs.resolve(), disk, postgres, redis)
        if options.what == "soak":
            soak(scene, options)
            return
        if options.what == "fairness":
            scene.slow_seconds = LONG_SECONDS
            scene.start(SECRET_KEY=settings.SECRET_KEY)
            try:
                print(f"{scene.vendor}: {measure_fairness(scene)}", flush=True)
            finally:
                scene.stop_processes()
            return
        if options.what == "shares":
            scene.start(SECRET_KEY=settings.SECRET_KEY)
            try:
                print(f"{scene.vendor}: {measure_shares(scene.port)}", flush=True)
            finally:
                scene.stop_processes()
            return
        for fault in FAULTS:
            if re.search(options.only, fault.name):
                bad |= try_fault(fault, scene, options.annotators)
    sys.exit(bad)


def try_fault(fault: Fault, scene: Scene, n: int) -> bool:
    """Prints the fault's line; whether an answer was lost or doubled, or service never came back."""
    if reason := fault.refuses(scene):
        if reason != "-":
            print(f"| {fault.name} | {scene.vendor} | {reason} | | | | | |", flush=True)
        return False
    crowd = None
    try:
        scene.start(fault.n_hosts, **fault.prepare(scene))
        project = scene.project(fault.name)
        crowd = Crowd(scene.port, project.join_token, n).start()
        wait_until(lambda: scene.versions(project)[1] > 0 and len(crowd.last) == n)
        time.sleep(BEFORE)
        fault.strike(scene)
        time.sleep(fault.seconds)
        mended = time.monotonic()
        fault.mend(scene)
        connections[ALIAS].close()
        back = scene.wait_for_full_service(project, crowd, mended)
        time.sleep(AFTER)
        crowd.stop()
        stored, doubled = scene.count(project, crowd)
        return show(fault, scene, crowd, stored, doubled, back)
    except CannotHaveIt as error:
        print(f"| {fault.name} | {scene.vendor} | skipped: {error} | | | | | |", flush=True)
        return False
    finally:
        if crowd:
            crowd.over.set()
        connections[ALIAS].close()
        scene.stop_processes()
        scene.patiently(archive_projects)


def archive_projects() -> None:
    """Spares the engine what this fault leaves behind, the poisonous projects above all."""
    Project.objects.using(ALIAS).update(state=Project.State.CLOSED, archived_at=timezone.now())


def show(
    fault: Fault, scene: Scene, crowd: Crowd, stored: int, doubled: int, back: tuple[float | None, float | None]
) -> bool:
    figures = [len(crowd.acknowledged), stored, doubled, f"{crowd.longest_silence():.1f}"]
    figures += ["never" if one is None else f"{one:.1f}" for one in back]
    print(f"| {fault.name} | {scene.vendor} | {' | '.join(str(one) for one in figures)} |", flush=True)
    statuses = ", ".join(f"{status}: {times}" for status, times in sorted(crowd.refused.items()))
    print(f"  answers refused by status: {statuses or 'none'}", file=sys.stderr, flush=True)
    if scene.proxy:
        print(f"  connections by web host: {[*scene.proxy.taken.values()]}", file=sys.stderr, flush=True)
    for line in crowd.broken:
        print(f"  {line}", file=sys.stderr, flush=True)
    alone = bool(scene.proxy) and not all(scene.proxy.taken.values())  # then it was no trial of several hosts
    return bool(stored < len(crowd.acknowledged) or doubled or None in back or crowd.broken or alone)


def wait_until(what, seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        if time.monotonic() > deadline:
            raise CannotHaveIt("the site did not come to work before the fault")
        time.sleep(0.1)
