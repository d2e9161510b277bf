"""Cost of a round whose truth drifts, whose reward is late, and whose posterior forgets, over one without these."""

from collections.abc import Callable
from functools import partial
from typing import Any

from experiments.bench.timing import Measure, at_most, fastest
from fgtsva_ppl import FGTSVA, SGLD, Contextual, Environment, Exact, Thompson, simulate
from fgtsva_ppl.drift import Walk, WithDrift
from fgtsva_ppl.feedback import Batched, Delayed, WithFeedback
from samplers import Sampler

PART = "moving"
LIMIT = 1.2
RUNS, TURNS = 50, 5
DELAY = 10
DISCOUNT = 0.99


def measure(quick: bool) -> list[Measure]:
    """Langevin steps and exact draws on `contextual`."""
    rounds = 100 if quick else 1000
    plain = Contextual(dim=5)
    environments: dict[str, Environment] = {
        "drift": WithDrift(plain, Walk()),
        "geometric delays": WithFeedback(plain, Delayed("geometric", DELAY, memory=6 * DELAY)),
        "constant delays": WithFeedback(plain, Delayed("constant", DELAY, memory=DELAY + 1)),
        "batches": WithFeedback(plain, Batched(DELAY)),
    }
    both = WithFeedback(environments["drift"], Delayed("constant", DELAY, memory=DELAY + 1))
    measures = []
    for name, sampler in (("20 Langevin steps", SGLD(num_steps=20)), ("exact draws", Exact())):
        works = {
            what: _play(environment, None, sampler, rounds) for what, environment in environments.items()
        }
        works["discount"] = _play(plain, DISCOUNT, sampler, rounds)
        works["drift, delays and discount"] = _play(both, DISCOUNT, sampler, rounds)
        works["without"] = _play(plain, None, sampler, rounds)
        for work in works.values():
            work()
        times = fastest(works, TURNS)
        without = times.pop("without")
        measures.append(
            Measure(
                PART, f"{name}: a round of {RUNS} runs without these", 1e6 * without.seconds / rounds, "us"
            )
        )
        for what, time in times.items():
            measures += [
                at_most(PART, f"{name}: {what} / without, clock", time.seconds / without.seconds, LIMIT),
                at_most(PART, f"{name}: {what} / without, all cores", time.cpu / without.cpu, LIMIT),
            ]
    return measures


def _play(
    environment: Environment, discount: float | None, sampler: Sampler, rounds: int
) -> Callable[[], Any]:
    agent = Thompson(posterior=FGTSVA(discount=discount), sampler=sampler)
    return partial(simulate, environment, agent, rounds=rounds, runs=RUNS, record_every=10)
