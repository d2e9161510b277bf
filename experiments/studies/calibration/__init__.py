"""Simulation-based calibration along a run."""

from experiments.studies.calibration import figures, findings

__all__ = ["figures", "findings"]
