"""The members of every group with their settings, from a file, so that the command line need not import JAX.

`python -m experiments.config.catalogue` writes the file again after a change of the registries.
"""

import dataclasses
import json
import math
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from samplers.errors import InputError, did_you_mean

FILE = Path(__file__).with_name("catalogue.json")


@dataclasses.dataclass(frozen=True)
class Setting:
    """A setting of a member.

    Attributes:
        default: Its value if nothing is specified.
        doc: What it means.
        valid: Which values are valid, e.g. "at least 0"; empty if its type says it all.
    """

    default: Any
    doc: str
    valid: str


@dataclasses.dataclass(frozen=True)
class Member:
    """A member of a group.

    Attributes:
        description: One line.
        settings: Its settings by name; None for one of another package that has not been imported.
        nested: The groups that an agent is composed of.
        info: The fields of a sampler's SamplerInfo.
    """

    description: str
    settings: Mapping[str, Setting] | None
    nested: tuple[str, ...] = ()
    info: Mapping[str, str] = dataclasses.field(default_factory=dict)


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
    return from_registries() if "samplers.registry" in sys.modules else from_file()


def from_file() -> Catalogue:
    """The catalogue in the file, and the names that other packages declare as entry points, which stay unloaded."""
    catalogue = Catalogue()
    declared = entry_points()
    for group, members in json.loads(FILE.read_text()).items():
        catalogue[group] = {name: _member(**fields) for name, fields in members.items()}
        for point in declared.select(group=f"fgtsva.{group}s"):
            catalogue[group].setdefault(point.name, Member(f"from {point.value}", None))
    return catalogue


def _member(description: str, settings: Mapping[str, Any], nested: list[str], info: dict[str, str]) -> Member:
    return Member(description, {key: Setting(**value) for key, value in settings.items()}, (*nested,), info)


def from_registries() -> Catalogue:
    """The catalogue of all registered members. Imports JAX."""
    from experiments.config.cell import GROUPS
    from samplers.base import sampler_info
    from samplers.settings import documentation, nested_fields

    catalogue = Catalogue()
    for group, registry in GROUPS.items():
        catalogue[group] = {}
        for name, cls in registry:
            docs, bounds = documentation(cls), {f.name: _valid(f.metadata) for f in dataclasses.fields(cls)}
            settings = {
                key: Setting(default, docs[key], bounds.get(key, ""))
                for key, default in registry.defaults(name).items()
            }
            info = sampler_info(cls)._asdict() if group == "sampler" else {}
            description = (cls.__doc__ or "").splitlines()[0]
            catalogue[group][name] = Member(description, settings, (*nested_fields(cls),), info)
    return catalogue


def _valid(metadata: Mapping[str, Any]) -> str:
    """The valid values of a settings field."""
    if "options" in metadata:
        return f"one of: {', '.join(metadata['options'])}"
    bounds = [("gt", "above"), ("ge", "at least"), ("le", "at most")]
    limits = [
        f"{word} {metadata[key]:g}" for key, word in bounds if math.isfinite(metadata.get(key, math.inf))
    ]
    return " and ".join(limits)


def to_json(catalogue: Catalogue) -> str:
    """The content of the file."""
    plain = {
        group: {name: dataclasses.asdict(member) for name, member in members.items()}
        for group, members in catalogue.items()
    }
    return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(to_json(from_registries()))
