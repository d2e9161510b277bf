"""Logged propensities of approximate samplers."""

from experiments.studies.propensity import figures, findings, tables

__all__ = ["figures", "findings", "tables"]
