"""explain and visualize."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np

import muster.tensor as mt
from muster.tensor._call import apply, constant


def chain() -> mt.Tensor:
    x = constant(np.ones((100, 100)), chunk_size=50)
    return apply("sum", [apply("sin", [apply("add", [x, x])])])


def test_explain_shows_operators_passes_and_tasks() -> None:
    text = mt.explain(chain())
    for part in ("= sin(", "fuse_elementwise", "reduce", "test_explain.py:"):
        assert part in text


def test_explain_executes_nothing() -> None:
    result = chain()
    mt.explain(result)
    assert not result._handle.is_executed


def test_visualize_draws_every_operator(tmp_path: Path) -> None:
    mt.visualize(chain(), filename=tmp_path / "graph.svg")
    picture = ET.parse(tmp_path / "graph.svg")
    texts = [each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"constant", "add", "sin", "sum"} <= set(texts)
