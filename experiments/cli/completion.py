"""Completions for the Tab key: groups and settings before the equals sign, names of members after it."""

from collections.abc import Sequence

import typer

from experiments.config.catalogue import Catalogue, load_catalogue
from experiments.config.keys import DIAGNOSTICS, NUMBERS, OPTIONS
from experiments.config.study_files import study_names

# The names of experiments.bench.PARTS, which cannot be imported without JAX
BENCHMARKS = (
    "paper",
    "linear",
    "exact_draws",
    "nuts",
    "general",
    "ask_tell",
    "diagnostics",
    "compilation",
    "memory",
)


def names(group: str, catalogue: Catalogue) -> list[str]:
    """The names of a group's members, or of the studies."""
    return study_names() if group == "study" else list(catalogue[group])


def plurals(catalogue: Catalogue) -> dict[str, str]:
    """The groups by the names that `fgtsva list` takes."""
    return {f"{group}s": group for group in catalogue} | {"studies": "study"}


def complete_run(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completions for `fgtsva run`."""
    return complete_override(ctx.params.get("overrides") or [], incomplete)


def complete_override(arguments: Sequence[str], incomplete: str) -> list[str]:
    """Completions of an override. Bash splits arguments at equals signs, other shells do not.

    Args:
        arguments: The complete arguments before it.
        incomplete: What has been typed of it.
    """
    catalogue = load_catalogue()
    if arguments and incomplete.startswith("="):
        key, typed, prefix = arguments[-1], incomplete[1:], ""
    elif len(arguments) > 1 and arguments[-1] == "=":
        key, typed, prefix = arguments[-2], incomplete, ""
    elif "=" in incomplete:
        key, _, typed = incomplete.partition("=")
        prefix = f"{key}="
    else:
        settings = {
            f"{group}.{name}="
            for group, members in catalogue.items()
            for member in members.values()
            for name in member.settings or ()
        }
        keys = [f"{key}=" for key in (*catalogue, *NUMBERS, *OPTIONS, *DIAGNOSTICS)]
        return [text for text in [*keys, *sorted(settings)] if text.startswith(incomplete)]
    if key not in (*catalogue, "study"):
        return []
    before, comma, last = typed.rpartition(",")
    return [f"{prefix}{before}{comma}{name}" for name in names(key, catalogue) if name.startswith(last)]


def complete_group(incomplete: str) -> list[str]:
    """Completions for `fgtsva list`."""
    return [name for name in plurals(load_catalogue()) if name.startswith(incomplete)]


def complete_benchmark(incomplete: str) -> list[str]:
    """Completions for `fgtsva bench`."""
    return [name for name in BENCHMARKS if name.startswith(incomplete)]
