"""Who does what, among processes that share an output folder."""

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
except ImportError:  # not on this system: processes do the same work twice, and files are whole all the same
    fcntl = None  # type: ignore[assignment]

SHARED = fcntl is not None
PATIENCE = 0.2  # seconds between two looks at what another process is doing
TAKEN = (errno.EACCES, errno.EAGAIN)


class Locks:
    """Names that one process at a time has, each a byte of one file. The system frees them when a process ends."""

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
        """Whether the name is now ours. Where the file system knows no locks, it always is."""
        if fcntl is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte(name))
        except OSError as error:
            return error.errno not in TAKEN
        return True

    def release(self, name: str) -> None:
        """Lets others have the name."""
        if fcntl is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _byte(name))

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Waits until the name is ours."""
        while not self.acquire(name):
            time.sleep(PATIENCE)
        try:
            yield
        finally:
            self.release(name)


def _byte(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:7])
