"""Completions for the Tab key: groups and settings before the equals sign, names of members after it."""

from collections.abc import Sequence

import typer

from experiments.config.catalogue import Catalogue, load_catalogue
from experiments.config.keys import CHOICES, DIAGNOSTICS, NUMBERS, OPTIONS
from experiments.config.study_files import study_names
from samplers.errors import InputError, did_you_mean

# The names of experiments.bench.PARTS, which cannot be imported without JAX
BENCHMARKS = (
    "paper",
    "sizes",
    "linear",
    "exact_draws",
    "nuts",
    "general",
    "moving",
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
    before, comma, last = typed.rpartition(",")
    return [f"{prefix}{before}{comma}{name}" for name in values(key, catalogue) if name.startswith(last)]


def values(key: str, catalogue: Catalogue) -> list[str]:
    """The values that a key can have: names of members or studies, or the options of a setting; none for a number."""
    if key in (*catalogue, "study"):
        return names(key, catalogue)
    group, _, name = key.partition(".")
    settings = [(member.settings or {}).get(name) for member in catalogue.get(group, {}).values()]
    options = [option for setting in settings if setting is not None for option in setting.options]
    return list(dict.fromkeys([*CHOICES.get(key, ()), *options]))


def complete_group(incomplete: str) -> list[str]:
    """Completions for `fgtsva list`."""
    return [name for name in plurals(load_catalogue()) if name.startswith(incomplete)]


def complete_member(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completions for the second argument of `fgtsva list`."""
    catalogue = load_catalogue()
    typed = str(ctx.params.get("group") or "")
    group = plurals(catalogue).get(typed, typed)
    if group not in (*catalogue, "study"):
        return []
    return [name for name in names(group, catalogue) if name.startswith(incomplete)]


def check_benchmarks(parts: Sequence[str]) -> None:
    """Raises InputError for a benchmark that does not exist."""
    for name in parts:
        if name not in BENCHMARKS:
            hint = did_you_mean(name, BENCHMARKS)
            raise InputError(f"unknown part {name!r}{hint}; valid: {', '.join(BENCHMARKS)}")


def complete_benchmark(incomplete: str) -> list[str]:
    """Completions for `fgtsva bench`."""
    return [name for name in BENCHMARKS if name.startswith(incomplete)]
