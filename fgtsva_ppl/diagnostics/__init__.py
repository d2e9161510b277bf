"""Two kinds of sampler quality: accuracy of the draw as it was used, and mixing of the chain as a chain."""

from fgtsva_ppl.diagnostics.probe import Samples, Sizes, probe, probing
from fgtsva_ppl.diagnostics.quality import METRICS, Quality, quality

__all__ = ["METRICS", "Quality", "Samples", "Sizes", "probe", "probing", "quality"]
