"""Figures of a study. Each takes the results of `load_results`; InputError says what they lack for it."""

from experiments.figures.comparison_plots import along_sweep
from experiments.figures.curves import regret_curves, standing_curves, sweep_curves
from experiments.figures.gap_plots import against_quality, by_cell
from experiments.figures.sweeps import against_condition_number, against_setting

__all__ = [
    "against_condition_number",
    "against_quality",
    "against_setting",
    "along_sweep",
    "by_cell",
    "regret_curves",
    "standing_curves",
    "sweep_curves",
]
