"""The method: cross-entropy search over the weights of the policy."""

from __future__ import annotations

import numpy as np
import policy

EPISODES = 8  # per candidate
ELITE = 0.2  # the share of candidates that shapes the next round
INERTIA = 0.5  # the share of the old mean in the new one
SPREAD = 2.0  # standard deviation of the first round
EXPLORATION = 1.0  # added to the standard deviation at first, and then less and less ...
EXPLORING_ROUNDS = 30  # ... over so many rounds


def candidates(
    mean: np.ndarray, spread: np.ndarray, count: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draws policies around the mean, and tries them out: their weights and returns."""
    weights = mean + spread * random.standard_normal((count, policy.WEIGHTS))
    return weights, policy.returns(weights, EPISODES, random)


class Search:
    """Where the learner is: the distribution that the next candidates are drawn from."""

    def __init__(self) -> None:
        self.mean = np.zeros(policy.WEIGHTS)
        self.spread = np.full(policy.WEIGHTS, SPREAD)
        self.rounds = 0

    def update(self, weights: np.ndarray, returns: np.ndarray) -> None:
        """Moves the distribution towards the best of these candidates."""
        elite = weights[np.argsort(-returns)[: max(2, round(ELITE * len(weights)))]]
        exploration = EXPLORATION * max(0.0, 1.0 - self.rounds / EXPLORING_ROUNDS)
        self.mean = INERTIA * self.mean + (1 - INERTIA) * elite.mean(axis=0)
        self.spread = np.sqrt(elite.var(axis=0) + exploration**2)
        self.rounds += 1

    def evaluate(self) -> float:
        """The return of the mean policy, over starts that are always the same."""
        return float(policy.returns(self.mean[None, :], 32, np.random.default_rng(0))[0])
