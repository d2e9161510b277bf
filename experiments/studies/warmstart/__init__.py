"""Warm against cold starts at equal budget."""

from experiments.studies.warmstart import findings

__all__ = ["findings"]
