"""The command `fgtsva`: Ctrl-C ends it with exit code 130, whatever it is at, its libraries' loading included."""

import _thread
import contextlib
import os
import signal
import sys
import threading
from typing import Any


def main() -> None:
    """Loads the command line and runs it."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:  # not so where a shell has it ignored
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from experiments.cli import main as command

    signal.signal(signal.SIGINT, usual)
    sys.unraisablehook = _once_more
    command()


def _once_more(lost: Any) -> None:
    """An interruption that came inside a callback, where Python drops exceptions, comes again after it."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        with contextlib.suppress(RuntimeError):  # no more threads: the process is at its end anyway
            threading.Timer(0.1, _thread.interrupt_main).start()
    else:
        sys.__unraisablehook__(lost)


if __name__ == "__main__":
    main()
