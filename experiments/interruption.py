"""Ctrl-C ends the command with exit code 130, whatever it is at: its libraries' loading, JAX computing."""

import _thread
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CODE = 130  # also what Typer makes of a KeyboardInterrupt
INSISTING = 3.0  # seconds after which an interruption that nobody has heard of comes again
HEARD = threading.Event()


def _at_once(*_: object) -> None:
    os._exit(CODE)


def while_loading() -> None:
    """From now on it ends the process at once, if that is the command's own: nothing is lost yet."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not where a shell has it ignored
    if Path(sys.argv[0]).stem == "fgtsva" and usual and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _at_once)


def when_loaded() -> None:
    """From now on it is Python's usual exception, which is not lost in a library either."""
    if signal.getsignal(signal.SIGINT) is _at_once:
        signal.signal(signal.SIGINT, _insist)
        sys.unraisablehook = _once_more


@contextmanager
def heard() -> Iterator[None]:
    """Where it is meant to come to: from there on it does not come again, and tidying up is not disturbed."""
    try:
        yield
    except KeyboardInterrupt:
        HEARD.set()
        raise


def leave() -> None:
    """Ends an interrupted process: on the usual way out JAX waits for what it still computes, or crashes."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # of a reader that is gone
            stream.flush()
    os._exit(CODE)


def _insist(*_: object) -> None:
    """JAX has places where whatever is raised is dropped without a word."""
    _again_in(INSISTING)
    raise KeyboardInterrupt


def _once_more(lost: "sys.UnraisableHookArgs") -> None:
    """An interruption that came inside a callback, where Python drops exceptions, comes again after it."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        _again_in(0.1)
    else:
        sys.__unraisablehook__(lost)


def _again_in(seconds: float) -> None:
    def again() -> None:
        if not HEARD.is_set():
            _thread.interrupt_main()

    timer = threading.Timer(seconds, again)
    timer.daemon = True
    with suppress(RuntimeError):  # no more threads: the process is at its end anyway
        timer.start()
