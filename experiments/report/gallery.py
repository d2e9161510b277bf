"""The gallery in `experiments/README.md`; `python -m experiments.report.gallery FOLDER ...` updates it."""

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments import studies
from experiments.analysis.findings import MAX_FINDINGS
from experiments.analysis.hyperparameters import LEVELS
from experiments.analysis.load import load_results
from experiments.analysis.results import StudyResults
from experiments.analysis.summary import Row
from experiments.analysis.verdicts import Verdict
from experiments.config.text import counted
from experiments.figures.draw import draw

HERE = Path(__file__).parents[1]
MAIN = (
    "sweep",
    "gaps",
    "regret",
)  # the first of these that a study has is its main figure, else its first one
BESIDE = ("condition_number", "quality")  # shown beside the main figure
STIFFENING = "posterior.alpha"  # the setting that a study varies to change condition numbers
MAX_SIDE_BY_SIDE = 3  # environments in a table
BEGIN, END = "<!-- gallery: begin -->", "<!-- gallery: end -->"


def entry(results: StudyResults, pictures: Mapping[str, str], minutes: float) -> str:
    """A study in the gallery: question, command, time, findings, verdicts and figures.

    Args:
        results: the results of the study.
        pictures: what each picture shows, by its file.
        minutes: how long the study took.
    """
    study, title = results.name, results.title
    sentences, verdicts = studies.findings(results), studies.verdicts(results)
    parts = [
        "\n\n".join(sentences[:MAX_FINDINGS]),
        verdict_list(verdicts),
        standings_table(results.standing_rows),
        folded("Every sentence that follows", sentences[MAX_FINDINGS:]),
        folded("The numbers behind the verdicts", evidence(verdicts)),
    ]
    return (
        f"### `{study}`: {title}\n{results.question}\n\n"
        f"    fgtsva run study={study}    # {_duration(minutes)}, {counted(len(results.cells), 'cell')}\n\n"
        f"{'\n\n'.join(filter(None, parts))}\n\n"
        + "".join(f"![{title}: {what}]({picture})\n\n" for picture, what in pictures.items())
    )


def _duration(minutes: float) -> str:
    return f"{minutes:.0f} minutes" if minutes >= 1.5 else "a minute"


def verdict_list(verdicts: Sequence[Verdict]) -> str:
    """Every claim with its verdict."""
    return "\n".join(f"- {verdict.claim}: **{verdict.outcome()}**" for verdict in verdicts)


def evidence(verdicts: Sequence[Verdict]) -> list[str]:
    """What was measured for each claim, with its interval."""
    return [
        "\n".join(
            [f"{verdict.claim}. {verdict.measured}\n", *(f"- {one.describe()}" for one in verdict.evidence)]
        )
        for verdict in verdicts
    ]


def folded(title: str, paragraphs: Sequence[str]) -> str:
    """Paragraphs that a reader may unfold; nothing if there are none."""
    if not paragraphs:
        return ""
    return f"<details><summary>{title}</summary>\n\n{'\n\n'.join(paragraphs)}\n\n</details>"


def standings_table(rows: Sequence[Row]) -> str:
    """Growth log2 R(T)/R(T/2) and regret of every algorithm, environment by environment; nothing along a sweep."""
    keys = [(row["algorithm"], row["environment"], row["level"]) for row in rows]
    if not rows or len(set(keys)) < len(keys):
        return ""
    environments = list(dict.fromkeys(environment for _, environment, _ in keys))
    if len(environments) > MAX_SIDE_BY_SIDE:
        return ""
    by_key = dict(zip(keys, rows, strict=True))

    def cell(name: str, level: str, key: str, style: str) -> str:
        entries = [by_key.get((name, environment, level)) for environment in environments]
        return " / ".join(
            "-" if row is None or key not in row else format(row[key], style) for row in entries
        )

    lines = [
        f"{' / '.join(environments)}:\n",
        "| algorithm | growth, textbook | regret, textbook | growth, tuned | regret, tuned |",
        "|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(name for name, *_ in keys):
        fields = [
            cell(name, level, key, style)
            for level in LEVELS
            for key, style in (("growth", ".2f"), ("final_regret_mean", ".1f"))
        ]
        lines.append(f"| {name} | {' | '.join(fields)} |")
    return "\n".join(lines)


def minutes_of(folder: Path) -> float:
    """From the claim of a folder to its results: the time of a study that was not interrupted."""
    return ((folder / "results.nc").stat().st_mtime - (folder / "config.yaml").stat().st_mtime) / 60


def place(page: str, study: str, text: str) -> str:
    """The page with a study's entry replaced or added, the others unchanged."""
    before, inside, after = re.split(f"({re.escape(BEGIN)}|{re.escape(END)})", page)[::2]
    entries = {match[1]: match[0] for match in re.findall(r"(### `(\w+)`.*?(?=### `|\Z))", inside, re.DOTALL)}
    entries[study] = text
    listed = "\n\n".join(entries[name].strip() for name in sorted(entries))
    return f"{before}{BEGIN}\n{listed}\n{END}{after}"


def shown(drawn: Sequence[str], sweep: str | None) -> list[str]:
    """The main figure of a study, then those beside it."""
    first = next((name for name in MAIN if name in drawn), drawn[0])
    beside = [name for name in BESIDE if name in drawn and name != first]
    return [first, *(name for name in beside if name != "condition_number" or sweep == STIFFENING)]


def add(folder: Path) -> None:
    """Copies a study's figures beside the page, and writes its entry."""
    results = load_results(folder)
    drafts = studies.figures(results)
    drawn = {path.stem: path for path in draw(folder / "figures", drafts).paths if path.suffix == ".png"}
    chosen, study = shown(list(drawn), results.comparison.sweep), results.name
    pictures = {name: f"gallery/{study}{'' if name == chosen[0] else f'_{name}'}.png" for name in chosen}
    (HERE / "gallery").mkdir(exist_ok=True)
    for name, picture in pictures.items():
        shutil.copyfile(drawn[name], HERE / picture)
    page = HERE / "README.md"
    titles = {picture: drafts[name].title for name, picture in pictures.items()}
    page.write_text(place(page.read_text(), study, entry(results, titles, minutes_of(folder))))


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        add(Path(argument))
