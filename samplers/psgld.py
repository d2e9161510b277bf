"""Langevin steps without an accept test, in whitened coordinates."""

from samplers.settings import count, number, settings
from samplers.sgld import Langevin, decaying, minibatch
from samplers.whitening import step_rule, whitening


@settings
class PSGLD(Langevin):
    """The same steps in coordinates whitened by the posterior precision."""

    steps: int = count(default=20, least=1, doc="Langevin steps a round")
    step: float = number(
        default=0.2, above=0, doc="step size in whitened units; the variance is 1/(1 - step/2) too large"
    )
    whiten: str = whitening()
    rule: str = step_rule()
    decay: float = decaying()
    minibatch: int = minibatch()
