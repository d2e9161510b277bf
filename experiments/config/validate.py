"""Rejects names that do not exist and overrides that affect no selected component. Nothing here imports JAX."""

from collections.abc import Iterable, Set

from experiments.config.catalogue import Catalogue
from experiments.config.keys import DIAGNOSTICS, NUMBERS, OPTIONS, Grid
from experiments.config.study_files import read_defaults
from samplers.errors import InputError, did_you_mean

# Names of algorithms that are no agent's name, and how to run them
ALGORITHMS = {
    "linucb": "agent=oful",
    "ts": "agent=thompson posterior=ts; weighted by the variances, agent=thompson posterior=fgts_va posterior.c=0",
}
# Earlier names of keys, for the hint in the error message
OLD_KEYS = {
    "every": "record_every",
    "launcher": "backend",
    "launcher.address": "backend.address",
    "launcher.workers": "backend.workers",
    "launcher.slice": "backend.runs_per_task",
    "agent.warm": "agent.warm_start",
    "posterior.sigma": "posterior.variance",
    "posterior.guess": "posterior.variance.initial_sigma",
}


def check_names(overrides: Grid, grids: Iterable[Grid], catalogue: Catalogue) -> None:
    """Raises InputError for an unknown member, an unknown key, or a key that no selected member has.

    Args:
        overrides: The settings given on the command line.
        grids: The study's grids, with the overrides applied.
        catalogue: The members of all groups.
    """
    for name in overrides.get("agent", ()):
        _check_agent(str(name), catalogue)
    known, selected, unknown_settings = {*OPTIONS, *DIAGNOSTICS, *NUMBERS, *catalogue}, set(), set()
    used = {"environment", "noise", "agent"}
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
                known |= {prefix + key for key in member.keys_with(values)}
                used |= {*member.nested} if group == "agent" else set()
    for key in overrides:
        group = key.partition(".")[0]
        if group in unknown_settings:
            continue
        if key not in known:
            raise InputError(_unknown_key(key, known, selected, catalogue))
        if group in catalogue and group not in used:
            owners = ", ".join(name for name, agent in catalogue["agent"].items() if group in agent.nested)
            raise InputError(f"{key}: no selected agent has a {group}; these have one: {owners}")


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
    renamed = f" (did you mean {OLD_KEYS[key]!r}?)" if key in OLD_KEYS else ""
    if group in catalogue and setting:
        settings = sorted(k.partition(".")[2] for k in known if k.startswith(group + "."))
        members = (catalogue[group][name] for group_, name in selected if group_ == group)
        choices = sorted({*settings, *(key for member in members for key in member.settings or ())})
        hint = renamed or did_you_mean(setting, choices).replace("mean '", f"mean '{group}.")
        return f"unknown key {key!r}{hint}; valid after {group}.: {', '.join(settings) or 'none'}"
    return f"unknown key {key!r}{renamed or did_you_mean(key, known)}; valid: {', '.join(sorted(known))}"


def _check_agent(name: str, catalogue: Catalogue) -> None:
    """Raises InputError with the right settings for the name of an algorithm that is not an agent's name."""
    plain = name.lower().replace("-", "_")
    default = f"agent=thompson posterior={plain}" if plain in catalogue["posterior"] else None
    settings = ALGORITHMS.get(plain, default)
    if name not in catalogue["agent"] and settings is not None:
        raise InputError(f"unknown agent {name!r}: use {settings}; valid: {', '.join(catalogue['agent'])}")
