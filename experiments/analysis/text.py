"""Numbers and settings as text."""


def counted(number: float | int, noun: str) -> str:
    """A whole number with its noun: 1 step, 2 steps."""
    digits = f"{number:.0f}"
    return f"{digits} {noun}{'' if digits == '1' else 's'}"


def last_key(key: str) -> str:
    """A setting's own name without its group: `posterior.c` is `c`."""
    return key.rpartition(".")[2]
