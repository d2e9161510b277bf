"""Errors about the user's input. Nothing here imports JAX, so a command can report a mistake at once."""

import difflib
from collections.abc import Iterable


class InputError(ValueError):
    """A mistake in the user's input, described in one line that names the valid choices."""


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Returns ` (did you mean 'x'?)` if one of the choices is close to the name, else an empty string."""
    close = difflib.get_close_matches(name, list(choices))
    transposed = [choice for choice in close if sorted(choice) == sorted(name)]
    return f" (did you mean {(transposed or close)[0]!r}?)" if close else ""
