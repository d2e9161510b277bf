"""A posterior whose data speak through another likelihood than the squared loss."""

from typing import override

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from fgtsva_ppl.likelihoods import Bernoulli, Likelihood
from fgtsva_ppl.posteriors.base import Posterior
from fgtsva_ppl.posteriors.history import Data, History, ReplayBuffer
from fgtsva_ppl.posteriors.loss import Matrix, product
from fgtsva_ppl.posteriors.variance import VarianceModel
from fgtsva_ppl.rewards import FlatModel, RewardFunction
from fgtsva_ppl.types import Round, Shape
from samplers.logistic import LogisticFactor
from samplers.settings import nested, settings


@settings
class WithLikelihood(Posterior):
    """log p_t(f) = log p0(f) + eta sum_{s<t} log p(r_s | f(x_s, a_s)) + the bonus of another posterior.

    `eta` is the likelihood's own. The other posterior's weights of data are not used.
    """

    posterior: Posterior = nested()
    likelihood: Likelihood = nested()

    @classmethod
    def of(cls, posterior: Posterior, likelihood: Likelihood) -> Posterior:
        """The posterior itself with the squared loss, which is its own."""
        if likelihood.conjugate:
            return posterior
        shared = ("maximum", "sharpness", "cap", "discount", "window", "random_walk")
        return cls(posterior, likelihood, **{name: getattr(posterior, name) for name in shared})

    @property
    def sums_past(self) -> bool:  # type: ignore[override]
        """As in the other posterior."""
        return self.posterior.sums_past

    @override
    def keeps_actions(self, shape: Shape) -> bool:
        return self.posterior.keeps_actions(shape)

    @property
    @override
    def variance_model(self) -> VarianceModel:
        return self.posterior.variance_model

    @property
    @override
    def min_sigma(self) -> Float[Array, ""] | float:
        return self.posterior.min_sigma

    @override
    def weight(self, sigma: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        return jnp.full_like(sigma, self.likelihood.eta)

    @override
    def weight_scale(self, history: History) -> Float[Array, ""] | float:
        return 1.0

    @override
    def round_variance(self, sigma: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
        return self.posterior.round_variance(sigma)

    @override
    def bonus_scale(
        self, total_variance: Float[Array, "*batch"], sigma: Float[Array, "*batch"]
    ) -> Float[Array, "*batch"]:
        return self.posterior.bonus_scale(total_variance, sigma)

    @override
    def loss(self, history: History, data: Data, function: RewardFunction) -> Float[Array, ""]:
        assert isinstance(data, ReplayBuffer)
        return self.likelihood.loss(function, *data)

    @override
    def curvature(
        self,
        model: FlatModel,
        history: History,
        data: Data,
        position: Float[Array, " size"],
        *,
        diagonal: bool = False,
    ) -> Matrix:
        assert isinstance(data, ReplayBuffer)
        factor = self.curvature_factor(model, data, position)
        return product(factor, factor, diagonal)

    @override
    def curvature_factor(
        self, model: FlatModel, rows: ReplayBuffer, position: Float[Array, " size"]
    ) -> Float[Array, "factor_rows size"]:
        return self.likelihood.curvature_factor(model.function, rows.features, rows.weights, position)

    @override
    def logistic_factor(self, model: FlatModel, history: History, round: Round) -> LogisticFactor | None:
        if model.logit is None or not isinstance(self.likelihood, Bernoulli) or self.discount is not None:
            return None  # where weights differ from datum to datum there are no Polya-Gamma variables
        assert isinstance(history.data, ReplayBuffer)
        features, rewards, weights = history.data
        present = jnp.where(weights > 0, 1.0, 0.0)

        def remainder(position: Array) -> Array:
            function = model.function(position)
            log_likelihood = -self.likelihood.loss(function, features, rewards, present)
            return self.bonus(function, history, round) + (self.likelihood.eta - 1) * log_likelihood

        return LogisticFactor(features, rewards, present, remainder)
