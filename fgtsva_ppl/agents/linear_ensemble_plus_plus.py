"""Ensemble++ (Li et al. 2025) with its linear update: a factor of the covariance, updated with random directions."""

import dataclasses
from typing import ClassVar, NamedTuple, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.agents.base import decide, require_linear
from fgtsva_ppl.posteriors import TS, Posterior
from fgtsva_ppl.rewards import AnyReward, Linear, flat_model
from fgtsva_ppl.types import ActionInfo, Agent, Round, Shape
from samplers.errors import InputError
from samplers.settings import nested, settings, static, static_int


class FactorState(NamedTuple):
    """What the agent carries from round to round; A = precision^-1 factor has A A' close to the covariance.

    Attributes:
        precision: Of the posterior.
        shift: precision times the posterior's mean.
        factor: precision times A.
        direction: Random unit vector of the coming datum.
    """

    precision: Float[Array, "dim dim"]
    shift: Float[Array, " dim"]
    factor: Float[Array, "dim members"]
    direction: Float[Array, " members"]


def unit_vector(key: Key[Array, ""], members: int) -> Float[Array, " members"]:
    """Draws a unit vector: z'z = 1, so that the factor's square has the covariance as its mean."""
    normal = jax.random.normal(key, (members,))
    return normal / jnp.linalg.norm(normal)


@settings
class LinearEnsemblePlusPlus(Agent):
    """Ensemble++, linear update: plays the best arm under mean + A zeta with zeta ~ N(0, I_M).

    A datum x of precision 2 eta adds sqrt(2 eta) x z' to precision A, with a random unit vector z of M entries: unlike
    in an ensemble, a decision mixes all M directions. From the paper's description of its linear case.
    """

    label: ClassVar[str] = "linear_ensemble_plus_plus"

    reward: AnyReward = static(default=Linear())
    posterior: Posterior = nested(default=TS())
    members: int = static_int(default=8, ge=1, doc="columns M of the factor")

    @override
    def for_horizon(self, rounds: int) -> "LinearEnsemblePlusPlus":
        return dataclasses.replace(self, posterior=self.posterior.for_horizon(rounds))

    @override
    def start(self, key: Key[Array, ""], shape: Shape) -> FactorState:
        """Draws the factor of the prior: unit vectors in its root."""
        require_linear(self.label, shape)
        model = flat_model(self.reward, shape.dim, shape.arms)
        if model.gaussian is None or model.features != shape.dim:
            raise InputError(
                "agent linear_ensemble_plus_plus needs a linear reward with a Gaussian prior: reward=linear"
            )
        mean, precision = map(jnp.asarray, model.gaussian)
        rows = jax.vmap(lambda k: unit_vector(k, self.members))(jax.random.split(key, shape.dim))
        root = jnp.linalg.cholesky(precision)
        return FactorState(precision, precision @ mean, root @ rows, jnp.zeros(self.members))

    @override
    def act(
        self, key: Key[Array, ""], state: FactorState, round: Round
    ) -> tuple[FactorState, Int[Array, ""], ActionInfo]:
        """Draws zeta, and the direction of the coming datum."""
        zeta_key, direction_key = jax.random.split(key)
        zeta = jax.random.normal(zeta_key, (self.members,))
        theta = jax.scipy.linalg.solve(state.precision, state.shift + state.factor @ zeta, assume_a="pos")
        state = state._replace(direction=unit_vector(direction_key, self.members))
        return state, *decide(round.actions @ theta)

    @override
    def update(
        self, state: FactorState, round: Round, action: Int[Array, ""], reward: Float[Array, ""]
    ) -> FactorState:
        """Adds the datum to the posterior, and to its factor in a random direction."""
        features = round.actions[action]
        weight = 2 * self.posterior.weight(round.sigma)
        return FactorState(
            state.precision + weight * jnp.outer(features, features),
            state.shift + weight * reward * features,
            state.factor + jnp.sqrt(weight) * jnp.outer(features, state.direction),
            state.direction,
        )
