"""Times that can be compared: alternatives take turns, and the best turn of each counts."""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class Time(NamedTuple):
    """Of one thing: seconds on the clock, and seconds of all cores together."""

    seconds: float
    cpu: float


def once(work: Callable[[], Any]) -> Time:
    """How long it takes this time."""
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return Time(time.perf_counter() - clock, time.process_time() - cpu)


def best(works: Mapping[str, Callable[[], Any]], turns: int) -> dict[str, Time]:
    """The shortest times of several turns. On a busy machine `cpu` is the steadier of the two."""
    found = [{name: once(work) for name, work in works.items()} for _ in range(turns)]
    return {
        name: Time(min(turn[name].seconds for turn in found), min(turn[name].cpu for turn in found))
        for name in works
    }


class Measure(NamedTuple):
    """A line of the result. `value` is None where it cannot be measured, `met` where nothing is aimed at."""

    part: str
    what: str
    value: float | None
    unit: str
    aim: str = ""
    met: bool | None = None


def at_most(part: str, what: str, value: float, limit: float, unit: str = "ratio") -> Measure:
    """A measure that should not be above a limit."""
    return Measure(part, what, float(value), unit, f"at most {limit:g}", bool(value <= limit))


def at_least(part: str, what: str, value: float, limit: float, unit: str = "ratio") -> Measure:
    """A measure that should not be below a limit."""
    return Measure(part, what, float(value), unit, f"at least {limit:g}", bool(value >= limit))
