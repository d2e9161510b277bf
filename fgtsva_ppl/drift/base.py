"""What a drift is: a path of truths that depends on the run's keys only, never on the agent."""

from abc import ABC, abstractmethod
from typing import Any, override

from jax import Array
from jaxtyping import Int, Key

from fgtsva_ppl.types import Environment
from samplers.settings import settings


class Drift(ABC):
    """A path of the truth. All are made of one operation, `Environment.moved`: a rotation towards another draw."""

    def start(self, key: Key[Array, ""], environment: Environment, instance: Any) -> Any:
        """Draws what stays fixed for all rounds of a run, such as the plane of a rotation."""
        return ()

    def validate(self, rounds: int) -> None:  # noqa: B027 (an optional hook)
        """Raises InputError if the settings make no sense for so many rounds."""

    @abstractmethod
    def evolve(
        self, key: Key[Array, ""], environment: Environment, instance: Any, path: Any, t: Int[Array, ""]
    ) -> Any:
        """The instance of round t + 1.

        Args:
            key: The drift's own key for round t.
            environment: Whose truth drifts.
            instance: The instance of round t.
            path: What `start` returned for this run.
            t: Number of the round, counted from 0.
        """


@settings
class NoDrift(Drift):
    """The truth of a run stays as it is."""

    @override
    def evolve(
        self, key: Key[Array, ""], environment: Environment, instance: Any, path: Any, t: Int[Array, ""]
    ) -> Any:
        return instance
