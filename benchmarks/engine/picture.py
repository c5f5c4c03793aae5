"""Draws what benchmarks/engine/run measured."""

from __future__ import annotations

from pathlib import Path


def draw(rows: list[dict], path: Path) -> None:
    """How many times better than its peers, and what a task costs for more and more of them."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    peers = [row for row in rows if row["peer_name"] in ("dask", "ray", "disk")]
    ratios = [row for row in peers if row.get("budget")]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(14, 6), constrained_layout=True)
    labels = [f"{row['case']} / {row['peer_name']}" for row in ratios]
    left.barh(labels, [row["ratio"] for row in ratios], color="tab:blue", label="measured")
    budgets = [row["budget"] for row in ratios]
    left.plot(budgets, labels, "k|", markersize=14, label="wanted")
    left.set(title="times better than the peer", xscale="log")
    left.invert_yaxis()
    left.legend()
    for case in dict.fromkeys(row["case"] for row in rows if row["unit"] == "µs"):
        points = [row for row in rows if row["case"] == case and row["peer_name"] == "budget"]
        if len(points) > 1:
            sizes = [row["size"] for row in points]
            right.plot(sizes, [row["ours"] for row in points], "o-", ms=4, label=case)
    right.axhline(50, color="k", ls="--", label="wanted across processes")
    right.set(title="cost of a task", xscale="log", yscale="log", xlabel="tasks", ylabel="µs each")
    right.legend(fontsize=7)
    for axes in (left, right):
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
