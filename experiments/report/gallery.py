"""The gallery in `experiments/README.md`; `python -m experiments.report.gallery FOLDER ...` updates it."""

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.analysis.findings import read as read_numbers
from experiments.analysis.hyperparameters import LEVELS
from experiments.analysis.summary import Row
from experiments.analysis.text import counted
from experiments.figures.draw import draw
from experiments.report.load import Stored, read
from experiments.report.page import FIRST

HERE = Path(__file__).parents[1]
BESIDE = ("condition", "quality")  # shown as well
STIFFENING = "posterior.alpha"  # the setting along which condition numbers are the point
SIDE_BY_SIDE = 3  # environments in a table
BEGIN, END = "<!-- gallery: begin -->", "<!-- gallery: end -->"
SHOWN = {
    "sweep": "final regret along a setting",
    "gaps": "regret gap of each to exact draws",
    "regret": "regret against rounds",
    "exponents": "how regret scales",
    "quality": "diagnostics against the regret gap to exact draws",
    "condition": "final regret against the condition number",
}  # the first of these that a study has is its picture


def entry(stored: Stored, pictures: Mapping[str, str], minutes: float) -> str:
    """A study as the gallery shows it: question, command, time, finding (by the rules of today), figures."""
    reading = read_numbers(str(stored.config["study"]), stored.cells, stored.data(), stored.comparison)
    study, title, question = (stored.config[key] for key in ("study", "title", "question"))
    found = [
        "\n\n".join(reading[:FIRST]),
        verdicts(stored.verdicts),
        standings(stored.table("standings")),
        folded("Every sentence that follows", reading[FIRST:]),
        folded("The numbers behind the verdicts", evidence(stored.verdicts)),
    ]
    return (
        f"### `{study}`: {title}\n{question}\n\n"
        f"    fgtsva run study={study}    # {_told(minutes)}, {counted(len(stored.cells), 'cell')}\n\n"
        f"{'\n\n'.join(filter(None, found))}\n\n"
        + "".join(f"![{title}: {SHOWN[name]}]({picture})\n\n" for name, picture in pictures.items())
    )


def _told(minutes: float) -> str:
    return f"{minutes:.0f} minutes" if minutes >= 1.5 else "a minute"


def verdicts(rows: Sequence[Mapping[str, Any]]) -> str:
    """Every claim with what was found of it."""
    return "\n".join(f"- {row['claim']}: **{row['verdict']}**" for row in rows)


def evidence(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What was measured for each claim, with its interval."""
    return [
        "\n".join([f"{row['claim']}. {row['measured']}\n", *(f"- {one}" for one in row["evidence"])])
        for row in rows
    ]


def folded(title: str, paragraphs: Sequence[str]) -> str:
    """What a reader may unfold; nothing if there is nothing."""
    if not paragraphs:
        return ""
    return f"<details><summary>{title}</summary>\n\n{'\n\n'.join(paragraphs)}\n\n</details>"


def standings(rows: Sequence[Row]) -> str:
    """Growth log2 R(T)/R(T/2) and regret of every algorithm, environment by environment; nothing along a sweep."""
    tuned_algorithms = [(row["algorithm"], row["environment"], row["level"]) for row in rows]
    if not rows or len(set(tuned_algorithms)) < len(tuned_algorithms):
        return ""
    environments = list(dict.fromkeys(environment for _, environment, _ in tuned_algorithms))
    if len(environments) > SIDE_BY_SIDE:
        return ""
    at = dict(zip(tuned_algorithms, rows, strict=True))

    def cell(name: str, level: str, key: str, style: str) -> str:
        found = [at.get((name, environment, level)) for environment in environments]
        return " / ".join("-" if row is None or key not in row else format(row[key], style) for row in found)

    lines = [
        f"{' / '.join(environments)}:\n",
        "| algorithm | growth, textbook | regret, textbook | growth, tuned | regret, tuned |",
        "|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(name for name, *_ in tuned_algorithms):
        told = [
            cell(name, level, key, style)
            for level in LEVELS
            for key, style in (("growth", ".2f"), ("final_regret_mean", ".1f"))
        ]
        lines.append(f"| {name} | {' | '.join(told)} |")
    return "\n".join(lines)


def minutes_of(folder: Path) -> float:
    """From the claim of a folder to its results: the time of a study that was not interrupted."""
    return ((folder / "results.nc").stat().st_mtime - (folder / "config.yaml").stat().st_mtime) / 60


def place(page: str, study: str, text: str) -> str:
    """The page with a study's entry in its place, the others as they were."""
    before, inside, after = re.split(f"({re.escape(BEGIN)}|{re.escape(END)})", page)[::2]
    entries = {found[1]: found[0] for found in re.findall(r"(### `(\w+)`.*?(?=### `|\Z))", inside, re.DOTALL)}
    entries[study] = text
    listed = "\n\n".join(entries[name].strip() for name in sorted(entries))
    return f"{before}{BEGIN}\n{listed}\n{END}{after}"


def shown(drawn: Sequence[str], sweep: str | None) -> list[str]:
    """Of the figures of a study its picture, and those beside it."""
    first = next(name for name in SHOWN if name in drawn)
    beside = [name for name in BESIDE if name in drawn and name != first]
    return [first, *(name for name in beside if name != "condition" or sweep == STIFFENING)]


def take_in(folder: Path) -> None:
    """Copies a study's picture beside the page, and writes its entry."""
    stored = read(folder)
    paths = draw(folder / "figures", stored.cells, stored.data(), stored.comparison).paths
    drawn = {path.stem: path for path in paths if path.suffix == ".png"}
    chosen = shown(list(drawn), stored.comparison.sweep)
    study = str(stored.config["study"])
    pictures = {name: f"gallery/{study}{'' if name == chosen[0] else f'_{name}'}.png" for name in chosen}
    (HERE / "gallery").mkdir(exist_ok=True)
    for name, picture in pictures.items():
        shutil.copyfile(drawn[name], HERE / picture)
    page = HERE / "README.md"
    text = entry(stored, pictures, minutes_of(folder))
    page.write_text(place(page.read_text(), study, text))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        take_in(Path(name))
