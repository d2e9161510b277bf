"""Short labels of cells: what distinguishes a cell from the others of its study."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from experiments.config.cell import ENVIRONMENT_GROUPS, GROUPS, OMITTED, Cell, display_name
from experiments.config.text import setting_text
from samplers.errors import InputError, did_you_mean


def varied(cells: Iterable[Cell]) -> list[str]:
    """The dotted names of the settings in which cells differ.

    A member's own setting counts only if it differs between cells with that member: that mala takes 20 steps and nuts
    takes 3 follows from their names.
    """
    seen: dict[str, dict[str, set[Any]]] = {}
    for cell in cells:
        omitted = {"likelihood": OMITTED["likelihood"]} if "sampler" in cell.flat else {}
        for key, value in (omitted | cell.flat).items():
            group, dot, _ = key.partition(".")
            seen.setdefault(key, {}).setdefault(cell.flat[group] if dot else "", set()).add(value)
    return [key for key, members in seen.items() if any(len(values) > 1 for values in members.values())]


def by_panel(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """Groups cells by environment, noise, drift and feedback, named with those of their settings that differ."""
    keys = [key for key in varied(cells) if key.startswith(("environment.", *ENVIRONMENT_GROUPS[1:]))]
    panels: dict[str, list[Cell]] = {}
    for cell in cells:
        settings = [
            f"{key.partition('.')[2]}={setting_text(cell.flat[key])}" for key in keys if key in cell.flat
        ]
        panels.setdefault(" ".join([cell.flat["environment"], *settings]), []).append(cell)
    return panels


def labels_of(cells: Sequence[Cell]) -> dict[str, str]:
    """A label for each cell that distinguishes it from the others of its panel.

    A setting that differs between panels alone, as one that the data recommend, is not named. Where a sampler's
    settings are varied one at a time, only those that differ from their most common value are named.

    Returns:
        Labels by the cells' ids.
    """
    within = {key for members in by_panel(cells).values() for key in varied(members)}
    keys = [
        key
        for key in varied(cells)
        if key in ("agent", "posterior", "sampler")
        or (key in within and not key.startswith((*ENVIRONMENT_GROUPS, "rounds")))
    ]
    groups = [key for key in keys if key in GROUPS] or ["sampler"]
    settings = [key for key in keys if key not in groups]
    common = _most_common(cells, [key for key in settings if key.startswith("sampler.")])
    labels = {}
    for cell in cells:
        own = [key for key in groups if cell.flat.get(key) is not None] or ["agent"]
        names = [display_name(key, cell.flat[key]) for key in own]
        omitted = common.get(str(cell.flat.get("sampler")), {})
        values = [
            f"{key.partition('.')[2]}={setting_text(cell.flat[key])}"
            for key in settings
            if key in cell.flat and not (key in omitted and omitted[key] == cell.flat[key])
        ]
        labels[cell.id] = " ".join([*names, *values])
    return labels


def _most_common(cells: Sequence[Cell], keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    """For each sampler of which several settings are varied, one at a time: every setting's most common value."""
    values: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(str(cell.flat.get("sampler")) for cell in cells):
        own = [cell.flat for cell in cells if cell.flat.get("sampler") == name]
        counts = {key: Counter(flat[key] for flat in own if key in flat) for key in keys}
        common = {key: count.most_common(1)[0][0] for key, count in counts.items() if len(count) > 1}
        changed = (sum(flat.get(key, value) != value for key, value in common.items()) for flat in own)
        if len(common) > 1 and max(changed, default=0) <= 1:
            values[name] = common
    return values


def cells_with(cells: Sequence[Cell], settings: Mapping[str, Any]) -> list[Cell]:
    """The cells that have these settings, by group or dotted key. Raises InputError for a key that no cell has."""
    known = {key for cell in cells for key in cell.flat}
    for key in settings:
        if key not in known:
            raise InputError(
                f"unknown setting {key!r}{did_you_mean(key, known)}; valid: {', '.join(sorted(known))}"
            )
    return [cell for cell in cells if all(cell.flat.get(key) == value for key, value in settings.items())]
