"""Ctrl-C ends the command at once with exit code 130 and a message about what is kept.

No exception is raised: a library may swallow it, and JAX turns it into other errors, which would count as a cell's own.
Nothing is cleaned up either, as a normal exit waits for what JAX is computing. Files are complete or absent, and worker
processes end when this one is gone: the process may end as by `kill -9`.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

EXIT_CODE = 130
POLL_INTERVAL = 0.5  # seconds, on systems where waiting cannot be interrupted
STACK_SIZE = 64 * 2**20  # bytes: compilers recurse, and the default of a thread can be small
SPAWNED = "--multiprocessing-fork"  # an argument of processes that Python starts for another one
# Terminal sequences: show the cursor; move up a line; clear everything below
CURSOR, UP, CLEAR = "\x1b[?25h", "\x1b[1A", "\r\x1b[J"
_message = ["Interrupted."]
_shown_lines = [1]  # lines at the bottom of the terminal that the message replaces


def exit_on_sigint_while_importing() -> None:
    """Installs the handler if this process is the command itself, or was started by one; the latter print nothing."""
    if Path(sys.argv[0]).stem == "fgtsva" and _receives_sigint():
        signal.signal(signal.SIGINT, _exit)
        if SPAWNED in sys.orig_argv:
            _message.clear()


@contextmanager
def exit_on_sigint() -> Iterator[None]:
    """Installs the handler for the duration of the block."""
    receives = _receives_sigint()
    before = signal.signal(signal.SIGINT, _exit) if receives else None
    try:
        yield
    finally:
        if receives:
            signal.signal(signal.SIGINT, before)


@contextmanager
def exit_message(*lines: str) -> Iterator[None]:
    """Sets the message for the duration of the block."""
    with _replaced(_message, lines):
        yield


@contextmanager
def replacing_lines(lines: int) -> Iterator[None]:
    """Within the block, the message replaces that many lines at the bottom of a terminal."""
    with _replaced(_shown_lines, [lines]):
        yield


def replace_lines(lines: int) -> None:
    """From now on, inside such a block, the message replaces that many lines."""
    _shown_lines[:] = [lines]


@contextmanager
def _replaced[T](values: list[T], new: Sequence[T]) -> Iterator[None]:
    before = values[:]
    values[:] = new
    try:
        yield
    finally:
        values[:] = before


def run_in_thread[Result](function: Callable[[], Result]) -> Result:
    """The result of a function that runs in a thread of its own, so that the main thread can receive signals."""
    from concurrent.futures import Future, wait  # not needed by completion

    result: Future[Result] = Future()

    def run() -> None:
        try:
            result.set_result(function())
        except BaseException as error:
            result.set_exception(error)

    before = threading.stack_size(STACK_SIZE)
    try:
        threading.Thread(target=run, daemon=True).start()
    finally:
        threading.stack_size(before)
    while not result.done():
        wait([result], timeout=POLL_INTERVAL)
    return result.result()


def _exit(_signal: int, _frame: FrameType | None) -> NoReturn:
    try:
        with suppress(Exception):  # it may be closed, or in the middle of a write
            sys.stdout.flush()
        with suppress(OSError):
            os.write(2, os.fsencode(_exit_text(os.isatty(2))))
    finally:
        os._exit(EXIT_CODE)


def _exit_text(terminal: bool) -> str:
    text = "".join(f"{line}\n" for line in _message)
    return UP * (_shown_lines[0] - 1) + CLEAR + CURSOR + text if terminal and text else text


def _receives_sigint() -> bool:
    """False if a shell has the signal ignored, and in threads that are not the main one."""
    usual = signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _exit)
    return usual and threading.current_thread() is threading.main_thread()
