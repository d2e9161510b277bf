"""A user's own observation model: the likelihood that the reward program itself contains."""

from collections.abc import Callable
from typing import override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from fgtsva_ppl.likelihoods.base import Likelihood
from fgtsva_ppl.rewards import ObservedFunction, RewardFunction, row_gradients
from samplers.settings import settings, static_int, traced_float


@settings
class OwnLikelihood(Likelihood):
    """The reward program's own: what its function observes with numpyro.sample(..., obs=rewards).

    Nothing is known of such a distribution, so its Fisher information E[grad log p grad log p'] is estimated from
    rewards drawn from it, always with the same random numbers.
    """

    eta: float = traced_float(default=1.0, gt=0, doc="power of the likelihood; 1: Bayes, less: tempered")
    num_simulated: int = static_int(
        default=8, ge=1, doc="rewards drawn for each datum to estimate its Fisher information"
    )

    @override
    def losses(
        self, predictor: Float[Array, " rows"], rewards: Float[Array, " rows"]
    ) -> Float[Array, " rows"]:
        raise NotImplementedError("the program's own likelihood has no predictor")

    @override
    def information(self, predictor: Float[Array, " rows"]) -> Float[Array, " rows"]:
        raise NotImplementedError("the program's own likelihood has no predictor")

    @override
    def loss(
        self,
        function: RewardFunction,
        features: Float[Array, "rows features"],
        rewards: Float[Array, " rows"],
        weights: Float[Array, " rows"],
    ) -> Float[Array, ""]:
        assert isinstance(function, ObservedFunction)
        # An empty row's reward of 0 may have no density, nor a finite gradient; at the mean the gradient is finite.
        empty = weights == 0
        finite = jnp.where(empty, jax.lax.stop_gradient(function(features)), rewards)
        log_likelihoods = jnp.where(empty, 0.0, function.log_likelihood(features, finite))
        return -jnp.sum(weights * log_likelihoods)

    @override
    def curvature_factor(
        self,
        function: Callable[[Array], RewardFunction],
        features: Float[Array, "rows features"],
        weights: Float[Array, " rows"],
        position: Float[Array, " size"],
    ) -> Float[Array, "factor_rows size"]:
        here = function(position)
        assert isinstance(here, ObservedFunction)
        keys = jax.random.split(jax.random.key(0), self.num_simulated)
        simulated = jax.lax.stop_gradient(jax.vmap(lambda key: here.simulate(key, features))(keys))

        def scores(rewards: Array) -> Array:
            # The reward travels with its row's features, so that each row is differentiated on its own.
            def log_likelihood(x: Array) -> RewardFunction:
                observed = function(x)
                assert isinstance(observed, ObservedFunction)
                return lambda rows: observed.log_likelihood(rows[:, :-1], rows[:, -1])

            return row_gradients(log_likelihood, jnp.concatenate([features, rewards[:, None]], 1), position)

        factor = jnp.sqrt(weights / self.num_simulated)[:, None] * jax.vmap(scores)(simulated)
        return factor.reshape(-1, position.size)

    @property
    @override
    def name(self) -> str:
        return "own"
