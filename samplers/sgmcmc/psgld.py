"""Langevin steps without an accept test, in whitened coordinates."""

from samplers.adaptation.preconditioning import step_rule, whitening
from samplers.settings import settings, traced_float, traced_int
from samplers.sgmcmc.sgld import Langevin, decaying, minibatch


@settings
class PSGLD(Langevin):
    """The same steps in coordinates whitened by the posterior precision, shorter from step to step.

    The first of length 1 forgets where the last round ended (on a Gaussian, wholly), the last ones hardly add a bias.
    """

    steps: int = traced_int(default=20, ge=1, doc="Langevin steps a round")
    step: float = traced_float(default=1.0, gt=0, doc="size of a round's first step, in whitened units")
    whiten: str = whitening()
    rule: str = step_rule()
    decay: float = decaying(1.0)
    minibatch: int = minibatch()
