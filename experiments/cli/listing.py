"""Shows the members of every group with their settings, for `fgtsva list`. Nothing here imports JAX."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from experiments.cli.columns import longest_word
from experiments.cli.completion import names, plurals
from experiments.config.catalogue import Catalogue, Setting, load_catalogue
from experiments.config.study_files import read_study, study_names
from experiments.config.text import override_text
from samplers.errors import InputError, did_you_mean

INFO = {  # the fields of SamplerInfo, by column
    "family": "family",
    "exactness": "exactness",
    "gradients per draw": "gradients_per_draw",
    "needs": "needs",
}
MIN_WIDTH = 100  # columns of a terminal that has room for all fields


def show(console: Console, name: str | None) -> None:
    """Prints one group with its settings, or the names in all groups.

    Args:
        console: Where it is printed.
        name: A group, in singular or plural; None for all.
    """
    catalogue = load_catalogue()
    if name is None:
        for group in [*catalogue, "study"]:
            console.print(f"[bold]{group}[/]: {escape(', '.join(names(group, catalogue)))}")
        console.print("\n`fgtsva list samplers` shows the settings of a group.", style="dim")
        return
    valid = plurals(catalogue)
    group = valid.get(name, name)
    if group not in valid.values():
        hint = did_you_mean(name, [*valid, *valid.values()])
        raise InputError(f"unknown group {name!r}{hint}; valid: {', '.join(valid)}")
    if group == "sampler":
        console.print(_samplers(catalogue, console.width))
    if group == "study":
        console.print(_studies())
        return
    console.print(_members(catalogue, group))
    for table in _components(catalogue, group):
        console.print(table)


def _studies() -> Table:
    table = Table("study", "title", "question")
    for name in study_names():
        data = read_study(name)
        table.add_row(name, escape(data["title"]), escape(data["question"]))
    return table


def _samplers(catalogue: Catalogue, width: int) -> Table:
    """The SamplerInfo of every sampler; without the family if the terminal is narrow."""
    infos = {name: member.info for name, member in catalogue["sampler"].items()}
    table = Table(pad_edge=False, show_lines=True)
    table.add_column("sampler", no_wrap=True)
    columns = {title: key for title, key in INFO.items() if width >= MIN_WIDTH or key != "family"}
    for title, key in columns.items():
        texts = [title, *(info.get(key, "unknown") for info in infos.values())]
        longest = longest_word(texts)
        # Rich does not shrink a column to its minimum, so on a narrow terminal all but the last are fixed.
        fixed = longest if width < MIN_WIDTH and title != list(columns)[-1] else None
        table.add_column(title, min_width=longest, width=fixed)
    for name, info in infos.items():
        table.add_row(name, *(escape(info.get(key, "unknown")) for key in columns.values()))
    return table


def _members(catalogue: Catalogue, group: str) -> Table:
    rows = []
    for name, member in catalogue[group].items():
        inner = tuple(f"{field}." for field in member.components)
        own = {key: one for key, one in (member.settings or {}).items() if not key.startswith(inner)}
        rows.append((name, member.description, _settings(own)))
    return _table(group, rows)


def _components(catalogue: Catalogue, group: str) -> list[Table]:
    """A table for each setting of a group that selects a component."""
    owners = {field: member for member in catalogue[group].values() for field in member.components}
    tables = []
    for field, member in owners.items():
        rows = []
        for name, choice in member.components[field].items():
            own = {key: (member.settings or {})[f"{field}.{key}"] for key in choice.keys}
            rows.append((name, choice.description, _settings(own)))
        tables.append(_table(f"{group}.{field}", rows))
    return tables


def _table(heading: str, rows: Sequence[tuple[str, str, str]]) -> Table:
    """A table of names, descriptions and settings, in which no word is broken."""
    table = Table()
    for title, *texts in zip((heading, "description", "settings"), *rows, strict=True):
        table.add_column(title, min_width=longest_word([title, *texts]))
    for row in rows:
        table.add_row(*map(escape, row), end_section=True)
    return table


def _settings(settings: Mapping[str, Setting]) -> str:
    """A line for each setting: its default, as a command line gives it, its meaning and its valid values."""
    lines = []
    for key, setting in settings.items():
        valid = f" ({setting.valid})" if setting.valid else ""
        lines.append(f"{key}={override_text(setting.default)}: {setting.doc}{valid}")
    return "\n".join(lines)
