"""Which diagnostics stay good while the sampler is wrong, and the reverse."""

from experiments.studies.blindness import findings, tables

__all__ = ["findings", "tables"]
