"""Gaussian variational inference with independent axes."""

from typing import Any, ClassVar

from blackjax.vi import meanfield_vi

from samplers.adaptation.preconditioning import whitening
from samplers.base import BIASED, SamplerInfo
from samplers.settings import settings, static_int, traced_float
from samplers.vi.gaussian_vi import Variational


@settings
class MeanfieldVI(Variational):
    """BlackJAX's mean-field VI: Gaussian with independent coordinates, the target's own."""

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "approximation", f"{BIASED}, variances too small", "steps x samples + 4", "precision, for the scales"
    )
    family: ClassVar[Any] = meanfield_vi

    steps: int = static_int(default=20, ge=1, doc="Adam steps a round")
    samples: int = static_int(default=5, ge=1, doc="draws that each step estimates the ELBO from")
    step: float = traced_float(default=0.1, gt=0, doc="Adam's first step, in units of the frame")
    whiten: str = whitening("diagonal")

    def shape(self, dim: int) -> int:
        """Log-scales."""
        return dim
