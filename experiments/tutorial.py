"""One round of Thompson sampling, by hand.

A script with cells: run it as a whole (`python -m experiments.tutorial`), or cell by cell in an editor that knows
`# %%`. It goes through one round of a bandit with two parameters, so that the posterior can be drawn: its log-density,
exact draws, the chains of four samplers, and the action probabilities of each. The last cell simulates a thousand
rounds. The figures are written to the folder `tutorial`.
"""

# %% Environment, posterior and samplers
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float

import fgtsva_ppl as fg
from experiments.figures.style import look, plain_numbers, style
from samplers import Sampler

FOLDER = Path("tutorial")
FOLDER.mkdir(exist_ok=True)
ROUNDS, DRAWS, SHOWN = 1000, 2000, 300

environment = fg.Sparse(dim=2, p=0.5)  # four arms, the corners of a square; every second round is noisy
posterior = fg.FGTSVA(c=0.003)  # the paper's c: early on the feel-good term gives every promising arm a mode
samplers_compared: dict[str, Sampler] = {
    "sgld": fg.SGLD(),
    "mala": fg.MALA(),
    "hmc": fg.HMC(),
    "nuts": fg.NUTS(),
}
with_more_steps: dict[str, Sampler] = {  # twenty times their steps
    "sgld": fg.SGLD(num_steps=400), "mala": fg.MALA(num_steps=400),
    "hmc": fg.HMC(num_steps=100), "nuts": fg.NUTS(num_steps=100),
}  # fmt: skip
agent = fg.Thompson(posterior=posterior, sampler=fg.Exact()).for_horizon(ROUNDS)

# %% A few rounds, with the loop written out
# `round` returns what is revealed (the features of all arms, sigma_t) and the reward of every arm. The agent's state
# holds the history, for linear rewards as sufficient statistics, and the state of its sampler.
key = jax.random.key(1)
instance = environment.start(key)
state = agent.start(key, environment.shape)
act, update = jax.jit(agent.act), jax.jit(agent.update)
for t in range(3):
    round_key, agent_key = jax.random.split(jax.random.fold_in(key, t))
    seen, outcome = environment.round(round_key, instance, jnp.asarray(t))
    embedded = agent.embed(seen)
    state, arm, _ = act(agent_key, state, embedded)
    reward = outcome.rewards[arm]
    regret = jnp.max(outcome.means) - outcome.means[arm]
    print(f"round {t + 1}: sigma {seen.sigma:.0f}, arm {arm}, reward {reward:+.2f}, regret {regret:.2f}")
    last_target = agent.target(state, embedded)
    state = update(state, embedded, arm, reward)

# %% The posterior of the next round: log-density and exact draws
# One sum of squares, each datum weighted by 1 / max(sigma_t, alpha)^2, a Gaussian prior, and lambda_t max_a <a, theta>.
seen, _ = environment.round(jax.random.fold_in(key, 10), instance, jnp.asarray(3))
embedded = agent.embed(seen)
target = agent.target(state, embedded)
exact, again = (
    np.asarray(agent.sampler.trace(jax.random.key(seed), target, state.sampler, DRAWS).position)
    for seed in (2, 6)
)

# %% Four samplers
# Each starts at the last round's draw; the trace is its chain, of which the agent would use one position. A chain
# reaches the modes near its start: a mode without points is due to the start as much as to the sampler.
start = state.sampler.position
points = {"exact": exact[:SHOWN]}
for name, sampler in samplers_compared.items():
    initial = sampler.init(jax.random.key(3), lambda _: start)
    walk = jax.jit(lambda k, s=sampler, b=initial: s.trace(k, target, b, SHOWN).position)
    points[name] = np.asarray(walk(jax.random.key(4)))

# The log-density on a grid. A mode is a grid point that is not below any of its eight neighbours.
everything = np.concatenate(list(points.values()))
low, high = everything.min(0), everything.max(0)
margin = 0.1 * (high - low)
sides = [np.linspace(a, b, 161) for a, b in zip(low - margin, high + margin, strict=True)]
height = np.asarray(jax.jit(jax.vmap(jax.vmap(target.logdensity)))(np.stack(np.meshgrid(*sides), axis=-1)))
levels = height.max() - np.array([30.0, 20.0, 12.0, 8.0, 5.0, 3.0, 1.5, 0.5])
around = np.stack([np.roll(height, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)])
peaks = (height == around.max(0))[1:-1, 1:-1] & (height > levels[0])[1:-1, 1:-1]
modes = np.array([(sides[0][x + 1], sides[1][y + 1]) for y, x in np.argwhere(peaks)])
print(f"{len(modes)} modes: " + ", ".join(f"({x:.2f}, {y:.2f})" for x, y in modes))

