"""One round of Thompson sampling, by hand.

A script with cells: run it as a whole (`python -m experiments.tutorial`), or cell by cell in an editor that knows
`# %%`. It goes through one round of a bandit with two coordinates, so that the posterior can be looked at: its
log-density, exact draws from it, four samplers walking on it, and the probabilities with which each of them would play
the arms. The last cell plays a thousand rounds. The figures go to the folder `tutorial`.
"""

# %% What plays against what
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import fgtsva_ppl as fg
from experiments.figures.style import look, plain_numbers, style
from samplers import Sampler

FOLDER = Path("tutorial")
FOLDER.mkdir(exist_ok=True)
ROUNDS, DRAWS, SHOWN = 1000, 2000, 300

world = fg.Sparse(dim=2, p=0.5)  # four arms, the corners of a square; every second round is noisy
posterior = fg.FGTSVA(c=0.003)  # the paper's c: early on the feel-good term gives every promising arm a mode
walkers: dict[str, Sampler] = {"sgld": fg.SGLD(), "mala": fg.MALA(), "hmc": fg.HMC(), "nuts": fg.NUTS()}
longer: dict[str, Sampler] = {  # twenty times their steps
    "sgld": fg.SGLD(num_steps=400), "mala": fg.MALA(num_steps=400),
    "hmc": fg.HMC(num_steps=100), "nuts": fg.NUTS(num_steps=100),
}  # fmt: skip
agent = fg.Thompson(posterior=posterior, sampler=fg.Exact()).for_horizon(ROUNDS)

# %% A few rounds, with the loop written out
# `round` says what is revealed (features of all arms, sigma_t) and what each arm would answer. The agent's state holds
# the data, for linear rewards as sums, and where its sampler stands.
key = jax.random.key(1)
instance = world.start(key)
state = agent.start(key, world.shape)
act, update = jax.jit(agent.act), jax.jit(agent.update)
for t in range(3):
    drawing, playing = jax.random.split(jax.random.fold_in(key, t))
    seen, outcome = world.round(drawing, instance, jnp.asarray(t))
    embedded = agent.embed(seen)
    state, arm, _ = act(playing, state, embedded)
    reward = outcome.means[arm] + outcome.noise
    regret = jnp.max(outcome.means) - outcome.means[arm]
    print(f"round {t + 1}: sigma {seen.sigma:.0f}, arm {arm}, reward {reward:+.2f}, regret {regret:.2f}")
    last_target = agent.target(state, embedded)
    state = update(state, embedded, arm, reward)

# %% The posterior of the next round: log-density and exact draws
# One sum of squares, each datum weighted by 1 / max(sigma_t, alpha)^2, a Gaussian prior, and lambda_t max_a <a, theta>.
seen, _ = world.round(jax.random.fold_in(key, 10), instance, jnp.asarray(3))
embedded = agent.embed(seen)
target = agent.target(state, embedded)
exact, again = (
    np.asarray(agent.sampler.trace(jax.random.key(seed), target, state.sampler, DRAWS).position)
    for seed in (2, 6)
)

# %% Four samplers on it
# Each starts where the last round ended; the trace is its chain, of which the agent would use one position. From one
# start a chain sees the modes that it can walk to: a mode without points is the start's doing as much as the sampler's.
start = state.sampler.position
points = {"exact": exact[:SHOWN]}
for name, sampler in walkers.items():
    begin = sampler.init(jax.random.key(3), lambda _: start)
    walk = jax.jit(lambda k, s=sampler, b=begin: s.trace(k, target, b, SHOWN).position)
    points[name] = np.asarray(walk(jax.random.key(4)))

# Log-density over all that is shown. A mode is a place of the grid that none of its eight neighbours is above.
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

# %% What they would play
# The only thing that a draw is for. Many replicas of the round, each from its own start: an exact draw from the last
# round's posterior, where a sampler that made no error would stand. So what differs from exact draws is the error of
# this round, not the luck of one start. Exact draws made again differ too: that is the floor, below which nobody can
# be seen to be closer. A round is about 20 gradients for everyone. HMC and NUTS spend them on few long steps, MALA and
# SGLD on many short ones, and to go from mode to mode takes many tries: here the many are closer. It is a matter of the
# budget: with twenty times the steps all come down to the floor.
best = jax.jit(jax.vmap(lambda position: agent.best(position, embedded)))
arms = world.shape.arms
starts = agent.sampler.trace(jax.random.key(7), last_target, state.sampler, DRAWS).position


def share_of(positions: jax.Array | np.ndarray) -> np.ndarray:
    """How often each arm is the best one."""
    return np.bincount(best(positions), minlength=arms) / DRAWS


def replicas(sampler: Sampler) -> jax.Array:
    """Where a round ends, from every start."""
    keys = jax.random.split(jax.random.key(5), DRAWS)
    one = jax.vmap(lambda k, at: sampler.sample(k, target, sampler.init(k, lambda _: at))[1].position)
    return jax.jit(one)(keys, starts)


def distance(share: np.ndarray) -> float:
    """Total variation to what exact draws play."""
    return float(np.abs(share - shares["exact"]).sum() / 2)


shares = {"exact": share_of(exact)}
print(f"Total variation of exact draws made again, the floor: {distance(share_of(again)):.3f}")
for name, sampler in walkers.items():
    shares[name] = share_of(replicas(sampler))
    far = distance(shares[name]), distance(share_of(replicas(longer[name])))
    print(f"{name:>6}: " + "  ".join(f"{p:.2f}" for p in shares[name]), end="   ")
    print(f"total variation to exact {far[0]:.3f}, with 20 times the steps {far[1]:.3f}")

with style():
    figure, panel = plt.subplots(figsize=(7, 3.4))
    for index, (name, share) in enumerate(shares.items()):
        panel.bar(np.arange(arms) + 0.16 * (index - 2), share, 0.15, label=name, color=look(name)["color"])
    panel.set_xticks(range(arms))
    panel.set_xlabel("arm")
    panel.set_ylabel("probability")
    panel.legend(ncols=5, loc="upper center", bbox_to_anchor=(0.5, 1.2))
    figure.savefig(FOLDER / "actions.png")
    plt.close(figure)

# %% A thousand rounds
# The same truths, variances and noise for every sampler: a difference is the sampler's doing.
with style():
    figure, panel = plt.subplots(figsize=(7, 3.8))
    for name, sampler in ({"exact": agent.sampler} | walkers).items():
        played = fg.simulate(world, fg.Thompson(posterior=posterior, sampler=sampler), rounds=ROUNDS, runs=20)
        curve = played.cumulative_regret.mean(axis=0)
        print(f"{name:>6}: regret {curve[-1]:.1f}, {played.num_gradients.mean():.0f} gradients a round")
        panel.plot(np.arange(1, ROUNDS + 1), curve, label=name, **look(name))
    panel.set(xlabel="round", ylabel="cumulative regret", yscale="log")
    plain_numbers(panel)
    panel.legend(ncols=5, loc="upper center", bbox_to_anchor=(0.5, 1.18))
    figure.savefig(FOLDER / "thousand_rounds.png")
    plt.close(figure)
