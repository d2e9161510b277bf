"""The paper's Figure 2: the scale c of the feel-good term."""

from experiments.studies.figure2 import claims

__all__ = ["claims"]
