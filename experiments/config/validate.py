"""Whether every word of a command line says something of what was chosen. If not: one line that tells what to say."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from experiments.config.cell import GROUPS, Cell
from fgtsva_ppl import AGENTS, POSTERIORS
from samplers.errors import InputError, did_you_mean
from samplers.settings import below, component_fields, nested_fields

type Grid = dict[str, list[Any]]  # dotted key -> the values it takes

CALLED = {  # algorithms by names that no agent has
    "linucb": "agent=oful",
    "ts": "agent=thompson posterior=ts; weighted by the variances, agent=thompson posterior=fgts_va posterior.c=0",
}


def check_keys(
    said: Grid, grids: Sequence[Grid], plain: Iterable[str], defaults: Mapping[str, list[Any]]
) -> None:
    """Every key that was said is a plain one, or a setting of something that was chosen."""
    for name in said.get("agent", ()):
        _check_agent(str(name))
    known: set[str] = {*plain, *GROUPS}
    for grid in grids:
        for group, registry in GROUPS.items():
            for member in grid.get(group, defaults[group]):
                for values in _component_choices(registry[str(member)], below(group, grid)):
                    known |= {f"{group}.{key}" for key in registry.defaults(str(member), values)}
    for key in said:
        if key not in known:
            group, _, setting = key.partition(".")
            elsewhere = [name for name, _ in GROUPS.get(group, ()) if setting in GROUPS[group].all_keys(name)]
            members = {str(name) for grid in grids for name in grid.get(group, defaults.get(group, ()))}
            if members & {*elsewhere}:
                field, _, inner = setting.partition(".")
                registry = component_fields(GROUPS[group][min(members & {*elsewhere})])[field]
                owners = ", ".join(name for name, _ in registry if inner in registry.all_keys(name))
                raise InputError(
                    f"{key}: no {group}.{field} that was chosen has this setting; these have it: {owners}"
                )
            if elsewhere:
                owners = ", ".join(elsewhere)
                raise InputError(
                    f"{key}: no {group} that was chosen has this setting; these have it: {owners}"
                )
            if group in GROUPS and setting:
                settings = sorted(k.partition(".")[2] for k in known if k.startswith(group + "."))
                listed = ", ".join(settings) or "none"
                possible = {*settings, *(key for name in members for key in GROUPS[group].all_keys(name))}
                hint = did_you_mean(setting, sorted(possible)).replace("mean '", f"mean '{group}.")
                raise InputError(f"unknown key {key!r}{hint}; valid after {group}.: {listed}")
            raise InputError(
                f"unknown key {key!r}{did_you_mean(key, known)}; valid: {', '.join(sorted(known))}"
            )


def _component_choices(cls: type, values: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """The combinations of a member's components that a grid has."""
    fields = [field for field in component_fields(cls) if field in values]
    for names in itertools.product(*(values[field] for field in fields)):
        yield dict(zip(fields, names, strict=True))


def _check_agent(name: str) -> None:
    """An algorithm that runs here under another name is told by that name."""
    plain = name.lower().replace("-", "_")
    how = CALLED.get(plain, f"agent=thompson posterior={plain}" if plain in POSTERIORS.names() else None)
    if name not in AGENTS.names() and how is not None:
        raise InputError(f"unknown agent {name!r}: say {how}; valid: {', '.join(AGENTS.names())}")


def check_used(said: Grid, cells: Iterable[Cell]) -> None:
    """Nothing was said of a group that no chosen agent has. Noise is no agent's, and `default` leaves it away."""
    used = {"noise", *(group for cell in cells for group in cell.parts)}
    for key in said:
        group = key.partition(".")[0]
        if group in GROUPS and group not in used:
            owners = ", ".join(name for name, cls in AGENTS if group in nested_fields(cls))
            raise InputError(f"{key}: no agent that was chosen has a {group}; these have one: {owners}")
