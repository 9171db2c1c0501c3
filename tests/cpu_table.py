"""A plugin of pytest that prints the CPU seconds of files and tests, those of the processes they start among them.

`pytest -p tests.cpu_table tests/browser`. Of a busy machine they say more than times do. Linux only.
"""

import ctypes
import os
import time
from collections import Counter, defaultdict
from pathlib import Path

import pytest

TICKS = os.sysconf("SC_CLK_TCK")
PR_SET_CHILD_SUBREAPER = 36
N_TESTS = 30  # printed, the dearest first
START = pytest.StashKey[float]()
seconds_of: Counter[str] = Counter()


def tree_seconds() -> float:
    """CPU of this process, of those below it and of those that they have waited for."""
    ended = os.times()
    total = time.process_time() + ended.children_user + ended.children_system
    seconds, children = {}, defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            seconds[int(entry.name)] = sum(map(int, fields[11:15])) / TICKS
            children[int(fields[1])].append(int(entry.name))
    below = children[os.getpid()]
    while below:
        total += seconds[child := below.pop()]
        below += children[child]
    return total


def pytest_configure() -> None:
    """What outlives its parent is counted on as a child of this process."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item):
    item.stash[START] = tree_seconds()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item):
    """The report of this phase brings the figure from the process that ran the test, and --junitxml writes it."""
    try:
        return (yield)
    finally:
        item.user_properties.append(("cpu", round(tree_seconds() - item.stash[START], 3)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown":
        seconds_of[report.nodeid] += dict(report.user_properties)["cpu"]


def pytest_terminal_summary(terminalreporter) -> None:
    files: Counter[str] = Counter()
    for test, seconds in seconds_of.items():
        files[test.partition("::")[0]] += seconds
    n, total = len(seconds_of), seconds_of.total()
    terminalreporter.write_line(f"{total:.1f} s of CPU for {n} tests, {total / max(n, 1):.2f} each")
    for name, seconds in [*files.most_common(), *seconds_of.most_common(N_TESTS)]:
        terminalreporter.write_line(f"{seconds:8.2f} {name}")
