"""Numbers in English."""


def counted(number: float, noun: str) -> str:
    """A whole number with its noun: 1 step, 2 steps."""
    told = f"{number:.0f}"
    return f"{told} {noun}{'' if told == '1' else 's'}"
