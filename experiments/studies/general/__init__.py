"""Thompson sampling beyond linear rewards."""

from experiments.studies.general import findings, tables

__all__ = ["findings", "tables"]
