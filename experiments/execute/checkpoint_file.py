"""Stores an unfinished simulation of a cell now and then, so that an interruption costs little."""

import time
from collections.abc import Callable, Sequence

from experiments.config.cell import Cell
from experiments.storage.codecs import checkpoint_to_tree, tree_to_checkpoint
from experiments.storage.errors import DamagedError
from experiments.storage.folder import Folder
from fgtsva_ppl.simulation import CheckpointState, state_structure

SAVE_EVERY = 20.0  # seconds between checkpoints
UNFINISHED = "unfinished"  # the kind of data under which a checkpoint is stored


class CheckpointFile:
    """The checkpoint of one cell, as `simulate(checkpoint=...)` uses it.

    Args:
        folder: The study's folder.
        cell: The cell that is simulated.
        probes: The probe rounds; a checkpoint with other ones is not used.
        loaded: Called with the number of rounds of a checkpoint that is continued.
        warn: Called with a message if the file is damaged.
    """

    def __init__(
        self,
        folder: Folder,
        cell: Cell,
        probes: Sequence[int],
        loaded: Callable[[int], None],
        warn: Callable[[str], None],
    ) -> None:
        self._folder, self._cell = folder, cell
        self._probes = ",".join(map(str, probes))
        self._loaded, self._warn = loaded, warn
        self._last = time.monotonic()

    def load(self) -> CheckpointState | None:
        """The stored checkpoint, if it has the same probe rounds."""
        try:
            tree = self._folder.read(self._cell, UNFINISHED)
        except DamagedError as damage:
            self._warn(f"{damage}; computing it again")
            return None
        if tree is None or tree.attrs["probes"] != self._probes:
            return None
        checkpoint = tree_to_checkpoint(tree, state_structure(self._cell.environment, self._cell.agent))
        self._loaded(checkpoint.rounds)
        return checkpoint

    def save(self, current: Callable[[], CheckpointState]) -> None:
        """Stores the current state if the last checkpoint is older than SAVE_EVERY."""
        if time.monotonic() - self._last < SAVE_EVERY:
            return
        tree = checkpoint_to_tree(current())
        tree.attrs["probes"] = self._probes
        self._folder.write(self._cell, tree, UNFINISHED)
        self._last = time.monotonic()
