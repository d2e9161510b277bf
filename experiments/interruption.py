"""Ctrl-C ends the command with exit code 130, whatever it is at: its libraries' loading, JAX computing."""

import _thread
import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

CODE = 130  # also what Typer makes of a KeyboardInterrupt


def _at_once(*_: object) -> None:
    os._exit(CODE)


def while_loading() -> None:
    """From now on it ends the process at once, if that is the command's own: nothing is lost yet."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not where a shell has it ignored
    if Path(sys.argv[0]).stem == "fgtsva" and usual and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _at_once)


def when_loaded() -> None:
    """From now on it is Python's usual exception, which is not lost in a callback either."""
    if signal.getsignal(signal.SIGINT) is _at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = _once_more


def leave() -> None:
    """Ends an interrupted process: on the usual way out JAX waits for what it still computes, or crashes."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # of a reader that is gone
            stream.flush()
    os._exit(CODE)


def _once_more(lost: "sys.UnraisableHookArgs") -> None:
    """An interruption that came inside a callback, where Python drops exceptions, comes again after it."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        with suppress(RuntimeError):  # no more threads: the process is at its end anyway
            threading.Timer(0.1, _thread.interrupt_main).start()
    else:
        sys.__unraisablehook__(lost)
