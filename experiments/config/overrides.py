"""Parses `key=value` overrides in Hydra's override grammar; a comma makes a grid. Nothing here imports JAX."""

import itertools
from collections.abc import Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType, QuotedString
from hydra.errors import HydraException

from experiments.config.keys import MAX_CELLS, PATHS, Grid
from samplers.errors import InputError


def parse(overrides: Sequence[str]) -> Grid:
    """The values of every key; a later override of the same key replaces an earlier one.

    Args:
        overrides: Strings such as `sampler=sgld,mala` or `posterior.c=0.1`.
    """
    grid: Grid = {}
    for text in overrides:
        key, _, value = text.partition("=")
        if key in PATHS:
            grid[key] = [_path(key, value)]
            continue
        try:
            (override,) = OverridesParser.create().parse_overrides([text])
        except HydraException:
            raise InputError(f"cannot read {text!r}: write key=value, or key=a,b,c for a grid") from None
        if override.type is not OverrideType.CHANGE or override.package is not None:
            raise InputError(f"cannot read {text!r}: write key=value, without a sign or a package")
        grid[override.key_or_group] = _values(override, text)
    return grid


def _path(key: str, text: str) -> str | None:
    """A path, which may contain commas, brackets and blanks."""
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    path = text[1:-1] if quoted else text
    if not path or "${" in path:
        raise InputError(f"cannot use {key}={text}: give a path")
    return None if text == "null" else path


def _values(override: Override, text: str) -> list[Any]:
    try:
        sweep = override.sweep_iterator() if override.is_sweep_override() else iter([override.value()])
        raw = list(itertools.islice(sweep, MAX_CELLS + 1))
    except (HydraException, ValueError, TypeError):
        raise InputError(f"cannot read the values of {text!r}") from None
    values = [value.text if isinstance(value, QuotedString) else value for value in raw]
    if not values or any(isinstance(value, dict | list) or "${" in str(value) for value in values):
        raise InputError(f"cannot use {text!r}: a value is a name, a number, true, false or null")
    return values


def single(key: str, values: Sequence[Any]) -> Any:
    """The only value of a key that takes no grid."""
    if len(values) != 1:
        raise InputError(f"{key} takes one value, not {len(values)}")
    return values[0]
