"""The theorem's bound beside regret, where its conditions hold."""

from experiments.studies.theorem import claims

__all__ = ["claims"]
