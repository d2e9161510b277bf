"""The page of a study in its own folder: everything that the gallery leaves out."""

from collections.abc import Mapping, Sequence

from experiments.analysis.hyperparameters import LEVELS
from experiments.analysis.summary import Row
from experiments.analysis.verdicts import Verdict
from experiments.report.fields import Table
from experiments.report.page import Content, tables_of

MAX_SIDE_BY_SIDE = 3  # environments in a table of standings
MAX_ROWS = 60  # of a table; the CSV file of the study has all


def study_page(content: Content, pictures: Mapping[str, str], command: str) -> str:
    """A study in detail, as Markdown: findings, figures, verdicts with their numbers, tables, open choices.

    Args:
        content: the results with their findings, verdicts and tables.
        pictures: what each picture shows, by its path from the page.
        command: the command that runs the study, with the time it takes.
    """
    results = content.results
    parts = [
        f"# `{results.name}`: {results.title}",
        f"{results.question} Written by `python -m experiments.cli.publish FOLDER` from a stored study.",
        f"    {command}",
        "\n".join(f"- {sentence}" for sentence in content.findings),
        *(f"![{results.title}: {what}]({picture})" for picture, what in pictures.items()),
        verdict_section(content.verdicts),
        standings_table(results.standing_rows),
        *(folded(one.title, [markdown(one.table), one.note]) for one in tables_of(content) if one.table),
        folded(
            "Choices that the paper leaves open",
            ["\n".join(f"- {choice}" for choice in results.comparison.choices)],
        ),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def verdict_section(verdicts: Sequence[Verdict]) -> str:
    """Every claim with its verdict; the numbers unfold."""
    if not verdicts:
        return ""
    return f"## Verdicts\n\n{verdict_list(verdicts)}\n\n{folded('The numbers behind the verdicts', evidence(verdicts))}"


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
    known = [paragraph for paragraph in paragraphs if paragraph]
    if not known:
        return ""
    return f"<details><summary>{title}</summary>\n\n{'\n\n'.join(known)}\n\n</details>"


def markdown(table: Table) -> str:
    """A table of the report as Markdown, its caption below."""
    lines = [
        "| " + " | ".join(map(_escaped, table.headings)) + " |",
        "|" + "|".join("---:" if numeric else "---" for numeric in table.numeric) + "|",
        *("| " + " | ".join(_escaped(field.text) for field in row) + " |" for row in table.rows[:MAX_ROWS]),
    ]
    more = len(table.rows) - MAX_ROWS
    rest = f" {more} more rows are in the study's CSV file." if more > 0 else ""
    return "\n".join(lines) + f"\n\n{table.caption}{rest}"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


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
