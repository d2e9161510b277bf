"""A cell beside its exact reference."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from jaxtyping import Float

from experiments.analysis.arrays import final_regret
from experiments.analysis.statistics import Interval, mean_interval
from experiments.config.cell import GROUPS, Cell
from experiments.config.text import setting_text


@dataclass(frozen=True, eq=False)
class Pair:
    """A cell and its exact reference: the same settings and random numbers, with exact draws as the sampler."""

    cell: Cell
    data: xr.DataTree
    reference: xr.DataTree

    @cached_property
    def regret_gap_by_run(self) -> Float[np.ndarray, " runs"]:
        """Each run's final regret minus that of exact draws with the same random numbers."""
        return final_regret(self.data) - final_regret(self.reference)

    @cached_property
    def regret_gap(self) -> Interval:
        """Mean paired gap with its bootstrap interval."""
        return mean_interval(self.regret_gap_by_run)

    @property
    def sampler(self) -> str:
        """The sampler's name."""
        return str(self.cell.flat["sampler"])

    @property
    def environment(self) -> str:
        """The environment's name."""
        return str(self.cell.flat["environment"])

    @property
    def diagnosed(self) -> bool:
        """Whether some rounds were probed."""
        return "diagnostics" in self.data.children

    def label(self, *keys: str) -> str:
        """The sampler, with those of the given settings that differ from their defaults."""
        flat = self.cell.flat
        parts = [self.sampler]
        for key in keys:
            group, _, name = key.partition(".")
            if key in flat and flat[key] != GROUPS[group].defaults(flat[group])[name]:
                parts.append(f"{name}={setting_text(flat[key])}")
        return " ".join(parts)
