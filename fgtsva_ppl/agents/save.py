"""SAVE: layers of regressions, each with a finer norm, that adapt to an unknown variance; and LinVDTS-style.

Layer l (from 1 on) keeps Sigma_l = 2^-2l I + sum w^2 a a' over its own rounds. A round descends the layers, over the
surviving arms, until a layer is (i) certain of every arm, or (iii) uncertain of one and explores it.
"""

import dataclasses
import math
from typing import ClassVar, NamedTuple, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int, Key

from fgtsva_ppl.agents.base import decide, delta_field, radius_field, require_linear
from fgtsva_ppl.agents.ridge import Ridge, ridge
from fgtsva_ppl.types import ActionInfo, Agent, Round, Shape
from samplers.settings import choice, required, settings, static_int, traced_float

PRACTICAL_LAYERS = 5  # in the authors' repository uclaml/VACDB


class SAVEState(NamedTuple):
    """What the agent carries from round to round.

    Attributes:
        ridge: One regression for each layer.
        beta: Radius of each layer.
        pulls: |Psi_l|, the number of rounds of each layer.
        square: sum w^2 r^2 of each layer.
        layer: Where the last descent ended, counted from 0.
        explores: Whether it ended in branch (iii).
        max_sigma: The largest sigma_s so far.
        rounds: k - 1.
    """

    ridge: Ridge
    beta: Float[Array, " layers"]
    pulls: Float[Array, " layers"]
    square: Float[Array, " layers"]
    layer: Int[Array, ""]
    explores: Bool[Array, ""]
    max_sigma: Float[Array, ""]
    rounds: Int[Array, ""]


class Descent(NamedTuple):
    """A descent through the layers."""

    layer: Int[Array, ""]
    allowed: Bool[Array, " arms"]  # the surviving arms A_l
    stopped: Bool[Array, ""]
    explores: Bool[Array, ""]


