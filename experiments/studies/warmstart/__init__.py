"""Warm against cold starts at equal budget."""

from experiments.studies.warmstart import findings, tables

__all__ = ["findings", "tables"]
