"""The members of every group with their settings, from a file, so that the command line need not import JAX.

`python -m experiments.config.catalogue` writes the file again after a change of the registries.
"""

import dataclasses
import json
import math
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.config.text import override_text
from samplers.errors import InputError, did_you_mean
from samplers.field_values import describe_bounds, validated_value

if TYPE_CHECKING:
    from samplers.registry import Registry

FILE = Path(__file__).with_name("catalogue.json")


KINDS = {"float": float, "int": int, "bool": bool, "str": str}  # types of values that can be checked


@dataclasses.dataclass(frozen=True)
class Setting:
    """A setting of a member.

    Attributes:
        default: Its value if nothing is specified.
        doc: What it means.
        kind: The name of its type, without None.
        optional: Whether it may be null.
        limits: Bounds `gt`, `ge`, `le`, or `options` and their `aliases`; those of a component are the names to choose.
    """

    default: Any
    doc: str
    kind: str
    optional: bool = False
    limits: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def options(self) -> list[str]:
        """The values to choose from; none for a number or a text."""
        return ["true", "false"] if self.kind == "bool" else list(self.limits.get("options", ()))

    @property
    def valid(self) -> str:
        """Which values are valid, e.g. "at least 0"; empty if its type is enough."""
        if "options" in self.limits:
            return f"one of: {', '.join(self.limits['options'])}"
        return describe_bounds(self.limits)

    def check(self, key: str, value: Any) -> None:
        """Raises InputError for a value that is not valid; one of a type that is not known here is not checked."""
        if not (value is None and self.optional) and (self.kind in KINDS or "options" in self.limits):
            validated_value(key, KINDS.get(self.kind, str), self.limits, value)


@dataclasses.dataclass(frozen=True)
class Component:
    """A choice of a setting that selects a component.

    Attributes:
        description: One line.
        keys: The keys of its settings.
    """

    description: str
    keys: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Member:
    """A member of a group.

    Attributes:
        description: One line.
        settings: Its settings by key, those of all components included; None for a member of another package that has
            not been imported.
        components: For each setting that selects a component, its choices by name.
        nested: The groups that an agent is composed of.
        info: The fields of a sampler's SamplerInfo.
    """

    description: str
    settings: Mapping[str, Setting] | None
    components: Mapping[str, Mapping[str, Component]] = dataclasses.field(default_factory=dict)
    nested: tuple[str, ...] = ()
    info: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def keys_with(self, chosen: Mapping[str, Sequence[Any]]) -> set[str]:
        """The keys that are valid if a grid has these values. Raises InputError for an unknown component."""
        settings = self.settings or {}
        inner = tuple(f"{field}." for field in self.components)
        keys = {key for key in settings if not key.startswith(inner)}
        for field, choices in self.components.items():
            for name in map(override_text, chosen.get(field, [settings[field].default])):
                if name not in choices:
                    hint = did_you_mean(name, choices)
                    raise InputError(f"unknown {field} {name!r}{hint}; valid: {', '.join(choices)}")
                keys |= {f"{field}.{key}" for key in choices[name].keys}
        return keys


class Catalogue(dict[str, dict[str, Member]]):
    """Members by group and name."""

    def member(self, group: str, name: str) -> Member:
        """A member. Raises InputError with the valid names if there is none of that name."""
        members = self[group]
        if name not in members:
            raise InputError(
                f"unknown {group} {name!r}{did_you_mean(name, members)}; valid: {', '.join(members)}"
            )
        return members[name]


def load_catalogue() -> Catalogue:
    """The registries themselves if they have been imported, as a script may have extended them; else the file."""
    return from_registries() if _registries_are_imported() else from_file()


def _registries_are_imported() -> bool:
    return "samplers.registry" in sys.modules


def from_file() -> Catalogue:
    """The catalogue in the file, and the names that other packages declare as entry points, which stay unloaded."""
    catalogue = Catalogue()
    declared = entry_points()
    for group, members in json.loads(FILE.read_text()).items():
        catalogue[group] = {name: _member(**fields) for name, fields in members.items()}
        for point in declared.select(group=f"fgtsva.{group}s"):
            catalogue[group].setdefault(point.name, Member(f"from {point.value}", None))
    return catalogue


def _member(
    description: str,
    settings: dict[str, Any],
    components: dict[str, Any],
    nested: list[str],
    info: dict[str, str],
) -> Member:
    return Member(
        description,
        {key: Setting(**value) for key, value in settings.items()},
        {
            field: {name: Component(one["description"], (*one["keys"],)) for name, one in choices.items()}
            for field, choices in components.items()
        },
        (*nested,),
        info,
    )


def from_registries() -> Catalogue:
    """The catalogue of all registered members. Imports JAX."""
    from experiments.config.cell import GROUPS
    from samplers.base import Sampler
    from samplers.settings import component_fields, nested_fields

    catalogue = Catalogue()
    for group, registry in GROUPS.items():
        catalogue[group] = {}
        for name, cls in registry:
            components = {
                field: {
                    choice: Component(_first_line(inner), (*members.all_keys(choice),))
                    for choice, inner in members
                }
                for field, members in component_fields(cls).items()
            }
            catalogue[group][name] = Member(
                _first_line(cls),
                _settings(registry, name),
                components,
                (*nested_fields(cls),),
                cls.info._asdict() if issubclass(cls, Sampler) else {},
            )
    return catalogue


def _settings(registry: "Registry[Any]", name: str) -> dict[str, Setting]:
    """The settings of a member, those of all its components included."""
    from samplers.settings import component_fields, documentation

    cls = registry[name]
    defaults: dict[str, Any] = {}
    for field, members in component_fields(cls).items():
        for choice, _ in members:
            defaults |= registry.defaults(name, {field: choice})
    defaults |= registry.defaults(name)
    values = _values(cls)
    return {key: Setting(defaults[key], doc, *values[key]) for key, doc in documentation(cls).items()}


def _values(cls: type) -> dict[str, tuple[str, bool, dict[str, Any]]]:
    """Type, whether null is allowed, and limits of every setting, those of all components included."""
    from samplers.settings import component_fields, value_types

    metadata = {field.name: field.metadata for field in dataclasses.fields(cls)}
    values = {key: (*kind, _limits(metadata[key])) for key, kind in value_types(cls).items()}
    for field, members in component_fields(cls).items():
        values[field] = (*values[field][:2], {"options": members.names(), "aliases": {}})
        for _, inner in members:
            values |= {f"{field}.{key}": value for key, value in _values(inner).items()}
    return values


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").partition("\n")[0]


def _limits(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What restricts the values of a settings field, in plain types."""
    if "options" in metadata:
        return {"options": list(metadata["options"]), "aliases": dict(metadata["aliases"])}
    bounds = {key: metadata[key] for key in ("gt", "ge", "le") if math.isfinite(metadata.get(key, math.inf))}
    return bounds | ({"counted": True} if metadata.get("counted") else {})


def to_json(catalogue: Catalogue) -> str:
    """The content of the file."""
    plain = {
        group: {name: dataclasses.asdict(member) for name, member in members.items()}
        for group, members in catalogue.items()
    }
    return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(to_json(from_registries()))
