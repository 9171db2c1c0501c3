"""The seam between sums over people and where they are computed."""

import sys
import threading

import pytest

from models_engine.executor import (
    IN_PROCESS,
    ClusterLost,
    ClusterOrHere,
    ClusterUnreachable,
    InProcess,
    active_executor,
    connect,
    map_in_threads,
    run_on,
    sum_in_pairs,
    use_executor,
)


@pytest.mark.parametrize(
    ("n", "said"), [(1, "0"), (2, "(01)"), (3, "((01)2)"), (5, "(((01)(23))4)"), (7, "(((01)(23))((45)6))")]
)
def test_sums_are_by_twos_and_fours(n, said):
    assert sum_in_pairs(iter(map(str, range(n))), lambda a, b: f"({a}{b})") == said


def test_few_sums_are_held_at_a_time():
    alive, most = 0, 0

    def values():
        nonlocal alive, most
        for _ in range(1000):
            alive, most = alive + 1, max(most, alive + 1)
            yield 1

    def add(one: int, other: int) -> int:
        nonlocal alive
        alive -= 1
        return one + other

    assert sum_in_pairs(values(), add) == 1000
    assert most <= 11


def test_a_sum_of_nothing_is_refused():
    with pytest.raises(ValueError, match="nothing to sum"):
        sum_in_pairs(iter([]), max)


def test_in_process_maps_several_kept_values_in_order():
    here = InProcess()
    kept = here.keep([1, 2, 3])
    tens = here.map(lambda part, by: part * by, kept, shared=[10])
    assert here.gather(here.map(lambda one, other: (one, other), kept, tens)) == [(1, 10), (2, 20), (3, 30)]
    assert here.map_reduce(lambda one, other, more: one + other + more, max, kept, tens, shared=[5]) == 38


def test_three_parts_go_to_threads_and_come_back_in_order():
    found = list(map_in_threads(lambda part: (part, threading.get_ident()), "abc"))
    assert [part for part, _ in found] == ["a", "b", "c"]
    assert threading.get_ident() not in [where for _, where in found]


def test_two_parts_stay_in_the_caller_s_thread():
    assert list(map_in_threads(lambda part: threading.get_ident(), "ab")) == [threading.get_ident()] * 2


def test_threads_start_no_threads():
    found: list[bool] = []

    def look() -> None:
        here = threading.get_ident()
        found.extend(map_in_threads(lambda part: threading.get_ident() == here, "abcd"))

    one = threading.Thread(target=look)
    one.start()
    one.join()
    assert found == [True] * 4


def test_this_process_is_the_default():
    other = InProcess()
    with use_executor(other):
        assert active_executor() is other
    assert active_executor() is IN_PROCESS


def test_a_cluster_without_the_extra_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "models_engine.cluster", raising=False)
    with pytest.raises(ClusterUnreachable, match=r"crowdrank\[cluster\]"):
        connect("tcp://127.0.0.1:1", seconds=0.5)


def test_small_work_never_asks_the_cluster():
    executor = ClusterOrHere("tcp://127.0.0.1:1")
    assert executor.suited(10.0) is IN_PROCESS
    assert executor.failure is None


def test_large_work_stays_here_where_the_cluster_can_not_be_used(monkeypatch):
    monkeypatch.setitem(sys.modules, "models_engine.cluster", None)
    executor = ClusterOrHere("tcp://127.0.0.1:1")
    assert executor.suited(1e12) is IN_PROCESS
    assert "crowdrank[cluster]" in str(executor.failure)


def test_work_that_loses_its_cluster_is_done_once_more_in_process():
    executor, failures = ClusterOrHere("tcp://127.0.0.1:1"), []

    def work() -> str:
        failures.append(executor.failure)
        if len(failures) == 1:
            raise ClusterLost("no worker is left.")
        return "done"

    assert run_on(executor, work) == "done"
    assert [str(one) for one in failures] == ["None", "no worker is left."]
    assert executor.suited(1e12) is IN_PROCESS
