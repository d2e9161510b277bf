"""Every sampler at its defaults."""

from experiments.studies.samplers import findings

__all__ = ["findings"]
