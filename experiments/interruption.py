"""Ctrl-C ends the command at once with exit code 130, whatever it is at, and says what is kept.

Nothing is raised: in the middle of a library an exception may be dropped without a word, and JAX makes other errors of
it, which would count as a cell's own. Nothing is tidied up either, for the usual way out waits for what JAX computes.
Files are whole or absent, and processes that help go when this one is gone: it may end as by `kill -9`.
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
from typing import NoReturn

CODE = 130
LOOK = 0.5  # seconds between looks, where waiting cannot be interrupted
STACK = 64 * 2**20  # bytes: compilers recurse, and a thread's share can be small
CLEAR = "\r\x1b[2K\x1b[?25h"  # away with a line of progress, and the cursor back
_words = ["Interrupted."]


def while_loading() -> None:
    """From now on, if this process is the command's own."""
    if Path(sys.argv[0]).stem == "fgtsva" and _comes_here():
        signal.signal(signal.SIGINT, _leave)


@contextmanager
def at_once() -> Iterator[None]:
    """From here on."""
    ours = _comes_here()
    before = signal.signal(signal.SIGINT, _leave) if ours else None
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)


@contextmanager
def saying(*lines: str) -> Iterator[None]:
    """These are the last words meanwhile."""
    before = _words[:]
    _words[:] = lines
    try:
        yield
    finally:
        _words[:] = before


def apart[Result](work: Callable[[], Result]) -> Result:
    """What `work` gives. It has a thread of its own, so that the main one, to which interruptions come, hears them."""
    result: Future[Result] = Future()

    def do() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)

    before = threading.stack_size(STACK)
    threading.Thread(target=do, daemon=True).start()
    threading.stack_size(before)
    while not result.done():
        wait([result], timeout=LOOK)
    return result.result()


def _leave(_signal: int, _frame: FrameType | None) -> NoReturn:
    try:
        with suppress(Exception):  # its reader is gone, it is closed, or in the middle of a write
            sys.stdout.flush()
        with suppress(OSError):
            os.write(2, "".join([CLEAR if os.isatty(2) else "", *(f"{line}\n" for line in _words)]).encode())
    finally:
        os._exit(CODE)


def _comes_here() -> bool:
    """Not where a shell has it ignored, nor where another thread is the main one."""
    usual = signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _leave)
    return usual and threading.current_thread() is threading.main_thread()
