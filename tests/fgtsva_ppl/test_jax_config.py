"""JAX's configuration: compiled programs do not pile up until the system's limit on memory maps kills the process."""

import jax
import jax.numpy as jnp
import pytest

from fgtsva_ppl import jax_config


@pytest.mark.skipif(not jax_config.memory_maps(), reason="the system does not list memory maps")
def test_programs_are_dropped_when_they_hold_too_many_memory_maps():
    programs = [jax.jit(lambda x, n=n: x * n + jnp.sin(n * x)) for n in range(10)]
    before = jax_config.memory_maps()
    values = [float(program(jnp.ones(3)).sum()) for program in programs]
    held = jax_config.memory_maps()
    assert held >= before + len(programs)
    assert not jax_config.release_programs(limit=held + 1000)
    assert jax_config.release_programs(limit=held)
    assert jax_config.memory_maps() <= held - len(programs)
    assert [float(program(jnp.ones(3)).sum()) for program in programs] == values
