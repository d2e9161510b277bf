"""Your own sampler, reward and data, in fifteen minutes.

A script with cells: run it as a whole (`python -m experiments.extend`), or cell by cell in an editor that knows
`# %%`. It adds a BlackJAX kernel as a sampler, a NumPyro program as a reward, and a table of your own as a bandit, and
compares each with what is there already, under the same random numbers.
"""

# %% Imports
from pathlib import Path

import blackjax
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import Float

import fgtsva_ppl as fg
import samplers
from experiments.figures.style import style
from fgtsva_ppl.agents.baselines import EpsilonGreedy, Uniform
from fgtsva_ppl.environments import LogisticBandit, TableBandit
from samplers.adaptation.preconditioning import Preconditioned
from samplers.from_blackjax import Algorithm

ROUNDS, RUNS = 500, 20


def final_regret(environment: fg.Environment, agent: fg.Agent) -> Float[np.ndarray, " runs"]:
    """Regret of each run at the end; run i of every agent meets the same truth, contexts and noise."""
    return fg.simulate(environment, agent, rounds=ROUNDS, runs=RUNS, seed=0).cumulative_regret[:, -1]


def show_gap(name: str, regret: Float[np.ndarray, " runs"], reference: Float[np.ndarray, " runs"]) -> None:
    """Prints the mean regret, and its paired difference to a reference with two standard errors."""
    gap = regret - reference
    print(
        f"{name:>16}: regret {regret.mean():7.2f}, gap {gap.mean():+7.2f} ± {2 * gap.std() / RUNS**0.5:.2f}"
    )


# %% Your sampler
# Any pair of `init` and `step` will do. Preconditioner, step size rule and adaptation come with it. Here it is
# BlackJAX's multinomial HMC, which is not registered.


def build(target: Preconditioned, step_size: Float[jax.Array, ""]) -> Algorithm:
    """The algorithm on a preconditioned target."""
    return blackjax.multinomial_hmc(target.logdensity, step_size, jnp.ones(target.dim), 4)


MultinomialHMC = samplers.from_blackjax(build, num_steps=5, step_size=0.5, num_gradients=4)
sparse = fg.Sparse(p=0.1)
exact = final_regret(sparse, fg.Thompson(sampler=fg.Exact()))
for name, sampler in {"exact": fg.Exact(), "multinomial_hmc": MultinomialHMC(), "sgld": fg.SGLD()}.items():
    show_gap(name, final_regret(sparse, fg.Thompson(sampler=sampler)), exact)

# %% Your reward
# A NumPyro program samples parameters and returns a function from features to mean rewards. Rewards are 0 or 1 here, so
# the data speak through a Bernoulli likelihood.


def click_rate(dim: int):  # type: ignore[no-untyped-def]
    """A logistic regression with an unknown base rate."""
    base = numpyro.sample("base", dist.Normal(0, 1))
    taste = numpyro.sample("taste", dist.Normal(0, 3).expand([dim]).to_event(1))
    return lambda features: jax.nn.sigmoid(base + features @ taste)


clicks = LogisticBandit(rewards="bernoulli")
uniform = final_regret(clicks, Uniform())
for name, agent in {
    "uniform": Uniform(),
    "epsilon_greedy": EpsilonGreedy(),
    "click_rate": fg.Thompson(
        reward=click_rate, posterior=fg.TS(), likelihood=fg.Bernoulli(), sampler=fg.MALA()
    ),
}.items():
    show_gap(name, final_regret(clicks, agent), uniform)

# %% Your data
# A CSV file with a column to predict is a bandit: a row is a context, a class is an arm, and the right class pays 1.
rng = np.random.default_rng(0)
kinds = rng.integers(3, size=600)
measured = np.array([[0, 0], [2, 0], [0, 2]])[kinds] + rng.normal(size=(600, 2))
table = Path("flowers.csv")
table.write_text(
    "length,width,kind\n"
    + "\n".join(f"{a:.3f},{b:.3f},kind {k}" for (a, b), k in zip(measured, kinds, strict=True))
)
flowers = TableBandit(path=str(table.resolve()), label="kind")
uniform = final_regret(flowers, Uniform())
shown = {"uniform": Uniform(), "epsilon_greedy": EpsilonGreedy(), "thompson": fg.Thompson(sampler=fg.Exact())}
for name, agent in shown.items():
    show_gap(name, final_regret(flowers, agent), uniform)

# %% The same as a figure
with style():
    figure, panel = plt.subplots(figsize=(6, 3.2))
    for name, agent in shown.items():
        regret = fg.simulate(flowers, agent, rounds=ROUNDS, runs=RUNS).cumulative_regret
        panel.plot(np.arange(1, ROUNDS + 1), regret.mean(axis=0), label=name)
    panel.set(xlabel="round", ylabel="cumulative regret")
    panel.legend()
    figure.savefig("flowers.png")
    plt.close(figure)

# %% On the command line
# `samplers.register("multinomial_hmc", MultinomialHMC)` and `fgtsva_ppl.REWARDS.register("click_rate", click_rate)`
# make both known to `fgtsva run` when your script ends with `experiments.cli.main()`; see README, "Extend it".
print("python my_samplers.py run sampler=exact,multinomial_hmc environment=sparse")
