"""A posterior sampled every m rounds."""

from experiments.studies.batches import figures, findings, tables

__all__ = ["figures", "findings", "tables"]
