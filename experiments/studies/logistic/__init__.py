"""0/1 rewards: samplers against Polya-Gamma Gibbs, where no exact draws exist."""

from experiments.studies.logistic import claims, figures, findings, tables

__all__ = ["claims", "figures", "findings", "tables"]
