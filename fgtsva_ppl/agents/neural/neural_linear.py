"""NeuralLinear (Riquelme, Tucker & Snoek 2018): Bayesian linear regression on the last hidden layer of a network."""

from typing import ClassVar, NamedTuple, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Key

from fgtsva_ppl.agents.neural.base import NeuralAgent, NeuralState
from fgtsva_ppl.networks import Batch, Network
from fgtsva_ppl.types import Round, Shape
from samplers.settings import choice, settings, traced_float


class LastLayer(NamedTuple):
    """Sufficient statistics of the regression of every head on z, the last hidden layer and a one.

    Attributes:
        gram: sum_s z_s z_s'.
        moment: sum_s r_s z_s.
        square: sum_s r_s^2.
        num_rows: Number of rows.
    """

    gram: Float[Array, "heads size size"]
    moment: Float[Array, "heads size"]
    square: Float[Array, " heads"]
    num_rows: Float[Array, " heads"]

    @classmethod
    def of(
        cls,
        units: Float[Array, "rows size"],
        rewards: Float[Array, " rows"],
        membership: Float[Array, "rows heads"],
    ) -> "LastLayer":
        """The sums over some rows, each of which belongs to the heads with membership 1."""
        return cls(
            jnp.einsum("rh,ri,rj->hij", membership, units, units),
            membership.T @ (rewards[:, None] * units),
            membership.T @ rewards**2,
            jnp.sum(membership, axis=0),
        )


@settings
class NeuralLinear(NeuralAgent):
    """Thompson sampling with an exact posterior of the last layer, for given hidden layers.

    The hidden layers are those of a network that is trained every `refit_every` rounds, after which the regression is
    computed anew from all rounds. With z the units of the last hidden layer and a one, r ~ N(<beta, z>, s^2),
    beta ~ N(0, s^2 / lam I), and s^2 ~ InverseGamma(a0, b0) or known:

        P = lam I + sum z z',  m = P^-1 sum r z,  a = a0 + n/2,  b = b0 + (sum r^2 - m'Pm)/2
        s^2 ~ InverseGamma(a, b),  beta ~ N(m, s^2 P^-1).
    """

    variance: str = choice(
        default="inverse_gamma",
        options=("inverse_gamma", "known"),
        doc="of the noise: unknown with an inverse-gamma prior, or known to be sigma^2",
    )
    lam: float = traced_float(
        default=0.25, gt=0, doc="prior precision of the last layer, over that of the noise"
    )
    a0: float = traced_float(default=6.0, gt=0, doc="shape of the inverse-gamma prior")
    b0: float = traced_float(default=6.0, gt=0, doc="scale of the inverse-gamma prior")
    sigma: float = traced_float(default=0.1, gt=0, doc="standard deviation of the noise, with variance=known")

    label: ClassVar[str] = "neural_linear"

    @override
    def start_extra(self, key: Key[Array, ""], shape: Shape, params: Network) -> LastLayer:
        heads = shape.arms if self.heads == "disjoint" else 1
        nothing = jnp.zeros((0, heads))
        units = jnp.zeros((0, self.last_width(shape.dim) + 1))
        return LastLayer.of(units, jnp.zeros(0), nothing)

    @override
    def after_training(self, state: NeuralState, row: Batch) -> NeuralState:
        """Adds the newest row to the sums; if the network is new, computes them from all rows."""
        last: LastLayer = state.extra

        def sums(rows: Batch) -> LastLayer:
            return LastLayer.of(
                self.with_intercept(state.params, rows.features),
                rows.targets,
                rows.weights[:, None] * self._membership(rows.arms, last.num_rows.size),
            )

        added = jax.tree.map(jnp.add, last, sums(row))
        due = jnp.asarray(self.is_due(state.rounds), int)
        return state._replace(extra=jax.lax.fori_loop(0, due, lambda *_: sums(state.rows), added))

    @override
    def scores(self, key: Key[Array, ""], state: NeuralState, round: Round) -> Float[Array, " arms"]:
        """<beta, z> with beta drawn from the posterior, one for all arms or one for each."""
        beta = self.draw(key, state.extra)
        units = self.with_intercept(state.params, round.actions)
        chosen = (
            beta if self.heads == "disjoint" else jnp.broadcast_to(beta, (units.shape[0], beta.shape[-1]))
        )
        return jnp.sum(units * chosen, axis=-1)

    def draw(self, key: Key[Array, ""], last: LastLayer) -> Float[Array, "heads size"]:
        """The coefficients of every head from their posterior, independently."""
        variance_key, beta_key = jax.random.split(key)
        precision = last.gram + self.lam * jnp.eye(last.gram.shape[-1])
        factor = jnp.linalg.cholesky(precision)  # precision = factor factor'
        half = jax.scipy.linalg.solve_triangular(factor, last.moment[..., None], lower=True)  # factor' m
        if self.variance == "known":
            deviation = self.sigma * jnp.ones_like(last.num_rows)
        else:
            shape = self.a0 + last.num_rows / 2
            scale = self.b0 + jnp.maximum(last.square - jnp.sum(half**2, axis=(-2, -1)), 0.0) / 2
            deviation = jnp.sqrt(scale / jax.random.gamma(variance_key, shape))
        noise = deviation[:, None, None] * jax.random.normal(beta_key, half.shape)
        return jax.scipy.linalg.solve_triangular(factor, half + noise, lower=True, trans=1)[..., 0]

    def _membership(self, arms: Array, heads: int) -> Array:
        """One where a row belongs to a head."""
        return jax.nn.one_hot(arms, heads) if self.heads == "disjoint" else jnp.ones((arms.size, 1))

    @override
    def round_products(self, shape: Shape, rounds: int) -> float:
        """Also of the regression: a factorisation in each round, all rows after a training."""
        heads = shape.arms if self.heads == "disjoint" else 1
        size = self.last_width(shape.dim) + 1
        regression = heads * (size**3 / 3 + size**2 * (4 + rounds / 2 / self.refit_every))
        return super().round_products(shape, rounds) + regression
