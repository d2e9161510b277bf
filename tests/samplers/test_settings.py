"""Settings: what JAX traces, what it compiles, and how errors are reported."""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fgtsva_ppl import AGENTS, ENVIRONMENTS, POSTERIORS, REWARDS, SAMPLERS, InputError
from samplers import PRECONDITIONERS, Dense, Diagonal, Identity, Registry
from samplers.settings import (
    choice,
    defaults,
    documentation,
    flag,
    nested,
    settings,
    static_int,
    traced_float,
    traced_int,
)

REGISTRIES = (SAMPLERS, ENVIRONMENTS, POSTERIORS, REWARDS, AGENTS)
MEMBERS = [
    pytest.param(registry, name, id=f"{registry.kind}-{name}")
    for registry in REGISTRIES
    for name in registry.names()
]


@settings
class Inner:
    rate: float = traced_float(default=1.0, gt=0, doc="a rate")


@settings
class Sample:
    kind: ClassVar[str] = "sample"

    rate: float = traced_float(default=0.5, gt=0, le=2, doc="a rate")
    floor: float | None = traced_float(default=None, ge=0, doc="a floor; null: derived")
    turns: int = traced_int(default=2, ge=1, doc="how often")
    steps: int = static_int(default=3, ge=1, le=9, doc="how many")
    mode: str = choice(default="slow", options=("slow", "fast"), aliases={True: "fast"}, doc="which")
    loud: bool = flag(default=False, doc="whether")
    inner: Inner = nested(default=Inner())


def test_only_floats_and_traced_ints_are_traced():
    leaves = jax.tree.leaves(Sample(rate=0.25, floor=0.75, turns=6, inner=Inner(7.0)))
    assert leaves == [0.25, 0.75, 6, 7.0]


@pytest.mark.parametrize("turns", [0, 1.5, True, "two", None, [1]])
def test_a_traced_int_is_a_whole_number(turns):
    with pytest.raises(InputError, match=r"^turns=.* must be a whole number, at least 1$"):
        Sample(turns=turns)


def test_changing_a_traced_int_does_not_recompile():
    traces = []

    @jax.jit
    def program(sample):
        traces.append(sample)
        return jax.lax.fori_loop(0, sample.turns, lambda _, x: x + sample.rate, 0.0)

    assert [program(Sample(turns=turns)) for turns in (1, 2, 5)] == [0.5, 1.0, 2.5]
    assert len(traces) == 1
    assert jax.eval_shape(program, Sample()).shape == ()


def test_a_derived_float_is_static_until_it_is_known():
    assert jax.tree.leaves(Sample()) == [0.5, 2, 1.0]
    assert jax.tree.structure(Sample()) != jax.tree.structure(Sample(floor=1.0))


@pytest.mark.parametrize("change", [{"steps": 4}, {"mode": "fast"}, {"loud": True}])
def test_everything_else_is_static(change):
    assert jax.tree.structure(Sample()) != jax.tree.structure(Sample(**change))


def test_floats_share_a_program_and_structure_does_not():
    traces = []

    @jax.jit
    def program(sample):
        traces.append(sample.steps)
        return sample.rate * sample.steps + sample.inner.rate

    assert program(Sample()) == 2.5
    assert program(Sample(rate=1.0, inner=Inner(2.0))) == 5.0
    assert traces == [3]
    assert program(Sample(steps=4)) == 3.0
    assert traces == [3, 4]


def test_floats_can_be_batched():
    batch = jax.tree.map(lambda low, high: jnp.linspace(low, high, 5), Sample(rate=0.1), Sample(rate=0.5))
    np.testing.assert_allclose(jax.vmap(lambda s: s.rate * s.steps)(batch), 3 * np.linspace(0.1, 0.5, 5))


@pytest.mark.parametrize("one", [1, np.int32(1), np.float32(1), np.float64(1)])
def test_a_whole_number_given_for_a_float_becomes_one(one):
    # else rate=1 and rate=1.0 would be two programs
    sample = Sample(rate=one)
    assert type(sample.rate) is float
    assert sample == Sample(rate=1.0)


def test_a_settings_object_is_frozen_and_hashable():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Sample().rate = 1.0
    assert hash(Sample()) == hash(Sample())
    assert Sample() != Sample(rate=1.0)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"rate": 0.0}, "rate=0.0 must be a number, above 0 and at most 2"),
        ({"rate": 2.5}, "rate=2.5 must be a number, above 0 and at most 2"),
        ({"rate": float("nan")}, "rate=nan must be a finite number, above 0 and at most 2"),
        ({"rate": "much"}, "rate='much' must be a number, above 0 and at most 2"),
        ({"rate": None}, "rate=None must be a number, above 0 and at most 2"),
        ({"rate": True}, "rate=True must be a number, above 0 and at most 2"),
        ({"rate": [0.1]}, "rate=[0.1] must be a number, above 0 and at most 2"),
        ({"floor": -1}, "floor=-1.0 must be a number, at least 0"),
        ({"floor": float("inf")}, "floor=inf must be a finite number, at least 0"),
        ({"steps": 0}, "steps=0 must be a whole number, at least 1 and at most 9"),
        ({"steps": 10}, "steps=10 must be a whole number, at least 1 and at most 9"),
        ({"steps": 2.0}, "steps=2.0 must be a whole number, at least 1 and at most 9"),
        ({"steps": True}, "steps=True must be a whole number, at least 1 and at most 9"),
        ({"steps": "2"}, "steps='2' must be a whole number, at least 1 and at most 9"),
        ({"mode": "fats"}, "mode='fats' is not one of: slow, fast (did you mean 'fast'?)"),
        ({"mode": "x"}, "mode='x' is not one of: slow, fast"),
        ({"mode": None}, "mode=None is not one of: slow, fast"),
        ({"mode": ["fast"]}, "mode=['fast'] is not one of: slow, fast (did you mean 'fast'?)"),
        ({"loud": 1}, "loud=1 must be true or false"),
        ({"loud": "yes"}, "loud='yes' must be true or false"),
    ],
)
def test_a_bad_value_is_reported_in_one_line_with_what_is_valid(bad, message):
    with pytest.raises(InputError) as error:
        Sample(**bad)
    assert str(error.value) == message


