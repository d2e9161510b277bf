"""Ensemble++ (Li, Xu, Li & Luo 2025): one network, and an ensemble that only perturbs its last layer."""

from typing import ClassVar, NamedTuple, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.agents.neural.base import NeuralAgent, NeuralState, squared_distance
from fgtsva_ppl.networks import Batch, Network, least_squares, mean_loss
from fgtsva_ppl.types import ActionInfo, Round, Shape
from samplers.settings import settings, static_int, traced_float


class Hypermodel(NamedTuple):
    """A network for the mean, and the factor A of the covariance of its last layer.

    Attributes:
        network: Predicts the mean <b, z>, z being its last hidden layer and a one.
        factor: A, a column for each member; one A for all arms, or one for each.
    """

    network: Network
    factor: Float[Array, "heads size members"]


@settings
class EnsemblePlusPlus(NeuralAgent):
    """Plays argmax_a <b + A zeta, z(x_t, a)> with zeta ~ N(0, I).

    z is the last hidden layer of the network and a one. A minimises

        sum_s ||A' z_s - sigma xi_s||^2 / 2 + lam ||A - A_0||^2 / 2,

    with a direction xi_s on the unit sphere for each datum and A_0 random with E[A_0 A_0'] = sigma^2 / lam I. For
    fixed z the expectation of A A' over both is sigma^2 (lam I + sum z z')^-1, the covariance of the Bayesian linear
    regression. The gradient of this loss does not reach the hidden layers, which fit the mean alone.
    """

    members: int = static_int(default=8, ge=1, doc="columns of A, the members of the ensemble")
    lam: float = traced_float(default=1.0, gt=0, doc="ridge lambda of A")
    sigma: float = traced_float(default=0.5, ge=0, doc="standard deviation of the perturbations")

    label: ClassVar[str] = "ensemble_plus_plus"

    @override
    def start_params(self, key: Key[Array, ""], shape: Shape) -> Hypermodel:
        network_key, factor_key = jax.random.split(key)
        network = self.start_network(network_key, shape.dim, shape.arms)
        size = self.last_width(shape.dim) + 1
        heads = shape.arms if self.heads == "disjoint" else 1
        scale = self.sigma / jnp.sqrt(self.lam * self.members)
        return Hypermodel(network, scale * jax.random.normal(factor_key, (heads, size, self.members)))

    @override
    def start_extra(self, key: Key[Array, ""], shape: Shape, params: Hypermodel) -> Float[Array, " members"]:
        """The direction of the coming datum."""
        return jnp.zeros(self.members)

    @property
    @override
    def member_shape(self) -> tuple[int, ...]:
        return (1 + self.members,)

    @override
    def penalty(self, params: Hypermodel, initial: Hypermodel) -> Float[Array, ""]:
        of_factor = self.lam * squared_distance(params.factor, initial.factor) / 2
        return of_factor + self.weight_decay * squared_distance(params.network, initial.network) / 2

    @override
    def act(
        self, key: Key[Array, ""], state: NeuralState, round: Round
    ) -> tuple[NeuralState, Int[Array, ""], ActionInfo]:
        """Also draws the direction of the coming datum."""
        decision_key, direction_key = jax.random.split(key)
        state, arm, info = super().act(decision_key, state, round)
        direction = jax.random.normal(direction_key, (self.members,))
        return state._replace(extra=direction / jnp.linalg.norm(direction)), arm, info

    @override
    def decision(self, state: NeuralState) -> Float[Array, " members"]:
        """The direction of the coming datum."""
        return state.extra

    @override
    def with_decision(self, state: NeuralState, decision: Float[Array, " members"]) -> NeuralState:
        return state._replace(extra=decision)

    @override
    def row(
        self, state: NeuralState, round: Round, action: Int[Array, ""], reward: Float[Array, ""]
    ) -> Batch:
        """The targets are the reward, and the perturbation for each column of A."""
        targets = jnp.append(reward, self.sigma * state.extra)
        return Batch(round.actions[action][None], action[None], targets[None], jnp.ones((1, targets.size)))

    @override
    def loss(
        self, key: Key[Array, ""], state: NeuralState, params: Hypermodel, batch: Batch
    ) -> Float[Array, ""]:
        """Of the mean and of A, per row. Rows that are empty have weight zero."""
        weights, targets = batch.weights[:, 0], batch.targets
        mean = self.predict(params.network, batch.features, batch.arms)
        moves = self.perturbations(params, batch.features, batch.arms)
        total = least_squares(mean, targets[:, 0], weights)
        total += jnp.sum(least_squares(moves.T, targets[:, 1:].T, weights))
        return mean_loss(total, weights)

    def perturbations(
        self, params: Hypermodel, features: Float[Array, "rows dim"], arms: Int[Array, " rows"]
    ) -> Float[Array, "rows members"]:
        """A' z of each row."""
        units = jax.lax.stop_gradient(self.with_intercept(params.network, features))
        own = params.factor[arms if self.heads == "disjoint" else jnp.zeros_like(arms)]
        return jnp.einsum("rs,rsm->rm", units, own)

    @override
    def scores(self, key: Key[Array, ""], state: NeuralState, round: Round) -> Float[Array, " arms"]:
        """<b + A zeta, z> with one zeta for all arms."""
        arms = self.arm_indices(round)
        direction = jax.random.normal(key, (self.members,))
        mean = self.predict(state.params.network, round.actions, arms)
        return mean + self.perturbations(state.params, round.actions, arms) @ direction
