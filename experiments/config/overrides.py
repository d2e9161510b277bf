"""Parses `key=value` overrides in Hydra's override grammar; a comma makes a grid. Nothing here imports JAX."""

import itertools
from collections.abc import Sequence
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType, QuotedString
from hydra.errors import HydraException

from experiments.config.keys import MAX_CELLS, OPTIONS, PATHS, Grid
from samplers.errors import InputError

ONE_VALUE = (*OPTIONS, *PATHS)  # keys that take no grid


def parse(overrides: Sequence[str]) -> Grid:
    """The values of every key; a later override of the same key replaces an earlier one, see `repeated`.

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


def repeated(overrides: Sequence[str]) -> list[str]:
    """A line for each key that is given several times: the last one counts, which may not be what was meant."""
    given: dict[str, list[str]] = {}
    for text in overrides:
        key, _, value = text.partition("=")
        given.setdefault(key, []).append(value)
    lines = []
    for key, values in given.items():
        if len(set(values)) > 1:
            grid = "" if key in ONE_VALUE else f"; as a grid: {key}={','.join(dict.fromkeys(values))}"
            lines.append(f"{key} is given {len(values)} times: using {key}={values[-1]}{grid}")
    return lines


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
    values = [value.text if isinstance(value, QuotedString) else _whole(value) for value in raw]
    if not values or any(isinstance(value, dict | list) or "${" in str(value) for value in values):
        raise InputError(f"cannot use {text!r}: a value is a name, a number, true, false or null")
    return values


def _whole(value: Any) -> Any:
    """A float without a fraction as a whole number, because 1e3 may be a number of rounds."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def single(key: str, values: Sequence[Any]) -> Any:
    """The only value of a key that takes no grid."""
    if len(values) != 1:
        raise InputError(f"{key} takes one value, not {len(values)}")
    return values[0]
