"""Negative control: a sampler that is wrong by a known amount, which diagnostics have to detect."""

from typing import ClassVar, override

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Float, Key

from samplers.base import BIASED, Draw, Sampler, SamplerInfo, SamplerState
from samplers.errors import InputError
from samplers.reference import divergence
from samplers.settings import choice, settings, traced_float
from samplers.target import Target

PERTURBATIONS = ("none", "shift", "narrow", "wide", "truncate", "prior")


@settings
class Control(Sampler):
    """Negative control: exact draws with a wrong spread, mixed with the prior, repeated, or at a fixed divergence.

    With a `perturbation` the Gaussian part's alpha-divergence D_alpha(exact, drawn) is `divergence` in every round:
    its mean is shifted towards the arm that leads, away from its closest rival (shift); its standard deviations are
    scaled (narrow, wide); the rival's best cases are cut off (truncate); or the prior is mixed in (prior, where it is
    the bound that is approached as the posterior concentrates). See `samplers.reference.divergence`.
    """

    uses_metric: ClassVar[bool] = False
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "control", f"{BIASED} (negative control)", "0", "exact draws, Gaussian part, prior"
    )

    spread: float = traced_float(
        default=1.0, gt=0, doc="factor on the distance of a draw from the Gaussian part's mean"
    )
    contamination: float = traced_float(default=0.0, ge=0, le=1, doc="probability of a draw from the prior")
    stuck: float = traced_float(default=0.0, ge=0, le=1, doc="probability of repeating the last draw")
    perturbation: str = choice(
        default="none", options=PERTURBATIONS, doc="what is wrong by the fixed divergence"
    )
    divergence: float = traced_float(
        default=0.1, ge=0, doc="alpha-divergence of the perturbation, in every round"
    )
    alpha: float = traced_float(
        default=0.0, doc="which divergence: 0 is KL(drawn || exact), 1 is KL(exact || drawn)"
    )

    def check_together(self) -> None:
        """Raises InputError where the perturbation cannot have this divergence."""
        if self.perturbation != "none":
            divergence.check(self.perturbation, self.divergence, self.alpha)

    @override
    def sample(self, key: Key[Array, ""], target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        if target.exact is None or target.gaussian is None or target.prior is None:
            raise InputError(
                "sampler 'control' needs a posterior with exact draws, a Gaussian part and a prior"
            )
        exact_key, prior_key, choice_key = jax.random.split(key, 3)
        mean = jax.scipy.linalg.solve(*target.gaussian, assume_a="pos")
        probabilities = jnp.array([self._contamination(), self.stuck])
        contaminated, repeated = jax.random.uniform(choice_key, (2,)) < probabilities
        spread = mean + self._spread(mean.size) * (target.exact(exact_key) - mean)
        if self.perturbation in ("shift", "truncate"):
            spread = self._against_rival(spread, mean, target)
        fresh = jnp.where(contaminated, target.prior(prior_key), spread)
        position = jnp.where(repeated, state.position, fresh)
        zero = jnp.asarray(0)
        return SamplerState(position), Draw(position, jnp.asarray(jnp.nan), zero, zero)

    def _spread(self, dim: int) -> Array | float:
        if self.perturbation not in ("narrow", "wide"):
            return self.spread
        wide = self.perturbation == "wide"
        return self.spread * divergence.scale(self.divergence, self.alpha, dim, wide=wide)

    def _contamination(self) -> Array | float:
        if self.perturbation != "prior":
            return self.contamination
        weight = divergence.mixture_weight(self.divergence, self.alpha)
        return 1 - (1 - self.contamination) * (1 - weight)

    def _against_rival(self, draw: Array, mean: Array, target: Target) -> Array:
        """Moves a draw along the covariance's column of the arm that leads less its closest rival."""
        if target.tilt is None:
            raise InputError(
                f"perturbation={self.perturbation} needs linear rewards with one action set and a hard maximum"
            )
        assert target.gaussian is not None
        direction, deviation = closest_rival(mean, target.gaussian.precision, target.tilt.actions)
        along = jax.scipy.linalg.solve(target.gaussian.precision, direction, assume_a="pos") / deviation
        if self.perturbation == "shift":
            return draw + divergence.shift(self.divergence, self.alpha) * along
        z = direction @ (draw - mean) / deviation  # standard normal; its lowest values are cut off
        kept = -ndtri(divergence.kept_mass(self.divergence, self.alpha) * ndtr(-z))
        return draw + (kept - z) * along


def closest_rival(
    mean: Float[Array, " dim"], precision: Float[Array, "dim dim"], actions: Float[Array, "arms dim"]
) -> tuple[Float[Array, " dim"], Float[Array, ""]]:
    """The best arm under the mean less the one most likely to beat it, and the difference's standard deviation."""
    best = jnp.argmax(actions @ mean)
    differences = actions[best] - actions
    solved = jax.scipy.linalg.solve(precision, differences.T, assume_a="pos").T
    variances = jnp.sum(differences * solved, axis=-1)
    z = jnp.where(variances > 0, differences @ mean / jnp.sqrt(jnp.maximum(variances, 1e-300)), jnp.inf)
    rival = jnp.argmin(z)
    return differences[rival], jnp.sqrt(variances[rival])
