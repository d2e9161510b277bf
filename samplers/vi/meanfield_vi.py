"""Gaussian variational inference with independent axes."""

from typing import Any, ClassVar

from blackjax.vi import meanfield_vi

from samplers.adaptation.preconditioning import whitening
from samplers.base import BIASED, Card
from samplers.settings import integer, number, settings
from samplers.vi.gaussian_vi import Variational


@settings
class MeanfieldVI(Variational):
    """BlackJAX's mean-field VI: Gaussian with independent coordinates, the target's own."""

    card: ClassVar[Card] = Card(
        "approximation", f"{BIASED}, variances too small", "steps x samples + 4", "precision, for the scales"
    )
    family: ClassVar[Any] = meanfield_vi

    steps: int = integer(default=20, least=1, doc="Adam steps a round")
    samples: int = integer(default=5, least=1, doc="draws that each step estimates the ELBO from")
    step: float = number(default=0.1, above=0, doc="Adam's first step, in units of the frame")
    whiten: str = whitening("diagonal")

    def shape(self, dim: int) -> int:
        """Log-scales."""
        return dim
