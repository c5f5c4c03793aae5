"""The policy: torque = limit · tanh(weights · features).

What is right for (θ, ω) is right, mirrored, for (-θ, -ω). So the features are the terms up to third
order in cos θ, sin θ and ω that change their sign with the mirror image.
"""

from __future__ import annotations

import numpy as np
import pendulum

WEIGHTS = 8


def features(angle: np.ndarray, speed: np.ndarray) -> np.ndarray:
    c, s, w = np.cos(angle), np.sin(angle), speed / pendulum.MAX_SPEED
    return np.stack([s, w, s * c, w * c, s * c * c, w * c * c, s * w * w, w * w * w], axis=1)


def torques(weights: np.ndarray, angle: np.ndarray, speed: np.ndarray) -> np.ndarray:
    """What each policy (a row of `weights`) does in each of its situations (its row)."""
    wanted = np.einsum("pf,pfe->pe", weights, features(angle, speed))
    return pendulum.MAX_TORQUE * np.tanh(wanted)


def returns(weights: np.ndarray, episodes: int, random: np.random.Generator) -> np.ndarray:
    """The mean return of each policy over `episodes` starts, the same for all of them."""
    angle, speed = (
        np.repeat(start[None, :], len(weights), axis=0)
        for start in pendulum.starts(episodes, random)
    )
    total = np.zeros_like(angle)
    for _ in range(pendulum.STEPS):
        angle, speed, reward = pendulum.step(angle, speed, torques(weights, angle, speed))
        total += reward
    return total.mean(axis=1)
