"""NeuralUCB (Zhou, Li & Gu 2020) and NeuralTS (Zhang, Zhou, Li & Gu 2021): the network's gradient as features."""

from typing import ClassVar, override

import jax
import jax.numpy as jnp
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Float, Int, Key

from fgtsva_ppl.agents.neural.base import NeuralAgent, NeuralState, squared_distance
from fgtsva_ppl.networks import Network
from fgtsva_ppl.types import Round, Shape
from samplers.errors import InputError
from samplers.settings import choice, settings, traced_float

MAX_FULL = 4000  # parameters, for a matrix of 128 MB


@settings
class GradientFeatures(NeuralAgent):
    """Base class: g(x, a) = grad f(x, a; theta) / sqrt(m) with m units a layer, and Z = lam I + sum_s g_s g_s'.

    g_s is taken at the weights of its round. The penalty of the training is m lam ||theta - theta_0||^2 / 2.
    """

    matrix: str = choice(
        default="diagonal",
        options=("diagonal", "full"),
        doc="Z: its diagonal, or all of it, whose inverse has a rank-one update in each round",
    )
    lam: float = traced_float(default=0.01, gt=0, doc="ridge lambda: Z starts at lam I")

    @override
    def start_extra(self, key: Key[Array, ""], shape: Shape, params: Network) -> Float[Array, "*sizes"]:
        """The diagonal of Z, or the inverse of Z."""
        size = self.network_size(shape.dim, shape.arms)
        if self.matrix == "diagonal":
            return self.lam * jnp.ones(size)
        if size > MAX_FULL:
            raise InputError(
                f"agent {self.label}: matrix=full with {size} parameters is more than {MAX_FULL}; use "
                "matrix=diagonal, a smaller width, or environment.encoding=joint"
            )
        return jnp.eye(size) / self.lam

    @override
    def penalty(self, params: Network, initial: Network) -> Float[Array, ""]:
        return (self.weight_decay + self._layer_width * self.lam) * squared_distance(params, initial) / 2

    @property
    def _layer_width(self) -> int:
        return self.width if self.depth else 1

    @override
    def gradients_per_decision(self, arms: int) -> int:
        """One for each arm, and one for the update of Z."""
        return arms + 1

    @override
    def round_products(self, shape: Shape, rounds: int) -> float:
        full = 4.0 * self.num_parameters(shape) ** 2 if self.matrix == "full" else 0.0
        return super().round_products(shape, rounds) + full * (shape.arms + 1)

    def features(
        self, network: Network, rows: Float[Array, "rows dim"], arms: Int[Array, " rows"]
    ) -> Float[Array, "rows size"]:
        """g(x, a) of each row."""
        flat, unravel = ravel_pytree(network)

        def output(weights: Array, row: Array, arm: Array) -> Array:
            return self.predict(unravel(weights), row[None], arm[None])[0]

        gradients = jax.vmap(jax.grad(output), in_axes=(None, 0, 0))(flat, rows, arms)
        return gradients / self._layer_width**0.5

    def deviations(self, state: NeuralState, round: Round) -> Float[Array, " arms"]:
        """sqrt(g' Z^-1 g) of each arm."""
        features = self.features(state.params, round.actions, self.arm_indices(round))
        if self.matrix == "diagonal":
            return jnp.sqrt(jnp.sum(features**2 / state.extra, axis=-1))
        return jnp.sqrt(jnp.maximum(jnp.sum((features @ state.extra) * features, axis=-1), 0.0))

    def means(self, state: NeuralState, round: Round) -> Float[Array, " arms"]:
        """f(x, a) of each arm."""
        return self.predict(state.params, round.actions, self.arm_indices(round))

    @override
    def before_update(self, state: NeuralState, round: Round, action: Int[Array, ""]) -> NeuralState:
        """Adds g g' of the arm that was pulled, at the weights that chose it; Sherman-Morrison for the inverse."""
        feature = self.features(state.params, round.actions[action][None], action[None])[0]
        if self.matrix == "diagonal":
            return state._replace(extra=state.extra + feature**2)
        product = state.extra @ feature
        change = jnp.outer(product, product) / (1 + feature @ product)
        return state._replace(extra=state.extra - change)


@settings
class NeuralUCB(GradientFeatures):
    """Plays argmax_a f(x_t, a) + gamma sqrt(g' Z^-1 g), with a constant gamma as in the paper's experiments."""

    gamma: float = traced_float(default=0.1, ge=0, doc="factor of the confidence width")

    label: ClassVar[str] = "neural_ucb"

    @override
    def scores(self, key: Key[Array, ""], state: NeuralState, round: Round) -> Float[Array, " arms"]:
        return self.means(state, round) + self.gamma * self.deviations(state, round)


@settings
class NeuralTS(GradientFeatures):
    """Plays the arm with the highest draw from N(f(x_t, a), nu^2 lam g' Z^-1 g), independent for the arms."""

    nu: float = traced_float(default=0.1, ge=0, doc="factor of the standard deviation")

    label: ClassVar[str] = "neural_ts"

    @override
    def scores(self, key: Key[Array, ""], state: NeuralState, round: Round) -> Float[Array, " arms"]:
        deviations = self.nu * jnp.sqrt(self.lam) * self.deviations(state, round)
        return self.means(state, round) + deviations * jax.random.normal(key, deviations.shape)
