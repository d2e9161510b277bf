"""More processes for one study: each takes cells that nobody is at, so that they compile and compute side by side.

A cell's bits do not depend on who computed it. Companions share the folder as any two processes may, and leave
everything that follows from the cells to the one that was called.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from experiments.config import Study
from experiments.estimate import Estimate
from experiments.store import Folder

MOST = 4  # each has its own copy of every library: some 1.5 GB of memory at the end of a long study
LONG = 60.0  # seconds of a study below which a companion would not come to anything
WATCH = 1.0  # seconds between a companion's looks at whether it is still wanted
COMMAND = "from experiments.cli import main; main()"


def processes_for(study: Study, ahead: Estimate, cores: int) -> int:
    """How many processes a study gets, this one included."""
    if study.processes is not None:
        return study.processes
    if study.launcher is not None or study.devices is not None or ahead.seconds < LONG:
        return 1
    return max(1, min(cores, MOST, ahead.cells - ahead.stored, int(os.environ.get("FGTSVA_PROCESSES", MOST))))


@contextmanager
def at_work(number: int, words: Sequence[str], folder: Folder, devices: int) -> Iterator[None]:
    """So many companions at a study's cells, until the block ends."""
    said = [*words, f"output={folder.path}", f"devices={devices}"]
    command = [sys.executable, "-c", COMMAND, "run", *said, "--assist", str(os.getpid())]
    nothing = subprocess.DEVNULL
    begun = [subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing) for _ in range(number)]
    try:
        yield
    finally:
        for companion in begun:
            companion.terminate()
        for companion in begun:
            companion.wait()


def leave_with(parent: int) -> None:
    """Ends this process when the one that it assists is gone, however that came about."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
