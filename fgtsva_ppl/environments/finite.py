"""A bandit whose mean reward function belongs to a finite class, under the assumptions of the paper's theorem."""

from typing import override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Key

from fgtsva_ppl.environments.linear import Instance, LinearEnvironment
from fgtsva_ppl.environments.noise import SparseNoise, StationaryNoise
from fgtsva_ppl.rewards.finite import class_table, functions_field
from fgtsva_ppl.types import Shape
from samplers.settings import flag, settings, static_int, traced_float


@settings
class FiniteClass(LinearEnvironment):
    """One-hot arms with mean rewards in [0, 1]; f* is drawn uniformly from the class of reward `finite` for each run.

    With `subgaussian`, the default here, the noise is N(0, sigma_t^2/4). Its log-moment-generating function is then
    exactly sigma_t^2 l^2/8, as the sub-Gaussian noise assumption (Section 3.1) allows, and all conditions of the regret
    bound (theorem of Section 5) hold.
    """

    arms: int = static_int(default=8, ge=1, doc="arms K")
    members: int = static_int(default=8, ge=2, doc="number of functions |F|; the reward's must be the same")
    table_seed: int = static_int(
        default=0, doc="seed of the table of mean rewards; the reward's must be the same"
    )
    functions: str = functions_field()
    p: float = traced_float(default=0.1, ge=0, le=1, doc="probability that a round is noisy")
    scale: float = traced_float(default=1.0, ge=0, doc="sigma of a noisy round")
    subgaussian: bool = flag(
        default=True,
        doc="sigma_t is the theory's sub-Gaussian norm: noise variance sigma_t^2/4, not sigma_t^2",
    )

    @property
    def dim(self) -> int:  # type: ignore[override]
        """One feature per arm."""
        return self.arms

    @property
    @override
    def shape(self) -> Shape:
        # every function of the arm is linear in one-hot features
        return Shape(self.arms, self.arms, fixed_actions=True, linear=True)

    @property
    @override
    def can_drift(self) -> bool:
        return False  # a truth between two members is not in the class

    @property
    @override
    def noise(self) -> StationaryNoise:
        return SparseNoise(self.p, self.scale)

    @override
    def start(self, key: Key[Array, ""]) -> Instance:
        functions = jnp.asarray(class_table(self.functions, self.members, self.arms, self.table_seed))
        random = self.functions == "random"
        member = (
            jax.random.randint(key, (), 0, self.members) if random else 0
        )  # the truth of the pessimistic class
        return Instance(functions[member], None)

    @override
    def round_actions(self, key: Key[Array, ""]) -> Float[Array, "arms dim"]:
        return jnp.eye(self.arms)
