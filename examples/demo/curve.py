"""The learning curve as a picture."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from learner import Round

INK, BLUE, ORANGE, RED = "#333333", "#2b6cb0", "#dd8a2e", "#c53030"


def save(
    rounds: list[Round], threshold: float, notes: list[tuple[int, str]], file: Path, title: str
) -> None:
    """Draws the mean policy, the candidates and the threshold; `notes` mark rounds."""
    number = [r.number for r in rounds]
    low, middle, high = np.array([np.percentile(r.returns, [10, 50, 90]) for r in rounds]).T
    best = np.maximum.accumulate([r.returns.max() for r in rounds])

    figure, axes = plt.subplots(figsize=(9, 5), dpi=150)
    axes.fill_between(
        number, low, high, color=BLUE, alpha=0.15, lw=0, label="candidates, 10th to 90th percentile"
    )
    axes.plot(number, middle, color=BLUE, alpha=0.45, lw=1, label="candidates, median")
    axes.plot(number, best, color=ORANGE, lw=1.2, label="best candidate so far")
    axes.plot(number, [r.value for r in rounds], color=BLUE, lw=2.2, label="mean policy")
    axes.axhline(threshold, color=RED, lw=1, ls="--", label=f"required at the end: {threshold:.0f}")
    for at, text in notes:
        axes.axvline(at, color=INK, lw=0.8, ls=":")
        beside = axes.get_xaxis_transform()  # in rounds across, in parts of the picture up
        axes.text(at + 0.3, 0.03, text, transform=beside, color=INK, fontsize=8)
    axes.set(xlabel="round", ylabel="return of an episode", xlim=(number[0], number[-1]))
    axes.set_title(title, loc="left", color=INK, fontsize=11)
    axes.grid(alpha=0.25, lw=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="center right", frameon=False, fontsize=8)
    figure.tight_layout()
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file)
    plt.close(figure)
