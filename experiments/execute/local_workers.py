"""Worker processes on this machine: each computes cells of the study that no other process is computing.

The results of a cell do not depend on the process that computes it. Workers share the folder by its locks, as any
processes do; the main process reads their cells and writes everything that is derived from them.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import jax

from experiments.config.study import Study
from experiments.execute.estimate import SECONDS_FOR_WORKERS, Estimate
from experiments.storage import locks
from experiments.storage.folder import Folder
from samplers.errors import InputError

MAX_PROCESSES = 4  # each needs up to 1.5 GB of memory by the end of a long study
MIN_SECONDS = SECONDS_FOR_WORKERS  # a shorter study would end before a worker has started
WATCH_INTERVAL = 1.0  # seconds between a worker's checks that the main process is still running
COMMAND = "from experiments.cli import main; main()"


def num_processes(study: Study, estimate: Estimate, cores: int) -> int:
    """The number of processes for a study, the main one included."""
    remaining = max(1, estimate.cells - estimate.stored)
    if study.processes is not None:
        return min(study.processes, remaining)
    if study.backend is not None or study.devices is not None or estimate.seconds < MIN_SECONDS:
        return 1
    # Elsewhere a second process would need the same memory, or compute the same cells.
    if jax.default_backend() != "cpu" or not locks.AVAILABLE:
        return 1
    return min(cores, MAX_PROCESSES, remaining, _limit())


def _limit() -> int:
    """The limit that the environment variable FGTSVA_PROCESSES sets."""
    text = os.environ.get("FGTSVA_PROCESSES") or str(MAX_PROCESSES)
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"FGTSVA_PROCESSES={text} must be a whole number, at least 1")
    return int(text)


def worker_command() -> list[str]:
    """The command that started this process, without its arguments: a user's script registers its own samplers."""
    arguments = sys.argv[1:]
    called = sys.orig_argv[: len(sys.orig_argv) - len(arguments)]
    return (
        [sys.executable, *called[1:]]
        if [*called, *arguments] == sys.orig_argv
        else [sys.executable, "-c", COMMAND]
    )


@contextmanager
def workers(
    number: int, overrides: Sequence[str], folder: Folder, devices: int, warn: Callable[[str], None]
) -> Iterator[None]:
    """Runs worker processes for the duration of the block.

    A worker that fails costs time only: the main process computes its cells, and `warn` is called with the reason.

    Args:
        number: How many workers.
        overrides: The command line of the study.
        folder: The study's folder.
        devices: JAX devices of each worker.
        warn: Called with a message for each worker that failed.
    """
    arguments = [
        "run", *overrides, f"output={folder.path}", f"devices={devices}", "--worker-of", str(os.getpid())
    ]  # fmt: skip
    processes = [
        subprocess.Popen(
            [*worker_command(), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(number)
    ]
    try:
        yield
    finally:
        for process in processes:
            code = process.poll()
            process.terminate()
            _, errors = process.communicate()
            if code:
                last = (errors.strip().splitlines() or [f"exit code {code}"])[-1]
                warn(f"A worker process failed, and the main process computed its cells: {last}")


def exit_with(parent: int) -> None:
    """Ends this process when the main process is gone, for any reason."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_INTERVAL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
