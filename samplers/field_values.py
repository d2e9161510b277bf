"""Validation of the values of settings fields. Nothing here imports JAX."""

import dataclasses
import math
from collections.abc import Hashable, Mapping
from numbers import Integral, Real
from typing import Any

from samplers.errors import InputError, did_you_mean

type Field = dataclasses.Field[Any]


def validated(field: Field, kind: Any, value: Any) -> Any:
    """Returns the value as the field holds it.

    Args:
        field: The field, whose metadata has the bounds.
        kind: Its type without None.
        value: The user's value.

    Raises:
        InputError: If the value is not of that type or out of bounds.
    """
    if "component" in field.metadata:
        return _validated_component(field, kind, value)
    return validated_value(field.name, kind, field.metadata, value)


def validated_value(name: str, kind: Any, meta: Mapping[str, Any], value: Any) -> Any:
    """Returns the value as a field holds it that is no component.

    Args:
        name: Of the field.
        kind: Its type without None.
        meta: Its metadata: options and aliases, or bounds.
        value: The user's value.

    Raises:
        InputError: If the value is not of that type or out of bounds.
    """
    if "options" in meta:
        if isinstance(value, Hashable):
            value = meta["aliases"].get(value, value)
        if value not in meta["options"]:
            options = ", ".join(meta["options"])
            hint = did_you_mean(str(value), meta["options"])
            raise InputError(f"{name}={value!r} is not one of: {options}{hint}")
        return value
    if kind is bool:
        if not isinstance(value, bool):
            raise InputError(f"{name}={value!r} must be true or false")
        return value
    if kind is str:
        if isinstance(value, bool) or not isinstance(value, str | Integral):
            raise InputError(f"{name}={value!r} must be a string")
        return str(value)  # a column may be called 0
    if kind is int:
        if isinstance(value, bool) or not isinstance(value, Integral):
            if meta.get("counted") and not isinstance(value, Real):
                return _abstract(name, meta, value)
            raise InputError(f"{name}={value!r} must be a whole number{_range(meta)}")
        value = int(value)
    elif kind is float:
        if isinstance(value, bool) or not isinstance(value, Real):
            return _abstract(name, meta, value)
        value = float(value)
        if not math.isfinite(value):
            raise InputError(f"{name}={value!r} must be a finite number{_range(meta)}")
    else:
        return value
    low, high, above = meta.get("ge", -math.inf), meta.get("le", math.inf), meta.get("gt", -math.inf)
    if not (low <= value <= high and value > above):
        number = "whole number" if kind is int else "number"
        raise InputError(f"{name}={value!r} must be a {number}{_range(meta)}")
    return value


def _validated_component(field: Field, kind: Any, value: Any) -> Any:
    if isinstance(value, str):
        return member(field, value)
    if not isinstance(value, kind):
        names = ", ".join(field.metadata["component"].names())
        raise InputError(f"{field.name}={value!r} is not one of: {names}")
    return value


def member(field: Field, value: Any) -> Any:
    """Returns a component by its name; the name of the default returns the default instance."""
    if not isinstance(value, str):
        return value
    registry = field.metadata["component"]
    return field.default if value == registry.name_of(field.default) else registry.build(value)


def _abstract(name: str, meta: Mapping[str, Any], value: Any) -> Any:
    """The value, if it is one that JAX passes in place of a number."""
    if isinstance(value, str | bytes | bool | list | dict | tuple) or value is None:
        number = "whole number" if meta.get("counted") else "number"
        raise InputError(f"{name}={value!r} must be a {number}{_range(meta)}")
    return value


def _range(meta: Mapping[str, Any]) -> str:
    bounds = describe_bounds(meta)
    return f", {bounds}" if bounds else ""


def describe_bounds(meta: Mapping[str, Any]) -> str:
    """Returns the bounds of a field as text, like `above 0 and at most 1`; empty without bounds."""
    bounds = []
    if meta.get("gt", -math.inf) > -math.inf:
        bounds.append(f"above {meta['gt']:g}")
    if meta.get("ge", -math.inf) > -math.inf:
        bounds.append(f"at least {meta['ge']:g}")
    if meta.get("le", math.inf) < math.inf:
        bounds.append(f"at most {meta['le']:g}")
    return " and ".join(bounds)
