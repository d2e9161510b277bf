"""Sampler quality in two senses: accuracy of the draw that picks the action, and mixing of the chain.

`probe` takes the draws for one round after a run, `quality` computes all diagnostics from them.
"""

from fgtsva_ppl.diagnostics.probe import probe, probe_async
from fgtsva_ppl.diagnostics.quality import METRICS, Metric, Quality, quality
from fgtsva_ppl.diagnostics.samples import ProbeSizes, Samples, Values

__all__ = [
    "METRICS",
    "Metric",
    "ProbeSizes",
    "Quality",
    "Samples",
    "Values",
    "probe",
    "probe_async",
    "quality",
]
