"""Samplers as another project runs them, to reproduce its results; never as ours.

SarahLiaw/ctx-bandits-mcmc-showdown (Anand & Liaw 2025) steps with size step_size / t, at a temperature of its own, and
its Metropolis step does not leave its target invariant. A target's log-density is minus their loss.
"""

from typing import ClassVar, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Key

from samplers.base import BIASED, Draw, Sampler, SamplerInfo, SamplerState, Start
from samplers.settings import settings, traced_float, traced_int
from samplers.target import Target


@settings
class ShowdownLMC(Sampler):
    """Another project's Langevin sampler, as published: steps of size step_size / t at a temperature of its own."""

    uses_metric: ClassVar[bool] = False
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "control", f"{BIASED} (another project's, as published)", "num_steps", "nothing"
    )

    num_steps: int = traced_int(default=25, ge=1, doc="steps per draw (their K)")
    step_size: float = traced_float(default=0.1, gt=0, doc="step size of the first round; divided by t")
    temperature: float = traced_float(
        default=0.1842, gt=0, doc="their 0.001 d log T; the default is that of d=20, T=10000"
    )

    @property
    @override
    def expected_gradients(self) -> int:
        return self.num_steps

    @override
    def init(self, key: Key[Array, ""], start: Start) -> SamplerState:
        """Starts before the first round, in which nothing moves."""
        return SamplerState(start(key), jnp.asarray(1))

    @override
    def sample(self, key: Key[Array, ""], target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        h = self.step_size / state.carry
        num_steps = jnp.where(state.carry == 1, 0, self.num_steps)
        value_and_gradient = jax.value_and_grad(target.logdensity)

        def step(index: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            return self._step(jax.random.fold_in(key, index), carry, h, value_and_gradient)

        start = (state.position, jnp.zeros(()))
        position, accepted = jax.lax.fori_loop(0, num_steps, step, start)
        draw = Draw.without_acceptance(position, num_steps)
        rate = self._acceptance_rate(accepted, num_steps)
        return SamplerState(position, state.carry + 1), draw._replace(acceptance_rate=rate)

    def _acceptance_rate(self, accepted: Array, num_steps: Array) -> Array:
        return jnp.asarray(jnp.nan)

    def _propose(self, key: Array, position: Array, gradient: Array, h: Array) -> Array:
        noise = jax.random.normal(key, position.shape)
        return position + h * gradient + jnp.sqrt(2 * h * self.temperature) * noise

    def _step(
        self, key: Array, carry: tuple[Array, Array], h: Array, value_and_gradient: object
    ) -> tuple[Array, Array]:
        position, accepted = carry
        _, gradient = value_and_gradient(position)  # type: ignore[operator]
        return self._propose(key, position, gradient, h), accepted


@settings
class ShowdownMALA(ShowdownLMC):
    """Another project's MALA, as published: the proposal's density in its accept step has a wrong sign and temperature.

    The ratio compares densities at temperature 1 although the proposal's noise has another, and centres the proposal on
    x - h grad log p(x) instead of x + h grad log p(x).
    """

    num_steps: int = traced_int(default=25, ge=1, doc="steps per draw (their K)")

    @override
    def _acceptance_rate(self, accepted: Array, num_steps: Array) -> Array:
        return accepted / jnp.maximum(num_steps, 1)

    @override
    def _step(
        self, key: Array, carry: tuple[Array, Array], h: Array, value_and_gradient: object
    ) -> tuple[Array, Array]:
        position, accepted = carry
        proposal_key, accept_key = jax.random.split(key)
        value, gradient = value_and_gradient(position)  # type: ignore[operator]
        proposed = self._propose(proposal_key, position, gradient, h)
        new_value, new_gradient = value_and_gradient(proposed)  # type: ignore[operator]

        def wrong_log_q(x: Array, y: Array, gradient: Array) -> Array:
            return -jnp.sum((y - x + h * gradient) ** 2) / (4 * h)

        log_ratio = new_value - value
        log_ratio += wrong_log_q(proposed, position, new_gradient) - wrong_log_q(position, proposed, gradient)
        accept = jnp.log(jax.random.uniform(accept_key)) < log_ratio
        return jnp.where(accept, proposed, position), accepted + accept