@settings
class SAVE(Agent):
    """SAVE (Zhao, He, Zhou, Zhang, Gu 2023, Alg. 1), with all its layers.

    In layer l it plays argmax_a <a, theta_l> + beta_l ||a||_{Sigma_l^-1} over the surviving arms, or explores an arm
    with ||a||_{Sigma_l^-1} > 2^-l.
    """

    radius: float = radius_field()
    constants: str = choice(
        default="theory",
        options=("theory", "practical"),
        doc="radius and layers of the paper, or of the authors' VACDB code: sqrt(d log T)/4 and 5 layers",
    )
    layers: int = static_int(default=0, doc="number of layers L; 0: ceil(log2(1/alpha)), or 5 if practical")
    alpha: float | None = traced_float(
        default=None, gt=0, le=0.5, doc="norm below which an arm counts as known; null: 1/(R T^(3/2))"
    )
    explore: str = choice(
        default="ucb",
        options=("ucb", "widest", "uniform"),
        doc="which of the uncertain arms to explore, which the paper leaves free",
    )
    threshold: float = traced_float(
        default=64.0,
        ge=0,
        doc="layers with 2^l >= threshold sqrt(log(4(k+1)^2 L/delta)) estimate their variance; the paper's is 64",
    )
    noise: float | None = traced_float(
        default=None,
        gt=0,
        doc="bound R on the noise; null: tail times the largest sigma_t so far",
    )
    tail: float | None = traced_float(
        default=None,
        gt=0,
        doc="number of sigma that Gaussian noise may reach; null: sqrt(2 log(2T/delta)), good for T rounds",
    )
    log_rounds: float | None = traced_float(
        default=None, ge=0, doc="log T in the practical radius; null: from the horizon"
    )
    delta: float | None = delta_field()

    label: ClassVar[str] = "SAVE"

    @override
    def for_horizon(self, rounds: int) -> "SAVE":
        """delta = 1/T, R = sqrt(2 log(2T/delta)) (for sigma <= 1), alpha = 1/(R T^(3/2)), L = ceil(log2(1/alpha))."""
        delta = 1 / rounds if self.delta is None else self.delta
        tail = math.sqrt(2 * math.log(2 * rounds / delta)) if self.tail is None else self.tail
        bound = tail if self.noise is None else self.noise
        alpha = min(0.5, rounds**-1.5 / bound) if self.alpha is None else self.alpha
        derived = PRACTICAL_LAYERS if self.constants == "practical" else math.ceil(math.log2(1 / alpha))
        log_rounds = math.log(rounds) if self.log_rounds is None else self.log_rounds
        return dataclasses.replace(
            self, layers=self.layers or derived, alpha=alpha, tail=tail, log_rounds=log_rounds, delta=delta
        )

    @override
    def start(self, key: Key[Array, ""], shape: Shape) -> SAVEState:
        """Sigma_l = 2^-2l I, beta_l = 2^(-l+1), Psi_l empty."""
        require_linear(self.label, shape)
        required(self.alpha, "alpha")
        level = 2.0 ** -(1 + jnp.arange(self.layers))
        beta = 2 * level
        if self.constants == "practical":
            beta = jnp.full(self.layers, jnp.sqrt(shape.dim * required(self.log_rounds, "log_rounds")) / 4)
        none = jnp.zeros(self.layers)
        start, never = jnp.zeros((), int), jnp.zeros((), bool)
        ridges = jax.vmap(lambda lam: ridge(shape.dim, lam))(level**2)
        return SAVEState(ridges, beta, none, none, start, never, jnp.zeros(()), start)

    @override
    def act(
        self, key: Key[Array, ""], state: SAVEState, round: Round
    ) -> tuple[SAVEState, Int[Array, ""], ActionInfo]:
        """Descends the layers, then exploits (i) or explores (iii)."""
        descent = self.descend(state, round.actions)
        layer, beta = at(state.ridge, descent.layer), self.radius * state.beta[descent.layer]
        uncertain = layer.norms(round.actions) > level_of(descent.layer)
        allowed = descent.allowed & (uncertain | ~descent.explores)
        scores = self.scores(key, layer, beta, descent, round.actions)
        return state._replace(layer=descent.layer, explores=descent.explores), *decide(scores, allowed)

    def scores(
        self,
        key: Key[Array, ""],
        layer: Ridge,
        beta: Float[Array, ""],
        descent: Descent,
        actions: Float[Array, "arms dim"],
    ) -> Float[Array, " arms"]:
        """The upper confidence bounds; when exploring, what the setting `explore` chooses."""
        norms = layer.norms(actions)
        bounds = actions @ layer.estimate + beta * norms
        if self.explore == "ucb":
            return bounds
        free = norms if self.explore == "widest" else jax.random.uniform(key, norms.shape)
        return jnp.where(descent.explores, free, bounds)

    def descend(self, state: SAVEState, actions: Float[Array, "arms dim"]) -> Descent:
        """Goes from layer 1 to the layer where the round is decided."""
        alpha = required(self.alpha, "alpha")

        def step(descent: Descent) -> Descent:
            layer, level = at(state.ridge, descent.layer), level_of(descent.layer)
            widest = jnp.max(jnp.where(descent.allowed, layer.norms(actions), 0))
            # In theory 2^-L <= alpha in the last layer; with fewer layers it counts as certain.
            certain = (widest <= alpha) | ((descent.layer == self.layers - 1) & (widest <= level))
            down = ~certain & (widest <= level)
            means = jnp.where(descent.allowed, actions @ layer.estimate, -jnp.inf)
            slack = 2 * level * self.radius * state.beta[descent.layer]
            survivors = descent.allowed & (means >= jnp.max(means) - slack)
            return Descent(
                jnp.where(down, descent.layer + 1, descent.layer),
                jnp.where(down, survivors, descent.allowed),
                ~down,
                ~down & ~certain,
            )

        never = jnp.zeros((), bool)
        first = Descent(jnp.zeros((), int), jnp.ones(actions.shape[0], bool), never, never)
        return jax.lax.while_loop(lambda descent: ~descent.stopped, step, first)

    @override
    def decision(self, state: SAVEState) -> tuple[Int[Array, ""], Bool[Array, ""]]:
        """Where the last descent ended, and how."""
        return state.layer, state.explores

    @override
    def with_decision(self, state: SAVEState, decision: tuple[Int[Array, ""], Bool[Array, ""]]) -> SAVEState:
        layer, explores = decision
        return state._replace(layer=layer, explores=explores)

    @override
    def update(
        self, state: SAVEState, round: Round, action: Int[Array, ""], reward: Float[Array, ""]
    ) -> SAVEState:
        """In branch (iii), and only there, the layer gets the datum with weight w^2, w = 2^-l / ||a||."""
        old, level, features = at(state.ridge, state.layer), level_of(state.layer), round.actions[action]
        square = (level / old.norms(features)) ** 2
        new = old.added(features, reward, square)
        here = state.explores & (jnp.arange(self.layers) == state.layer)
        state = state._replace(
            ridge=jax.tree.map(
                lambda stack, one: jnp.where(here.reshape(-1, *[1] * one.ndim), one, stack), state.ridge, new
            ),
            pulls=state.pulls + here,
            square=state.square + here * square * reward**2,
            max_sigma=jnp.maximum(state.max_sigma, round.sigma),
            rounds=state.rounds + 1,
        )
        if self.constants == "practical":
            return state
        return state._replace(beta=jnp.where(here, self.beta(state, new), state.beta))

    def beta(self, state: SAVEState, new: Ridge) -> Float[Array, ""]:
        """The radius beta_{k,l} of the layer to which round k was added."""
        level, k = level_of(state.layer), state.rounds
        delta = required(self.delta, "delta")
        R = required(self.tail, "tail") * state.max_sigma if self.noise is None else self.noise
        log_k = jnp.log(4 * k**2 * self.layers / delta)
        log_next = jnp.log(4 * (k + 1) ** 2 * self.layers / delta)
        theta = new.estimate
        # sum w^2 (r - <theta, a>)^2 from sums alone: the ridge's own part of Sigma is subtracted.
        fitted = theta @ (new.precision @ theta) - level**2 * theta @ theta
        residual = jnp.maximum(state.square[state.layer] - 2 * theta @ new.moment + fitted, 0)
        estimates = 1 / level >= self.threshold * jnp.sqrt(log_next)
        variance = jnp.where(estimates, residual, R**2 * state.pulls[state.layer])
        inner = 8 * variance + 6 * R**2 * log_next + 16 * level**2
        return 16 * level * jnp.sqrt(inner * log_k) + 6 * level * R * log_k + 2 * level


@settings
class LinVDTS(SAVE):
    """LinVDTS-style: the layers of SAVE, and in the last one a draw theta ~ N(theta_l, beta_l^2 Sigma_l^-1).

    A reconstruction from the abstract of Xu, Min & Wang (2023); its details were not checked against their text.
    """

    label: ClassVar[str] = "LinVDTS-style"

    @override
    def scores(
        self,
        key: Key[Array, ""],
        layer: Ridge,
        beta: Float[Array, ""],
        descent: Descent,
        actions: Float[Array, "arms dim"],
    ) -> Float[Array, " arms"]:
        """<a, theta> under a draw, whether exploring or not."""
        return actions @ layer.draw(key, beta)


def at(stack: Ridge, layer: Int[Array, ""]) -> Ridge:
    """The regression of one layer, counted from 0."""
    return jax.tree.map(lambda x: x[layer], stack)


def level_of(layer: Int[Array, ""]) -> Float[Array, ""]:
    """2^-l of a layer counted from 0."""
    return 2.0 ** -(layer + 1.0)
