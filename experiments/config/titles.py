"""What was asked, in words that are true of the cells: the title, the question, the command."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.config.cell import GROUPS, REFERENCE, Cell, by_panel, labels_of, varied

COMPARED = {"agent": "agents", "posterior": "posteriors", "sampler": "samplers", "reward": "rewards"}
NAMED = 3  # environments in a title; more are counted

type Grid = Mapping[str, Sequence[Any]]


def command(words: Sequence[str]) -> str:
    """As it was typed, but for where the results go."""
    return shlex.join(["fgtsva", "run", *(word for word in words if not word.startswith("output="))])


def heading(
    usual: Mapping[str, Any], said: Grid, written: Sequence[Grid], cells: Sequence[Cell], *, named: bool
) -> tuple[str, str]:
    """Title and question: those of the study's file, or true ones where something else is compared than it says.

    A study that was named keeps its own title, with the settings that its file does not have.
    """
    keys = [
        key
        for key, values in said.items()
        if key.partition(".")[0] in GROUPS and any(grid.get(key) != values for grid in written)
    ]
    title, question = str(usual["title"]), str(usual["question"])
    if not keys:
        return title, question
    if not named:
        return title_of(cells), question_of(cells, question)
    told = [f"{key}={','.join('null' if one is None else str(one) for one in said[key])}" for key in keys]
    return f"{title}, with {' '.join(told)}", question


def title_of(cells: Sequence[Cell]) -> str:
    """What is compared, and where."""
    keys = [key for key in varied(cells) if key.partition(".")[0] in COMPARED]
    told = [COMPARED[key] for key in keys if key in COMPARED] or [f"values of {key}" for key in keys]
    panels = list(by_panel(cells))
    where = ", ".join(panels) if len(panels) <= NAMED else f"{len(panels)} environments"
    if told:
        text = " and ".join(told)
        return f"{text[0].upper()}{text[1:]} compared: {where}"
    who = cells[0].flat.get("sampler", cells[0].flat["agent"])
    return f"Regret of {'exact draws' if who == REFERENCE else who}: {where}"


def question_of(cells: Sequence[Cell], usual: str) -> str:
    """The usual question, which is about exact draws, where there are some and something else."""
    samplers = {cell.flat["sampler"] for cell in cells if "sampler" in cell.flat}
    if REFERENCE in samplers and len(samplers) > 1:
        return usual
    several = len(set(labels_of(cells).values())) > 1
    return "Which of these has the least regret?" if several else "How much regret does it have?"
