"""Cells: one environment, one agent, one number of rounds and runs. A study is a list of them."""

import dataclasses
import hashlib
import json
import platform
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import fgtsva_ppl
import samplers
from fgtsva_ppl import AGENTS, ENVIRONMENTS, NOISES, POSTERIORS, REWARDS, SAMPLERS, WithNoise
from fgtsva_ppl.simulation import check
from fgtsva_ppl.types import Agent, Environment
from samplers.errors import InputError
from samplers.registry import Registry
from samplers.settings import flatten, nested_fields

PACKAGES = ("jax", "numpyro", "blackjax", "arviz", "numpy")
MOST_ROUNDS = 10**9  # of all runs of a cell together, each of which is kept
MOST_SEED = 2**32 - 1
REFERENCE = "exact"  # the sampler that the others are held against
OWN = "own"  # the noise that changes nothing, and that a cell does without

GROUPS: dict[str, Registry[Any]] = {
    "environment": ENVIRONMENTS,
    "noise": NOISES,
    "agent": AGENTS,
    "posterior": POSTERIORS,
    "sampler": SAMPLERS,
    "reward": REWARDS,
}


@dataclasses.dataclass(frozen=True)
class Cell:
    """What is computed as one piece. `parts` maps a group to its member's name and settings."""

    parts: Mapping[str, Mapping[str, Any]]
    rounds: int
    runs: int
    seed: int
    precision: str
    record_every: int = dataclasses.field(
        default=1, kw_only=True
    )  # rounds that are aggregated into one record

    @cached_property
    def environment(self) -> Environment:
        """Who answers, with which noise."""
        inner: Environment = self._build("environment")
        return WithNoise(inner, self._build("noise")) if "noise" in self.parts else inner

    @cached_property
    def agent(self) -> Agent:
        """Who decides, with everything that is derived from the horizon filled in."""
        agent = self._build("agent")
        inner = {group: self._build(group) for group in nested_fields(type(agent))}
        return dataclasses.replace(agent, **inner).for_horizon(self.rounds)

    def _build(self, group: str) -> Any:
        part = dict(self.parts[group])
        return GROUPS[group].build(part.pop("name"), part)

    def check_numbers(self) -> None:
        """Raises InputError where rounds, runs or seed make no sense."""
        for name, least in (("rounds", 1), ("runs", 1), ("seed", 0), ("record_every", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InputError(f"{name}={value!r} must be a whole number, at least {least}")
        if self.seed > MOST_SEED:
            raise InputError(f"seed={self.seed} must be a whole number, at most {MOST_SEED}")
        if self.rounds % self.record_every:
            raise InputError(f"rounds={self.rounds} must be a multiple of record_every={self.record_every}")
        if self.rounds // self.record_every * self.runs > MOST_ROUNDS:
            raise InputError(
                f"rounds={self.rounds} of runs={self.runs} are more than the {MOST_ROUNDS} that are kept at most; "
                "record_every=100 keeps a hundred rounds together"
            )

    def check(self) -> None:
        """Raises InputError for what cannot run, before anything compiles."""
        check(self.environment, self.agent, self.rounds)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """All that the result depends on, the code apart, in plain types."""
        made = {group: self._build(group) for group in ("environment", "noise") if group in self.parts}
        made["agent"] = self.agent
        made |= {group: getattr(self.agent, group) for group in nested_fields(type(self.agent))}
        settings: dict[str, Any] = {
            group: {"name": self.parts[group]["name"]} | flatten(part) for group, part in made.items()
        }
        if hasattr(made["environment"], "fingerprint"):
            settings["environment"]["content"] = made["environment"].fingerprint
        numbers = {"rounds": self.rounds, "runs": self.runs, "seed": self.seed}
        numbers |= {"record_every": self.record_every} if self.record_every > 1 else {}
        return settings | numbers | {"precision": self.precision}

    @cached_property
    def flat(self) -> dict[str, Any]:
        """The settings under dotted names; a group's own name stands for its member."""
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
        """The same for the same settings, the same code (a user's own as well) and the same packages."""
        text = json.dumps(self.settings, sort_keys=True) + code_version() + self._own_code()
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _own_code(self) -> str:
        """The text of the files in which the parts are written that are not of these packages."""
        groups = [group for group in ("environment", "noise") if group in self.parts]
        parts = [type(self._build(group)) for group in groups] + [type(self.agent)]
        parts += [type(getattr(self.agent, group)) for group in nested_fields(type(self.agent))]
        modules = [sys.modules[part.__module__] for part in parts if not _ours(part)]
        files = {
            module.__file__ for module in modules if getattr(module, "__file__", None)
        }  # not a notebook's
        return "".join(Path(file).read_text() for file in sorted(filter(None, files)))

    @property
    def name(self) -> str:
        """What a person calls it."""
        return " ".join(
            _called(key, self.flat[key])
            for key in ("environment", "noise", "agent", "posterior", "sampler")
            if key in self.flat
        )

    def reference_key(self) -> str:
        """What a cell and its exact reference have in common."""
        flat = {key: value for key, value in self.flat.items() if not key.startswith("sampler")}
        return json.dumps(flat, sort_keys=True)


def _ours(part: type) -> bool:
    return part.__module__.partition(".")[0] in ("samplers", "fgtsva_ppl")


def needed_groups(members: Mapping[str, str]) -> list[str]:
    """The groups that a cell with these members is made of."""
    noise = [] if members["noise"] == OWN else ["noise"]
    return ["environment", *noise, "agent", *nested_fields(AGENTS[members["agent"]])]


def varied(cells: Iterable[Cell]) -> list[str]:
    """The dotted names of the settings that tell cells apart.

    A member's own setting counts only if it differs between cells with that member: that mala takes 20 steps and nuts
    takes 3 is told by their names.
    """
    seen: dict[str, dict[str, set[Any]]] = {}
    for cell in cells:
        for key, value in cell.flat.items():
            group, dot, _ = key.partition(".")
            seen.setdefault(key, {}).setdefault(cell.flat[group] if dot else "", set()).add(value)
    return [key for key, members in seen.items() if any(len(values) > 1 for values in members.values())]


def by_panel(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """Cells by environment and noise, with whatever settings of them differ."""
    keys = [key for key in varied(cells) if key.startswith(("environment.", "noise"))]
    panels: dict[str, list[Cell]] = {}
    for cell in cells:
        settings = [f"{key.partition('.')[2]}={_short(cell.flat[key])}" for key in keys if key in cell.flat]
        panels.setdefault(" ".join([cell.flat["environment"], *settings]), []).append(cell)
    return panels


def labels_of(cells: Sequence[Cell]) -> dict[str, str]:
    """What tells a cell from the others of its panel; of a sampler's settings those that are not as they mostly are."""
    keys = [key for key in varied(cells) if not key.startswith(("environment", "noise", "rounds"))]
    main = [key for key in keys if key in ("agent", "posterior", "sampler", "reward")] or ["sampler"]
    fine = [key for key in keys if key not in main]
    usual = _usual(cells, [key for key in fine if key.startswith("sampler.")])
    labels = {}
    for cell in cells:
        own = [key for key in main if cell.flat.get(key) is not None] or ["agent"]
        names = [_called(key, cell.flat[key]) for key in own]
        plain = usual.get(str(cell.flat.get("sampler")), {})
        settings = [
            f"{key.partition('.')[2]}={_short(cell.flat[key])}"
            for key in fine
            if key in cell.flat and not (key in plain and plain[key] == cell.flat[key])
        ]
        labels[cell.id] = " ".join([*names, *settings])
    return labels


def _called(key: str, name: object) -> str:
    """A member's name; of an agent that is a reconstruction the label, which says so."""
    label = getattr(dict(AGENTS).get(str(name)), "label", "") if key == "agent" else ""
    return str(label) if label.endswith("-style") else str(name)


def _usual(cells: Sequence[Cell], keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    """For samplers of which several settings differ, one at a time: what each setting mostly is."""
    found: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(str(cell.flat.get("sampler")) for cell in cells):
        own = [cell.flat for cell in cells if cell.flat.get("sampler") == name]
        counts = {key: Counter(flat[key] for flat in own if key in flat) for key in keys}
        differing = {key: count.most_common(1)[0][0] for key, count in counts.items() if len(count) > 1}
        apart = (sum(flat.get(key, usual) != usual for key, usual in differing.items()) for flat in own)
        if len(differing) > 1 and max(apart, default=0) <= 1:
            found[name] = differing
    return found


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def versions() -> dict[str, str]:
    """Of Python and of the packages that numbers depend on."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


@lru_cache(maxsize=1)
def code_version() -> str:
    """A digest of the code that results depend on, and of the versions of the packages below it."""
    digest = hashlib.sha256(json.dumps(versions()).encode())
    for package in (samplers, fgtsva_ppl):
        folder = Path(str(package.__file__)).parent
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder.parent).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
