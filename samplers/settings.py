"""Settings: frozen dataclasses that are pytrees. Floats and loop lengths are traced; everything else is static.

Two settings objects that differ only in traced values share one compiled program: a sweep over a step size or over a
number of steps compiles once.
"""

import dataclasses
import inspect
import math
import types
from collections.abc import Iterable, Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    no_type_check,
)

import jax

from samplers.errors import InputError
from samplers.field_values import Field, member, validated

if TYPE_CHECKING:
    from samplers.registry import Registry


def traced_float(
    *,
    default: float | None,
    gt: float = -math.inf,
    ge: float = -math.inf,
    le: float = math.inf,
    doc: str,
) -> Any:
    """A traced number with `gt` < value, `ge` <= value <= `le`; a default of None means that the value is derived."""
    return dataclasses.field(default=default, metadata={"gt": gt, "ge": ge, "le": le, "doc": doc})


def traced_int(*, default: int, ge: int = 0, le: float = math.inf, doc: str) -> Any:
    """A traced whole number: the length of a loop, not the size of an array."""
    return dataclasses.field(default=default, metadata={"counted": True, "ge": ge, "le": le, "doc": doc})


def static_int(*, default: int | None, ge: int = 0, le: float = math.inf, doc: str) -> Any:
    """A static whole number; a default of None means that the value is derived."""
    return dataclasses.field(default=default, metadata={"ge": ge, "le": le, "doc": doc})


def choice(
    *, default: str, options: Iterable[str], aliases: Mapping[Any, str] | None = None, doc: str
) -> Any:
    """A static string out of `options`; an alias is another name of an option."""
    meta = {"options": tuple(options), "aliases": aliases or {}, "doc": doc}
    return dataclasses.field(default=default, metadata=meta)


def flag(*, default: bool, doc: str) -> Any:
    """A static boolean."""
    return dataclasses.field(default=default, metadata={"doc": doc})


def string(*, default: str, doc: str) -> Any:
    """A static string: a path, a column, a name."""
    return dataclasses.field(default=default, metadata={"doc": doc})


def nested(*, default: Any = dataclasses.MISSING, doc: str = "") -> Any:
    """A nested settings object whose own floats are traced."""
    return dataclasses.field(default=default, metadata={"traced": True, "nested": True, "doc": doc})


def static(*, default: Any = dataclasses.MISSING, doc: str = "") -> Any:
    """A nested object that is compared as a whole: another value is another program."""
    return dataclasses.field(default=default, metadata={"nested": True, "doc": doc})


def component(registry: "Registry[Any]", *, default: Any, doc: str) -> Any:
    """A nested settings object that is chosen by name from a registry.

    In a config `sampler.adaptation=window` chooses the member and `sampler.adaptation.num_steps=100` sets one of its
    settings; in Python the field takes the object or its name.

    Args:
        registry: The members that can be chosen.
        default: The member (an instance) if none is named.
        doc: What is chosen, in one line.
    """
    meta = {"traced": True, "component": registry, "doc": doc}
    return dataclasses.field(default=default, metadata=meta)


@dataclass_transform(
    frozen_default=True,
    field_specifiers=(traced_float, traced_int, static_int, choice, flag, string, nested, static, component),
)
def settings[T](cls: type[T]) -> type[T]:
    """Makes a frozen dataclass that validates its values and is a pytree.

    A method `check_together` may raise InputError for values that are valid each, but not together.

    A subclass changes the default of an inherited setting by assigning a plain value to its name; documentation and
    bounds stay.
    """
    _inherit_metadata(cls)
    if "__post_init__" not in cls.__dict__:
        cls.__post_init__ = _validate  # type: ignore[attr-defined]
    dataclass = dataclasses.dataclass(frozen=True)(cls)
    # Run-time type checkers leave it alone: the values are validated here, and JAX rebuilds the object with tracers.
    no_type_check(dataclass.__init__)
    # Run-time type checkers skip __init__: settings validate themselves, and JAX rebuilds them with tracers.
    dataclass.__no_type_check__ = True  # type: ignore[attr-defined]
    hints = _HINTS[dataclass] = _annotations(dataclass)
    fields = dataclasses.fields(dataclass)  # type: ignore[arg-type]
    traced = [f.name for f in fields if _is_traced(f, hints[f.name])]
    untraced = [f.name for f in fields if f.name not in traced]
    jax.tree_util.register_dataclass(dataclass, traced, untraced)
    return dataclass


def _annotations(cls: type) -> dict[str, Any]:
    """The evaluated annotations of a class and its bases, which `get_type_hints` hides behind __no_type_check__."""
    annotations: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        annotations |= inspect.get_annotations(base, eval_str=True)
    return annotations


def _inherit_metadata(cls: type) -> None:
    """Turns plain values of inherited settings into fields with the inherited bounds and documentation."""
    inherited: dict[str, Field] = {}
    for base in reversed(cls.__mro__[1:]):
        if dataclasses.is_dataclass(base):
            inherited |= {field.name: field for field in dataclasses.fields(base)}
    for name in inspect.get_annotations(cls):
        default = cls.__dict__.get(name, dataclasses.MISSING)
        is_plain = default is not dataclasses.MISSING and not isinstance(default, dataclasses.Field)
        if name in inherited and is_plain:
            field = inherited[name]
            kw_only = field.kw_only is True
            setattr(cls, name, dataclasses.field(default=default, kw_only=kw_only, metadata=field.metadata))


