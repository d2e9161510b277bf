"""What environments around another environment have in common: everything that they do not change."""

from typing import Any, override

from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.types import Environment, Feedback, Outcome, Round, Shape


class Wrapper(Environment):
    """Delegates everything to an inner environment."""

    environment: Environment

    @property
    @override
    def shape(self) -> Shape:
        return self.environment.shape

    @property
    def subgaussian(self) -> bool:  # type: ignore[override]
        """As in the inner environment."""
        return self.environment.subgaussian

    @property
    @override
    def additive_noise(self) -> bool:
        return self.environment.additive_noise

    @property
    @override
    def content_digest(self) -> str | None:
        return self.environment.content_digest

    @property
    @override
    def can_drift(self) -> bool:
        return self.environment.can_drift

    @property
    @override
    def drifts(self) -> bool:
        return self.environment.drifts

    @property
    @override
    def feedback(self) -> Feedback | None:
        return self.environment.feedback

    @override
    def validate(self, rounds: int) -> None:
        self.environment.validate(rounds)

    @override
    def start(self, key: Key[Array, ""]) -> Any:
        return self.environment.start(key)

    @override
    def moved(self, instance: Any, other: Any, angle: Float[Array, ""]) -> Any:
        return self.environment.moved(instance, other, angle)

    @override
    def evolve(self, key: Key[Array, ""], instance: Any, t: Int[Array, ""]) -> Any:
        return self.environment.evolve(key, instance, t)

    @override
    def round(self, key: Key[Array, ""], instance: Any, t: Int[Array, ""]) -> tuple[Round, Outcome]:
        return self.environment.round(key, instance, t)
