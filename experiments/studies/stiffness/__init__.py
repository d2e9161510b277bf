"""Regret against the condition number of the posterior."""

from experiments.studies.stiffness import findings

__all__ = ["findings"]
