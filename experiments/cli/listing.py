"""What there is: the members of every group with their settings."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from experiments.cli.terminal import longest_word
from experiments.config.cell import GROUPS
from experiments.config.compose import read_study, study_names
from samplers import ADAPTATIONS, PRECONDITIONERS
from samplers.errors import InputError, did_you_mean
from samplers.registry import Registry
from samplers.settings import documentation

CARD = ("family", "exactness", "gradients per draw", "needs")  # what a sampler's card says
WIDE = 100  # columns of a terminal that has room for all of it
PLURALS = {f"{group}s": group for group in GROUPS} | {"studies": "study"}


def show(console: Console, what: str | None) -> None:
    """Prints one group with its settings, or all groups in short."""
    if what is None:
        for group in [*GROUPS, "study"]:
            console.print(f"[bold]{group}[/]: {escape(', '.join(names(group)))}")
        console.print("\n`fgtsva list samplers` tells more of a group.", style="dim")
        return
    group = PLURALS.get(what, what)
    if group not in (*GROUPS, "study"):
        valid = ", ".join(PLURALS)
        raise InputError(
            f"unknown group {what!r}{did_you_mean(what, [*PLURALS, *PLURALS.values()])}; valid: {valid}"
        )
    if group == "sampler":
        console.print(_cards(console.width))
    console.print(_studies() if group == "study" else _members(GROUPS[group]))
    if group == "sampler":
        for components in (PRECONDITIONERS, ADAPTATIONS):
            console.print(_members(components))


def names(group: str) -> list[str]:
    """The members of a group, or the studies."""
    return study_names() if group == "study" else GROUPS[group].names()


def _studies() -> Table:
    made = Table("study", "title", "question")
    for name in study_names():
        data = read_study(name)
        made.add_row(name, escape(data["title"]), escape(data["question"]))
    return made


def _cards(width: int) -> Table:
    """What every sampler says of itself; without its family where a terminal is narrow."""
    cards = {name: cls.info for name, cls in GROUPS["sampler"]}
    made = Table(pad_edge=False, show_lines=True)
    made.add_column("sampler", no_wrap=True)
    shown = [index for index in range(len(CARD)) if width >= WIDE or CARD[index] != "family"]
    for index in shown:
        told = [CARD[index], *(said[index] for said in cards.values())]
        longest = longest_word(told)
        # Rich shrinks no column to its minimum, so in a narrow terminal all but the last have it.
        fixed = longest if width < WIDE and index != shown[-1] else None
        made.add_column(CARD[index], min_width=longest, width=fixed)
    for name, said in cards.items():
        made.add_row(name, *(escape(said[index]) for index in shown))
    return made


def _members(registry: Registry[Any]) -> Table:
    made = Table(registry.kind, "what it is", "settings")
    for name, cls in registry:
        docs, values = documentation(cls), registry.defaults(name)
        settings = "\n".join(f"{key}={'null' if v is None else v}: {docs[key]}" for key, v in values.items())
        made.add_row(name, escape((cls.__doc__ or "").splitlines()[0]), escape(settings), end_section=True)
    return made
