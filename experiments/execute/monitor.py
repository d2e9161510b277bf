"""Judges a cell while it runs, so that a sampler that fails is known before the end."""

from collections.abc import Callable

import numpy as np

from experiments.config.cell import Cell
from experiments.execute.cell_status import JUDGED, MOVES, CellStatus, Moves, status_of_moves
from fgtsva_ppl import Thompson
from fgtsva_ppl.simulation import Record

FIRST_JUDGED = (
    0.25  # share of the rounds before which nothing is said: a sampler may need time to reach the posterior
)


def num_transitions(cell: Cell) -> int:
    """Transitions of the cell's sampler in a round."""
    return int(cell.agent.sampler.num_transitions) if isinstance(cell.agent, Thompson) else 1


def is_control(cell: Cell) -> bool:
    """Whether the cell's sampler is a negative control, which may repeat its draws on purpose."""
    return isinstance(cell.agent, Thompson) and cell.agent.sampler.info.family == "control"


class Monitor:
    """Warns once for each status that a cell would have if it ended now, by the same thresholds as at the end.

    From a quarter of the rounds on, the second half of the rounds so far is judged. Later rounds may recover: the
    status of the cell is that of its whole run.

    Args:
        cell: The cell that is simulated.
        warn: Called with one line.
    """

    def __init__(self, cell: Cell, warn: Callable[[str], None]) -> None:
        self._cell, self._warn = cell, warn
        self._chunks: list[Moves] = []
        self._told: set[CellStatus] = set()

    def __call__(self, finished: int, record: Record) -> None:
        """Judges the rounds so far.

        Args:
            finished: Number of finished rounds.
            record: What was recorded since the last call.
        """
        cell, arrays = self._cell, record.arrays()
        recorded = {name: np.asarray(arrays[name]) for name in MOVES}
        self._chunks.append(Moves.of(recorded, cell.record_every, num_transitions(cell)))
        if finished < FIRST_JUDGED * cell.rounds or finished == cell.rounds:
            return
        judged = self._chunks[int((1 - JUDGED) * len(self._chunks)) :]  # chunks are equally long
        moves = Moves(*(np.mean(parts, axis=0) for parts in zip(*judged, strict=True)))
        status = status_of_moves(moves, is_control=is_control(cell))
        kind = CellStatus(status.status, status.reason.partition("runs")[2])
        if status.status != "done" and kind not in self._told:
            self._told.add(kind)
            self._warn(f"{cell.name}: {status.status} so far, at round {finished}: {status.reason}")
