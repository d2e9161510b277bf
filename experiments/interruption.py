"""Ctrl-C ends the command with exit code 130, whatever it is at, and loses nothing that is stored.

It is never raised in the middle of a library: some drop it there without a word, and JAX makes other errors of it,
which would count as a cell's own. So a study is computed in a thread of its own, while the main thread, to which
interruptions come, only waits. Whatever else is under way ends at once, as by `kill -9`.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

CODE = 130  # also what Typer makes of a KeyboardInterrupt
LOOK = 0.5  # seconds between looks, where waiting cannot be interrupted


def leave(*_: int | FrameType | None) -> None:
    """Ends the process: on the usual way out JAX waits for what it still computes, or crashes."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, RuntimeError):  # its reader is gone, or it is being written to
            stream.flush()
    os._exit(CODE)


def while_loading() -> None:
    """From now on it ends the process at once, if that is the command's own."""
    if Path(sys.argv[0]).stem == "fgtsva" and _comes_here():
        signal.signal(signal.SIGINT, leave)


@contextmanager
def at_once() -> Iterator[None]:
    """Here it ends the process at once."""
    ours = _comes_here()
    before = signal.signal(signal.SIGINT, leave) if ours else None
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)


def apart[Result](work: Callable[[], Result]) -> Result:
    """What `work` gives; a KeyboardInterrupt is raised here, and `work` goes on until the process ends."""
    result: Future[Result] = Future()

    def do() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)

    ours = signal.getsignal(signal.SIGINT) is leave
    if ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=do, daemon=True).start()
        while not result.done():
            wait([result], timeout=LOOK)
    finally:
        if ours:
            signal.signal(signal.SIGINT, leave)
    return result.result()


def _comes_here() -> bool:
    """Not where a shell has it ignored, nor where another thread is the main one."""
    usual = signal.getsignal(signal.SIGINT) in (signal.default_int_handler, leave)
    return usual and threading.current_thread() is threading.main_thread()
