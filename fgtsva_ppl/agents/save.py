"""SAVE: layers of regressions, each with a finer norm, that adapt to a variance nobody reveals; and LinVDTS-style.

Layer l (from 1 on) keeps Sigma_l = 2^-2l I + sum w^2 a a' over its own rounds. A round walks down the layers, over
arms that survive, until a layer is (i) sure of every arm, or (iii) unsure of one and explores it.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.agents.base import decide, delta_field, need_linear, radius_field
from fgtsva_ppl.agents.ridge import Ridge, ridge
from fgtsva_ppl.horizon import known, or_else
from fgtsva_ppl.types import ActionInfo, Round, Shape
from samplers.settings import choice, settings, static_int, traced_float

PRACTICAL_LAYERS = 5  # of uclaml/VACDB


class Layers(NamedTuple):
    """What the agent takes from round to round; a leading axis runs over the layers where it says so."""

    ridge: Ridge  # of every layer
    beta: Array  # (layers,)
    pulls: Array  # (layers,), |Psi_l|
    square: Array  # (layers,), sum w^2 r^2
    layer: Array  # where the last walk ended, counted from 0
    explores: Array  # whether it ended in branch (iii)
    largest: Array  # the largest sigma_s so far
    rounds: Array  # k - 1


class Walk(NamedTuple):
    """A walk down the layers."""

    layer: Array
    allowed: Array  # (arms,), the surviving arms A_l
    stopped: Array
    explores: Array


@settings
class SAVE:
    """SAVE (Zhao, He, Zhou, Zhang, Gu 2023, Alg. 1), all layers."""

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
        doc="bound R on the noise; null: tail times the largest sigma_t so far, and no more",
    )
    tail: float | None = traced_float(
        default=None,
        gt=0,
        doc="how many sigma a Gaussian noise may reach; null: sqrt(2 log(2T/delta)), good for T rounds",
    )
    log_rounds: float | None = traced_float(
        default=None, ge=0, doc="log T in the practical radius; null: from the horizon"
    )
    delta: float | None = delta_field()

    label: ClassVar[str] = "SAVE"
    sequential: ClassVar[bool] = False

    def for_horizon(self, rounds: int) -> "SAVE":
        """delta = 1/T, R = sqrt(2 log(2T/delta)) (for sigma <= 1), alpha = 1/(R T^(3/2)), L = ceil(log2(1/alpha))."""
        delta = or_else(self.delta, 1 / rounds)
        tail = or_else(self.tail, math.sqrt(2 * math.log(2 * rounds / delta)))
        alpha = or_else(self.alpha, min(0.5, rounds**-1.5 / or_else(self.noise, tail)))
        derived = PRACTICAL_LAYERS if self.constants == "practical" else math.ceil(math.log2(1 / alpha))
        log_rounds = or_else(self.log_rounds, math.log(rounds))
        return dataclasses.replace(
            self, layers=self.layers or derived, alpha=alpha, tail=tail, log_rounds=log_rounds, delta=delta
        )

    def start(self, key: Array, shape: Shape) -> Layers:
        """Sigma_l = 2^-2l I, beta_l = 2^(-l+1), Psi_l empty."""
        need_linear(self.label, shape)
        known(self.alpha, "alpha")
        level = 2.0 ** -(1 + jnp.arange(self.layers))
        beta = 2 * level
        if self.constants == "practical":
            beta = jnp.full(self.layers, jnp.sqrt(shape.dim * known(self.log_rounds, "log_rounds")) / 4)
        none = jnp.zeros(self.layers)
        start, never = jnp.zeros((), int), jnp.zeros((), bool)
        ridges = jax.vmap(lambda lam: ridge(shape.dim, lam))(level**2)
        return Layers(ridges, beta, none, none, start, never, jnp.zeros(()), start)

    def grow(self, state: Any, capacity: int) -> Any:
        """Keeps no rounds."""
        return state

    def act(self, key: Array, state: Layers, seen: Round) -> tuple[Layers, Array, ActionInfo]:
        """Walks down, then exploits (i) or explores (iii)."""
        walk = self.walk(state, seen.actions)
        layer, beta = at(state.ridge, walk.layer), self.radius * state.beta[walk.layer]
        uncertain = layer.norms(seen.actions) > level_of(walk.layer)
        allowed = walk.allowed & (uncertain | ~walk.explores)
        scores = self.scores(key, layer, beta, walk, seen.actions)
        return state._replace(layer=walk.layer, explores=walk.explores), *decide(scores, allowed)

    def scores(self, key: Array, layer: Ridge, beta: Array, walk: Walk, actions: Array) -> Array:
        """The upper confidence bound; when exploring, whatever `explore` says."""
        norms = layer.norms(actions)
        best = actions @ layer.estimate + beta * norms
        if self.explore == "ucb":
            return best
        free = norms if self.explore == "widest" else jax.random.uniform(key, norms.shape)
        return jnp.where(walk.explores, free, best)

    def walk(self, state: Layers, actions: Array) -> Walk:
        """From layer 1 to the layer where the round is decided."""
        alpha = known(self.alpha, "alpha")

        def descend(walk: Walk) -> Walk:
            layer, level = at(state.ridge, walk.layer), level_of(walk.layer)
            widest = jnp.max(jnp.where(walk.allowed, layer.norms(actions), 0))
            # In the last layer 2^-L <= alpha in theory; with fewer layers than that it is as sure as one gets.
            sure = (widest <= alpha) | ((walk.layer == self.layers - 1) & (widest <= level))
            down = ~sure & (widest <= level)
            means = jnp.where(walk.allowed, actions @ layer.estimate, -jnp.inf)
            slack = 2 * level * self.radius * state.beta[walk.layer]
            survivors = walk.allowed & (means >= jnp.max(means) - slack)
            return Walk(
                jnp.where(down, walk.layer + 1, walk.layer),
                jnp.where(down, survivors, walk.allowed),
                ~down,
                ~down & ~sure,
            )

        never = jnp.zeros((), bool)
        first = Walk(jnp.zeros((), int), jnp.ones(actions.shape[0], bool), never, never)
        return jax.lax.while_loop(lambda walk: ~walk.stopped, descend, first)

    def update(self, state: Layers, seen: Round, action: Array, reward: Array) -> Layers:
        """In branch (iii), and only there, the layer gets the datum with weight w^2, w = 2^-l / ||a||."""
        old, level, features = at(state.ridge, state.layer), level_of(state.layer), seen.actions[action]
        square = (level / old.norms(features)) ** 2
        new = old.added(features, reward, square)
        here = state.explores & (jnp.arange(self.layers) == state.layer)
        state = state._replace(
            ridge=jax.tree.map(
                lambda stack, one: jnp.where(here.reshape(-1, *[1] * one.ndim), one, stack), state.ridge, new
            ),
            pulls=state.pulls + here,
            square=state.square + here * square * reward**2,
            largest=jnp.maximum(state.largest, seen.sigma),
            rounds=state.rounds + 1,
        )
        if self.constants == "practical":
            return state
        return state._replace(beta=jnp.where(here, self.beta(state, new), state.beta))

    def beta(self, state: Layers, new: Ridge) -> Array:
        """beta_{k,l} of the layer that has just taken in round k."""
        level, k = level_of(state.layer), state.rounds
        delta = known(self.delta, "delta")
        R = known(self.tail, "tail") * state.largest if self.noise is None else self.noise
        log_k = jnp.log(4 * k**2 * self.layers / delta)
        log_next = jnp.log(4 * (k + 1) ** 2 * self.layers / delta)
        theta = new.estimate
        # sum w^2 (r - <theta, a>)^2 without the rounds: the ridge's own part of Sigma is taken off again.
        fitted = theta @ (new.precision @ theta) - level**2 * theta @ theta
        residual = jnp.maximum(state.square[state.layer] - 2 * theta @ new.moment + fitted, 0)
        estimates = 1 / level >= self.threshold * jnp.sqrt(log_next)
        variance = jnp.where(estimates, residual, R**2 * state.pulls[state.layer])
        inner = 8 * variance + 6 * R**2 * log_next + 16 * level**2
        return 16 * level * jnp.sqrt(inner * log_k) + 6 * level * R * log_k + 2 * level


@settings
class LinVDTS(SAVE):
    """LinVDTS-style: SAVE's walk, elimination and weights, then a draw theta ~ N(th_l, beta_l^2 Sigma_l^-1).

    A reconstruction from the abstract of Xu, Min & Wang (2023); its details were not checked against their text.
    """

    label: ClassVar[str] = "LinVDTS-style"

    def scores(self, key: Array, layer: Ridge, beta: Array, walk: Walk, actions: Array) -> Array:
        """<a, theta> under the draw, exploring or not."""
        return actions @ layer.draw(key, beta)


def at(stack: Ridge, layer: Array) -> Ridge:
    """The regression of one layer, counted from 0."""
    return jax.tree.map(lambda x: x[layer], stack)


def level_of(layer: Array) -> Array:
    """2^-l of a layer counted from 0."""
    return 2.0 ** -(layer + 1.0)
