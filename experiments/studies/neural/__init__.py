"""The study `neural`: samplers on networks against agents that train them."""

from experiments.studies.neural import findings, tables

__all__ = ["findings", "tables"]
