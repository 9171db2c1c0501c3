"""A Dask scheduler and workers in processes of their own on this machine, for benchmarks and tests."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import create_connection, socket
from tempfile import TemporaryDirectory

from models_engine.executor import ClusterUnreachable, connect

__all__ = ["LocalCluster", "local_cluster"]

HOST = "127.0.0.1"
START_SECONDS = 60.0
# Neither pages nor metrics of theirs are wanted, so their web servers have nothing to serve.
QUIET = {
    "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": "[]",
    "DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]",
    "DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "60s",
}
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


class LocalCluster:
    """A scheduler at `address`, and workers of one thread each, all listening on 127.0.0.1 alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"tcp://{HOST}:{_free_port()}"
        self.scheduler = self._start("dask_scheduler", "--port", self.address.rpartition(":")[2], "--no-show")
        self.workers: list[subprocess.Popen] = []

    def start_worker(self) -> subprocess.Popen:
        """Start one more worker, without a nanny that would start it again once it has died."""
        place = ["--local-directory", str(self.folder), "--no-nanny", "--nthreads", "1", "--memory-limit", "0"]
        self.workers.append(self._start("dask_worker", self.address, *place))
        return self.workers[-1]

    def _start(self, module: str, *arguments: str) -> subprocess.Popen:
        where = ["--host", HOST, "--no-dashboard", "--dashboard-address", f"{HOST}:0"]
        command = [sys.executable, "-m", f"distributed.cli.{module}", *arguments, *where]
        with (self.folder / "cluster.log").open("ab") as log:
            return subprocess.Popen(  # noqa: S603 (our own fixed command)
                command, env={**os.environ, **QUIET, **ONE_THREAD}, stdout=log, stderr=log
            )

    def wait(self) -> None:
        """Wait until the scheduler listens. Raises TimeoutError."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            try:
                create_connection((HOST, int(self.address.rpartition(":")[2])), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise TimeoutError(f"the scheduler did not start: {(self.folder / 'cluster.log').read_text()[-2000:]}")

    def wait_for_workers(self, n: int) -> None:
        """Wait until so many workers are there. Raises TimeoutError."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            try:
                executor = connect(self.address, seconds=START_SECONDS)
            except ClusterUnreachable:
                pass  # none has come yet
            else:
                found = len(executor.workers())
                executor.close()
                if found == n:
                    return
            time.sleep(0.1)
        raise TimeoutError(f"there are not {n} workers: {(self.folder / 'cluster.log').read_text()[-2000:]}")

    def stop(self) -> None:
        for process in [*self.workers, self.scheduler]:
            process.kill()
            process.wait()


@contextmanager
def local_cluster(n_workers: int) -> Iterator[LocalCluster]:
    """Run a scheduler with so many workers, which may still be starting."""
    with TemporaryDirectory() as folder:
        cluster = LocalCluster(Path(folder))
        try:
            cluster.wait()
            for _ in range(n_workers):
                cluster.start_worker()
            yield cluster
        finally:
            cluster.stop()


def _free_port() -> int:
    with socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])
