"""TS-SA-style: one Langevin step of fixed size from the newest reward of an arm, averaged over its plays."""

from typing import ClassVar, NamedTuple, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.agents.base import decide
from fgtsva_ppl.types import ActionInfo, Agent, Round, Shape
from samplers.errors import InputError
from samplers.settings import flag, settings, static_int, traced_float


class AveragedState(NamedTuple):
    """What the agent carries from round to round.

    Attributes:
        average: Averaged iterate of each arm.
        plays: How often each arm was played.
        noise: Of the coming Langevin step, standard normal.
    """

    average: Float[Array, " arms"]
    plays: Int[Array, " arms"]
    noise: Float[Array, ""]


@settings
class AveragedLangevin(Agent):
    """TS-SA-style (Wang et al. 2025): x <- x + (y - x)/n with y = x + h (r - x) + sqrt(2 h temperature) sigma noise.

    The target of a step is built from the newest reward alone, so that h is the same in all rounds. Reconstructed from
    the abstract, which leaves open whether a decision draws new noise: both readings are settings.
    """

    label: ClassVar[str] = "TS-SA-style"

    step_size: float = traced_float(default=1.0, gt=0, le=2, doc="step size h, in units of 1 / curvature")
    temperature: float = traced_float(
        default=0.5, ge=0, doc="temperature; at h=1 the average has the posterior's variance for 0.5"
    )
    warm_up: int = static_int(default=1, ge=1, doc="plays of each arm before the first decision")
    redraw: bool = flag(
        default=True,
        doc="each decision draws new noise of the average's variance; false: arms keep their iterate",
    )

    @override
    def start(self, key: Key[Array, ""], shape: Shape) -> AveragedState:
        if not shape.fixed_actions or shape.dim != shape.arms:
            raise InputError("agent ts_sa has an iterate per arm: use environment=arms")
        return AveragedState(jnp.zeros(shape.arms), jnp.zeros(shape.arms, int), jnp.zeros(()))

    @property
    @override
    def expected_gradients(self) -> int:
        return 1

    @override
    def act(
        self, key: Key[Array, ""], state: AveragedState, round: Round
    ) -> tuple[AveragedState, Int[Array, ""], ActionInfo]:
        """Plays every arm `warm_up` times, then the best under the iterates."""
        step_key, draw_key = jax.random.split(key)
        fresh = jax.random.normal(draw_key, state.average.shape)
        h, plays = self.step_size, jnp.maximum(state.plays, 1)
        scale = jnp.sqrt(2 * h * self.temperature / plays) * round.sigma
        values = state.average + (scale * fresh if self.redraw else 0.0)
        unplayed = state.plays < self.warm_up
        action, info = decide(values, unplayed | ~jnp.any(unplayed))
        state = state._replace(noise=jax.random.normal(step_key))
        return state, action, info._replace(num_gradients=jnp.asarray(1))

    @override
    def update(
        self, state: AveragedState, round: Round, action: Int[Array, ""], reward: Float[Array, ""]
    ) -> AveragedState:
        """One Langevin step from the reward, averaged."""
        x, h = state.average[action], self.step_size
        # With new noise at each decision the average itself needs none.
        noise = 0.0 if self.redraw else jnp.sqrt(2 * h * self.temperature) * round.sigma * state.noise
        plays = state.plays[action] + 1
        move = (h * (reward - x) + noise) / plays
        return AveragedState(state.average.at[action].add(move), state.plays.at[action].add(1), state.noise)
