"""The price of an unknown variance."""

from experiments.studies.variance import findings

__all__ = ["findings"]
