"""More processes for one study: each takes cells that nobody is at, so that they compile and compute side by side.

A cell's bits do not depend on who computed it. Companions share the folder as any two processes may, and leave
everything that follows from the cells to the one that was called.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import jax

from experiments.cli.estimate import Estimate
from experiments.config.compose import Study
from experiments.storage.folder import Folder
from experiments.storage.locks import SHARED
from samplers.errors import InputError

MOST = 4  # each has its own copy of every library: some 1.5 GB of memory at the end of a long study
LONG = 60.0  # seconds of a study below which a companion would not come to anything
WATCH = 1.0  # seconds between a companion's looks at whether it is still wanted
COMMAND = "from experiments.cli import main; main()"


def processes_for(study: Study, ahead: Estimate, cores: int) -> int:
    """How many processes a study gets, this one included."""
    left = max(1, ahead.cells - ahead.stored)
    if study.processes is not None:
        return min(study.processes, left)
    if study.launcher is not None or study.devices is not None or ahead.seconds < LONG:
        return 1
    if (
        jax.default_backend() != "cpu" or not SHARED
    ):  # a second one would want the same memory, or do the same cells
        return 1
    return min(cores, MOST, left, _allowed())


def _allowed() -> int:
    said = os.environ.get("FGTSVA_PROCESSES") or str(MOST)
    if not said.isdecimal() or int(said) < 1:
        raise InputError(f"FGTSVA_PROCESSES={said} must be a whole number, at least 1")
    return int(said)


def command() -> list[str]:
    """How this process was called, up to its words: a user's own file knows samplers that we do not."""
    words = sys.argv[1:]
    called = sys.orig_argv[: len(sys.orig_argv) - len(words)]
    return (
        [sys.executable, *called[1:]]
        if [*called, *words] == sys.orig_argv
        else [sys.executable, "-c", COMMAND]
    )


@contextmanager
def at_work(
    number: int, words: Sequence[str], folder: Folder, devices: int, warn: Callable[[str], None]
) -> Iterator[None]:
    """So many companions at a study's cells, until the block ends. One that failed is told, and costs time only."""
    said = ["run", *words, f"output={folder.path}", f"devices={devices}", "--assist", str(os.getpid())]
    nothing = subprocess.DEVNULL
    begun = [
        subprocess.Popen(
            [*command(), *said], stdin=nothing, stdout=nothing, stderr=subprocess.PIPE, text=True
        )
        for _ in range(number)
    ]
    try:
        yield
    finally:
        for companion in begun:
            code = companion.poll()
            companion.terminate()
            _, errors = companion.communicate()
            if code:
                last = (errors.strip().splitlines() or [f"exit code {code}"])[-1]
                warn(f"A companion ended early, and this process did its work: {last}")


def leave_with(parent: int) -> None:
    """Ends this process when the one that it assists is gone, however that came about."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
