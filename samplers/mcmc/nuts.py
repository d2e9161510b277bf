"""The No-U-Turn sampler."""

from typing import ClassVar, override

import jax
from jax import Array
from jaxtyping import Float

from samplers.adaptation.preconditioning import Dense, Preconditioned, whitened_tilt
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo, Step
from samplers.mcmc._no_u_turn import State, draw_randomness, transition
from samplers.mcmc.hmc import Hamiltonian
from samplers.settings import settings, static_int
from samplers.target import Target

MAX_WHITENED_ARMS = 64  # up to which whitening all arms costs less than what the gradients of a draw save
TYPICAL_TRAJECTORY = 8  # gradients of a transition at the default step size


@settings
class NUTS(Hamiltonian):
    """NUTS as in BlackJAX: trajectories that double until they turn back (Hoffman & Gelman 2014; Betancourt 2017)."""

    sequential: ClassVar[bool] = True
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "Metropolis-adjusted",
        ASYMPTOTIC,
        "num_steps x (1 to 2^max_num_doublings - 1) + 1",
        "precision, to precondition",
    )

    num_steps: int = 5
    step_size: float = 0.9
    max_num_doublings: int = static_int(default=8, ge=1, le=12, doc="most doublings of a trajectory")

    @override
    def precondition(self, target: Target, position: Float[Array, " size"]) -> Preconditioned:
        preconditioned = super().precondition(target, position)
        if target.tilt is None or not isinstance(self.preconditioner, Dense):
            return preconditioned
        if target.tilt.actions.shape[-2] > MAX_WHITENED_ARMS:
            return preconditioned
        return preconditioned._replace(logdensity=whitened_tilt(target, whiten_arms=True).logdensity)

    @override
    def kernel(self, preconditioned: Preconditioned) -> Kernel:
        value_and_gradient = jax.value_and_grad(preconditioned.logdensity)
        step_size, doublings = self.leapfrog_step(preconditioned), self.max_num_doublings

        def init(key: Array, position: Array) -> State:
            return State(position, *value_and_gradient(position))

        def step(key: Array, state: State) -> tuple[State, Step]:
            numbers = draw_randomness(key, preconditioned.dim)
            state, report = transition(numbers, state, value_and_gradient, step_size, doublings)
            return state, Step(*report)

        return Kernel(init, step, lambda state: state.position)

    @property
    @override
    def expected_gradients(self) -> int:
        return self.num_steps * min(TYPICAL_TRAJECTORY, 2**self.max_num_doublings - 1)
