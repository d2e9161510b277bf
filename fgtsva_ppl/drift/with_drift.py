"""An environment whose truth drifts."""

from typing import Any, NamedTuple, override

import jax
from jax import Array
from jaxtyping import Int, Key

from fgtsva_ppl.drift.base import Drift
from fgtsva_ppl.environments.wrapper import Wrapper
from fgtsva_ppl.types import Environment, Outcome, Round, Shape
from samplers.errors import InputError
from samplers.settings import nested, settings

DRIFT_STREAM = 1000  # folded into the key of a start: no split of that key has so many parts


class DriftingInstance(NamedTuple):
    """One run: the inner environment's instance in the current round, and what the path of its truth depends on."""

    inner: Any
    path: Any


@settings
class WithDrift(Wrapper):
    """Rounds of an environment whose truth follows a path.

    Action sets, sigma_t and noise are those of the inner environment. Regret is that to the best arm of the round. The
    current truth is the only state, so that memory does not grow with the rounds.
    """

    environment: Environment = nested()
    drift: Drift = nested()

    @property
    @override
    def shape(self) -> Shape:
        if not self.environment.can_drift:
            raise InputError(
                f"drift: the truth of environment {type(self.environment).__name__} cannot drift; that of linear, "
                "logistic and K-armed environments can"
            )
        return self.environment.shape

    @property
    @override
    def drifts(self) -> bool:
        return True

    @override
    def validate(self, rounds: int) -> None:
        super().validate(rounds)
        self.drift.validate(rounds)

    @override
    def start(self, key: Key[Array, ""]) -> DriftingInstance:
        instance = self.environment.start(key)
        path = self.drift.start(jax.random.fold_in(key, DRIFT_STREAM), self.environment, instance)
        return DriftingInstance(instance, path)

    @override
    def evolve(self, key: Key[Array, ""], instance: DriftingInstance, t: Int[Array, ""]) -> DriftingInstance:
        inner = self.drift.evolve(key, self.environment, instance.inner, instance.path, t)
        return instance._replace(inner=inner)

    @override
    def round(
        self, key: Key[Array, ""], instance: DriftingInstance, t: Int[Array, ""]
    ) -> tuple[Round, Outcome]:
        return self.environment.round(key, instance.inner, t)
