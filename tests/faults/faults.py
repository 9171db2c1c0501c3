"""Every fault: what it does to the site, how long it lasts, and what ends it."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from django.db import connections

from tests.faults.scene import Scene
from tests.faults.services import CannotHaveIt, Disk, Postgres, Redis
from tests.load.database import ALIAS

HOURS = 7200


def nothing(scene: Scene) -> None:
    """What supervises itself needs nobody."""


@dataclass
class Fault:
    name: str
    strike: Callable[[Scene], None] = nothing
    mend: Callable[[Scene], None] = nothing
    seconds: float = 1.0
    prepare: Callable[[Scene], dict[str, str]] = field(default=lambda scene: {})
    vendor: str = ""  # of the one database that it is about
    needs: str = ""  # the service of the run's own that it hurts
    n_hosts: int = 1  # web hosts, of several behind a proxy

    def refuses(self, scene: Scene) -> str:
        """Why it can't be tried here; empty where it can."""
        if self.vendor and self.vendor != scene.vendor:
            return "-"
        service = getattr(scene, self.needs) if self.needs else None
        return service if isinstance(service, str) else ""


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return found


def kill_one(pids: list[int]) -> None:
    if not pids:
        raise CannotHaveIt("no such process was there")
    os.kill(pids[0], signal.SIGKILL)


def kill_web_child(scene: Scene) -> None:
    kill_one(children(scene.web.child.pid))


def kill_web_host(scene: Scene) -> None:
    """All processes of one host, as a power cut would; the proxy in front goes on with the others."""
    pid = scene.hosts[-1].child.pid
    for one in [*children(pid), pid]:
        os.kill(one, signal.SIGKILL)
    scene.hosts[-1].child.wait()


def is_fork_server(pid: int) -> bool:
    return b"forkserver" in Path(f"/proc/{pid}/cmdline").read_bytes()


def kill_fork_server(scene: Scene) -> None:
    kill_one([one for one in children(scene.engine.child.pid) if is_fork_server(one)])


def kill_job(scene: Scene) -> None:
    kill_one([job for one in children(scene.engine.child.pid) for job in children(one)])


def kill_all(scene: Scene) -> None:
    scene.engine.kill()
    scene.web.kill()


def start_all(scene: Scene) -> None:
    scene.engine.start()
    scene.web.start()


def poison(scene: Scene) -> dict[str, str]:
    for estimator in ("Dying", "Greedy", "Hanging"):
        scene.vote(scene.project(f"Poison {estimator}", estimator, n_items=8), 4)
    return {"WORKER_JOB_SECONDS": "20", "WORKER_JOB_MEMORY_MB": "300"}


def moved_clock(scene: Scene) -> dict[str, str]:
    move_clock(scene, 0)
    return {"PYTHONPATH": str(Path(__file__).parent / "clock"), "CLOCK_FILE": str(scene.logs / "clock")}


def move_clock(scene: Scene, seconds: int) -> None:
    new = scene.logs / "clock.new"
    new.write_text(str(seconds))
    new.replace(scene.logs / "clock")


def disk_of(scene: Scene) -> Disk:
    assert isinstance(scene.disk, Disk)
    return scene.disk


def repair_disk(scene: Scene) -> None:
    scene.stop_processes()
    connections[ALIAS].close()
    disk_of(scene).repair()
    start_all(scene)


def service(kind: type, name: str, action: str, **arguments) -> Callable[[Scene], None]:
    def act(scene: Scene) -> None:
        found = getattr(scene, name)
        assert isinstance(found, kind)
        getattr(found, action)(**arguments)

    return act


def restart_postgres(scene: Scene) -> None:
    assert isinstance(scene.postgres, Postgres)
    scene.postgres.stop()
    time.sleep(1)
    scene.postgres.start()


FAULTS = [
    Fault("none, to compare", seconds=3),
    Fault("kill -9 of site (web and engine)", kill_all, start_all),
    Fault("kill -9 of one web process of two", kill_web_child),
    Fault("kill -9 of one web host of three", kill_web_host, vendor="postgresql", needs="redis", n_hosts=3, seconds=3),
    Fault("kill -9 of the engine", lambda scene: scene.engine.kill(), lambda scene: scene.engine.start()),
    Fault("kill -9 of the engine's fork server", kill_fork_server),
    Fault("kill -9 of the process that fits", kill_job),
    Fault("three poisonous projects", prepare=poison, seconds=10),
    Fault(
        "Redis killed",
        service(Redis, "redis", "kill"),
        service(Redis, "redis", "start"),
        seconds=5,
        needs="redis",
    ),
    Fault("PostgreSQL restarted", restart_postgres, seconds=0, vendor="postgresql", needs="postgres"),
    Fault(
        "PostgreSQL killed, 5 s away",
        service(Postgres, "postgres", "kill"),
        service(Postgres, "postgres", "start"),
        seconds=5,
        vendor="postgresql",
        needs="postgres",
    ),
    Fault(
        "PostgreSQL stopped (SIGSTOP) for 5 s",
        service(Postgres, "postgres", "freeze"),
        service(Postgres, "postgres", "thaw"),
        seconds=5,
        vendor="postgresql",
        needs="postgres",
    ),
    Fault(
        "database read-only",
        service(Postgres, "postgres", "set_read_only", on=True),
        service(Postgres, "postgres", "set_read_only", on=False),
        seconds=5,
        vendor="postgresql",
        needs="postgres",
    ),
    Fault("disk full", lambda scene: disk_of(scene).fill(), lambda scene: disk_of(scene).empty(), 5, needs="disk"),
    Fault(
        "disk fails: read-only until repaired",
        lambda scene: disk_of(scene).fail(),
        repair_disk,
        seconds=5,
        vendor="sqlite",
        needs="disk",
    ),
    Fault(
        "clock 2 h forward, and back",
        lambda scene: move_clock(scene, HOURS),
        lambda scene: move_clock(scene, 0),
        seconds=8,
        prepare=moved_clock,
    ),
    Fault(
        "clock 2 h back, and forward",
        lambda scene: move_clock(scene, -HOURS),
        lambda scene: move_clock(scene, 0),
        seconds=8,
        prepare=moved_clock,
    ),
]
