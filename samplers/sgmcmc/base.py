"""What stochastic-gradient samplers share: gradients from a batch of the data, and step sizes that decay."""

from dataclasses import KW_ONLY
from typing import ClassVar, override

from jax import Array
from jaxtyping import Int

from samplers.adaptation.preconditioning import Preconditioned
from samplers.base import Kernel
from samplers.markov import PreconditionedSampler
from samplers.settings import settings, static_int, traced_float


@settings
class StochasticGradientSampler(PreconditionedSampler):
    """A sampler without an accept step, for which an unbiased estimate of the gradient is enough."""

    stable_curvature: ClassVar[float | None] = 10.0

    _: KW_ONLY
    step_size_decay: float = traced_float(
        default=0.0,
        ge=0,
        doc="decay of steps within a draw: the k-th has its squared length multiplied by k^-step_size_decay",
    )
    batch_size: int = static_int(
        default=0, doc="number of data that a gradient is estimated from (it counts as one gradient); 0: all"
    )

    @override
    def kernel_at(self, preconditioned: Preconditioned, kernel: Kernel, index: Int[Array, ""]) -> Kernel:
        """Returns the kernel with the shorter step of the index-th transition."""
        return self.kernel(preconditioned.with_step_scale((index + 1.0) ** (-self.step_size_decay / 2)))
