"""A bandit whose truth is a member of a finite class, under the conditions of the paper's theorem."""

import jax
import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.environments.linear import Instance, LinearEnvironment
from fgtsva_ppl.environments.noise import SparseNoise, SteadyNoise
from fgtsva_ppl.rewards.finite import table
from fgtsva_ppl.types import Shape
from samplers.settings import flag, settings, static_int, traced_float


@settings
class FiniteClass(LinearEnvironment):
    """One-hot arms with mean rewards in [0, 1]; f* is drawn from the class of reward `finite` for each run.

    With `subgaussian`, as is the default here, noise is N(0, sigma^2/4), so that its log-mgf is sigma^2 l^2/8
    (assumption:subgaussian_noise): all that the theorem asks for holds.
    """

    arms: int = static_int(default=8, ge=1, doc="arms K")
    members: int = static_int(default=8, ge=2, doc="number of functions |F|; the reward's must be the same")
    table_seed: int = static_int(default=0, doc="which table of mean rewards; the reward's must be the same")
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
    def shape(self) -> Shape:
        """Linear in one-hot features, as any function of the arm is."""
        return Shape(self.arms, self.arms, fixed_actions=True, linear=True)

    @property
    def noise(self) -> SteadyNoise:
        """Bernoulli variance."""
        return SparseNoise(self.p, self.scale)

    def start(self, key: Array) -> Instance:
        """Draws the true member."""
        functions = jnp.asarray(table(self.members, self.arms, self.table_seed))
        truth = jax.random.randint(key, (), 0, self.members)
        return Instance(functions[truth], None)

    def actions(self, key: Array) -> Array:
        """One-hot."""
        return jnp.eye(self.arms)
