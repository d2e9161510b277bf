"""`fgtsva bench`: benchmarks as ratios measured within one run, comparable between machines."""

import json
import math
import platform
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import jax
from rich.markup import escape
from rich.table import Table

from experiments.bench import draws, latency, moving, paper, rounds, sizes
from experiments.bench.timing import Measure
from experiments.config.provenance import code_version, versions
from experiments.storage.files import write_atomically
from samplers.errors import InputError, did_you_mean

PARTS: dict[str, Callable[[bool], list[Measure]]] = {
    "paper": paper.measure,
    "sizes": sizes.measure,
    "linear": rounds.linear,
    "exact_draws": draws.exact_draws,
    "nuts": draws.nuts,
    "general": rounds.general,
    "moving": moving.measure,
    "ask_tell": latency.ask_tell,
    "diagnostics": latency.diagnostics,
    "compilation": latency.compilation,
    "memory": latency.memory,
}


def chosen(names: Sequence[str]) -> list[str]:
    """The parts to run, all if none is named. Raises InputError for an unknown one."""
    for name in names:
        if name not in PARTS:
            raise InputError(f"unknown part {name!r}{did_you_mean(name, PARTS)}; valid: {', '.join(PARTS)}")
    return list(dict.fromkeys(names)) or list(PARTS)


def prepare(folder: Path) -> None:
    """Creates the folder. Raises InputError before anything is measured if it is not writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"cannot write to --output {folder}: {error.strerror or error}") from None


def write(path: Path, measures: Sequence[Measure], quick: bool) -> None:
    """Writes the measures with machine and versions as JSON. Raises InputError if that fails."""
    report = {
        "machine": {"processor": processor(), "devices": len(jax.devices())},
        "versions": versions(),
        "code": code_version(),
        "quick": quick,
        "measures": [measure._replace(value=_finite(measure.value))._asdict() for measure in measures],
    }
    try:
        write_atomically(path, (json.dumps(report, indent=1, allow_nan=False) + "\n").encode())
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None


def processor() -> str:
    """The processor's model name if the system reports it, otherwise its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return next(iter(models), platform.processor() or platform.machine())


def _finite(value: float | None) -> float | None:
    """Finite numbers only: JSON has no others."""
    return value if value is not None and math.isfinite(value) else None


def table(measures: Sequence[Measure]) -> Table:
    """The measures as a table; missed aims are marked."""
    rendered = Table(pad_edge=False)
    for name in ("part", "what"):
        rendered.add_column(name, overflow="fold")
    for name in ("value", "unit", "aim", ""):
        rendered.add_column(name, justify="right" if name == "value" else "left", no_wrap=True)
    for one in measures:
        mark = {None: "", True: "met", False: "[red]missed[/]"}[one.met]
        value = "–" if one.value is None else f"{one.value:.4g}"
        rendered.add_row(one.part, escape(one.what), value, one.unit, one.aim, mark)
    return rendered
