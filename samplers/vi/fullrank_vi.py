"""Gaussian variational inference with a full covariance."""

from typing import Any, ClassVar

from blackjax.vi import fullrank_vi

from samplers.adaptation.preconditioning import whitening
from samplers.base import BIASED, Card
from samplers.settings import integer, number, settings
from samplers.vi.gaussian_vi import Variational


@settings
class FullrankVI(Variational):
    """BlackJAX's full-rank VI: Gaussian with any covariance; exact for Gaussian targets."""

    card: ClassVar[Card] = Card(
        "approximation", f"{BIASED}, unless Gaussian", "steps x samples + 4", "precision, to whiten"
    )
    family: ClassVar[Any] = fullrank_vi

    steps: int = integer(default=20, least=1, doc="Adam steps a round")
    samples: int = integer(default=5, least=1, doc="draws that each step estimates the ELBO from")
    step: float = number(default=0.1, above=0, doc="Adam's first step, in units of the frame")
    whiten: str = whitening()

    def shape(self, dim: int) -> int:
        """Log-diagonal and lower triangle of a Cholesky factor."""
        return dim * (dim + 1) // 2
