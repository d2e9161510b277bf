"""Regret against the condition number of the posterior."""

from experiments.studies.stiffness import findings, tables

__all__ = ["findings", "tables"]
