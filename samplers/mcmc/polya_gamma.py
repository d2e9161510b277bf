"""Gibbs sampling of logistic regressions by Polya-Gamma augmentation."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, override

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Float, Key

from samplers._polya_gamma import polya_gamma
from samplers.base import ASYMPTOTIC, Draw, Sampler, SamplerInfo, SamplerState
from samplers.errors import InputError
from samplers.settings import settings, traced_int
from samplers.target import Target


class Sweep(NamedTuple):
    """A position, and the mean acceptance probability of the sweeps that led to it."""

    position: Float[Array, "*batch size"]
    acceptance: Float[Array, "*batch"]


@settings
class PolyaGamma(Sampler):
    """Polya-Gamma Gibbs (Polson, Scott & Windle 2013): nothing to tune, exact in the limit for logistic rewards.

    A sweep draws omega_i ~ PG(1, <phi_i, x>) for each datum, then x from the Gaussian with precision
    P_0 + sum_i omega_i phi_i phi_i' and shift b_0 + sum_i (r_i - 1/2) phi_i. What is not Gaussian or logistic (the
    feel-good term) enters by an accept step, which accepts everything where there is nothing of the kind.
    """

    uses_metric: ClassVar[bool] = False
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "Gibbs",
        ASYMPTOTIC,
        "0 (one Cholesky factorisation per step)",
        "likelihood=bernoulli with a linear logit and a Gaussian prior, or a Gaussian factor in closed form",
    )

    num_steps: int = traced_int(default=20, ge=1, doc="sweeps per draw")

    @override
    def sample(self, key: Key[Array, ""], target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        sweep = _sweep(target)

        def step(index: Array, carry: Sweep) -> Sweep:
            after = sweep(jax.random.fold_in(key, index), carry.position)
            return Sweep(after.position, carry.acceptance + after.acceptance)

        end = jax.lax.fori_loop(0, self.num_steps, step, Sweep(state.position, jnp.zeros(())))
        return SamplerState(end.position), _draw(end._replace(acceptance=end.acceptance / self.num_steps))

    @override
    def trace(self, key: Key[Array, ""], target: Target, state: SamplerState, num_draws: int) -> Draw:
        """Returns the position after each of `num_draws` sweeps."""
        sweep = _sweep(target)

        def step(position: Array, key: Array) -> tuple[Array, Any]:
            after = sweep(key, position)
            return after.position, _draw(after)

        return jax.lax.scan(step, state.position, jax.random.split(key, num_draws))[1]


def _draw(sweep: Sweep) -> Draw:
    return Draw.without_acceptance(sweep.position)._replace(acceptance_rate=sweep.acceptance)


def _sweep(target: Target) -> Callable[[Array, Array], Sweep]:
    """One sweep on a target."""
    gaussian, logistic = target.gaussian, target.logistic
    if gaussian is None or (logistic is None and target.metric is not None):
        raise InputError(
            "sampler 'polya_gamma' needs a logistic regression: likelihood=bernoulli with reward=logistic"
        )
    precision, shift = gaussian
    if logistic is not None:
        features, responses, present, remainder = logistic
        shift = shift + features.T @ (present * (responses - 0.5))
    else:

        def remainder(x: Array) -> Array:
            return target.logdensity(x) + x @ (precision @ x) / 2 - shift @ x

    def conditional_precision(key: Array, position: Array) -> Array:
        if logistic is None:
            return precision
        omega = present * polya_gamma(key, features @ position)
        return precision + (features.T * omega) @ features

    def sweep(key: Array, position: Array) -> Sweep:
        omega_key, normal_key, accept_key = jax.random.split(key, 3)
        root = jnp.linalg.cholesky(conditional_precision(omega_key, position))
        noise = jax.random.normal(normal_key, position.shape, position.dtype)
        proposal = cho_solve((root, True), shift) + solve_triangular(root.T, noise, lower=False)
        probability = jnp.exp(jnp.minimum(remainder(proposal) - remainder(position), 0.0))
        probability = jnp.where(jnp.isnan(probability), 0.0, probability)
        accepted = jax.random.uniform(accept_key, (), position.dtype) < probability
        return Sweep(jnp.where(accepted, proposal, position), probability)

    return sweep
