"""The feel-good term against the sampler's budget."""

from experiments.studies.bonus import findings, tables

__all__ = ["findings", "tables"]
