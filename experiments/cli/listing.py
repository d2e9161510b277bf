"""Shows the members of a group, a line each, or one member with its settings. Nothing here imports JAX."""

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from experiments.cli.completion import names, plurals
from experiments.config.catalogue import Catalogue, Member, Setting, load_catalogue
from experiments.config.study_files import read_study, study_names
from experiments.config.text import override_text
from samplers.errors import InputError, did_you_mean

INFO = {  # the fields of SamplerInfo, by the words that introduce them
    "family": "family",
    "draws": "exactness",
    "gradients per draw": "gradients_per_draw",
    "needs": "needs",
}


def show(console: Console, name: str | None, member: str | None = None) -> None:
    """Prints the names in all groups, the members of one group, or one member with its settings.

    Args:
        console: Where it is printed.
        name: A group, in singular or plural; None for all.
        member: A member of the group; None for all.
    """
    catalogue = load_catalogue()
    if name is None:
        for group in [*catalogue, "study"]:
            console.print(f"[bold]{group}[/]: {escape(', '.join(names(group, catalogue)))}")
        console.print(
            "\n`fgtsva list samplers` describes them, `fgtsva list samplers mala` one with its settings."
        )
        return
    valid = plurals(catalogue)
    group = valid.get(name, name)
    if group not in valid.values():
        hint = did_you_mean(name, [*valid, *valid.values()])
        raise InputError(f"unknown group {name!r}{hint}; valid: {', '.join(valid)}")
    if member is not None:
        _show_member(console, catalogue, group, member)
        return
    _print_lines(console, _studies() if group == "study" else _members(catalogue[group]))
    console.print(f"`fgtsva list {name} NAME` shows one with its settings.", style="dim")


def _show_member(console: Console, catalogue: Catalogue, group: str, name: str) -> None:
    if group == "study":
        _show_study(console, name)
        return
    member = catalogue.member(group, name)
    console.print(f"[bold]{group}={escape(name)}[/]: {escape(member.description)}")
    for text, key in INFO.items():
        if key in member.info:
            console.print(f"  {text}: {escape(member.info[key])}")
    if member.settings is None:
        console.print("  Its settings are known when its package is imported.")
        return
    inner = tuple(f"{field}." for field in member.components)
    own = {key: one for key, one in member.settings.items() if not key.startswith(inner)}
    if own:
        console.print(_settings(f"{group}.", own))
    for field, choices in member.components.items():
        table = _table((f"{group}.{field}", "meaning"))
        inner_settings: dict[str, Setting] = {}
        for choice, component in choices.items():
            table.add_row(choice, escape(component.description))
            inner_settings |= {f"{field}.{key}": member.settings[f"{field}.{key}"] for key in component.keys}
        console.print(table)
        if inner_settings:
            console.print(_settings(f"{group}.", inner_settings))


def _show_study(console: Console, name: str) -> None:
    if name not in study_names():
        valid = study_names()
        raise InputError(f"unknown study {name!r}{did_you_mean(name, valid)}; valid: {', '.join(valid)}")
    data: dict[str, Any] = read_study(name)
    console.print(f"[bold]study={escape(name)}[/]: {escape(data['title'])}")
    console.print(f"  {escape(data['question'])}")
    for grid in data["grids"]:
        table = _table(("setting", "values"))
        for key, values in grid.items():
            listed = values if isinstance(values, str) else ", ".join(map(override_text, values))
            table.add_row(key, escape(listed))
        console.print(table)


def _table(headings: tuple[str, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for index, heading in enumerate(headings):
        table.add_column(heading, no_wrap=index == 0)
    return table


def _members(members: Mapping[str, Member]) -> list[list[str]]:
    """Name, family (of samplers) and description of each member."""
    return [
        [name, *([member.info["family"]] if "family" in member.info else []), member.description]
        for name, member in members.items()
    ]


def _studies() -> list[list[str]]:
    return [[name, read_study(name)["question"]] for name in study_names()]


def _print_lines(console: Console, rows: list[list[str]]) -> None:
    """A line for each row; the last column is cut to the width of the terminal."""
    widths = [max(map(len, column)) + 2 for column in list(zip(*rows, strict=False))[:-1]]
    for *columns, last in rows:
        start = "".join(text.ljust(width) for text, width in zip(columns, widths, strict=False))
        rest = max(20, console.width - len(start))
        text = last if len(last) <= rest else last[: rest - 1].rstrip() + "…"
        console.print(start + text, markup=False, no_wrap=True, overflow="ignore", crop=False)


def _settings(prefix: str, settings: Mapping[str, Setting]) -> Table:
    """A row for each setting: key, default as a command line gives it, meaning and valid values."""
    table = _table(("setting", "default", "meaning"))
    for key, setting in settings.items():
        valid = f" ({setting.valid})" if setting.valid else ""
        table.add_row(prefix + key, escape(override_text(setting.default)), escape(setting.doc + valid))
    return table