with style():
    figure, panels = plt.subplots(2, 3, figsize=(9, 6), sharex=True, sharey=True)
    for panel, (name, shown) in zip(panels.flat, points.items(), strict=False):
        panel.contour(*sides, height, levels=levels, colors="0.75", linewidths=0.8, linestyles="solid")
        if name != "exact":
            panel.plot(*shown[:60].T, "-", linewidth=0.8, color=look(name)["color"])
        panel.plot(*shown.T, ".", markersize=3, color=look(name)["color"])
        panel.plot(*modes.T, "x", color="red", markersize=8, markeredgewidth=2)
        panel.set(title=name, xlim=sides[0][[0, -1]], ylim=sides[1][[0, -1]])
    panels[1, 2].set_axis_off()
    panels[1, 2].plot([], [], "x", color="red", markersize=8, markeredgewidth=2, label="mode")
    panels[1, 2].plot([], [], "-", color="0.75", label="log-density")
    panels[1, 2].plot([], [], ".", color="0.4", label="draws")
    panels[1, 2].legend(loc="center")
    figure.supxlabel(r"$\theta_1$")
    figure.supylabel(r"$\theta_2$")
    figure.savefig(FOLDER / "one_round.png")
    plt.close(figure)

# %% Action probabilities
# A draw is used only to pick an arm. Many replicas of the round start from exact draws of the last round's posterior,
# so that a difference from exact draws is the error of this round and not an effect of one start. A second set of exact
# draws gives the Monte Carlo floor. All samplers spend about 20 gradients per round: HMC and NUTS on few long
# trajectories, MALA and SGLD on many short steps, which here cross between modes more often. With twenty times the
# steps all of them come down to the floor.
best = jax.jit(jax.vmap(lambda position: agent.best(position, embedded)))
arms = environment.shape.arms
starts = agent.sampler.trace(jax.random.key(7), last_target, state.sampler, DRAWS).position


def action_probabilities(positions: Float[jax.Array | np.ndarray, "draws dim"]) -> Float[np.ndarray, " arms"]:
    """Share of the positions under which each arm is best."""
    return np.bincount(best(positions), minlength=arms) / DRAWS


def replicas(sampler: Sampler) -> Float[jax.Array, "draws dim"]:
    """The draw of a round, once from every start."""
    keys = jax.random.split(jax.random.key(5), DRAWS)
    one = jax.vmap(lambda k, at: sampler.sample(k, target, sampler.init(k, lambda _: at))[1].position)
    return jax.jit(one)(keys, starts)


def total_variation(p: Float[np.ndarray, " arms"]) -> float:
    """Total variation distance to the action probabilities of exact draws."""
    return float(np.abs(p - probabilities["exact"]).sum() / 2)


probabilities = {"exact": action_probabilities(exact)}
print(
    f"Total variation of a second set of exact draws, the floor: {total_variation(action_probabilities(again)):.3f}"
)
for name, sampler in samplers_compared.items():
    probabilities[name] = action_probabilities(replicas(sampler))
    far = (
        total_variation(probabilities[name]),
        total_variation(action_probabilities(replicas(with_more_steps[name]))),
    )
    print(f"{name:>6}: " + "  ".join(f"{p:.2f}" for p in probabilities[name]), end="   ")
    print(f"total variation to exact {far[0]:.3f}, with 20 times the steps {far[1]:.3f}")

with style():
    figure, panel = plt.subplots(figsize=(7, 3.4))
    for index, (name, share) in enumerate(probabilities.items()):
        panel.bar(np.arange(arms) + 0.16 * (index - 2), share, 0.15, label=name, color=look(name)["color"])
    panel.set_xticks(range(arms))
    panel.set_xlabel("arm")
    panel.set_ylabel("probability")
    panel.legend(ncols=5, loc="upper center", bbox_to_anchor=(0.5, 1.2))
    figure.savefig(FOLDER / "actions.png")
    plt.close(figure)

# %% A thousand rounds
# Every sampler meets the same truths, variances and noise: a difference is caused by the sampler alone.
with style():
    figure, panel = plt.subplots(figsize=(7, 3.8))
    for name, sampler in ({"exact": agent.sampler} | samplers_compared).items():
        simulation = fg.simulate(
            environment, fg.Thompson(posterior=posterior, sampler=sampler), rounds=ROUNDS, runs=20
        )
        curve = simulation.cumulative_regret.mean(axis=0)
        print(f"{name:>6}: regret {curve[-1]:.1f}, {simulation.num_gradients.mean():.0f} gradients a round")
        panel.plot(np.arange(1, ROUNDS + 1), curve, label=name, **look(name))
    panel.set(xlabel="round", ylabel="cumulative regret", yscale="log")
    plain_numbers(panel)
    panel.legend(ncols=5, loc="upper center", bbox_to_anchor=(0.5, 1.18))
    figure.savefig(FOLDER / "thousand_rounds.png")
    plt.close(figure)
