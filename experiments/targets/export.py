"""Plays the recorded runs and writes their posteriors with gradient check values and reference draws."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments.storage.files import write_atomically
from experiments.targets import read_targets
from experiments.targets.quadrature import METHOD, pooled_draws
from experiments.targets.reference import Reference, ReferenceDrawer, ReferenceSizes
from experiments.targets.sequences import Sequence, chosen
from experiments.targets.stored import StoredSequence
from fgtsva_ppl import ENVIRONMENTS, POSTERIORS, REWARDS, SAMPLERS, Thompson, simulate
from fgtsva_ppl.posteriors import posterior_target
from fgtsva_ppl.posteriors.history import ReplayBuffer
from fgtsva_ppl.simulation import ENVIRONMENT, reveal, run_keys
from samplers.settings import flatten

SEED = 0
NUM_CHECKS = 3
QUICK = ReferenceSizes(num_draws=500, num_chain_draws=400)
DENSITY = (
    "log p(x) = log prior(x) - loss(x) + bonus_scale max_a f(actions_a) + constant. With rows: loss = sum over the "
    "first num_rows rows of weights (rewards - f(features))^2. With sums: loss = c'gram c - 2 moment'c + square, where "
    "c are the coefficients of f. x has the sites in the order of `sites`, positive ones as logarithms; log prior(x) "
    "includes the logarithm of the Jacobian, which is the positive site's own x."
)
FUNCTIONS = {
    "linear": "f(a) = <theta, a>, c = theta; theta ~ N(0, prior_scale^2 I), null: prior_scale = 1/sqrt(size of theta)",
    "logistic": "f(a) = 1 / (1 + exp(-<theta, a>)); theta ~ N(0, prior_scale^2 I)",
    "hierarchical": "f(a) = <theta, a> + bias_a, c = (theta, bias), bias = bias_mean + bias_scale bias_standard; "
    "theta ~ N(0, prior_scale^2 I), null: prior_scale = 1/sqrt(size of theta); bias_mean ~ N(0, s^2), bias_scale ~ "
    "|N(0, s^2)| with s the setting bias_scale, bias_standard ~ N(0, I)",
    "mlp": "f(a) = tanh(a weights_0 + bias_0) weights_1 + bias_1, matrices in row-major order; weights_i ~ N(0, "
    "prior_scale^2 / rows), bias_i ~ N(0, prior_scale^2)",
}


def export(
    folder: Path,
    names: list[str] | None = None,
    *,
    quick: bool = False,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, str]:
    """Writes sequences of posteriors into a folder.

    Args:
        folder: Made if it does not exist. Gets NAME.nc and NAME.json per sequence, index.json, and read_targets.py.
        names: Which sequences; None for all, or for those of the quick size.
        quick: Fewer sequences and fewer reference draws.
        progress: Called with a line per sequence.

    Returns:
        The digest of each sequence; index.json has them too.
    """
    sequences = chosen(names, quick=quick)
    folder.mkdir(parents=True, exist_ok=True)
    digests = {}
    for name, sequence in sequences.items():
        stored = record(name, sequence, QUICK if quick else ReferenceSizes())
        digests[name] = stored.save(folder)
        kinds = ", ".join(str(one["kind"]) for one in stored.facts["references"])
        progress(f"{name}: {len(stored)} posteriors of {stored.size} parameters, references {kinds}")
    write_atomically(folder / "read_targets.py", Path(read_targets.__file__).read_bytes())
    index = {"sequences": {**_digests_of_others(folder), **digests}, "quick": quick, "seed": SEED}
    write_atomically(folder / "index.json", (json.dumps(index, indent=1, sort_keys=True) + "\n").encode())
    return digests


def _digests_of_others(folder: Path) -> dict[str, str]:
    """The digests of all sequences that the folder has already; one that cannot be read is left out."""
    found = {}
    for path in sorted(folder.glob("*.nc")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            found[path.stem] = json.loads(path.with_suffix(".json").read_text())["digest"]
    return found


def record(name: str, sequence: Sequence, sizes: ReferenceSizes) -> StoredSequence:
    """Plays one run and computes everything that is stored of it."""
    environment = ENVIRONMENTS.build(*sequence.environment)
    reward = REWARDS.build(*sequence.reward)
    posterior = POSTERIORS.build(*sequence.posterior)
    agent = Thompson(reward=reward, posterior=posterior, sampler=SAMPLERS.build(sequence.sampler))
    agent = agent.for_horizon(sequence.horizon)
    last = max(sequence.rounds)
    played = simulate(environment, agent, rounds=last, runs=1, seed=SEED, probes=sequence.rounds)
    key = run_keys(SEED, np.arange(1))[0]
    instance = environment.start(jax.random.fold_in(key, ENVIRONMENT))
    steps = [
        (
            jax.tree.map(lambda x: np.asarray(x[0]), snapshot.states.history),
            reveal(environment, key, instance, jnp.asarray(snapshot.round - 1))[0],
        )
        for snapshot in played.snapshots
    ]
    histories = [history for history, _ in steps]
    arrays: dict[str, np.ndarray] = {
        "round": np.array(sequence.rounds),
        "actions": np.stack([np.asarray(seen.actions) for _, seen in steps]),
        "sigma": np.stack([np.asarray(seen.sigma) for _, seen in steps]),
        "total_variance": np.stack([history.total_variance for history in histories]),
        "num_rows": np.stack([history.rounds for history in histories]),
    }
    arrays["bonus_scale"] = np.asarray(
        agent.posterior.bonus_scale(*(jnp.asarray(arrays[name]) for name in ("total_variance", "sigma")))
    )
    data = histories[-1].data
    if isinstance(data, ReplayBuffer):
        number = int(arrays["num_rows"][-1])
        arrays |= {field: np.asarray(getattr(data, field))[:number] for field in data._fields}
    else:
        arrays |= {f: np.stack([getattr(history.data, f) for history in histories]) for f in data._fields}
    facts: dict[str, Any] = {
        "title": sequence.title,
        "environment": [sequence.environment[0], dict(sequence.environment[1])],
        "reward": [sequence.reward[0], _plain(flatten(reward))],
        "posterior": [sequence.posterior[0], _plain(flatten(agent.posterior))],
        "compared": sequence.compared,
        "density": DENSITY,
        "function": FUNCTIONS[sequence.reward[0]],
    }
    draft = StoredSequence(name, arrays, facts)
    shapes = jax.eval_shape(draft.model.unravel, jax.ShapeDtypeStruct((draft.size,), float))
    facts["sites"] = [{"name": site, "shape": list(shapes[site].shape)} for site in sorted(shapes)]
    arrays = arrays | _metrics(draft)
    return _with_references(StoredSequence(name, arrays, facts), sizes)


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    return {key: value.item() if hasattr(value, "item") else value for key, value in settings.items()}


def _metrics(draft: StoredSequence) -> dict[str, np.ndarray]:
    """The matrix by which chains are preconditioned, at a mode, and log-density and gradient at draws of the prior."""

    def metric_of(arrays: Any, rows: Any) -> Any:
        target = posterior_target(draft.posterior, draft.model, *draft.history(arrays, rows))
        if target.metric is not None:
            return target.metric()
        assert target.precision is not None
        return target.precision(jnp.zeros(draft.size))

    def check(arrays: Any, rows: Any, positions: Any) -> Any:
        target = draft.target_from({**arrays, "metric": None}, rows)
        return jax.vmap(jax.value_and_grad(target.logdensity))(positions)

    positions = jax.vmap(draft.model.draw)(jax.random.split(jax.random.key(SEED), NUM_CHECKS))
    metric_program, check_program = jax.jit(metric_of), jax.jit(check)
    steps = [draft.at(step) for step in range(len(draft))]
    checks = [check_program(arrays, draft.rows, positions) for arrays in steps]
    values, gradients = (np.stack([np.asarray(check[i]) for check in checks]) for i in (0, 1))
    return {
        "metric": np.stack([np.asarray(metric_program(arrays, draft.rows)) for arrays in steps]),
        "check_positions": np.tile(np.asarray(positions), (len(draft), 1, 1)),
        "check_logdensity": values,
        "check_gradient": gradients,
    }


def _with_references(draft: StoredSequence, sizes: ReferenceSizes) -> StoredSequence:
    compared = None
    if draft.facts["compared"] == "rewards":

        def compared(arrays: Any, draws: Any) -> Any:
            return draft.rewards_of(arrays[0], draws)

    program = read_targets.Target(draft.facts, draft.arrays)
    drawer = ReferenceDrawer(
        lambda arrays: draft.target_from(*arrays), program, draft.model.draw, sizes, compared
    )
    references = [
        _pooled_reference(draft, step, sizes)
        if draft.facts["reward"][0] == "hierarchical"
        else drawer.draw(
            jax.random.fold_in(jax.random.key(SEED + 1), step), step, (draft.at(step), draft.rows)
        )
        for step in range(len(draft))
    ]
    arrays = {**draft.arrays, "reference": np.stack([one.draws for one in references])}
    facts = {**draft.facts, "references": [{"kind": one.kind, **one.facts} for one in references]}
    return StoredSequence(draft.name, arrays, facts)


def _pooled_reference(draft: StoredSequence, step: int, sizes: ReferenceSizes) -> Reference:
    """Exact draws where a scale is the only parameter that is not Gaussian given the others."""
    arrays = draft.arrays
    assert arrays["bonus_scale"][step] == 0
    draws = pooled_draws(
        np.random.default_rng([SEED, step]),
        draft.facts["reward"][1],
        arrays["gram"][step],
        arrays["moment"][step],
        arrays["actions"].shape[1],
        sizes.num_draws,
    )
    return Reference(draws, "exact", {"method": METHOD})
