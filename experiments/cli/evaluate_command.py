"""`fgtsva evaluate`: the value of a policy, from a log of another one."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Column, Table

from experiments.cli.consoles import console
from samplers.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from fgtsva_ppl.evaluation import Estimate, Log

    type NamedLog = tuple[str, Log, np.ndarray | None, np.ndarray | None]

OPEN_BANDIT = "obd:"  # obd:random/men is that log of the Open Bandit Data, where the package obp is installed


def evaluate(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A log (.csv or .parquet with columns action, reward, propensity), a run's output folder, or "
            "obd:random/men of the Open Bandit Data.",
        ),
    ],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="KEY=VALUE", help="An agent to replay on the log, e.g. agent=epsilon_greedy."),
    ] = None,
    policy: Annotated[
        str,
        typer.Option(
            help="The policy: uniform, the number of an arm, or another log, whose arms are played as often as there."
        ),
    ] = "uniform",
    draws: Annotated[
        int,
        typer.Option(
            min=0,
            help="Of a run's folder without propensities: play it again with so many replicas of every draw, and "
            "estimate them from these.",
        ),
    ] = 0,
) -> None:
    """Estimate what a policy would have earned: IPS, SNIPS and doubly robust, with 95% intervals.

    Example: fgtsva evaluate log.csv --policy 2
    """
    logs, notes = _logs(file, draws), list[str]()
    table = Table(
        "log",
        "rounds",
        "policy",
        Column("estimator", no_wrap=True),
        "value",
        "95% interval",
        "standard error",
    )
    for name, log, means, error in logs:
        for estimator, estimate in _estimates(log, policy, means).items():
            _add(table, (name, str(len(log.actions)), policy, estimator), estimate)
        if error is not None and error.any():
            notes.append(
                f"{name}: propensities are estimates, with a root mean square error of {_rms(error):.2g}"
            )
        if overrides:
            _add_replay(table, name, log, overrides)
    console.print(table)
    for note in notes:
        console.print(note)


def _rms(errors: "np.ndarray") -> float:
    return float((errors**2).mean() ** 0.5)


def _logs(file: str, draws: int) -> "list[NamedLog]":
    """The logs in a file or folder by name, with true means and errors of propensities where they are known."""
    path = open_bandit_file(file) if file.startswith(OPEN_BANDIT) else Path(file)
    if not path.is_dir():
        return [(path.name, _read(path), None, None)]
    from experiments.analysis.load import load_results
    from experiments.analysis.logs import has_propensities, log_of_cell, with_replayed_propensities
    from experiments.storage.folder import Folder

    results, reasons = load_results(path), []
    found: list[NamedLog] = []
    for cell in results.done:
        try:
            data = results.data[cell.id]
            if draws and not has_propensities(data):
                data = with_replayed_propensities(cell, data, draws, Folder(path))
            found.append((results.labels[cell.id], *log_of_cell(cell, data)))
        except InputError as error:
            reasons.append(error)
    if not found:
        raise reasons[0] if reasons else InputError(f"{path}: no cell is finished")
    return found


def _read(path: Path) -> "Log":
    from fgtsva_ppl.evaluation.log import read_log

    return read_log(path)


def open_bandit_file(name: str) -> Path:
    """The file of the Open Bandit Data in the installed package obp. Raises InputError if there is none."""
    policy, _, campaign = name.removeprefix(OPEN_BANDIT).partition("/")
    if policy not in ("random", "bts") or campaign not in ("all", "men", "women"):
        raise InputError(f"{name}: the Open Bandit Data are obd:random/all, men or women, and obd:bts/...")
    spec = find_spec("obp")
    if spec is None or not spec.submodule_search_locations:
        raise InputError(f"{name}: the package obp, which has the data, is not installed: pip install obp")
    folder = Path(next(iter(spec.submodule_search_locations)))
    return folder / "dataset" / "obd" / policy / campaign / f"{campaign}.csv"


def _policy(log: "Log", policy: str) -> "np.ndarray":
    if policy == "uniform":
        return log.uniform()
    if policy.isdigit():
        return log.constant(int(policy))
    path = open_bandit_file(policy) if policy.startswith(OPEN_BANDIT) else Path(policy)
    if not path.is_file():
        raise InputError(
            f"--policy {policy!r} must be uniform, the number of an arm, or the file of another log"
        )
    return log.frequencies_of(_read(path))


def _estimates(log: "Log", policy: str, means: "np.ndarray | None") -> "dict[str, Estimate]":
    import numpy as np

    from fgtsva_ppl.evaluation import Estimate, fit_rewards
    from fgtsva_ppl.evaluation import evaluate as estimate_all

    chosen = _policy(log, policy)
    model = fit_rewards(log)
    found = estimate_all(log.actions, log.rewards, log.propensity, chosen, model, log.runs)
    if means is not None:
        found["truth"] = Estimate(float(np.mean(np.sum(chosen * means, axis=1))), 0.0)
    return found


def _add_replay(table: Table, name: str, log: "Log", overrides: Sequence[str]) -> None:
    from experiments.config.compose import compose
    from fgtsva_ppl.evaluation import replay

    for cell in compose(list(overrides)).cells:
        found = replay(cell.agent, log)
        rounds = f"{found.matched} of {found.rounds}"
        _add(table, (name, rounds, f"{cell.flat['agent']} replayed", "replay"), found.estimate)


def _add(table: Table, start: tuple[str, ...], estimate: Any) -> None:
    low, high = estimate.interval()
    table.add_row(
        *start, f"{estimate.value:.5g}", f"{low:.5g} to {high:.5g}", f"{estimate.standard_error:.2g}"
    )
