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
from experiments.style import look, style
from samplers import Sampler

FOLDER = Path("tutorial")
FOLDER.mkdir(exist_ok=True)
ROUNDS, DRAWS = 1000, 2000

world = fg.Sparse(dim=2, p=0.5)  # four arms, the corners of a square; every second round is noisy
posterior = fg.FGTSVA(c=0.003)  # the paper's c: early on the feel-good term gives every promising arm a mode
walkers: dict[str, Sampler] = {"sgld": fg.SGLD(), "mala": fg.MALA(), "hmc": fg.HMC(), "nuts": fg.NUTS()}
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
    seen, outcome = world.round(drawing, instance)
    state, arm, _ = act(playing, state, seen)
    reward = outcome.means[arm] + outcome.noise
    regret = jnp.max(outcome.means) - outcome.means[arm]
    print(f"round {t + 1}: sigma {seen.sigma:.0f}, arm {arm}, reward {reward:+.2f}, regret {regret:.2f}")
    state = update(state, seen, arm, reward)

# %% The posterior of the next round: log-density and exact draws
# One sum of squares, each datum weighted by 1 / max(sigma_t, alpha)^2, a Gaussian prior, and lambda_t max_a <a, theta>.
seen, _ = world.round(jax.random.fold_in(key, 10), instance)
target = agent.target(state, seen)
exact = np.asarray(agent.sampler.trace(jax.random.key(2), target, state.sampler, DRAWS).position)

centre, reach = exact.mean(0), 4 * exact.std(0)
axes_of = [np.linspace(centre[i] - reach[i], centre[i] + reach[i], 121) for i in range(2)]
grid = np.stack(np.meshgrid(*axes_of), axis=-1)
height = np.asarray(jax.jit(jax.vmap(jax.vmap(target.logdensity)))(grid))
levels = height.max() - np.array([12.0, 9.0, 6.0, 4.0, 2.5, 1.5, 0.7, 0.2])

# %% Four samplers on it
# Each starts where the last round ended; the trace is its chain, of which the agent would use one position.
start = agent.sampler.init(jax.random.key(3), lambda _: state.sampler.position).position
traces = {}
for name, sampler in walkers.items():
    begin = sampler.init(jax.random.key(3), lambda _: start)
    traces[name] = jax.jit(lambda k, s=sampler, b=begin: s.trace(k, target, b, DRAWS))(jax.random.key(4))

with style():
    figure, panels = plt.subplots(1, 5, figsize=(15, 3.4), sharex=True, sharey=True)
    for panel, name in zip(panels, ["exact", *walkers], strict=True):
        panel.contour(*axes_of, height, levels=levels, colors="0.75", linewidths=0.8, linestyles="solid")
        if name == "exact":
            panel.plot(*exact[:300].T, ".", color="black", markersize=3)
        else:
            path = np.asarray(traces[name].position)
            panel.plot(*path[:60].T, "-", linewidth=0.8, color=look(name)["color"])
            panel.plot(*path[:300].T, ".", markersize=3, color=look(name)["color"])
        panel.set_title(name)
        panel.set_xlabel(r"$\theta_1$")
    panels[0].set_ylabel(r"$\theta_2$")
    figure.savefig(FOLDER / "one_round.png")
    plt.close(figure)

# %% What they would play
# The only thing that a draw is for. Replicas of the round, each from its own key, as the agent would sample it.
best = jax.jit(jax.vmap(lambda position: agent.best(position, seen)))
arms = world.shape.arms
shares = {"exact": np.bincount(best(exact), minlength=arms) / DRAWS}
for name, sampler in walkers.items():
    begin = sampler.init(jax.random.key(3), lambda _: start)
    replica = jax.jit(jax.vmap(lambda k, s=sampler, b=begin: s.sample(k, target, b)[1].position))
    shares[name] = np.bincount(best(replica(jax.random.split(jax.random.key(5), 500))), minlength=arms) / 500
for name, share in shares.items():
    far = np.abs(share - shares["exact"]).sum() / 2
    print(f"{name:>6}: " + "  ".join(f"{p:.2f}" for p in share) + f"   total variation to exact {far:.2f}")

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
        print(f"{name:>6}: regret {curve[-1]:.1f}, {played.gradients.mean():.0f} gradients a round")
        panel.plot(np.arange(1, ROUNDS + 1), curve, label=name, **look(name))
    panel.set_xscale("log")
    panel.set_xlabel("round")
    panel.set_ylabel("cumulative regret")
    panel.legend()
    figure.savefig(FOLDER / "thousand_rounds.png")
    plt.close(figure)
