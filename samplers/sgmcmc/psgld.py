"""Preconditioned stochastic-gradient Langevin dynamics."""

from samplers.adaptation.preconditioning import Dense, Preconditioner
from samplers.settings import settings, traced_float
from samplers.sgmcmc.sgld import SGLD


@settings
class PSGLD(SGLD):
    """SGLD in coordinates whitened by the precision, with steps that decay within a draw.

    The first step, of length 1, forgets the start (on a Gaussian completely); the last ones hardly add a bias.
    """

    step_size: float = traced_float(
        default=1.0, gt=0, doc="size of a draw's first step in units of 1 / largest curvature"
    )
    preconditioner: Preconditioner = Dense()
    step_size_decay: float = 1.0
