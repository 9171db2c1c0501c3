"""Services of a run's own, to be killed: a PostgreSQL cluster, a Redis, a small disk. Each says why it can't be had."""

import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from tests.load.servers import free_port

DISK_MB = 400


class CannotHaveIt(Exception):
    """Why a fault can't be tried on this machine."""


def run(*command: str, user: str | None = None, check: bool = True) -> str:
    done = subprocess.run(command, capture_output=True, text=True, user=user, check=False, cwd="/")
    if check and done.returncode:
        raise CannotHaveIt(f"{Path(command[0]).name}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
    return done.stdout


def find(name: str, *places: str) -> str:
    path = shutil.which(name, path=os.pathsep.join([os.environ["PATH"], "/usr/sbin", *places]))
    if not path:
        raise CannotHaveIt(f"{name} is not installed")
    return path


@dataclass
class Disk:
    """A small file system of its own (ext4 in a file), which can be filled and made to fail."""

    folder: Path
    image: Path
    filler: str = "filler"

    @classmethod
    def create(cls, folder: Path) -> "Disk":
        if os.geteuid() != 0:
            raise CannotHaveIt("a small disk needs root")
        image, mounted = folder / "disk.img", folder / "disk"
        with image.open("wb") as file:
            file.truncate(DISK_MB * 2**20)
        mounted.mkdir()
        run(find("mkfs.ext4"), "-q", str(image))
        disk = cls(mounted, image)
        disk.mount()
        return disk

    def mount(self) -> None:
        run("mount", "-o", "loop,errors=remount-ro", str(self.image), str(self.folder))

    def unmount(self) -> None:
        for _ in range(50):
            if not os.path.ismount(self.folder):
                return
            run("umount", str(self.folder), check=False)
            time.sleep(0.1)

    def fill(self) -> None:
        """Leaves not a byte."""
        with (self.folder / self.filler).open("wb", buffering=0) as file:
            size = 2**22
            while size >= 1:
                try:
                    file.write(b"x" * size)
                except OSError:
                    size //= 8

    def empty(self) -> None:
        (self.folder / self.filler).unlink()

    def fail(self) -> None:
        """As after an error of the device: the kernel lets nothing be written any more."""
        device = next(
            line.split()[0] for line in Path("/proc/mounts").read_text().splitlines() if str(self.folder) in line
        )
        Path(f"/sys/fs/ext4/{Path(device).name}/trigger_fs_error").write_text("1")

    def repair(self) -> None:
        self.unmount()
        run(find("e2fsck"), "-fy", str(self.image), check=False)
        self.mount()


@dataclass
class Postgres:
    """A cluster of its own, run by the user postgres or nobody where this process is root's."""

    data: Path
    port: int
    user: str | None
    bin: Path
    options: list[str] = field(default_factory=list)

    @classmethod
    def create(cls, folder: Path) -> "Postgres":
        found = [str(path) for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)]
        bin_folder = Path(find("initdb", *found)).resolve().parent
        user = None
        if os.geteuid() == 0:
            user = "postgres" if "postgres:" in Path("/etc/passwd").read_text() else "nobody"
        data = folder / "postgres"
        data.mkdir()
        if user:
            shutil.chown(data, user)
        run(str(bin_folder / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", user=user)
        with (data / "postgresql.conf").open("a") as conf:
            conf.write("max_wal_size = 64MB\nmin_wal_size = 32MB\nshared_buffers = 64MB\n")
        made = cls(data, free_port(), user, bin_folder)
        made.start()
        return made

    @property
    def url(self) -> str:
        return f"postgres://postgres:none@127.0.0.1:{self.port}/postgres"

    def control(self, *arguments: str) -> None:
        run(str(self.bin / "pg_ctl"), "-D", str(self.data), "-w", *arguments, user=self.user)

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        for _ in range(20):
            try:
                return self.control("-l", str(self.data / "log"), "-o", options, "start")
            except CannotHaveIt:  # what was killed may hold its shared memory for a moment
                time.sleep(0.5)
        self.control("-l", str(self.data / "log"), "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        run(str(self.bin / "pg_ctl"), "-D", str(self.data), "-w", "-m", mode, "stop", user=self.user, check=False)

    def pid(self) -> int:
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def kill(self) -> None:
        os.kill(self.pid(), signal.SIGKILL)

    def signal_all(self, number: int) -> None:
        """To the server and each of its processes, of which it can start no more once it has been stopped."""
        os.kill(self.pid(), number)
        for child in Path(f"/proc/{self.pid()}/task/{self.pid()}/children").read_text().split():
            try:
                os.kill(int(child), number)
            except ProcessLookupError:
                continue  # its connection has just ended

    def freeze(self) -> None:
        """As a paused container: the kernel goes on acknowledging what it is sent, and nobody answers."""
        self.signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal_all(signal.SIGCONT)

    def set_read_only(self, *, on: bool) -> None:
        with psycopg.connect(self.url, autocommit=True, options="-c default_transaction_read_only=off") as connection:
            connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {'on' if on else 'off'}")
            connection.execute("SELECT pg_reload_conf()")


@dataclass
class Redis:
    """A server of its own that keeps nothing on disk."""

    port: int
    child: subprocess.Popen | None = None

    @classmethod
    def create(cls) -> "Redis":
        find("redis-server")
        made = cls(free_port())
        made.start()
        return made

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self.child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")

    def kill(self) -> None:
        if self.child:
            self.child.kill()
            self.child.wait()
