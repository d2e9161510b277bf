"""The baselines' pseudo-code in plain NumPy, line by line, with every datum stored.

Independent of the package: inverses instead of roots, sums over stored rounds instead of statistics.
"""

from dataclasses import dataclass, field

import numpy as np


def best(values: np.ndarray) -> int:
    """The first of the maxima up to rounding, e.g. of unit vectors under a multiple of the identity."""
    return int(np.flatnonzero(values >= values.max() - 1e-9 * np.abs(values).max())[0])


@dataclass
class Datum:
    action: np.ndarray
    reward: float
    weight: float


def regression(data: list[Datum], lam: float, dim: int) -> tuple[np.ndarray, np.ndarray]:
    sigma, b = lam * np.eye(dim), np.zeros(dim)
    for datum in data:
        sigma = sigma + datum.weight * np.outer(datum.action, datum.action)
        b = b + datum.weight * datum.reward * datum.action
    return sigma, np.linalg.inv(sigma) @ b


def norms(arms: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    inverse = np.linalg.inv(sigma)
    return np.array([np.sqrt(a @ inverse @ a) for a in arms])


@dataclass
class OFUL:
    R: float
    delta: float
    lam: float = 1.0
    S: float = 1.0
    radius: float = 1.0
    data: list[Datum] = field(default_factory=list)

    def act(self, arms: np.ndarray, sigma: float, draw: np.ndarray) -> int:
        d = arms.shape[1]
        V, theta = regression(self.data, self.lam, d)
        log_det = np.log(np.linalg.det(V)) - d * np.log(self.lam)
        beta = self.R * np.sqrt(log_det + 2 * np.log(1 / self.delta)) + np.sqrt(self.lam) * self.S
        return best(arms @ theta + self.radius * beta * norms(arms, V))

    def update(self, arms: np.ndarray, sigma: float, arm: int, reward: float) -> None:
        self.data.append(Datum(arms[arm], reward, 1.0))


@dataclass
class LinTS(OFUL):
    def act(self, arms: np.ndarray, sigma: float, draw: np.ndarray) -> int:
        d = arms.shape[1]
        V, theta = regression(self.data, self.lam, d)
        t = len(self.data) + 1
        v = self.radius * self.R * np.sqrt(9 * d * np.log(t / self.delta))
        return best(arms @ (theta + v * root(V) @ draw))


def root(sigma: np.ndarray) -> np.ndarray:
    """The root that turns a standard normal vector into a draw; its choice fixes which draw."""
    return np.linalg.inv(np.linalg.cholesky(sigma)).T


@dataclass
class WeightedOFUL:
    R: float
    delta: float
    alpha: float
    gamma: float  # 0: no floor
    bound: str
    samples: bool = False  # LinNATS
    lam: float = 1.0
    B: float = 1.0
    A: float = 1.0
    radius: float = 1.0
    data: list[Datum] = field(default_factory=list)
    betas: list[float] = field(default_factory=list)

    def act(self, arms: np.ndarray, sigma: float, draw: np.ndarray) -> int:
        d, k = arms.shape[1], len(self.data) + 1
        Sigma, theta = regression(self.data, self.lam, d)
        if self.bound == "bernstein":
            log = np.log(32 * (np.log(self.gamma**2 / self.alpha) + 1) * k**2 / self.delta)
            beta = 12 * np.sqrt(d * np.log(1 + k * self.A**2 / (self.alpha**2 * d * self.lam)) * log)
            beta += 30 * log * self.R / self.gamma**2
        else:
            log_det = np.log(np.linalg.det(Sigma)) - d * np.log(self.lam)
            beta = np.sqrt(log_det + 2 * np.log(1 / self.delta))
        beta = self.radius * (beta + np.sqrt(self.lam) * self.B)
        self.betas.append(beta)
        if self.samples:
            return best(arms @ (theta + beta * root(Sigma) @ draw))
        return best(arms @ theta + beta * norms(arms, Sigma))

    def update(self, arms: np.ndarray, sigma: float, arm: int, reward: float) -> None:
        before, _ = regression(self.data, self.lam, arms.shape[1])
        norm = norms(arms, before)[arm]
        sbar = max(sigma, self.alpha, self.gamma * norm**0.5)
        self.data.append(Datum(arms[arm], reward, 1 / sbar**2))


@dataclass
class SAVE:
    R: float
    delta: float
    alpha: float
    L: int
    threshold: float = 64.0
    radius: float = 1.0
    constant: float | None = None  # the practical beta
    explore: str = "ucb"
    k: int = 1
    psi: dict[int, list[Datum]] = field(default_factory=dict)
    beta: dict[int, float] = field(default_factory=dict)
    branches: list[str] = field(default_factory=list)
    eliminated: int = 0

    def __post_init__(self) -> None:
        for layer in range(1, self.L + 1):
            self.psi[layer] = []
            self.beta[layer] = 2.0 ** (-layer + 1) if self.constant is None else self.constant

    def regression(self, layer: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
        return regression(self.psi[layer], 2.0 ** (-2 * layer), dim)

    def act(self, arms: np.ndarray, sigma: float, draw: np.ndarray) -> int:
        alive, layer = list(range(len(arms))), 1
        while True:
            Sigma, theta = self.regression(layer, arms.shape[1])
            n, means, beta = norms(arms, Sigma), arms @ theta, self.radius * self.beta[layer]
            self.layer = layer
            values = means + beta * n
            if self.explore == "draw":
                values = arms @ (theta + beta * root(Sigma) @ draw)
            if all(n[a] <= self.alpha for a in alive) or (
                layer == self.L and all(n[a] <= 2.0**-layer for a in alive)
            ):
                self.branches.append("exploit")
                return alive[best(values[alive])]
            if all(n[a] <= 2.0**-layer for a in alive):
                top = max(means[a] for a in alive)
                left = [a for a in alive if means[a] >= top - 2.0 ** (-layer + 1) * beta]
                self.eliminated += len(alive) - len(left)
                alive, layer = left, layer + 1
                continue
            self.branches.append("explore")
            choice = {"widest": n, "uniform": draw}.get(self.explore, values)
            uncertain = [a for a in alive if n[a] > 2.0**-layer]
            return uncertain[best(choice[uncertain])]

    def update(self, arms: np.ndarray, sigma: float, arm: int, reward: float) -> None:
        k, layer, d = self.k, self.layer, arms.shape[1]
        self.k += 1
        if self.branches[-1] == "exploit":
            return
        Sigma, _ = self.regression(layer, d)
        w = 2.0**-layer / norms(arms, Sigma)[arm]
        self.psi[layer].append(Datum(arms[arm], reward, w**2))
        if self.constant is not None:
            return
        log_k = np.log(4 * k**2 * self.L / self.delta)
        log_next = np.log(4 * (k + 1) ** 2 * self.L / self.delta)
        if 2.0**layer >= self.threshold * np.sqrt(log_next):
            _, theta = self.regression(layer, d)
            var = sum(i.weight * (i.reward - theta @ i.action) ** 2 for i in self.psi[layer])
        else:
            var = self.R**2 * len(self.psi[layer])
        inner = (8 * var + 6 * self.R**2 * log_next + 2.0 ** (-2 * layer + 4)) * log_k
        self.beta[layer] = (
            16 * 2.0**-layer * np.sqrt(inner) + 6 * 2.0**-layer * self.R * log_k + 2.0 ** (-layer + 1)
        )
