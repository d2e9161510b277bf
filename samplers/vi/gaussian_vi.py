"""What the two Gaussian variational families share."""

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Any, ClassVar, override

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Float, Key

from samplers.adaptation.preconditioning import Dense, Preconditioner
from samplers.base import SamplerState
from samplers.mode import find_mode
from samplers.registry import PRECONDITIONERS
from samplers.settings import component, settings, static_int, traced_float
from samplers.target import Target
from samplers.vi.base import Approximation, Fit

NUM_MODE_ITERATIONS = 3  # Newton steps to a mode, where the mean starts


@settings
class GaussianVI(Approximation):
    """Maximises the ELBO by Adam, with a learning rate that falls to zero within a draw."""

    uses_metric: ClassVar[bool] = False
    family: ClassVar[Any]  # BlackJAX's module

    num_iterations: int = static_int(default=20, ge=1, doc="Adam steps per draw")
    num_samples: int = static_int(default=5, ge=1, doc="draws that each step estimates the ELBO from")
    learning_rate: float = traced_float(
        default=0.1, gt=0, doc="Adam's first learning rate, in preconditioned coordinates"
    )
    _: KW_ONLY
    preconditioner: Preconditioner = component(
        PRECONDITIONERS, default=Dense(), doc="coordinates in which the Gaussian is fitted"
    )

    @abstractmethod
    def num_scale_parameters(self, dim: int) -> int:
        """Returns the number of parameters of the covariance; all zero means a unit covariance."""

    @override
    def init_carry(self, position: Float[Array, " size"]) -> Any:
        """Returns the mean in the target's coordinates, and the covariance's parameters in preconditioned ones."""
        return position, jnp.zeros(self.num_scale_parameters(position.shape[-1]), position.dtype)

    @override
    def fit(self, key: Key[Array, ""], target: Target, state: SamplerState) -> Fit:
        mean, scale = state.carry
        start = find_mode(target, mean, NUM_MODE_ITERATIONS)
        preconditioned = self.preconditioner.apply(target.with_local_precision(), start)
        optimizer = optax.adam(optax.cosine_decay_schedule(self.learning_rate, self.num_iterations))
        parameters = (preconditioned.from_target(start), scale)
        initial = self.family.init(start, optimizer)
        initial = type(initial)(*parameters, optimizer.init(parameters))

        def improve(carry: Any, key: Array) -> tuple[Any, None]:
            step = self.family.step(key, carry, preconditioned.logdensity, optimizer, self.num_samples)
            return step[0], None

        end, _ = jax.lax.scan(improve, initial, jax.random.split(key, self.num_iterations))
        mode_gradients = 0 if target.precision is None else NUM_MODE_ITERATIONS + 1
        num_gradients = self.num_iterations * self.num_samples + preconditioned.num_gradients + mode_gradients
        return Fit(
            lambda k: preconditioned.to_target(self.family.sample(k, end, 1)[0]),
            (preconditioned.to_target(end[0]), end[1]),
            num_gradients,
        )

    @property
    @override
    def expected_gradients(self) -> int:
        return self.num_iterations * self.num_samples + NUM_MODE_ITERATIONS + 1
