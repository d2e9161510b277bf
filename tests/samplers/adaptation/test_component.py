"""Components: nested settings that are chosen by name."""

import dataclasses

import jax
import pytest

from samplers import InputError, Registry
from samplers.settings import component, documentation, flatten, settings, static_int, traced_float

METRICS: Registry["Metric"] = Registry("metric", "fgtsva.none")
SHAPES: Registry["Shape"] = Registry("shape", "fgtsva.none")


@settings
class Metric:
    pass


@settings
class Unit(Metric):
    """No settings."""


@settings
class Learnt(Metric):
    """Two settings."""

    window: int = static_int(default=10, ge=1, doc="how many")
    rate: float = traced_float(default=0.5, gt=0, doc="how fast")


METRICS.register("unit", Unit)
METRICS.register("learnt", f"{__name__}:Learnt")


@settings
class Shape:
    size: float = traced_float(default=1.0, gt=0, doc="a size")
    metric: Metric = component(METRICS, default=Unit(), doc="a metric")


@settings
class Wide(Shape):
    size: float = 2.0
    metric: Metric = Learnt(window=20)


SHAPES.register("plain", Shape)
SHAPES.register("wide", Wide)


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.setitem(
        __import__("sys").modules, __name__, __import__("types").SimpleNamespace(Learnt=Learnt)
    )


def test_defaults_name_the_component_and_have_its_settings():
    assert SHAPES.defaults("plain") == {"size": 1.0, "metric": "unit"}
    learnt = {"size": 1.0, "metric": "learnt", "metric.window": 10, "metric.rate": 0.5}
    assert SHAPES.defaults("plain", {"metric": "learnt", "metric.rate": 7.0}) == learnt


def test_a_subclass_changes_the_default_and_keeps_bounds_and_documentation():
    wide = {"size": 2.0, "metric": "learnt", "metric.window": 20, "metric.rate": 0.5}
    assert SHAPES.defaults("wide") == wide == flatten(Wide())
    assert documentation(Wide) == documentation(Shape)
    with pytest.raises(InputError, match=r"size=-1\.0 must be a number, above 0"):
        Wide(size=-1)


def test_keys_are_those_of_every_choice():
    assert SHAPES.all_keys("plain") == ["size", "metric", "metric.window", "metric.rate"]


def test_a_component_is_given_by_name_or_as_an_object():
    learnt = Shape(metric=Learnt())
    assert Shape(metric="learnt") == learnt
    assert SHAPES.build("plain", {"metric": "learnt"}) == learnt
    assert SHAPES.build("plain", {"metric": Learnt()}) == learnt
    assert SHAPES.build("plain", {"metric": "learnt", "metric.rate": 3}) == Shape(metric=Learnt(rate=3.0))
    assert SHAPES.build("plain", {"metric": Learnt(window=7), "metric.rate": 3}) == Shape(
        metric=Learnt(7, 3.0)
    )


def test_the_name_of_the_default_is_the_default_as_it_is_set():
    assert SHAPES.build("wide", {"metric": "learnt"}) == Wide()
    assert SHAPES.build("wide", {"metric.rate": 3}) == Wide(metric=Learnt(window=20, rate=3.0))
    assert Wide(metric="learnt") == Wide()


@pytest.mark.parametrize("values", [{}, {"metric": "learnt", "metric.window": 3}])
def test_flat_settings_build_the_object_they_come_from(values):
    shape = SHAPES.build("plain", values)
    assert SHAPES.build("plain", flatten(shape)) == shape


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"metric": "learned"}, "unknown metric 'learned' (did you mean 'learnt'?); valid: unit, learnt"),
        ({"metric": True}, "unknown metric 'True'; valid: unit, learnt"),
        (
            {"metric.window": 3},
            "shape 'plain': metric.window is a setting of metric=learnt, not of metric=unit",
        ),
        (
            {"metric": Unit(), "metric.window": 3},
            "shape 'plain': metric.window is a setting of metric=learnt, not of metric=unit",
        ),
        (
            {"metric": "learnt", "metric.windw": 3},
            "shape 'plain' has no setting 'metric.windw' (did you mean 'metric.window'?); "
            "valid: size, metric, metric.window, metric.rate",
        ),
        (
            {"metric": "learnt", "metric.window": 0},
            "shape 'plain': window=0 must be a whole number, at least 1",
        ),
    ],
)
def test_a_wrong_key_or_value_is_reported_in_one_line(values, message):
    with pytest.raises(InputError) as error:
        SHAPES.build("plain", values)
    assert str(error.value) == message


@pytest.mark.parametrize("value", [None, 3, True, Shape()])
def test_an_object_of_another_kind_is_no_component(value):
    with pytest.raises(InputError, match=r"^metric=.* is not one of: unit, learnt$"):
        Shape(metric=value)


def test_floats_of_a_component_are_traced_and_its_choice_is_static():
    traces = []

    @jax.jit
    def program(shape):
        traces.append(shape)
        return shape.size

    for rate in (0.1, 0.2):
        program(Shape(metric=Learnt(rate=rate)))
    assert len(traces) == 1
    program(Shape(metric=Learnt(window=3)))
    program(Shape())
    assert len(traces) == 3


def test_an_old_name_suggests_the_new_one():
    @settings
    class New:
        num_steps: int = static_int(default=1, doc="steps")

    registry = Registry("thing", "fgtsva.none")
    registry.register("new", New)
    with pytest.raises(InputError, match=r"no setting 'steps' \(did you mean 'num_steps'\?\)"):
        registry.build("new", {"steps": 2})
    assert dataclasses.replace(New(), num_steps=2) == registry.build("new", {"num_steps": 2})
