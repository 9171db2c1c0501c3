"""Limits of time, which are ratios to a fixed computation: neither a slow machine nor a quick one changes a verdict."""

import time

import pytest

from tests.attack.cpu import TooLongError, limited_cpu
from tests.pace import is_within, slowness

pytestmark = pytest.mark.embedded


def compute(n: int) -> float:
    """The seconds of CPU of `n` times the yardstick."""
    began, total = time.process_time(), 0
    for number in range(n * 2_000_000):
        total += number
    return time.process_time() - began


def test_a_limit_is_exceeded_by_what_takes_several_times_as_long_here_too():
    took = compute(1)
    assert is_within(took, 0.3)
    assert not is_within(5 * took, 0.1)
    assert is_within(0.09, 0.1, clock=lambda: 0.0), "what is within the limit needs no yardstick"


def test_what_computes_on_is_ended_when_its_budget_is_spent_as_this_machine_spends_it():
    began = time.process_time()
    with pytest.raises(TooLongError), limited_cpu(0.1):
        compute(50)
    assert time.process_time() - began < 1.5 * max(slowness(), 1)
    with limited_cpu(0.5):
        compute(1)
