"""A finished study as its claims look at it, and the algorithms that the paper speaks of."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from experiments.analysis.hyperparameters import Setting, TunedAlgorithm
from experiments.analysis.summary import final_regret
from experiments.config.cell import Cell

OURS = ("FGTS-VA (SGLD)", "FGTS-VA (exact)")  # the paper's sampler, and the oracle
NAMED = {  # the paper's baselines, and the forms in which they run here
    "Weighted OFUL+": ("Weighted OFUL+", "Weighted OFUL (sub-Gaussian)"),
    "SAVE": ("SAVE", "SAVE (practical)"),
    "FGTS": ("FGTS-A",),
}


class Scene(NamedTuple):
    """A finished study."""

    cells: Sequence[Cell]
    data: Mapping[str, xr.DataTree]
    tuned_algorithms: Sequence[TunedAlgorithm]

    def regret(self, setting: Setting) -> np.ndarray:
        """Each run's regret at the end."""
        return final_regret(self.data[setting.cell.id])

    def panels(self) -> dict[str, dict[str, TunedAlgorithm]]:
        """The tuned_algorithms by panel and algorithm."""
        found: dict[str, dict[str, TunedAlgorithm]] = {}
        for place in self.tuned_algorithms:
            found.setdefault(place.panel, {})[place.name] = place
        return found
