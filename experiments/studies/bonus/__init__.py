"""The feel-good term against the sampler's budget."""

from experiments.studies.bonus import findings

__all__ = ["findings"]
