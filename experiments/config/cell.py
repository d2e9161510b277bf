"""Cells: one environment, one agent, one number of rounds and runs. A study is a list of cells."""

import dataclasses
import hashlib
import json
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from experiments.config.keys import NUMBERS, check_number
from experiments.config.provenance import code_version, files_digest
from fgtsva_ppl import (
    AGENTS,
    DRIFTS,
    ENVIRONMENTS,
    FEEDBACKS,
    LIKELIHOODS,
    NOISES,
    POSTERIORS,
    REWARDS,
    SAMPLERS,
    WithDrift,
    WithFeedback,
    WithNoise,
)
from fgtsva_ppl.simulation import EXPLORATIONS, Exploration, check
from fgtsva_ppl.types import Agent, Environment
from samplers.errors import InputError
from samplers.registry import Registry
from samplers.settings import flatten, nested_fields

MAX_RECORDS = 10**9  # recorded rounds of all runs of a cell together
REFERENCE = "exact"  # the sampler that the others are compared with
# Members that change nothing: a cell with one of them has no such part, and is the same as before there was the group.
OMITTED = {
    "noise": "default",
    "drift": "none",
    "feedback": "immediate",
    "likelihood": "squared",
    "exploration": "none",
}
ENVIRONMENT_GROUPS = ("environment", "noise", "drift", "feedback")

GROUPS: dict[str, Registry[Any]] = {
    "environment": ENVIRONMENTS,
    "noise": NOISES,
    "drift": DRIFTS,
    "feedback": FEEDBACKS,
    "agent": AGENTS,
    "posterior": POSTERIORS,
    "sampler": SAMPLERS,
    "reward": REWARDS,
    "likelihood": LIKELIHOODS,
    "exploration": EXPLORATIONS,
}


@dataclasses.dataclass(frozen=True)
class Cell:
    """One simulation of a study.

    Attributes:
        parts: For each group (environment, agent, ...) the member's `name` and its settings.
        rounds: Rounds of a run.
        runs: Independent runs.
        seed: Seed of all random numbers.
        precision: "float64" or "float32".
        record_every: Outputs are aggregated over blocks of that many rounds.
    """

    parts: Mapping[str, Mapping[str, Any]]
    rounds: int
    runs: int
    seed: int
    precision: str
    record_every: int = dataclasses.field(default=1, kw_only=True)

    @cached_property
    def environment(self) -> Environment:
        """The environment, with the chosen noise, drift and feedback."""
        environment: Environment = self._build("environment")
        if "noise" in self.parts:
            environment = WithNoise(environment, self._build("noise"))
        if "drift" in self.parts:
            environment = WithDrift(environment, self._build("drift"))
        if "feedback" in self.parts:
            environment = WithFeedback(environment, self._build("feedback"))
        return environment

    @property
    def _groups_beside_the_agent(self) -> list[str]:
        """The groups that the cell has besides those of its agent."""
        return [group for group in (*ENVIRONMENT_GROUPS, "exploration") if group in self.parts]

    @cached_property
    def agent(self) -> Agent:
        """The agent, with the settings that are derived from the horizon filled in."""
        agent = self._build("agent")
        inner = {group: self._build(group) for group in nested_fields(type(agent)) if group in self.parts}
        return dataclasses.replace(agent, **inner).for_horizon(self.rounds)

    @cached_property
    def exploration(self) -> Exploration | None:
        """The schedule of rounds with a uniform arm; None if there are none."""
        return self._build("exploration") if "exploration" in self.parts else None

    def _build(self, group: str) -> Any:
        part = dict(self.parts[group])
        return GROUPS[group].build(part.pop("name"), part)

    def check_numbers(self) -> None:
        """Raises InputError if rounds, runs, seed or record_every are out of range."""
        for name in NUMBERS:
            check_number(name, getattr(self, name))
        if self.rounds % self.record_every:
            raise InputError(f"rounds={self.rounds} must be a multiple of record_every={self.record_every}")
        if self.rounds // self.record_every * self.runs > MAX_RECORDS:
            raise InputError(
                f"rounds={self.rounds} times runs={self.runs} is more than {MAX_RECORDS} records; "
                "record_every=100 makes one record of a hundred rounds"
            )

    def check(self) -> None:
        """Raises InputError for combinations that cannot run, before anything compiles."""
        check(self.environment, self.agent, self.rounds)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Everything that the result depends on, except code, in plain types."""
        members = {group: self._build(group) for group in self._groups_beside_the_agent}
        members["agent"] = self.agent
        groups = (group for group in nested_fields(type(self.agent)) if group in self.parts)
        members |= {group: getattr(self.agent, group) for group in groups}
        settings: dict[str, Any] = {
            group: {"name": self.parts[group]["name"]} | flatten(member) for group, member in members.items()
        }
        digest = members["environment"].content_digest
        if digest is not None:
            settings["environment"]["content"] = digest
        numbers = {"rounds": self.rounds, "runs": self.runs, "seed": self.seed}
        numbers |= {"record_every": self.record_every} if self.record_every > 1 else {}
        return settings | numbers | {"precision": self.precision}

    @cached_property
    def flat(self) -> dict[str, Any]:
        """The settings under dotted names; a group's own name has the name of its member."""
        flat: dict[str, Any] = {}
        for key, value in self.settings.items():
            if isinstance(value, dict):
                flat[key] = value["name"]
                flat |= {f"{key}.{inner}": v for inner, v in value.items() if inner != "name"}
            else:
                flat[key] = value
        return flat

    @cached_property
    def id(self) -> str:
        """A digest of settings, code (a user's own included) and package versions."""
        text = json.dumps(self.settings, sort_keys=True) + code_version() + self._own_code()
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _own_code(self) -> str:
        """A digest of the files that define the members which do not come from these packages."""
        classes = [type(self._build(group)) for group in self._groups_beside_the_agent] + [type(self.agent)]
        classes += [type(getattr(self.agent, group)) for group in nested_fields(type(self.agent))]
        modules = [sys.modules[cls.__module__] for cls in classes if not _built_in(cls)]
        # A class that was defined in a notebook has no file.
        files = {module.__file__ for module in modules if getattr(module, "__file__", None)}
        return files_digest(Path(file) for file in sorted(filter(None, files)))

    @property
    def name(self) -> str:
        """The members' names, for messages."""
        return " ".join(
            display_name(key, self.flat[key])
            for key in (*ENVIRONMENT_GROUPS, "agent", "posterior", "sampler", "exploration")
            if key in self.flat
        )

    def reference_key(self) -> str:
        """The settings that a cell has in common with its exact reference."""
        flat = {key: value for key, value in self.flat.items() if not key.startswith("sampler")}
        return json.dumps(flat, sort_keys=True)


def _built_in(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in ("samplers", "fgtsva_ppl")


def needed_groups(members: Mapping[str, str]) -> list[str]:
    """The groups that a cell with these members consists of."""
    omitted = {group for group, name in OMITTED.items() if members[group] == name}
    groups = [*ENVIRONMENT_GROUPS, "agent", *nested_fields(AGENTS[members["agent"]]), "exploration"]
    return [group for group in groups if group not in omitted]


def display_name(group: str, name: object) -> str:
    """A member's name; for an agent that is a reconstruction, its label, which says so."""
    label = AGENTS[str(name)].label if group == "agent" and str(name) in AGENTS.names() else ""
    return label if label.endswith("-style") else str(name)
