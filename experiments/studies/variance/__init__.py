"""The price of an unknown variance."""

from experiments.studies.variance import findings, tables

__all__ = ["findings", "tables"]
