"""How a study's cells are compared: algorithms, their hyperparameters, and what figures show.

It is stored with the results, so that figures and report can be rebuilt from the output folder alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class AlgorithmRun(NamedTuple):
    """A cell as one setting of an algorithm.

    Attributes:
        name: The algorithm's name.
        hyperparameters: The keys of the settings that may be tuned.
        textbook: Whether every hyperparameter has the value of the literature.
    """

    name: str
    hyperparameters: tuple[str, ...]
    textbook: bool


@dataclass(frozen=True)
class Comparison:
    """What is compared in a study.

    Attributes:
        sweep: The key of the setting that the study sweeps, if any.
        bounds: Whether the theorem's bound is drawn beside regret.
        choices: Sentences on choices that the paper leaves open.
        algorithm_runs: The cells of algorithms that are tuned, by cell; empty if nothing is tuned.
    """

    sweep: str | None = None
    bounds: bool = False
    choices: tuple[str, ...] = ()
    algorithm_runs: Mapping[str, AlgorithmRun] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """The comparison in plain types, as it is stored."""
        runs = {
            key: {**run._asdict(), "hyperparameters": [*run.hyperparameters]}
            for key, run in self.algorithm_runs.items()
        }
        return {
            "sweep": self.sweep,
            "bounds": self.bounds,
            "choices": [*self.choices],
            "algorithm_runs": runs,
        }


def comparison_from_config(config: Mapping[str, Any]) -> Comparison:
    """The comparison in a stored config, which may raise KeyError, ValueError, TypeError or AttributeError."""
    runs = {
        str(key): AlgorithmRun(
            str(run["name"]), tuple(map(str, run["hyperparameters"])), bool(run["textbook"])
        )
        for key, run in (config.get("algorithm_runs") or {}).items()
    }
    choices = tuple(map(str, config.get("choices") or ()))
    return Comparison(config.get("sweep"), bool(config.get("bounds")), choices, runs)
