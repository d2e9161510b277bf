"""Settings of posteriors: what the horizon fills in, and what it leaves alone."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from fgtsva_ppl import FGTSA, FGTSB, FGTSVA, TS, InputError

FAMILY = {"ts": TS(eta=0.3), "fgts_a": FGTSA(lam=0.7), "fgts_b": FGTSB(lam=0.7), "fgts_va": FGTSVA(alpha=0.3)}


@pytest.mark.parametrize("rounds", [1, 2, 100, 10_000])
def test_for_horizon_fills_in_derived_settings(rounds):
    assert FGTSVA().for_horizon(rounds).alpha == pytest.approx(rounds**-0.5)
    assert FGTSB().for_horizon(rounds).lam == pytest.approx(rounds**0.5)
    effective = max(rounds, 2)
    assert FGTSA().for_horizon(rounds).lam == pytest.approx(np.sqrt(np.log(effective) / effective))
    assert TS().for_horizon(rounds) == TS()


@pytest.mark.parametrize("name", FAMILY)
def test_for_horizon_keeps_given_settings(name):
    posterior = replace(FAMILY[name], maximum="logsumexp", sharpness=3.0, cap=0.5)
    assert posterior.for_horizon(123) == posterior


@pytest.mark.parametrize(("posterior", "name"), [(FGTSVA(), "alpha"), (FGTSA(), "lam"), (FGTSB(), "lam")])
def test_a_missing_derived_setting_is_named(posterior, name):
    with pytest.raises(InputError, match=f"^{name} depends on the horizon"):
        posterior.bonus_scale(jnp.asarray(1.0), jnp.asarray(1.0))


def test_in_a_noiseless_round_the_floor_is_the_weight():
    assert FGTSVA(alpha=0.01).weight(jnp.asarray(0.0)) == pytest.approx(1e4)
    assert FGTSVA(alpha=0.01).weight(jnp.asarray(2.0)) == pytest.approx(0.25)
