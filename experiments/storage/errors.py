"""What can go wrong with stored results."""

from pathlib import Path


class DamagedError(Exception):
    """A stored cell that is not what was written."""


class StoreError(Exception):
    """Results that cannot be written: a full disk, a folder that is no longer there."""

    def __init__(self, folder: Path, error: Exception) -> None:
        why = (isinstance(error, OSError) and error.strerror) or (str(error).splitlines() or [""])[0]
        super().__init__(
            f"cannot write to {folder}: {why}. What is stored is kept; the same command goes on from there"
        )
