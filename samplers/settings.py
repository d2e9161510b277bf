"""Settings: frozen dataclasses that JAX sees through. Floats and counts are traced; everything else is structure.

Two settings objects that differ only in what is traced share one compiled program: a sweep over a step size or over a
number of steps compiles once.
"""

import dataclasses
import math
import types
from collections.abc import Hashable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any, Union, dataclass_transform, get_args, get_origin, get_type_hints

import jax

from samplers.errors import InputError, did_you_mean


def traced_float(
    *,
    default: float | None,
    gt: float = -math.inf,
    ge: float = -math.inf,
    le: float = math.inf,
    doc: str,
) -> Any:
    """A traced field: `gt` < value, `ge` <= value <= `le`. A default of None means "derived" (see doc)."""
    return dataclasses.field(default=default, metadata={"gt": gt, "ge": ge, "le": le, "doc": doc})


def traced_int(*, default: int, ge: int = 0, le: float = math.inf, doc: str) -> Any:
    """A traced whole number: how often a loop runs, not how large an array is."""
    return dataclasses.field(default=default, metadata={"counted": True, "ge": ge, "le": le, "doc": doc})


def static_int(*, default: int, ge: int = 0, le: float = math.inf, doc: str) -> Any:
    """A structural whole number."""
    return dataclasses.field(default=default, metadata={"ge": ge, "le": le, "doc": doc})


def choice(
    *, default: str, options: Iterable[str], aliases: Mapping[Any, str] | None = None, doc: str
) -> Any:
    """A structural name out of `options`; an alias stands for one of them."""
    meta = {"options": tuple(options), "aliases": aliases or {}, "doc": doc}
    return dataclasses.field(default=default, metadata=meta)


def flag(*, default: bool, doc: str) -> Any:
    """A structural yes or no."""
    return dataclasses.field(default=default, metadata={"doc": doc})


def string(*, default: str, doc: str) -> Any:
    """A structural word: a path, a column, a name that others gave."""
    return dataclasses.field(default=default, metadata={"doc": doc})


def nested(*, default: Any = dataclasses.MISSING, doc: str = "") -> Any:
    """A nested settings object, seen through by JAX."""
    return dataclasses.field(default=default, metadata={"traced": True, "nested": True, "doc": doc})


def static(*, default: Any = dataclasses.MISSING, doc: str = "") -> Any:
    """A nested object that is compared as a whole: another value is another program."""
    return dataclasses.field(default=default, metadata={"nested": True, "doc": doc})


def _plain(hint: Any) -> tuple[Any, bool]:
    """The type without None, and whether None was allowed."""
    if get_origin(hint) in (Union, types.UnionType):
        members = [arg for arg in get_args(hint) if arg is not type(None)]
        return (members[0] if len(members) == 1 else hint), len(members) < len(get_args(hint))
    return hint, False


@dataclass_transform(
    frozen_default=True,
    field_specifiers=(traced_float, traced_int, static_int, choice, flag, string, nested, static),
)
def settings[T](cls: type[T]) -> type[T]:
    """Makes a frozen dataclass of settings that checks its values and registers itself with JAX."""
    if "__post_init__" not in cls.__dict__:
        cls.__post_init__ = _check  # type: ignore[attr-defined]
    made = dataclasses.dataclass(frozen=True)(cls)
    hints = _HINTS[made] = get_type_hints(made)
    fields = dataclasses.fields(made)  # type: ignore[arg-type]
    traced = [f.name for f in fields if _is_traced(f, hints[f.name])]
    static = [f.name for f in fields if f.name not in traced]
    jax.tree_util.register_dataclass(made, traced, static)
    return made


def _is_traced(field: "dataclasses.Field[Any]", hint: Any) -> bool:
    meta = field.metadata
    return bool(meta.get("traced") or meta.get("counted") or _plain(hint)[0] is float)


_HINTS: dict[type, dict[str, Any]] = {}  # looked up once a class: settings are rebuilt at every compiled call


def _check(self: Any) -> None:
    hints = _HINTS[type(self)]
    for field in dataclasses.fields(self):
        kind, optional = _plain(hints[field.name])
        value = getattr(self, field.name)
        if isinstance(value, jax.Array) or type(value) is object or field.metadata.get("traced"):
            continue  # inside a transformation there is nothing to check
        if not (value is None and optional):
            object.__setattr__(self, field.name, _checked(field, kind, value))


def _checked(field: "dataclasses.Field[Any]", kind: Any, value: Any) -> Any:
    meta: Mapping[str, Any] = field.metadata
    if "options" in meta:
        if isinstance(value, Hashable):
            value = meta["aliases"].get(value, value)
        if value not in meta["options"]:
            options = ", ".join(meta["options"])
            raise InputError(
                f"{field.name}={value!r} is not one of: {options}{did_you_mean(str(value), meta['options'])}"
            )
        return value
    if kind is bool:
        if not isinstance(value, bool):
            raise InputError(f"{field.name}={value!r} must be true or false")
        return value
    if kind is str:
        if isinstance(value, bool) or not isinstance(value, str | Integral):
            raise InputError(f"{field.name}={value!r} must be a word")
        return str(value)  # a column may be called 0
    if kind is int:
        if isinstance(value, bool) or not isinstance(value, Integral):
            if meta.get("counted") and not isinstance(value, Real):
                return _not_a_number(field, value)
            raise InputError(f"{field.name}={value!r} must be a whole number{_range(meta)}")
        value = int(value)
    elif kind is float:
        if isinstance(value, bool) or not isinstance(value, Real):
            return _not_a_number(field, value)
        value = float(value)
        if not math.isfinite(value):
            raise InputError(f"{field.name}={value!r} must be a finite number{_range(meta)}")
    else:
        return value
    low, high, above = meta.get("ge", -math.inf), meta.get("le", math.inf), meta.get("gt", -math.inf)
    if not (low <= value <= high and value > above):
        raise InputError(f"{field.name}={value!r} must be a {_name(kind)}{_range(meta)}")
    return value


def _not_a_number(field: "dataclasses.Field[Any]", value: Any) -> Any:
    if isinstance(value, str | bytes | bool | list | dict | tuple) or value is None:
        what = "whole number" if field.metadata.get("counted") else "number"
        raise InputError(f"{field.name}={value!r} must be a {what}{_range(field.metadata)}")
    return value  # an abstract value handed over by JAX


def _name(kind: Any) -> str:
    return "whole number" if kind is int else "number"


def _range(meta: Mapping[str, Any]) -> str:
    bounds = []
    if meta.get("gt", -math.inf) > -math.inf:
        bounds.append(f"above {meta['gt']:g}")
    if meta.get("ge", -math.inf) > -math.inf:
        bounds.append(f"at least {meta['ge']:g}")
    if meta.get("le", math.inf) < math.inf:
        bounds.append(f"at most {meta['le']:g}")
    return (", " + " and ".join(bounds)) if bounds else ""


def defaults(cls: type) -> dict[str, Any]:
    """The settings a user may change, with their defaults (nested objects are not among them)."""
    return {
        f.name: f.default
        for f in dataclasses.fields(cls)
        if "doc" in f.metadata and not f.metadata.get("nested")
    }


def nested_fields(cls: type) -> list[str]:
    """The names of the settings objects that a settings class is composed of."""
    return [f.name for f in dataclasses.fields(cls) if f.metadata.get("nested")]


def documentation(cls: type) -> dict[str, str]:
    """What each setting means, by name."""
    return {f.name: f.metadata["doc"] for f in dataclasses.fields(cls) if "doc" in f.metadata}
