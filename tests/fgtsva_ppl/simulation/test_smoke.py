"""Two rounds of every sampler, environment and posterior that the registries know.

All triples are checked abstractly. The compiled and played ones cover all pairs: a sampler sees a log-density only.
Environments of one shape share a program, in which a number selects the environment.
"""

import itertools
from collections import defaultdict
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.played_rounds import OTHERS, STUDIED, quick_jit

from fgtsva_ppl import ENVIRONMENTS, POSTERIORS, SAMPLERS, InputError, Thompson
from fgtsva_ppl.simulation import check
from fgtsva_ppl.simulation.rounds import play_round, start_run
from fgtsva_ppl.types import Environment
from samplers.settings import settings, static, traced_float

SMALL = {"sparse": {"dim": 3}, "dense": {"dim": 3}, "deterministic": {"dim": 3}, "homoscedastic": {"dim": 3},
         "contextual": {"dim": 3, "arms": 8}, "finite": {"arms": 4},
         "arms": {"arms": 4}, "disjoint": {"arms": 4, "context_dim": 2},
         "cube": {"dim": 3, "arms": 5}}  # fmt: skip


@settings
class OneOf(Environment):
    """Several environments of the same shape behind one number."""

    members: tuple = static()
    which: float = traced_float(default=0.0, ge=0, doc="whose turn it is")

    @property
    def shape(self):
        return self.members[0].shape

    def start(self, key):
        return self._switch("start", key)

    def round(self, key, instance, t):
        return self._switch("round", key, instance, t)

    def _switch(self, what, *given):
        branches = [getattr(member, what) for member in self.members]
        return jax.lax.switch(jnp.asarray(self.which, int), branches, *given)


def groups():
    built = defaultdict(list)
    for name, values in SMALL.items():
        environment = ENVIRONMENTS.build(name, values)
        built[environment.shape].append((name, environment))
    return {"+".join(n for n, _ in group): tuple(e for _, e in group) for group in built.values()}


GROUPS = groups()
ALL = list(itertools.product(SAMPLERS.names(), POSTERIORS.names(), GROUPS))
# a bonus over many action sets has no oracle
REFUSED = {
    (sampler, "fgts_a", group) for sampler in ("exact", "control") for group in ("contextual", "disjoint")
}


def played():
    """Of the samplers of the paper's study all pairs with posteriors and with groups; of the others a triple each."""
    posteriors, groups = POSTERIORS.names(), list(GROUPS)
    for sampler in SAMPLERS.names():
        if sampler not in STUDIED:
            yield sampler, "fgts_a", "contextual"
            continue
        row = list(STUDIED).index(sampler)
        for column in range(max(len(posteriors), len(groups))):
            yield sampler, posteriors[column % len(posteriors)], groups[(row + column) % len(groups)]


PLAYED = [case for case in played() if case not in REFUSED]


def _marked(case):
    return case if case[0] in ("exact", "mala") else pytest.param(*case, marks=pytest.mark.slow)


@quick_jit
def two_rounds(environment, agent, key):
    carry = start_run(environment, agent, key)
    carry = carry._replace(agent=agent.grow(carry.agent, 2))
    carry, record = jax.lax.scan(partial(play_round, environment, agent, key), carry, jnp.arange(2))
    return carry.agent, record


def built(sampler, posterior):
    return Thompson(posterior=POSTERIORS.build(posterior), sampler=SAMPLERS.build(sampler))


@pytest.mark.parametrize(
    ("sampler", "posterior", "group"), [case for case in ALL if case[0] in ("exact", "mala")]
)
def test_invalid_combinations_are_known_before_simulating(sampler, posterior, group):
    if (sampler, posterior, group) in REFUSED:
        with pytest.raises(InputError, match="exact draws"):
            check(OneOf(GROUPS[group]), built(sampler, posterior), 2)
    else:
        check(OneOf(GROUPS[group]), built(sampler, posterior), 2)


@pytest.mark.parametrize(("sampler", "posterior", "group"), [_marked(case) for case in PLAYED])
def test_two_rounds(sampler, posterior, group):
    agent = built(sampler, posterior)
    for which, environment in enumerate(GROUPS[group]):
        for key in jax.random.split(jax.random.key(3), 2):
            state, record = two_rounds(OneOf(GROUPS[group], float(which)), agent.for_horizon(2), key)
            for leaf in jax.tree.leaves(state):
                assert np.all(np.isfinite(leaf))
            assert np.all(record.regret >= 0)
            assert np.all((record.action >= 0) & (record.action < environment.shape.arms))
            assert not np.any(record.info.num_resets)
            assert np.all(record.info.num_gradients >= 0)
            assert np.all(
                np.isnan(record.info.acceptance_rate) | (np.abs(record.info.acceptance_rate - 0.5) <= 0.5)
            )


def test_all_pairs_are_played():
    studied = [case for case in PLAYED if case[0] in STUDIED]
    for first, second in ((0, 1), (0, 2), (1, 2)):
        pairs = {(case[first], case[second]) for case in ALL if case[0] in STUDIED}
        missing = pairs - {(case[first], case[second]) for case in studied}
        assert missing <= {(case[first], case[second]) for case in REFUSED}


def test_every_environment_has_its_turn():
    linear = {name for name in ENVIRONMENTS.names() if name not in OTHERS}
    assert {name for group in GROUPS for name in group.split("+")} == linear
    for environments in GROUPS.values():
        # an environment that is one of several answers as it does alone
        for which, environment in enumerate(environments):
            key = jax.random.key(8)
            both = (environment, OneOf(environments, float(which)))
            ours, theirs = (e.round(key, e.start(key), jnp.asarray(0)) for e in both)
            jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-12, atol=1e-14), ours, theirs)
