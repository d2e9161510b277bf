"""Timing: alternatives run in turns, and the fastest turn of each counts."""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Time(NamedTuple):
    """Wall-clock seconds, and CPU seconds summed over all cores."""

    seconds: float
    cpu: float


def time_once(work: Callable[[], Any]) -> Time:
    """Times one call."""
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return Time(time.perf_counter() - clock, time.process_time() - cpu)


def fastest(works: Mapping[str, Callable[[], Any]], turns: int) -> dict[str, Time]:
    """Times several alternatives in turns; on a busy machine `cpu` varies less than `seconds`.

    Args:
        works: What to time, by name.
        turns: How often each is called.

    Returns:
        The shortest wall-clock time and the shortest CPU time of each.
    """
    timed = [{name: time_once(work) for name, work in works.items()} for _ in range(turns)]
    return {
        name: Time(min(turn[name].seconds for turn in timed), min(turn[name].cpu for turn in timed))
        for name in works
    }


class Measure(NamedTuple):
    """A row of the benchmark. `value` is None if it cannot be measured, `met` is None if there is no aim."""

    part: str
    what: str
    value: float | None
    unit: str
    aim: str = ""
    met: bool | None = None


def at_most(part: str, what: str, value: float, limit: float, unit: str = "ratio") -> Measure:
    """A measure whose value should not exceed a limit."""
    return Measure(part, what, float(value), unit, f"at most {limit:g}", bool(value <= limit))


def at_least(part: str, what: str, value: float, limit: float, unit: str = "ratio") -> Measure:
    """A measure whose value should reach a limit."""
    return Measure(part, what, float(value), unit, f"at least {limit:g}", bool(value >= limit))
