"""What the Tab key offers: groups and settings before the equals sign, members of a group after it."""

from collections.abc import Sequence

import typer


def words(ctx: typer.Context, incomplete: str) -> list[str]:
    """For `fgtsva run`."""
    return offered(ctx.params.get("overrides") or [], incomplete)


def offered(args: Sequence[str], incomplete: str) -> list[str]:
    """What may come after some words. Bash splits a word at equals signs, other shells do not."""
    from experiments.cli.listing import names
    from experiments.config.cell import GROUPS
    from experiments.config.compose import DIAGNOSTICS, NUMBERS, OPTIONS
    from samplers.settings import documentation

    if args and incomplete.startswith("="):
        key, typed, shown = args[-1], incomplete[1:], ""
    elif len(args) > 1 and args[-1] == "=":
        key, typed, shown = args[-2], incomplete, ""
    elif "=" in incomplete:
        key, _, typed = incomplete.partition("=")
        shown = f"{key}="
    else:
        settings = {
            f"{group}.{name}="
            for group, members in GROUPS.items()
            for _, cls in members
            for name in documentation(cls)
        }
        whole = [*(f"{group}=" for group in (*GROUPS, *NUMBERS, *OPTIONS, *DIAGNOSTICS)), *sorted(settings)]
        return [word for word in whole if word.startswith(incomplete)]
    if key not in (*GROUPS, "study"):
        return []
    before, comma, last = typed.rpartition(",")
    return [f"{shown}{before}{comma}{name}" for name in names(key) if name.startswith(last)]


def groups(incomplete: str) -> list[str]:
    """For `fgtsva list`."""
    from experiments.cli.listing import PLURALS

    return [name for name in PLURALS if name.startswith(incomplete)]


def parts(incomplete: str) -> list[str]:
    """For `fgtsva bench`."""
    from experiments.bench import PARTS

    return [name for name in PARTS if name.startswith(incomplete)]
