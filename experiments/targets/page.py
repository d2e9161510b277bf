"""The leaderboard: a figure of errors against gradients, and a page with tables."""

import io
from html import escape
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from experiments.figures.style import style
from experiments.storage.files import write_atomically
from experiments.targets.leaderboard import standings
from experiments.targets.worker import REFERENCE

ERRORS = {
    "action_tv": "total variation of actions",
    "sliced_wasserstein": "sliced Wasserstein distance, sd",
    "mean_error": "error of the mean, sd",
    "mmd": "MMD",
}
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .7em;border-bottom:1px solid #ccc;text-align:right}"
    "td:first-child,th:first-child,td:nth-child(2){text-align:left}img{max-width:100%}.failed{color:#a00}"
)


def write(folder: Path, table: pd.DataFrame) -> list[Path]:
    """Writes leaderboard.csv, leaderboard.svg and leaderboard.html; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"leaderboard.{suffix}" for suffix in ("csv", "svg", "html")]
    write_atomically(paths[0], table.to_csv(index=False).encode())
    picture = io.BytesIO()
    error_figure(table).savefig(picture, format="svg", metadata={"Date": None})
    write_atomically(paths[1], picture.getvalue())
    write_atomically(paths[2], page(table).encode())
    return paths


@style()
def error_figure(table: pd.DataFrame) -> Figure:
    """Errors against gradients per draw: a target a column, an error a row; lines are cold, crosses follow."""
    targets = list(dict.fromkeys(table["target"]))
    samplers = [name for name in dict.fromkeys(table["sampler"]) if name != REFERENCE]
    figure = Figure(figsize=(3.0 * len(targets) + 1.5, 2.4 * len(ERRORS)))
    axes = figure.subplots(len(ERRORS), len(targets), squeeze=False, sharex="col")
    colours = {name: f"C{index % 10}" for index, name in enumerate(samplers)}
    markers = {name: "osv^D"[index // 10 % 5] for index, name in enumerate(samplers)}
    for row, (error, label) in zip(axes, ERRORS.items(), strict=True):
        for ax, target in zip(row, targets, strict=True):
            here = table[(table["target"] == target) & (table["status"] == "done")]
            for name in samplers:
                own = here[here["sampler"] == name]
                cold, warm = own[own["mode"] == "cold"], own[own["mode"] == "following"]
                look = {"color": colours[name], "marker": markers[name], "markersize": 3}
                ax.plot(cold["gradients"] + 1, cold[error], label=name, linewidth=1, **look)
                ax.plot(warm["gradients"] + 1, warm[error], color=colours[name], marker="x", linestyle="none")
            for level in here[here["sampler"] == REFERENCE][error]:
                ax.axhline(level, color="0.6", linestyle=":")
            if len(here[here["sampler"] != REFERENCE]):
                ax.set_xscale("log")
            ax.set_yscale("symlog", linthresh=0.01)
            if error == next(iter(ERRORS)):
                ax.set_title(target)
            if target == targets[0]:
                ax.set_ylabel(label, fontsize="x-small")
    for ax in axes[-1]:
        ax.set_xlabel("gradients per chain + 1")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize="small")
    figure.set_layout_engine("constrained")
    return figure


def page(table: pd.DataFrame) -> str:
    """The page: standings, every row, and failures with their reasons."""
    failures = table[table["status"] == "failed"][["target", "sampler", "reason"]]
    done = table[table["status"] == "done"].drop(columns=["status", "reason"])
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>Samplers on moving targets</title>",
        f"<style>{STYLE}</style><h1>Samplers on moving targets</h1>",
        "<p>Errors are those of the distribution of one draw per chain, against reference draws. <b>cold</b>: on the "
        "last posterior, from draws of the prior. <b>following</b>: one draw from each posterior of the sequence, "
        "started where the last one ended. The score is the mean over targets of log2 of the sliced Wasserstein "
        "distance over that of as many reference draws, following; 0 is exact.</p>",
        "<h2>Standings</h2>",
        _html(standings(table)),
        '<h2>Errors against gradients</h2><img src="leaderboard.svg" alt="errors against gradients">',
        "<p>Lines: cold. Crosses: following. Dotted: as many reference draws.</p>",
    ]
    if len(failures):
        parts += ["<h2>Failures</h2>", _html(failures)]
    return "\n".join([*parts, "<h2>All rows</h2>", _html(done), "</html>\n"])


def _html(frame: pd.DataFrame) -> str:
    head = "".join(f"<th>{escape(str(name))}</th>" for name in frame.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>"
        for row in frame.itertuples(index=False)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.3g}"
    return escape(str(value))
