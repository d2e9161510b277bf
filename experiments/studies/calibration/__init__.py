"""Simulation-based calibration along a run."""

from experiments.studies.calibration import figures, findings, tables

__all__ = ["figures", "findings", "tables"]
