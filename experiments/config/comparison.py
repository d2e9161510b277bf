"""What a study's file says of its cells beside their settings: names, hyperparameters, and how to draw them.

It is stored with the results, so that figures and report can be made again from the output folder alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class AlgorithmRun(NamedTuple):
    """The part of a cell in a comparison of algorithms."""

    name: str  # of the algorithm
    hyperparameters: tuple[str, ...]  # the settings that may be tuned
    textbook: bool  # whether every hyperparameter is where the literature has it


@dataclass(frozen=True)
class Comparison:
    """Names by cell, and what figures show."""

    sweep: str | None = None  # the setting along which the study goes
    bounds: bool = False  # whether the theorem's bound is drawn beside regret
    choices: tuple[str, ...] = ()  # what was chosen where the paper is silent
    entries: Mapping[str, AlgorithmRun] = field(default_factory=dict)  # by cell; empty where nothing is tuned

    def plain(self) -> dict[str, Any]:
        """In plain types."""
        entries = {
            key: {**entry._asdict(), "hyperparameters": [*entry.hyperparameters]}
            for key, entry in self.entries.items()
        }
        return {
            "sweep": self.sweep,
            "bounds": self.bounds,
            "choices": [*self.choices],
            "entries": entries,
        }


def comparison_from_config(config: Mapping[str, Any]) -> Comparison:
    """The comparison in a stored config. Raises ValueError, TypeError or AttributeError where it is not one."""
    entries = {
        str(key): AlgorithmRun(
            str(entry["name"]), tuple(map(str, entry["hyperparameters"])), bool(entry["textbook"])
        )
        for key, entry in (config.get("entries") or {}).items()
    }
    choices = tuple(map(str, config.get("choices") or ()))
    return Comparison(config.get("sweep"), bool(config.get("bounds")), choices, entries)
