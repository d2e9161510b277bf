"""What the Gaussian variational families share."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import optax
from jax import Array

from samplers.adaptation.preconditioning import frame
from samplers.base import SamplerState
from samplers.target import Target
from samplers.vi.base import Approximation, Fit, mode

CLIMB = 3  # Newton steps to a mode before the variational steps; the mean starts there


class Variational(Approximation):
    """Maximises the ELBO by Adam, with a step that falls to zero within the round."""

    steps: int
    samples: int
    step: float
    whiten: str
    family: ClassVar[Any]

    def shape(self, dim: int) -> int:
        """The number of parameters of the covariance; all zero means the frame's unit covariance."""
        raise NotImplementedError

    def carried(self, position: Array) -> Any:
        """The mean, and the shape of the covariance in the coordinates of its frame."""
        return position, jnp.zeros(self.shape(position.shape[-1]), position.dtype)

    def fit(self, key: Array, target: Target, state: SamplerState) -> Fit:
        """From the last mean and the last shape."""
        mean, shape = state.carry
        start = mode(target, mean, CLIMB)
        where = frame(target, start, self.whiten)
        optimizer = optax.adam(optax.cosine_decay_schedule(self.step, self.steps))
        parameters = (where.from_target(start), shape)
        initial = self.family.init(start, optimizer)
        initial = type(initial)(*parameters, optimizer.init(parameters))

        def improve(carry: Any, key: Array) -> tuple[Any, None]:
            return self.family.step(key, carry, where.logdensity, optimizer, self.samples)[0], None

        end, _ = jax.lax.scan(improve, initial, jax.random.split(key, self.steps))
        spent = self.steps * self.samples + where.spent + (0 if target.precision is None else CLIMB + 1)
        return Fit(
            lambda k: where.to_target(self.family.sample(k, end, 1)[0]),
            (where.to_target(end[0]), end[1]),
            spent,
        )
