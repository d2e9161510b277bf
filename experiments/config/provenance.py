"""Identifies the code and the package versions that a result was computed with."""

import ast
import hashlib
import json
import platform
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import override

import fgtsva_ppl
import samplers

PACKAGES = ("jax", "numpyro", "blackjax", "arviz", "numpy")
# Functions of samplers.settings whose argument `doc` is shown to the user and has no effect on results.
FIELDS = {
    "traced_float",
    "traced_int",
    "static_int",
    "choice",
    "flag",
    "string",
    "nested",
    "static",
    "component",
}
# Fields of records that are only shown to the user, by the position of their argument
TEXT_FIELDS = {
    "SamplerInfo": {"family": 0, "exactness": 1, "gradients_per_draw": 2, "needs": 3},
    "Quantity": {"doc": 2},
    "Metric": {"doc": 0, "heading": 1},
}


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that numbers depend on."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


@lru_cache(maxsize=1)
def code_version() -> str:
    """A digest of the code that results depend on, and of the versions of the packages below it.

    It follows what the code does: docstrings, comments, formatting, `doc=` texts of settings, texts that describe
    samplers, quantities and metrics, and messages of raised errors can be reworded, and stored results remain valid.

    Returns:
        12 hexadecimal digits.
    """
    digest = hashlib.sha256(json.dumps(versions()).encode())
    for package in (samplers, fgtsva_ppl):
        folder = Path(str(package.__file__)).parent
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder.parent).as_posix().encode())
            digest.update(source_digest(path.read_bytes()))
    return digest.hexdigest()[:12]


def files_digest(paths: Iterable[Path]) -> str:
    """A digest of a user's own source files, in the order given; an empty string if there are none."""
    digests = [source_digest(path.read_bytes()).hex() for path in paths]
    return "".join(digests)


def source_digest(source: bytes) -> bytes:
    """A digest of what a Python source file does, ignoring texts that only people read.

    Args:
        source: The content of the file. If it is not Python, its bytes are digested.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return hashlib.sha256(source).digest()
    return hashlib.sha256(ast.dump(_WithoutTexts().visit(tree)).encode()).digest()


class _WithoutTexts(ast.NodeTransformer):
    """Removes docstrings, `doc=` texts of settings fields, texts of records and messages of raised errors."""

    @override
    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if _is_text(node.value) else self.generic_visit(node)

    @override
    def visit_Pass(self, node: ast.Pass) -> None:
        """A docstring makes `pass` superfluous."""

    @override
    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        fields = {"doc": -1} if name in FIELDS else TEXT_FIELDS.get(name, {})
        node.keywords = [
            keyword for keyword in node.keywords if not (keyword.arg in fields and _is_text(keyword.value))
        ]
        node.args = [
            ast.Constant("") if index in fields.values() and _is_text(value) else value
            for index, value in enumerate(node.args)
        ]
        return self.generic_visit(node)

    @override
    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        if isinstance(node.exc, ast.Call):
            node.exc.args = [value for value in node.exc.args if not _is_text(value)]
        return self.generic_visit(node)


def _is_text(node: ast.expr) -> bool:
    """Whether an expression is a string literal, an f-string, or a sum of them."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _is_text(node.left) and _is_text(node.right)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
