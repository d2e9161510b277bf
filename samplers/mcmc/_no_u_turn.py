"""A transition of the No-U-Turn sampler: BlackJAX's algorithm with less to do beside the gradients.

Multinomial NUTS (Betancourt 2017) by iteration instead of recursion (Phan et al. 2019), with the generalised U-turn
criterion: given the same random numbers, the transitions are those of `blackjax.nuts` with a unit mass matrix. On
targets as small as a bandit's posterior, what surrounds a gradient costs more than the gradient, so

- a U-turn is looked for against all checkpoints at once, not in a loop;
- the two ends of a subtree and its proposal are selected, not branched on;
- weights are sums relative to the largest one, which takes one exponential a leapfrog step, and acceptance another;
- a leapfrog step takes its uniform number from one call of Threefry.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int, Key

from samplers import _threefry

MAX_ENERGY_ERROR = 1000.0  # beyond which a trajectory is divergent
# First counters of a transition's random numbers; momenta have 0.
LEAVES, DOUBLINGS = 1, 1000


class State(NamedTuple):
    """A position with its log-density and gradient."""

    position: Float[Array, " size"]
    logdensity: Float[Array, ""]
    gradient: Float[Array, " size"]


class End(NamedTuple):
    """One end of a trajectory."""

    position: Float[Array, " size"]
    momentum: Float[Array, " size"]
    gradient: Float[Array, " size"]


class Sum(NamedTuple):
    """The weights exp(H_0 - H) of some states of a trajectory: total times exp(log_unit)."""

    log_unit: Float[Array, ""]
    total: Float[Array, ""]


class Randomness(NamedTuple):
    """The random numbers of a transition.

    Attributes:
        momentum: Standard normal numbers.
        doubling: Of the doubling of this number, whether it goes forward, and a uniform number that decides whether its
            proposal is taken.
        leaf: (doubling, leapfrog step in it) -> a uniform number that decides whether that state is proposed.
    """

    momentum: Float[Array, " size"]
    doubling: Callable[[Int[Array, ""]], tuple[Bool[Array, ""], Float[Array, ""]]]
    leaf: Callable[[Int[Array, ""], Int[Array, ""]], Float[Array, ""]]


class Transition(NamedTuple):
    """What a transition reports."""

    acceptance_rate: Float[Array, ""]
    is_divergent: Bool[Array, ""]
    num_integration_steps: Int[Array, ""]
    energy: Float[Array, ""]


class Subtree(NamedTuple):
    """A subtree while it is built: states that follow one another from an end of the trajectory."""

    step: Int[Array, ""]
    end: End
    momentum_sum: Float[Array, " size"]
    weights: Sum
    proposal: State
    proposal_gain: Float[Array, ""]  # H_0 - H of the proposal
    accept_sum: Float[Array, ""]
    starts: Float[
        Array, "rows size"
    ]  # for each unfinished subtree of this one, the momentum r of its first state
    before: Float[Array, "rows size"]  # and the sum of all momenta before that state, plus r / 2
    is_divergent: Bool[Array, ""]
    is_turning: Bool[Array, ""]


class Trajectory(NamedTuple):
    """The whole trajectory between two doublings."""

    doubling: Int[Array, ""]
    left: End
    right: End
    momentum_sum: Float[Array, " size"]
    weights: Sum
    proposal: State
    proposal_gain: Float[Array, ""]
    accept_sum: Float[Array, ""]
    num_steps: Int[Array, ""]
    starts: Float[Array, "rows size"]  # room that all subtrees use
    before: Float[Array, "rows size"]
    is_divergent: Bool[Array, ""]
    is_turning: Bool[Array, ""]


def draw_randomness(key: Key[Array, ""], size: int) -> Randomness:
    """Returns the random numbers of a transition: those of leaves and doublings only when they are looked up."""

    def doubling(number: Array) -> tuple[Array, Array]:
        return _threefry.bernoulli_and_uniform_at(key, DOUBLINGS + number, number)

    def leaf(number: Array, step: Array) -> Array:
        return _threefry.uniform_at(key, LEAVES + number, step)

    return Randomness(_threefry.normal(key, (size,)), doubling, leaf)


def transition(
    randomness: Randomness,
    state: State,
    value_and_gradient: Callable[[Array], tuple[Array, Array]],
    step_size: Float[Array, ""] | float,
    max_doublings: int,
) -> tuple[State, Transition]:
    """Doubles a trajectory until it turns back, diverges or is long enough, and returns one of its states.

    Args:
        randomness: The random numbers.
        state: Where the chain is.
        value_and_gradient: Of the log-density.
        step_size: Length of a leapfrog step.
        max_doublings: Most doublings.
    """
    momentum = randomness.momentum
    energy = _kinetic(momentum) - state.logdensity
    end = End(state.position, momentum, state.gradient)
    zero, no = jnp.zeros_like(energy), jnp.zeros((), bool)
    count = jnp.zeros((), jnp.int32)
    one_state = Sum(zero, jnp.ones_like(energy))
    room = jnp.zeros((max_doublings + 1, momentum.size), momentum.dtype)
    first = Trajectory(count, end, end, momentum, one_state, state, zero, zero, count, room, room, no, no)

    def goes_on(tree: Trajectory) -> Array:
        return (tree.doubling < max_doublings) & ~tree.is_divergent & ~tree.is_turning

    def double(tree: Trajectory) -> Trajectory:
        forward, uniform_doubling = randomness.doubling(tree.doubling)
        start = _select(forward, tree.right, tree.left)
        signed_step = jnp.where(forward, step_size, -step_size)
        nothing = Sum(tree.weights.log_unit, zero)
        begin = Subtree(
            count,
            start,
            jnp.zeros_like(momentum),
            nothing,
            tree.proposal,
            zero,
            tree.accept_sum,
            tree.starts,
            tree.before,
            no,
            no,
        )
        length = jnp.left_shift(jnp.int32(1), tree.doubling)

        def unfinished(subtree: Subtree) -> Array:
            return (subtree.step < length) & ~subtree.is_divergent & ~subtree.is_turning

        def leapfrog(subtree: Subtree) -> Subtree:
            uniform = randomness.leaf(tree.doubling, subtree.step)
            return _extend(subtree, uniform, value_and_gradient, signed_step, energy)

        subtree = jax.lax.while_loop(unfinished, leapfrog, begin)
        left, right = _select(forward, (tree.left, subtree.end), (subtree.end, tree.right))
        momentum_sum = tree.momentum_sum + subtree.momentum_sum
        is_whole = ~(subtree.is_divergent | subtree.is_turning)
        # The later half is favoured: its proposal is taken with probability min(1, its weight / the weight so far).
        before = tree.weights.total * jnp.exp(tree.weights.log_unit - subtree.weights.log_unit)
        taken = is_whole & (uniform_doubling * before < subtree.weights.total)
        proposal, gain = _select(
            taken, (subtree.proposal, subtree.proposal_gain), (tree.proposal, tree.proposal_gain)
        )
        return Trajectory(
            tree.doubling + 1,
            left,
            right,
            momentum_sum,
            Sum(subtree.weights.log_unit, before + subtree.weights.total),
            proposal,
            gain,
            subtree.accept_sum,
            tree.num_steps + subtree.step,
            subtree.starts,
            subtree.before,
            subtree.is_divergent,
            subtree.is_turning | _turns(left.momentum, right.momentum, momentum_sum),
        )

    tree = jax.lax.while_loop(goes_on, double, first)
    report = Transition(
        tree.accept_sum / tree.num_steps, tree.is_divergent, tree.num_steps, energy - tree.proposal_gain
    )
    return tree.proposal, report


def _extend(
    subtree: Subtree,
    uniform: Float[Array, ""],
    value_and_gradient: Callable[[Array], tuple[Array, Array]],
    step_size: Float[Array, ""],
    energy: Float[Array, ""],
) -> Subtree:
    """A subtree with one more leapfrog step."""
    step, end = subtree.step, subtree.end
    half = end.momentum + (step_size / 2) * end.gradient
    position = end.position + step_size * half
    logdensity, gradient = value_and_gradient(position)
    momentum = half + (step_size / 2) * gradient
    momentum_sum = subtree.momentum_sum + momentum

    gain = energy + logdensity - _kinetic(momentum)
    gain = jnp.where(jnp.isnan(gain), -jnp.inf, gain)
    weights, share = _add(subtree.weights, gain)
    is_proposed = (step == 0) | (uniform < share)
    proposal, proposal_gain = _select(
        is_proposed,
        (State(position, logdensity, gradient), gain),
        (subtree.proposal, subtree.proposal_gain),
    )
    # Row i of the checkpoints belongs to the i-th subtree that is not finished; the last row is never read.
    rows = jnp.arange(subtree.starts.shape[0], dtype=jnp.int32)
    last = jnp.bitwise_count(step >> 1).astype(jnp.int32)
    num_finished = jnp.bitwise_count((~step & (step + 1)) - 1).astype(jnp.int32)
    is_first = step % 2 == 0  # of some subtree; other steps finish at least one
    row = jnp.where(is_first, last, rows.size - 1)
    middle = momentum_sum - momentum / 2
    # Written first and read afterwards, so that the loop works in place.
    starts = _set_row(subtree.starts, row, momentum)
    before = _set_row(subtree.before, row, middle)

    def turns() -> Array:
        across = middle - before
        turned = (jnp.sum(starts * across, axis=-1) <= 0) | (across @ momentum <= 0)
        return jnp.any(turned & (rows > last - num_finished) & (rows <= last))

    return Subtree(
        step + 1,
        End(position, momentum, gradient),
        momentum_sum,
        weights,
        proposal,
        proposal_gain,
        subtree.accept_sum + jnp.exp(jnp.minimum(gain, 0.0)),
        starts,
        before,
        -gain > MAX_ENERGY_ERROR,
        jax.lax.cond(is_first, lambda: jnp.zeros((), bool), turns),
    )


def _add(weights: Sum, gain: Float[Array, ""]) -> tuple[Sum, Float[Array, ""]]:
    """The sum with one more weight exp(gain), and the share of that weight in it."""
    over = gain - weights.log_unit
    ratio = jnp.exp(-jnp.abs(over))
    is_largest = over > 0
    total = jnp.where(is_largest, weights.total * ratio + 1, weights.total + ratio)
    return Sum(jnp.maximum(weights.log_unit, gain), total), jnp.where(is_largest, 1.0, ratio) / total


def _turns(
    left: Float[Array, " size"], right: Float[Array, " size"], momentum_sum: Float[Array, " size"]
) -> Bool[Array, ""]:
    """Whether a trajectory with these momenta at its ends, and with this sum of all, makes a U-turn."""
    across = momentum_sum - (left + right) / 2
    return (left @ across <= 0) | (right @ across <= 0)


def _set_row(matrix: Float[Array, "rows size"], row: Int[Array, ""], values: Float[Array, " size"]) -> Array:
    return jax.lax.dynamic_update_slice(matrix, values[None], (row, jnp.zeros_like(row)))


def _kinetic(momentum: Float[Array, " size"]) -> Float[Array, ""]:
    return momentum @ momentum / 2


def _select[T](condition: Bool[Array, ""], yes: T, no: T) -> T:
    chosen: T = jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
    return chosen
