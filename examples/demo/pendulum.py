"""The task: swing a pendulum up and keep it there, with a motor too weak to lift it at once.

A uniform rod of mass m and length l turns about one end, so its moment of inertia is m l²/3 and
gravity turns it with m g l/2 · sin(θ), where θ = 0 is upright. All functions work on arrays of any
shape, for many pendulums at once.
"""

from __future__ import annotations

import numpy as np

GRAVITY = 10.0
MASS = 1.0
LENGTH = 1.0
MAX_TORQUE = 2.0  # a static lift would need m g l/2 = 5
MAX_SPEED = 8.0
STEP_SECONDS = 0.05
STEPS = 200


def starts(count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Angles and speeds to start from: anywhere, nearly at rest."""
    return random.uniform(-np.pi, np.pi, count), random.uniform(-1.0, 1.0, count)


def step(
    angle: np.ndarray, speed: np.ndarray, torque: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One time step; returns the new angles and speeds, and the reward, which is 0 at its best."""
    off_upright = (angle + np.pi) % (2 * np.pi) - np.pi
    reward = -(off_upright**2 + 0.1 * speed**2 + 0.001 * torque**2)
    acceleration = 1.5 * GRAVITY / LENGTH * np.sin(angle) + 3.0 / (MASS * LENGTH**2) * torque
    # The new speed moves the angle (semi-implicit Euler), which keeps the energy bounded.
    speed = np.clip(speed + acceleration * STEP_SECONDS, -MAX_SPEED, MAX_SPEED)
    return angle + speed * STEP_SECONDS, speed, reward
