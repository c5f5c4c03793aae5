"""Turns the rows that benchmarks print into a table for people and a file for programs."""

import json
import sys
from collections.abc import Iterable

FIELDS = ("bench", "case", "size", "ours", "peer", "peer_name", "unit", "better", "ratio")
# Where a row has them.
MORE_FIELDS = ("ranks", "ours_spread", "peer_spread", "budget", "core_distance_ns")


def size_text(size: int) -> str:
    """64 B, 1 KiB, 64 MiB; empty for 0."""
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:g} {unit}"
    return f"{size} B" if size else ""


def number_text(value: float) -> str:
    """Three digits that matter, thousands apart."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def figure_text(row: dict, side: str) -> str:
    """The median, and the smallest and largest of the repetitions where they differ."""
    text = number_text(row[side])
    low, high = row.get(side + "_spread", (0, 0))
    return text if low == high else f"{text} ({number_text(low)}–{number_text(high)})"


def verdict(row: dict) -> str:
    """Whether the performance budget is met; empty where there is none."""
    budget = row.get("budget", 0)
    if not budget:
        return ""
    return "ok" if row["ratio"] >= budget else f"MISSED, budget {budget:g}"


def cells(row: dict) -> list[str]:
    """The row as the table shows it."""
    ours, peer = figure_text(row, "ours"), figure_text(row, "peer")
    return [
        row["case"],
        f"{row['size']:,}" if row.get("items") else size_text(row["size"]),
        ours,
        peer,
        row["peer_name"],
        row["unit"],
        f"{row['ratio']:.2f}",
        verdict(row),
    ]


HEADINGS = ["case", "size", "ours (min–max)", "peer (min–max)", "peer", "unit", "ratio", "budget"]
WIDTHS = [34, 8, 34, 34, 8, 6, 7]


def line(texts: list[str]) -> str:
    """One line of the table."""
    return "  ".join(text.ljust(width) for text, width in zip(texts, WIDTHS)) + "  " + texts[-1]


class Report:
    """Prints each row as it comes, and writes all of them at the end."""

    def __init__(self, bench: str, json_path: str | None) -> None:
        self.bench = bench
        self.json_path = json_path
        self.rows: list[dict] = []
        print(line(HEADINGS))

    def add(self, row: dict) -> None:
        """A row as a benchmark printed it: FIELDS but for the first, spreads, budget, and
        `items` when the size does not count bytes."""
        row = {"bench": self.bench, **row}
        self.rows.append(row)
        print(line(cells(row)), flush=True)

    def add_lines(self, lines: Iterable[str]) -> None:
        """Rows as text; what is no JSON object is passed on."""
        for text in lines:
            if text.startswith("{"):
                self.add(json.loads(text))
            else:
                sys.stderr.write(text)

    def finish(self) -> None:
        """Writes the file, and says what missed its budget."""
        missed = [row for row in self.rows if verdict(row).startswith("MISSED")]
        with_budget = [row for row in self.rows if row.get("budget")]
        print(f"\n{len(with_budget) - len(missed)} of {len(with_budget)} budgets met")
        if self.json_path:
            with open(self.json_path, "a", encoding="utf-8") as file:
                for row in self.rows:
                    more = {field: row[field] for field in MORE_FIELDS if field in row}
                    file.write(json.dumps({field: row[field] for field in FIELDS} | more) + "\n")
