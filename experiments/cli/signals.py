"""Ctrl-C ends the command at once with exit code 130, whatever it is at, and says what is kept.

Nothing is raised: in the middle of a library an exception may be dropped without a word, and JAX makes other errors of
it, which would count as a cell's own. Nothing is tidied up either, for the usual way out waits for what JAX computes.
Files are whole or absent, and processes that compute cells go when this one is gone: it may end as by `kill -9`.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

CODE = 130
LOOK = 0.5  # seconds between looks, where waiting cannot be interrupted
STACK = 64 * 2**20  # bytes: compilers recurse, and a thread's share can be small
BEGUN_BY_ANOTHER = (
    "--multiprocessing-fork"  # among the words by which Python begins a process for another one
)
CURSOR, UP, CLEAR = (
    "\x1b[?25h",
    "\x1b[1A",
    "\r\x1b[J",
)  # of a terminal: shown again; a line up; all below emptied
_words = ["Interrupted."]
_shown = [1]  # lines at the end of the terminal that make room for the words


def while_loading() -> None:
    """From now on, if this process is the command's own, or was begun by one: those have nothing to say."""
    if Path(sys.argv[0]).stem == "fgtsva" and _comes_here():
        signal.signal(signal.SIGINT, _leave)
        if BEGUN_BY_ANOTHER in sys.orig_argv:
            _words.clear()


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
    with _instead(_words, lines):
        yield


@contextmanager
def in_place_of(lines: int) -> Iterator[None]:
    """Meanwhile that many lines are on a terminal which the words replace."""
    with _instead(_shown, [lines]):
        yield


@contextmanager
def _instead[T](kept: list[T], now: Sequence[T]) -> Iterator[None]:
    before = kept[:]
    kept[:] = now
    try:
        yield
    finally:
        kept[:] = before


def apart[Result](work: Callable[[], Result]) -> Result:
    """What `work` gives. It has a thread of its own, so that the main one, to which interruptions come, hears them."""
    result: Future[Result] = Future()

    def do() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)

    before = threading.stack_size(STACK)
    try:
        threading.Thread(target=do, daemon=True).start()
    finally:
        threading.stack_size(before)
    while not result.done():
        wait([result], timeout=LOOK)
    return result.result()


def _leave(_signal: int, _frame: FrameType | None) -> NoReturn:
    try:
        with suppress(Exception):  # its reader is gone, it is closed, or in the middle of a write
            sys.stdout.flush()
        with suppress(OSError):
            os.write(2, os.fsencode(_last_words(os.isatty(2))))
    finally:
        os._exit(CODE)


def _last_words(terminal: bool) -> str:
    said = "".join(f"{line}\n" for line in _words)
    return UP * (_shown[0] - 1) + CLEAR + CURSOR + said if terminal and said else said


def _comes_here() -> bool:
    """Not where a shell has it ignored, nor where another thread is the main one."""
    usual = signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _leave)
    return usual and threading.current_thread() is threading.main_thread()
