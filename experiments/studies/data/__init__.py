"""Thompson sampling on classification data, at default and at tuned settings."""

from experiments.studies.data import findings

__all__ = ["findings"]
