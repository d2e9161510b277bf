"""Wall-clock time, with compilation separated from computation."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Seconds(NamedTuple):
    """Wall-clock time of a simulation."""

    computing: float
    compiling: float  # tracing included


class Stopwatch:
    """Measures wall-clock time, and how much of it jitted functions take to trace and compile.

    Args:
        elapsed: Time of an earlier part, if a simulation is resumed.
    """

    def __init__(self, elapsed: Seconds = Seconds(0.0, 0.0)) -> None:  # noqa: B008 - immutable
        self._start = time.perf_counter() - sum(elapsed)
        self._compiling = elapsed.compiling

    def watch(self, jitted: Any) -> Callable[..., Any]:
        """Wraps a jitted function so that calls that compile are counted as compilation.

        Dispatch is asynchronous: such a call returns when the program is compiled, before it has computed anything.
        """

        def timed(*args: Any, **kwargs: Any) -> Any:
            cache_size, start = jitted._cache_size(), time.perf_counter()
            result = jitted(*args, **kwargs)
            if jitted._cache_size() > cache_size:
                self._compiling += time.perf_counter() - start
            return result

        return timed

    def times(self) -> Seconds:
        """Time so far."""
        return Seconds(time.perf_counter() - self._start - self._compiling, self._compiling)
