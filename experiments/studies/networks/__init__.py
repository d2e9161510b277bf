"""Networks, where no oracle exists."""

from experiments.studies.networks import claims, figures, findings

__all__ = ["claims", "figures", "findings"]
