"""Errors of stored results. Nothing here imports JAX."""

from pathlib import Path


class DamagedError(Exception):
    """A stored file that is not what was written."""


class StoreError(Exception):
    """Results cannot be written, e.g. because the disk is full or the folder was removed."""

    def __init__(self, folder: Path, error: Exception) -> None:
        why = (isinstance(error, OSError) and error.strerror) or (str(error).splitlines() or [""])[0]
        super().__init__(
            f"cannot write to {folder}: {why}. Stored results are kept; the same command continues from there"
        )
