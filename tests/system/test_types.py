"""Array arguments have annotated shapes, and a wrong annotation or shape fails in the tests."""

import ast
import importlib
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import runtime_types
from jaxtyping import Array, Float, TypeCheckError, jaxtyped

ROOT = Path(__file__).resolve().parents[2]
BARE = {"Array", "jax.Array", "np.ndarray"}


def public_annotations(tree):
    """Name and annotation of every argument, result and field that a user of a module sees."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            for argument in arguments:
                yield f"{node.name}({argument.arg})", argument.annotation
            yield f"{node.name}() ->", node.returns
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for field in node.body:
                if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                    yield f"{node.name}.{field.target.id}", field.annotation


def inner_functions(tree):
    """Functions inside of functions, which are not public."""
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for inner in ast.walk(node):
                if inner is not node and isinstance(inner, ast.FunctionDef | ast.ClassDef):
                    inside.add(inner)
    return inside


def mentions_bare_array(annotation):
    """Whether `Array` is used without a shape; inside of Callable[...] it may."""
    if annotation is None:
        return False
    if isinstance(annotation, ast.Subscript):
        if ast.unparse(annotation.value) in ("Callable", "ClassVar", "Iterator"):
            return False
        elements = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else []
        if elements and set(ast.unparse(elements[0]).split(" | ")) <= BARE:
            return False  # Float[Array, "..."], Float[Array | np.ndarray, "..."]
        return mentions_bare_array(annotation.slice)
    if ast.unparse(annotation) in BARE:
        return True
    return any(mentions_bare_array(child) for child in ast.iter_child_nodes(annotation))


@pytest.mark.parametrize("package", runtime_types.PACKAGES)
def test_every_public_array_has_a_shape(package):
    bare = []
    for path in sorted((ROOT / package).rglob("*.py")):
        tree = ast.parse(path.read_text())
        for inner in inner_functions(tree):
            inner.name = f"_{inner.name}"
        bare += [
            f"{path.relative_to(ROOT)}: {name}"
            for name, annotation in public_annotations(tree)
            if mentions_bare_array(annotation)
        ]
    assert not bare, "\n".join(bare)


def test_a_wrong_shape_in_a_function_is_detected():
    accuracy = importlib.import_module("fgtsva_ppl.diagnostics.accuracy")
    assert accuracy.total_variation(np.ones((4, 1)), np.ones((4, 1))).shape == (4,)
    with pytest.raises(TypeCheckError):  # NumPy would broadcast these
        accuracy.total_variation(np.ones((4, 2)), np.ones((4, 1)))


def test_a_wrong_shape_in_a_named_tuple_is_detected():
    tilted_gaussian = importlib.import_module("samplers.reference.tilted_gaussian")
    runtime_types.check_named_tuples()
    gaussian = importlib.import_module("samplers.target").Gaussian(jnp.eye(3), jnp.ones(3))
    assert tilted_gaussian.tilt(gaussian, jnp.ones((4, 3)), jnp.asarray(1.0)).arms.shape == (4, 3)
    with pytest.raises(TypeCheckError):  # lam is one number
        tilted_gaussian.tilt(gaussian, jnp.ones((4, 3)), jnp.ones(3))


def test_a_wrong_annotation_is_detected():
    def wrong(x: Float[Array, "rows columns"]) -> Float[Array, " columns"]:
        return x.sum(axis=1)

    with pytest.raises(TypeCheckError):
        jaxtyped(wrong, typechecker=runtime_types.check_arrays)(jnp.ones((2, 3)))


def test_annotations_of_other_things_are_left_to_mypy():
    @runtime_types.check_arrays
    def loose(x: int) -> str:
        return x

    assert loose("no number") == "no number"
    assert runtime_types.mentions_array(Float[np.ndarray, "runs"] | None)
    assert not runtime_types.mentions_array(int | None)
