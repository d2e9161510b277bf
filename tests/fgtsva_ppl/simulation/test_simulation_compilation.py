"""What the loop compiles, and what it rejects before compiling."""

import pytest
from helpers.played_rounds import PlainLinear

from fgtsva_ppl import (
    FGTSA,
    FGTSB,
    FGTSVA,
    MALA,
    PSGLD,
    TS,
    Contextual,
    Dense,
    Exact,
    InputError,
    Sparse,
    Thompson,
    simulate,
)
from fgtsva_ppl.simulation import check, play_rounds
from fgtsva_ppl.simulation.loop import MAX_CHUNK_ROUNDS, MIN_CHUNKS, chunk_length


def test_changing_numbers_does_not_recompile():
    def play(p=0.1, scale=1.0, c=0.003, alpha=0.2, step=1.0, steps=2, seed=0, first_run=0):
        agent = Thompson(posterior=FGTSVA(c=c, alpha=alpha), sampler=MALA(num_steps=steps, step_size=step))
        simulate(Sparse(dim=2, p=p, scale=scale), agent, rounds=8, runs=2, seed=seed, first_run=first_run)
        return play_rounds._cache_size()

    known = play()
    assert play(c=0.1) == known
    assert play(alpha=0.01) == known
    assert play(alpha=1) == known  # an integer is a number too
    assert play(step=0.1) == known
    assert play(steps=7) == known
    assert play(p=0.9, scale=3) == known
    assert play(seed=5, first_run=3) == known


def test_changing_numbers_of_posteriors_and_samplers_does_not_recompile():
    def play(lam, eta, step):
        agent = Thompson(posterior=FGTSB(lam=lam, eta=eta), sampler=PSGLD(num_steps=2, step_size=step))
        simulate(Dense(dim=2), agent, rounds=8, runs=2)
        return play_rounds._cache_size()

    known = play(1.0, 0.25, 0.1)
    assert play(3.0, 0.1, 0.2) == known


def test_changing_derived_numbers_does_not_recompile():
    def play(posterior):
        simulate(Sparse(dim=2), Thompson(posterior=posterior, sampler=MALA(num_steps=2)), rounds=8, runs=2)
        return play_rounds._cache_size()

    assert play(FGTSVA()) == play(FGTSVA(alpha=0.3))


def test_changing_structure_recompiles():
    """Negative control of the tests above."""

    def play(preconditioner):
        simulate(
            Sparse(dim=2),
            Thompson(sampler=MALA(num_steps=2, preconditioner=preconditioner)),
            rounds=8,
            runs=2,
        )
        return play_rounds._cache_size()

    assert play("dense") + 1 == play("none")


def test_chunks_of_a_run_share_one_program():
    known = play_rounds._cache_size()
    simulate(
        Sparse(dim=2, arms=3), Thompson(sampler=MALA(num_steps=5)), rounds=32, runs=2
    )  # as in no other test
    assert play_rounds._cache_size() == known + 1


def test_a_buffer_compiles_once_for_each_capacity():
    known = play_rounds._cache_size()
    agent = Thompson(PlainLinear(), sampler=MALA(num_steps=2))
    simulate(Sparse(dim=2, arms=3), agent, rounds=256, runs=2)  # as in no other test
    assert play_rounds._cache_size() == known + 3  # 64, 128, 256


def test_chunks_stay_short_in_long_runs():
    for rounds, record_every in (
        (1, 1),
        (32, 1),
        (1000, 1),
        (10**6, 1),
        (10**6, 1000),
        (10**6, 5000),
        (33, 11),
    ):
        length = chunk_length(rounds, record_every)
        assert length % record_every == 0
        assert length <= max(MAX_CHUNK_ROUNDS, record_every)
        assert (MIN_CHUNKS - 1) * length < rounds or length == record_every
    assert chunk_length(1000, 1) == 63


REFUSED = {
    "smoothed": (Sparse(), Exact(), FGTSVA(maximum="smoothed"), "sampler 'exact' has no exact draws"),
    "capped": (Sparse(), Exact(), FGTSVA(cap=1.0), "sampler 'exact' has no exact draws"),
    "past sets": (Contextual(), Exact(), FGTSA(), "sampler 'exact' has no exact draws"),
    "no cap": (
        Sparse(),
        MALA(),
        FGTSVA(maximum="softplus"),
        "maximum=softplus smooths the cap and needs one",
    ),
    "too many arms": (Sparse(arms=33), MALA(), FGTSVA(), "arms=33 must be at most"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_invalid_combinations_are_rejected_before_compiling(what):
    environment, sampler, posterior, message = REFUSED[what]
    agent = Thompson(posterior=posterior, sampler=sampler)
    known = play_rounds._cache_size()
    with pytest.raises(InputError) as error:
        check(environment, agent, 100)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert play_rounds._cache_size() == known


def test_valid_combinations_pass_the_check():
    for environment in (Sparse(), Contextual()):
        for posterior in (FGTSVA(), FGTSB(), TS()):
            check(environment, Thompson(posterior=posterior, sampler=Exact()), 100)
    check(Sparse(), Thompson(posterior=FGTSA(), sampler=Exact()), 100)
    check(Contextual(), Thompson(posterior=FGTSA(maximum="smoothed"), sampler=MALA()), 100)
