"""The paper's Figure 1: FGTS-VA against the baselines."""

from experiments.studies.figure1 import claims

__all__ = ["claims"]
