"""Rejects names that do not exist and overrides that affect no selected component. Nothing here imports JAX."""

from collections.abc import Iterable

from experiments.config.catalogue import Catalogue
from experiments.config.overrides import DIAGNOSTICS, NUMBERS, OPTIONS, Grid
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
    known, open_groups = {*OPTIONS, *DIAGNOSTICS, *NUMBERS, *catalogue}, set()
    used = {"environment", "noise", "agent"}
    for grid in grids:
        for group in catalogue:
            for name in grid.get(group, [read_defaults()[group]]):
                member = catalogue.member(group, str(name))
                if member.settings is None:  # of another package, which is not imported yet
                    open_groups |= set(catalogue) if group == "agent" else {group}
                    continue
                known |= {f"{group}.{key}" for key in member.settings}
                used |= {*member.nested} if group == "agent" else set()
    for key in overrides:
        group = key.partition(".")[0]
        if group in open_groups:
            continue
        if key not in known:
            raise InputError(_unknown_key(key, known, catalogue))
        if group in catalogue and group not in used:
            owners = ", ".join(name for name, agent in catalogue["agent"].items() if group in agent.nested)
            raise InputError(f"{key}: no selected agent has a {group}; these have one: {owners}")


def _unknown_key(key: str, known: Iterable[str], catalogue: Catalogue) -> str:
    """The error message for a key that does not exist, or that no selected member has."""
    group, _, setting = key.partition(".")
    owners = [name for name, member in catalogue.get(group, {}).items() if setting in (member.settings or ())]
    if owners:
        return f"{key}: no selected {group} has this setting; these have it: {', '.join(owners)}"
    renamed = f" (did you mean {OLD_KEYS[key]!r}?)" if key in OLD_KEYS else ""
    if group in catalogue and setting:
        settings = sorted(k.partition(".")[2] for k in known if k.startswith(group + "."))
        hint = renamed or did_you_mean(setting, settings).replace("mean '", f"mean '{group}.")
        return f"unknown key {key!r}{hint}; valid after {group}.: {', '.join(settings) or 'none'}"
    return f"unknown key {key!r}{renamed or did_you_mean(key, known)}; valid: {', '.join(sorted(known))}"


def _check_agent(name: str, catalogue: Catalogue) -> None:
    """Raises InputError with the right settings for the name of an algorithm that is not an agent's name."""
    plain = name.lower().replace("-", "_")
    default = f"agent=thompson posterior={plain}" if plain in catalogue["posterior"] else None
    settings = ALGORITHMS.get(plain, default)
    if name not in catalogue["agent"] and settings is not None:
        raise InputError(f"unknown agent {name!r}: use {settings}; valid: {', '.join(catalogue['agent'])}")