def test_closed_bounds_are_allowed():
    assert Sample(rate=2.0, floor=0.0, steps=1).rate == 2.0
    assert Sample(steps=9).steps == 9


def test_an_alias_is_replaced_by_its_option():
    assert Sample(mode=True) == Sample(mode="fast")


@pytest.mark.parametrize("preconditioner", [Dense(), Identity(), Diagonal()])
@pytest.mark.parametrize("name", ["sgld", "psgld", "mala", "hmc", "nuts"])
def test_a_preconditioner_is_given_by_name_or_as_an_object(name, preconditioner):
    by_name = PRECONDITIONERS.name_of(preconditioner)
    assert SAMPLERS.build(name, {"preconditioner": by_name}).preconditioner == preconditioner
    assert SAMPLERS[name](preconditioner=by_name) == SAMPLERS[name](preconditioner=preconditioner)


def test_smoothed_is_another_name_for_logsumexp():
    assert POSTERIORS.build("fgts_b", {"maximum": "smoothed"}).maximum == "logsumexp"


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
def test_an_unknown_name_lists_the_known_ones_and_suggests_the_nearest(registry):
    name = registry.names()[0]
    with pytest.raises(InputError) as error:
        registry.build(name + "x")
    assert f"did you mean {name!r}?" in str(error.value)
    assert "\n" not in str(error.value)
    for known in registry.names():
        assert known in str(error.value)


def test_transposed_letters_are_suggested_first():
    with pytest.raises(InputError, match="did you mean 'sgld'"):
        SAMPLERS.build("sgdl")


def test_an_unknown_key_lists_the_known_ones_and_suggests_the_nearest():
    with pytest.raises(InputError) as error:
        SAMPLERS.build("mala", {"num_step": 3})
    expected = "sampler 'mala' has no setting 'num_step' (did you mean 'num_steps'?); valid: num_steps, step_size, prec"
    assert str(error.value).startswith(expected)
    with pytest.raises(InputError, match="sampler 'exact' has no setting 'num_steps'; valid: none"):
        SAMPLERS.build("exact", {"num_steps": 3})


def test_message_for_an_invalid_value_names_the_member():
    with pytest.raises(InputError, match=r"^posterior 'fgts_va': c=-1.0 must be a number, at least 0$"):
        POSTERIORS.build("fgts_va", {"c": -1})


@pytest.mark.parametrize(
    ("registry", "name", "key", "value"),
    [
        (POSTERIORS, "fgts_va", "alpha", 0),
        (POSTERIORS, "fgts_va", "c", -0.1),
        (POSTERIORS, "fgts_va", "sharpness", 0),
        (POSTERIORS, "fgts_a", "lam", -1),
        (POSTERIORS, "ts", "eta", 0),
        (ENVIRONMENTS, "sparse", "p", 1.1),
        (ENVIRONMENTS, "sparse", "p", -0.1),
        (ENVIRONMENTS, "dense", "scale", -1),
        (ENVIRONMENTS, "sparse", "dim", 0),
        (ENVIRONMENTS, "sparse", "arms", -1),
        (ENVIRONMENTS, "contextual", "arms", 0),
        (SAMPLERS, "sgld", "num_steps", 0),
        (SAMPLERS, "hmc", "num_integration_steps", 0),
        (SAMPLERS, "nuts", "max_num_doublings", 13),
        (SAMPLERS, "mala", "step_size", 0),
        (REWARDS, "linear", "prior_scale", 0),
    ],
)
def test_values_out_of_range_are_rejected(registry, name, key, value):
    with pytest.raises(InputError, match=rf"^{registry.kind} '{name}': {key}=.* must be .*(at|above)"):
        registry.build(name, {key: value})


def test_a_registered_name_cannot_be_taken_again():
    registry = Registry("thing", "fgtsva.none")
    registry.register("a", Inner)
    registry.register("a", Inner)
    with pytest.raises(InputError, match="thing 'a' is registered already"):
        registry.register("a", Sample)
    assert registry.names() == ["a"]


@pytest.mark.parametrize(("registry", "name"), MEMBERS)
def test_every_member_is_built_by_its_defaults_and_documents_each(registry, name):
    cls = registry[name]
    assert cls.__doc__
    assert isinstance(hash(registry.build(name)), int)
    for key in defaults(cls):
        assert documentation(cls)[key], key


@pytest.mark.parametrize(("registry", "name"), MEMBERS)
def test_every_member_survives_flattening(registry, name):
    member = registry.build(name)
    leaves, structure = jax.tree.flatten(member)
    assert jax.tree.unflatten(structure, leaves) == member
    assert all(type(leaf) in (float, int) for leaf in leaves)
