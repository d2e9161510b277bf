"""Checks the shapes and types of arrays at run time, in the tests only, so that a wrong annotation fails.

Functions and dataclasses are checked by jaxtyping's import hook with beartype, which sees the annotations of arrays
and no others: those are mypy's. Named tuples are checked when one of our own modules constructs them; JAX rebuilds
them with placeholders while it flattens and batches, which is not checked.
"""

import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

from beartype import beartype
from jaxtyping import Array, Float, install_import_hook, jaxtyped

PACKAGES = ("samplers", "fgtsva_ppl", "experiments")


def install() -> None:
    """Checks every module of the packages that is imported from now on."""
    install_import_hook(list(PACKAGES), f"{__name__}.check_arrays")


def check_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """Beartype for the arguments and results that are annotated as arrays."""
    arrays = {name: hint for name, hint in function.__annotations__.items() if mentions_array(hint)}
    if not arrays:
        return function
    copy = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    functools.update_wrapper(copy, function)
    copy.__kwdefaults__, copy.__annotations__ = function.__kwdefaults__, arrays
    del copy.__wrapped__
    return beartype(copy)


def mentions_array(hint: Any) -> bool:
    """Whether an annotation is that of an array, or contains one."""
    return isinstance(hint, type(Float[Array, ""])) or any(map(mentions_array, get_args(hint)))


_checked: set[type] = set()
_modules = 0


def check_named_tuples() -> None:
    """Checks the arrays in the named tuples of all modules that are loaded by now."""
    global _modules
    if len(sys.modules) == _modules:
        return
    _modules = len(sys.modules)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in PACKAGES:
            for value in list(vars(module).values()):
                if _is_own_named_tuple(value) and value not in _checked:
                    _check(value)
                    _checked.add(value)


def _is_own_named_tuple(value: Any) -> bool:
    own = inspect.isclass(value) and issubclass(value, tuple) and hasattr(value, "_fields")
    return own and value.__module__.partition(".")[0] in PACKAGES


def _hints(cls: type) -> dict[str, Any]:
    """Annotations of the fields; those that name what only a type checker imports are left out."""
    try:
        return get_type_hints(cls, include_extras=True)
    except NameError:
        return {name: hint for name, hint in cls.__annotations__.items() if not isinstance(hint, str)}


def _constructs(caller: types.FrameType, name: str) -> bool:
    """Whether our own code calls the class by its name; a compiled function that returns one does not."""
    ours = caller.f_globals.get("__name__", "").partition(".")[0] in PACKAGES
    return ours and name in (*caller.f_code.co_names, *caller.f_code.co_freevars)


def _check(cls: type) -> None:
    hints = _hints(cls)
    fields = cls._fields
    scope: dict[str, Any] = {}
    exec(f"def fields({', '.join(fields)}): pass", scope)
    function = scope["fields"]
    function.__annotations__ = {name: hint for name, hint in hints.items() if mentions_array(hint)}
    function.__qualname__ = cls.__qualname__
    function.__module__ = cls.__module__
    checker = jaxtyped(function, typechecker=beartype)
    original = cls.__new__

    def construct(kind: type, *args: Any, **kwargs: Any) -> Any:
        instance = original(kind, *args, **kwargs)
        if _constructs(sys._getframe(1), cls.__name__):
            checker(*instance)
        return instance

    cls.__new__ = construct
