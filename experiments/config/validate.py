"""Rejects unknown names, wrong values, and overrides that affect no selected component. Nothing here imports JAX."""

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from experiments.config.catalogue import Catalogue, Setting
from experiments.config.keys import (
    BACKEND,
    BACKENDS,
    DIAGNOSTICS,
    NUMBERS,
    OPTIONS,
    Grid,
    check_choice,
    check_number,
    check_whole,
)
from experiments.config.overrides import single
from experiments.config.study_files import read_defaults
from samplers.errors import RENAMED, InputError, did_you_mean

# Names of algorithms that are no agent's name, and how to run them
ALGORITHMS = {
    "linucb": "agent=oful",
    "ts": "agent=thompson posterior=ts; weighted by the variances, agent=thompson posterior=fgts_va posterior.c=0",
}
WHOLE_OPTIONS = ("devices", "processes", "backend.workers", "backend.runs_per_task")  # at least 1, or null


def check_options(options: Mapping[str, Any]) -> None:
    """Raises InputError for a value that an option of the command cannot have."""
    for key in ("precision", "backend"):
        if options.get(key) is not None:
            check_choice(key, options[key])
    for key in WHOLE_OPTIONS:
        if options.get(key) is not None:
            check_whole(key, options[key], 1)
    unused = [key for key in BACKEND if key in options]
    if unused and options.get("backend") in (None, BACKENDS[0]):
        raise InputError(f"{unused[0]} is a setting of backend=dask")


def check_flag(key: str, value: Any) -> None:
    """Raises InputError for anything but true or false."""
    if not isinstance(value, bool):
        raise InputError(f"{key}={value!r} must be true or false")


def check_bounds(bounds: Any, study: str, sweep: str | None, *, algorithms: bool) -> None:
    """Raises InputError where the theorem's bound cannot be drawn: it needs a figure of regret over rounds."""
    check_flag("bounds", bounds)
    if bounds and sweep and not algorithms:
        raise InputError(f"bounds=true: study={study} sweeps {sweep} and draws no regret over rounds")


def check_diagnostics(diagnostics: Mapping[str, Sequence[Any]]) -> None:
    """Raises InputError for probe rounds or runs that are no whole numbers; `rounds=null` are log-spaced ones."""
    runs = single("diagnostics.runs", diagnostics.get("runs", [0]))
    check_whole("diagnostics.runs", runs, 0)
    rounds = diagnostics.get("rounds", [None])
    for value in rounds if rounds != [None] else ():
        check_whole("diagnostics.rounds", value, 1)


def check_settings(overrides: Grid, grids: Iterable[Grid], catalogue: Catalogue) -> None:
    """Raises InputError for an unknown member, an unknown key, a key that no selected member has, or a wrong value.

    Args:
        overrides: The settings given on the command line.
        grids: The study's grids, with the overrides applied.
        catalogue: The members of all groups.
    """
    for name in overrides.get("agent", ()):
        _check_agent(str(name), catalogue)
    known, selected, unknown_settings = {*OPTIONS, *DIAGNOSTICS, *NUMBERS, *catalogue}, set(), set()
    used = {"environment", "noise", "drift", "feedback", "agent", "exploration"}
    for grid in grids:
        for group in catalogue:
            prefix = f"{group}."
            values = {key.removeprefix(prefix): grid[key] for key in grid if key.startswith(prefix)}
            for name in map(str, grid.get(group, [read_defaults()[group]])):
                member = catalogue.member(group, name)
                selected.add((group, name))
                if member.settings is None:  # of another package, which has not been imported
                    unknown_settings |= set(catalogue) if group == "agent" else {group}
                    continue
                keys = member.keys_with(values)
                for key in keys & {*values}:
                    _check_values(f"{group} {name!r}", key, values[key], member.settings[key])
                known |= {prefix + key for key in keys}
                used |= {*member.nested} if group == "agent" else set()
    for key, values_ in overrides.items():
        group = key.partition(".")[0]
        if group in unknown_settings:
            continue
        if key not in known:
            raise InputError(_unknown_key(key, known, selected, catalogue))
        if group in catalogue and group not in used:
            owners = ", ".join(name for name, agent in catalogue["agent"].items() if group in agent.nested)
            raise InputError(f"{key}: no selected agent has a {group}; these have one: {owners}")
        for value in values_ if key in NUMBERS else ():
            check_number(key, value)


def _check_values(owner: str, key: str, values: Iterable[Any], setting: Setting) -> None:
    try:
        for value in values:
            setting.check(key, value)
    except InputError as error:
        raise InputError(f"{owner}: {error}") from None


def _unknown_key(key: str, known: Set[str], selected: Set[tuple[str, str]], catalogue: Catalogue) -> str:
    """The error message for a key that does not exist, or that no selected member has."""
    group, _, setting = key.partition(".")
    owners = {
        n: member for n, member in catalogue.get(group, {}).items() if setting in (member.settings or ())
    }
    chosen = [member for name, member in owners.items() if (group, name) in selected]
    if chosen:  # which has it with another component
        field, _, inner = setting.partition(".")
        choices = [name for name, one in chosen[0].components[field].items() if inner in one.keys]
        return f"{key}: no selected {group}.{field} has this setting; these have it: {', '.join(choices)}"
    if owners:
        return f"{key}: no selected {group} has this setting; these have it: {', '.join(owners)}"
    if group in catalogue and setting:
        settings = sorted(k.partition(".")[2] for k in known if k.startswith(group + "."))
        members = (catalogue[group][name] for group_, name in selected if group_ == group)
        choices = sorted({*settings, *(key for member in members for key in member.settings or ())})
        return _unknown_after(key, group, settings, choices)
    if key in RENAMED:
        return f"unknown key {key!r}{did_you_mean(key, known)}"
    group = RENAMED.get(group, (group,))[0]
    inside = sorted(k.partition(".")[2] for k in known if k.startswith(f"{group}."))
    if setting and inside:
        return _unknown_after(key, group, inside, inside)
    valid = sorted(k for k in known if "." not in k)
    return f"unknown key {key!r}{did_you_mean(key, known)}; valid: {', '.join(valid)}"


def _unknown_after(key: str, group: str, valid: Sequence[str], choices: Sequence[str]) -> str:
    """The error message for an unknown key after a known word; `choices` are those that may be meant."""
    hint = did_you_mean(key.partition(".")[2], choices).replace("mean '", f"mean '{group}.")
    return f"unknown key {key!r}{hint}; valid after {group}.: {', '.join(valid) or 'none'}"


def _check_agent(name: str, catalogue: Catalogue) -> None:
    """Raises InputError with the right settings for the name of an algorithm that is not an agent's name."""
    plain = name.lower().replace("-", "_")
    default = f"agent=thompson posterior={plain}" if plain in catalogue["posterior"] else None
    settings = ALGORITHMS.get(plain, default)
    if name not in catalogue["agent"] and settings is not None:
        raise InputError(f"unknown agent {name!r}: use {settings}; valid: {', '.join(catalogue['agent'])}")
