"""Gaussian variational inference with a full covariance."""

from typing import Any, ClassVar

from blackjax.vi import fullrank_vi

from samplers.adaptation.preconditioning import whitening
from samplers.base import BIASED, SamplerInfo
from samplers.settings import settings, static_int, traced_float
from samplers.vi.gaussian_vi import Variational


@settings
class FullrankVI(Variational):
    """BlackJAX's full-rank VI: Gaussian with any covariance; exact for Gaussian targets."""

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "approximation", f"{BIASED}, unless Gaussian", "steps x samples + 4", "precision, to whiten"
    )
    family: ClassVar[Any] = fullrank_vi

    steps: int = static_int(default=20, ge=1, doc="Adam steps a round")
    samples: int = static_int(default=5, ge=1, doc="draws that each step estimates the ELBO from")
    step: float = traced_float(default=0.1, gt=0, doc="Adam's first step, in units of the frame")
    whiten: str = whitening()

    def shape(self, dim: int) -> int:
        """Log-diagonal and lower triangle of a Cholesky factor."""
        return dim * (dim + 1) // 2
