"""The paper's Table 1 as measurements: how regret scales with the dimension and the total variance."""

from experiments.studies.table1 import claims, figures, findings, tables

__all__ = ["claims", "figures", "findings", "tables"]
