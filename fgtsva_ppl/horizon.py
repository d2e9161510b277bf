"""Settings that may be left open until the number of rounds is known."""

from samplers.errors import InputError


def known[T](value: T | None, name: str) -> T:
    """A setting that `for_horizon` fills in."""
    if value is None:
        raise InputError(f"{name} depends on the horizon: call for_horizon(rounds) first, or set it")
    return value


def or_else(value: float | None, derived: float) -> float:
    """A setting, or what it is derived to be."""
    return derived if value is None else value
