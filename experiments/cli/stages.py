"""Where the time of a run went: its stages add up to what was waited."""

import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.analysis.summary import Row

STARTED = time.monotonic()  # this module is imported when the command starts
WORK = {"computing": "seconds", "compiling": "compile_seconds", "diagnosing": "diagnose_seconds"}


def describe_time(
    ends: Sequence[float], rows: "Sequence[Row]", computed: Collection[int], processes: int
) -> str:
    """A line with the seconds of each stage.

    Args:
        ends: When the command was loaded, when the cells were there, when the report was there (`time.monotonic`).
        rows: The rows of the summary.
        computed: The indices of those cells that this run has computed.
        processes: How many processes computed them.
    """
    begins = (STARTED, *ends)
    loading, cells, report = (end - begin for begin, end in zip(begins, ends, strict=False))
    work = {name: sum(float(rows[i].get(key) or 0.0) for i in computed) for name, key in WORK.items()}
    work["storing and waiting"] = max(0.0, cells * processes - sum(work.values()))
    inner = ", ".join(f"{name} {seconds:.0f}" for name, seconds in work.items())
    where = f", in {processes} processes" if processes > 1 else ""
    return (
        f"Time: {ends[-1] - STARTED:.0f} s: loading {loading:.0f}, cells {cells:.0f} ({inner}{where}), "
        f"tables, figures and report {report:.0f}"
    )
