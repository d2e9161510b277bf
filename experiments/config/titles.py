"""The title, question and command of a study, as its report shows them."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.config.cell import GROUPS, REFERENCE, Cell
from experiments.config.labels import by_panel, labels_of, varied
from experiments.config.text import override_text

PLURALS = {
    "agent": "agents",
    "posterior": "posteriors",
    "sampler": "samplers",
    "reward": "rewards",
    "likelihood": "likelihoods",
}
MAX_NAMED = 3  # environments that a title names; more are counted

type Grid = Mapping[str, Sequence[Any]]


def command(overrides: Sequence[str]) -> str:
    """The command line, without the output folder."""
    return shlex.join(["fgtsva", "run", *(text for text in overrides if not text.startswith("output="))])


def heading(
    file: Mapping[str, Any], settings: Grid, grids: Sequence[Grid], cells: Sequence[Cell], *, named: bool
) -> tuple[str, str]:
    """The title and the question of a study.

    They are those of the study's file, unless the overrides change what is compared: then a study that was named on
    the command line has the overrides added to its title, and the title of the default study is derived from its cells.

    Args:
        file: The study's file.
        settings: The overrides of the cells' settings.
        grids: The grids of the study's file.
        cells: The cells of the study.
        named: Whether the study was named on the command line.
    """
    keys = [
        key
        for key, values in settings.items()
        if key.partition(".")[0] in GROUPS and any(grid.get(key) != values for grid in grids)
    ]
    title, question = str(file["title"]), str(file["question"])
    if not keys:
        return title, question
    if not named:
        return title_of(cells), question_of(cells, question)
    changes = [f"{key}={','.join(map(override_text, settings[key]))}" for key in keys]
    return f"{title}, with {' '.join(changes)}", question


def title_of(cells: Sequence[Cell]) -> str:
    """What is compared, and in which environments."""
    keys = [key for key in varied(cells) if key.partition(".")[0] in PLURALS]
    compared = [PLURALS[key] for key in keys if key in PLURALS] or [f"values of {key}" for key in keys]
    panels = list(by_panel(cells))
    environments = ", ".join(panels) if len(panels) <= MAX_NAMED else f"{len(panels)} environments"
    if compared:
        text = " and ".join(compared)
        return f"{text[0].upper()}{text[1:]} compared: {environments}"
    name = cells[0].flat.get("sampler", cells[0].flat["agent"])
    return f"Regret of {'exact draws' if name == REFERENCE else name}: {environments}"


def question_of(cells: Sequence[Cell], default: str) -> str:
    """The default question, which is about exact draws, if they are compared with others; else a general one."""
    samplers = {cell.flat["sampler"] for cell in cells if "sampler" in cell.flat}
    if REFERENCE in samplers and len(samplers) > 1:
        return default
    several = len(set(labels_of(cells).values())) > 1
    return "Which of these has the least regret?" if several else "How much regret does it have?"
