"""Locks on cells, among processes that share an output folder."""

import errno
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

try:
    import fcntl
except ImportError:  # on systems without locks, processes compute the same cells twice; files stay complete
    fcntl = None  # type: ignore[assignment]

AVAILABLE = fcntl is not None
POLL_INTERVAL = 0.2  # seconds between attempts to get a lock of another process
TAKEN = (errno.EACCES, errno.EAGAIN)


class Locks:
    """Named locks, each one byte of a file. The operating system releases them when a process ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1

    def __enter__(self) -> "Locks":
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def acquire(self, name: str) -> bool:
        """Whether this process has the lock now. On a file system without locks it always has."""
        if fcntl is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(name))
        except OSError as error:
            return error.errno not in TAKEN
        return True

    def release(self, name: str) -> None:
        """Releases the lock for other processes."""
        if fcntl is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _byte(name))

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Waits for the lock and holds it for the block."""
        while not self.acquire(name):
            time.sleep(POLL_INTERVAL)
        try:
            yield
        finally:
            self.release(name)


def _byte(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:7])
