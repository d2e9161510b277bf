"""Regret against the delay of rewards."""

from experiments.studies.delay import figures, findings, tables

__all__ = ["figures", "findings", "tables"]
