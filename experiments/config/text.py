"""Numbers and settings as text. Nothing here imports JAX."""


def counted(number: float | int, noun: str) -> str:
    """A whole number with its noun: 1 step, 2 steps."""
    digits = f"{number:.0f}"
    return f"{digits} {noun}{'' if digits == '1' else 's'}"


def last_key(key: str) -> str:
    """A setting's own name without its group: `posterior.c` is `c`."""
    return key.rpartition(".")[2]


def override_text(value: object) -> str:
    """A setting's value as the command line takes it, with all its digits."""
    names = {None: "null", True: "true", False: "false"}
    return names[value] if value is None or isinstance(value, bool) else str(value)


def setting_text(value: object, digits: int = 6) -> str:
    """A setting's value for labels: a number with a few digits."""
    return f"{value:.{digits}g}" if isinstance(value, float) else override_text(value)


def format_duration(seconds: float) -> str:
    """A rough time as text."""
    if seconds < 90:
        return f"{max(1, round(seconds / 10)) * 10} seconds"
    return f"{round(seconds / 60)} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
