"""What an execution would do, as text and as a picture."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from muster import _core
from muster._options import options

__all__ = ["Picture", "explain", "visualize"]

_BOX = (150, 34)
_GAP = (18, 34)


def explain(*tensors: Any) -> str:
    """The operators, the passes that fired, what is left after them, and the tasks on chunks with
    the bytes of their results. Nothing is executed."""
    return str(_explanation(tensors)["text"])


class Picture:
    """A drawing of a graph; notebooks show it, `save` writes it as SVG."""

    def __init__(self, svg: str) -> None:
        self.svg = svg

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Writes the drawing."""
        Path(path).write_text(self.svg, encoding="utf-8")


def visualize(
    *tensors: Any, filename: str | Path | None = None, optimised: bool = False
) -> Picture:
    """Draws the operators behind tensors, inputs above results; after the passes if `optimised`."""
    steps = _explanation(tensors)["optimised" if optimised else "logical"]
    picture = Picture(_draw(steps))
    if filename is not None:
        picture.save(filename)
    return picture


def _explanation(tensors: Any) -> dict[str, Any]:
    handles = [tensor._handle for tensor in tensors]
    return _core.tensor_explain(handles, options.for_engine())


def _rows(steps: list[dict[str, Any]]) -> list[int]:
    """How far each step is from the sources."""
    rows: list[int] = []
    for step in steps:
        rows.append(1 + max((rows[each] for each in step["inputs"]), default=-1))
    return rows


def _places(steps: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Where each box stands: its row, and beside those it reads."""
    rows = _rows(steps)
    places = [(0, 0)] * len(steps)
    for row in range(max(rows) + 1):
        members = [each for each in range(len(steps)) if rows[each] == row]

        def wanted(step: int) -> float:
            above = [places[each][0] for each in steps[step]["inputs"]]
            return sum(above) / len(above) if above else 0

        for column, step in enumerate(sorted(members, key=wanted)):
            places[step] = (column * (_BOX[0] + _GAP[0]), row * (_BOX[1] + _GAP[1]))
    return places


def _draw(steps: list[dict[str, Any]]) -> str:
    places = _places(steps)
    width = max(x for x, _ in places) + _BOX[0] + 2
    height = max(y for _, y in places) + _BOX[1] + 2
    middle = _BOX[0] / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-1 -1 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="11">'
    ]
    for step, (x, y) in zip(steps, places):
        for each in step["inputs"]:
            from_x, from_y = places[each]
            parts.append(
                f'<line x1="{from_x + middle}" y1="{from_y + _BOX[1]}" '
                f'x2="{x + middle}" y2="{y}" stroke="#888"/>'
            )
    for step, (x, y) in zip(steps, places):
        parts.append(
            f"<g><title>{escape(step['detail'])}</title>"
            f'<rect x="{x}" y="{y}" width="{_BOX[0]}" height="{_BOX[1]}" rx="5" '
            f'fill="#eef4fb" stroke="#4a7ab5"/>'
            f'<text x="{x + middle}" y="{y + 14}" text-anchor="middle" font-weight="bold">'
            f"{escape(step['name'])}</text>"
            f'<text x="{x + middle}" y="{y + 27}" text-anchor="middle" fill="#555">'
            f"{escape(step['meta'])}</text></g>"
        )
    return "\n".join([*parts, "</svg>"])
