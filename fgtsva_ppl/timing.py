"""How long things take, compiling told from computing."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Seconds(NamedTuple):
    """How long something took."""

    computing: float
    compiling: float  # and tracing


class Stopwatch:
    """Tells the time that compiled functions took to be traced and compiled from the time of everything else."""

    def __init__(self, before: Seconds = Seconds(0.0, 0.0)) -> None:  # noqa: B008 - it cannot change
        self._begin = time.perf_counter() - sum(before)
        self._compiling = before.compiling

    def watch(self, program: Any) -> Callable[..., Any]:
        """The same compiled function, timed where it compiles: such a call returns before it computes."""

        def watched(*args: Any, **kwargs: Any) -> Any:
            known, clock = program._cache_size(), time.perf_counter()
            result = program(*args, **kwargs)
            if program._cache_size() > known:
                self._compiling += time.perf_counter() - clock
            return result

        return watched

    def times(self) -> Seconds:
        """Seconds of computing and of compiling so far."""
        return Seconds(time.perf_counter() - self._begin - self._compiling, self._compiling)