def _without_none(hint: Any) -> tuple[Any, bool]:
    """The type without None, and whether None was allowed."""
    if get_origin(hint) in (Union, types.UnionType):
        members = [arg for arg in get_args(hint) if arg is not type(None)]
        return (members[0] if len(members) == 1 else hint), len(members) < len(get_args(hint))
    return hint, False


def _is_traced(field: Field, hint: Any) -> bool:
    meta = field.metadata
    return bool(meta.get("traced") or meta.get("counted") or _without_none(hint)[0] is float)


_HINTS: dict[type, dict[str, Any]] = {}  # cached per class: settings are rebuilt at every compiled call


def _validate(self: Any) -> None:
    hints = _HINTS[type(self)]
    for field in dataclasses.fields(self):
        kind, optional = _without_none(hints[field.name])
        value = getattr(self, field.name)
        if isinstance(value, jax.Array) or type(value) is object or field.metadata.get("nested"):
            continue  # a tracer or a placeholder of JAX, or an object that has validated itself
        if not (value is None and optional):
            object.__setattr__(self, field.name, validated(field, kind, value))
    values = [getattr(self, field.name) for field in dataclasses.fields(self)]
    if not any(isinstance(value, jax.Array) or type(value) is object for value in values):
        getattr(self, "check_together", lambda: None)()


def value_types(cls: type) -> dict[str, tuple[str, bool]]:
    """Returns for each setting the name of its type without None, and whether it may be None."""
    hints = {name: _without_none(hint) for name, hint in _HINTS[cls].items()}
    return {
        field.name: (getattr(hints[field.name][0], "__name__", ""), hints[field.name][1])
        for field in _fields(cls)
    }


def flatten(part: Any) -> dict[str, Any]:
    """Returns the settings of an object under dotted keys, with a component given by its name."""
    flat: dict[str, Any] = {}
    for field in _fields(type(part)):
        value = getattr(part, field.name)
        if "component" in field.metadata:
            flat[field.name] = field.metadata["component"].name_of(value)
            flat |= {f"{field.name}.{key}": inner for key, inner in flatten(value).items()}
        else:
            flat[field.name] = value
    return flat


def defaults(cls: type, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns the default settings of a class under dotted keys, with the components that `values` names."""
    flat: dict[str, Any] = {}
    for field in _fields(cls):
        if "component" not in field.metadata:
            flat[field.name] = field.default
            continue
        registry: Registry[Any] = field.metadata["component"]
        chosen, usual = below(field.name, values or {}), registry.name_of(field.default)
        name = flat[field.name] = str((values or {}).get(field.name, usual))
        inner = registry.defaults(name, chosen)
        if name == usual:  # the default instance may differ from the defaults of its class
            own = flatten(field.default)
            inner = {key: value if key in chosen else own.get(key, value) for key, value in inner.items()}
        flat |= {f"{field.name}.{key}": value for key, value in inner.items()}
    return flat


def documentation(cls: type) -> dict[str, str]:
    """Returns what each setting means, by key, those of all components that could be chosen included."""
    docs: dict[str, str] = {}
    for field in _fields(cls):
        docs[field.name] = field.metadata["doc"]
        for _, cls in field.metadata.get("component", ()):
            docs |= {f"{field.name}.{key}": doc for key, doc in documentation(cls).items()}
    return docs


def arguments(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns keyword arguments for a class from settings under dotted keys, all of which it has."""
    plain = {key: value for key, value in values.items() if "." not in key}
    for field in _fields(cls):
        if inner := below(field.name, values):
            chosen = member(field, plain.get(field.name, field.default))
            plain[field.name] = dataclasses.replace(chosen, **arguments(type(chosen), inner))
    return plain


def below(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings under `name.`, without that prefix."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}


def nested_fields(cls: type) -> list[str]:
    """Returns the names of the settings objects that a settings class is composed of."""
    return [f.name for f in dataclasses.fields(cls) if f.metadata.get("nested")]


def component_fields(cls: type) -> dict[str, "Registry[Any]"]:
    """Returns the registries of a settings class's components, by field."""
    return {f.name: f.metadata["component"] for f in _fields(cls) if "component" in f.metadata}


def _fields(cls: type) -> list[Field]:
    """The fields that a user can set, keyword-only ones last."""
    fields = [f for f in dataclasses.fields(cls) if "doc" in f.metadata and not f.metadata.get("nested")]
    return sorted(fields, key=lambda field: field.kw_only is True)


def required[T](value: T | None, name: str) -> T:
    """Returns a setting that `for_horizon` fills in. Raises InputError if it is still None."""
    if value is None:
        raise InputError(f"{name} depends on the horizon: call for_horizon(rounds) first, or set it")
    return value
