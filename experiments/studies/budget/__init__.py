"""Regret against the number of gradients a round."""

from experiments.studies.budget import findings

__all__ = ["findings"]
