"""Thompson sampling beyond linear rewards."""

from experiments.studies.general import findings

__all__ = ["findings"]
