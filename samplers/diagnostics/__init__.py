"""Yardsticks for samplers, as functions of plain arrays. Each module says what its yardstick does not see."""

from samplers.diagnostics.calibration import Uniformity, rank_among, simultaneous_band, uniformity
from samplers.diagnostics.classifier import classifier_test
from samplers.diagnostics.mmd import maximum_mean_discrepancy, median_bandwidth
from samplers.diagnostics.nested_rhat import nested_rhat
from samplers.diagnostics.pareto import importance_khat, pareto_khat
from samplers.diagnostics.stein import kernel_stein_discrepancy

__all__ = [
    "Uniformity",
    "classifier_test",
    "importance_khat",
    "kernel_stein_discrepancy",
    "maximum_mean_discrepancy",
    "median_bandwidth",
    "nested_rhat",
    "pareto_khat",
    "rank_among",
    "simultaneous_band",
    "uniformity",
]
