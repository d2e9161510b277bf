"""The configuration of JAX that all tests rely on."""

import jax
import jax.numpy as jnp


def test_floats_have_64_bits():
    assert jnp.zeros(()).dtype == jnp.float64


def test_there_are_two_devices():
    assert len(jax.devices()) == 2
