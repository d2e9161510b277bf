"""The wheel, its requirements, and the direction of imports."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("experiments", "fgtsva_ppl", "samplers")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())

# The first must not import the second.
FORBIDDEN = [("samplers", "fgtsva_ppl"), ("samplers", "experiments"), ("fgtsva_ppl", "experiments")]
# Rooms of experiments, and the other rooms that each may import.
ALLOWED = {
    "config": (),
    "storage": ("config",),
    "execute": ("config", "storage"),
    "analysis": ("config", "storage"),
    "figures": ("config", "storage", "analysis"),
    "studies": ("config", "storage", "analysis", "figures"),
    "report": ("config", "storage", "analysis", "figures", "studies"),
    "bench": ("config", "storage", "execute"),
    "targets": ("config", "storage", "analysis", "figures"),
    "cli": ("config", "storage", "execute", "analysis", "studies", "report", "bench", "targets"),
}


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(folder: Path) -> Path:
    """The wheel, from a copy: left-overs of earlier builds do not go in, and this one leaves none."""
    source, target = folder / "source", folder / "wheel"
    source.mkdir()
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, source)
    for package in (*PACKAGES, "tests"):
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))
    # No isolation and no dependencies: no network.
    pip_wheel = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation")
    run(*pip_wheel, "--wheel-dir", target, ".", cwd=source)
    (built,) = target.glob("fgtsva-*.whl")
    return built


def test_wheel_is_complete_and_works_away_from_the_checkout(tmp_path: Path) -> None:
    wheel = build(tmp_path)
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    wanted = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.suffix in {".c", ".json", ".py", ".pyi", ".yaml", ".md", ".css", ".jinja", ".js"}
        or path.name == "py.typed"
    }
    assert packed == wanted
    assert any(re.fullmatch(r"experiments/studies/.*\.yaml", name) for name in packed)

    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    elsewhere.mkdir()
    run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", site, wheel, cwd=elsewhere)
    # The dependencies come from this environment; our packages are found on PYTHONPATH before its editable ones.
    code = "\n".join(f"import {package}; print({package}.__file__)" for package in PACKAGES)
    files = run(sys.executable, "-c", code, cwd=elsewhere, PYTHONPATH=str(site)).split()
    assert all(Path(file).is_relative_to(site) for file in files), files
    names = run(site / "bin" / "fgtsva", "list", cwd=elsewhere, PYTHONPATH=str(site))
    assert "nuts" in names


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    plain = [line for line in lines if line and not line.startswith("#")]
    odd = [line for line in plain if not re.fullmatch(r"[\w.-]+==[\w.!]+", line)]
    assert not odd, f"not of the form name==version: {odd}"
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in plain)}


def test_every_requirement_is_pinned() -> None:
    project = PYPROJECT["project"]
    required = [*PYPROJECT["build-system"]["requires"], *project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        required += extra
    pinned = pins()
    for requirement in map(Requirement, required):
        version = pinned.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not in constraints.txt: make constraints"
        assert requirement.specifier.contains(version), f"{requirement} excludes the pinned {version}"


def test_no_file_names_a_package_source() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    # In pieces, or this file itself would match.
    fragments = [
        "py" + "pi.org",
        "python" + "hosted",
        "index" + "-url",
        "index" + "_url",
        "find" + "-links",
        "find" + "_links",
    ]
    fragments += ["file" + "://", "extra" + "-index", "extra" + "_index", "conda" + ".anaconda"]
    pattern = re.compile("|".join(map(re.escape, fragments)).encode(), re.IGNORECASE)
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    matches = [str(path) for path in paths if path.is_file() and pattern.search(path.read_bytes())]
    assert not matches


def imported(path: Path) -> dict[str, int]:
    """The modules that a file imports anywhere in it, with the line."""
    names: dict[str, int] = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name: node.lineno for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: relative import"
            names |= {f"{node.module}.{alias.name}": node.lineno for alias in node.names}
    return names


@pytest.mark.parametrize(("package", "other"), FORBIDDEN)
def test_imports_go_one_way(package: str, other: str) -> None:
    matches = [
        f"{path}:{line}"
        for path in (ROOT / package).rglob("*.py")
        for name, line in imported(path).items()
        if name.split(".")[0] == other
    ]
    assert not matches, f"{package} must not import {other}"


def test_every_folder_of_experiments_has_its_place_in_the_order() -> None:
    assert {path.parent.name for path in (ROOT / "experiments").glob("*/__init__.py")} == {*ALLOWED}
    for index, (room, others) in enumerate(ALLOWED.items()):
        assert {*others} <= {*list(ALLOWED)[:index]}, f"{room} may import what comes before it only"


@pytest.mark.parametrize("room", ALLOWED)
def test_folders_of_experiments_import_in_one_direction(room: str) -> None:
    """Data goes one way: overrides, config, execute, folder, analysis, figures, studies, report."""
    paths = [*(ROOT / "experiments" / room).rglob("*.py")]
    assert paths
    matches = [
        f"{path}:{line} imports {name}"
        for path in paths
        for name, line in imported(path).items()
        if name.split(".")[0] == "experiments" and name.split(".")[1] not in (room, *ALLOWED[room])
    ]
    assert not matches


@pytest.mark.parametrize("module", ["config.compose", "execute.runner", "report.analyse", "report", "bench"])
def test_the_command_has_a_device_for_every_core(module: str) -> None:
    """Importing BlackJAX starts JAX with one device: ours must be configured before that."""
    program = f"import experiments.{module}, jax\nfrom fgtsva_ppl.jax_config import cores\n"
    devices, cores = run(
        sys.executable, "-c", program + "print(jax.device_count(), cores())", cwd=ROOT
    ).split()
    assert devices == cores
