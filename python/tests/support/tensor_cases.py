"""The case files of tests/tensor/cases: operators applied to small arrays, and what NumPy gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from generate import values

import muster
from muster.tensor import _call

FOLDER = Path(__file__).resolve().parents[3] / "tests" / "tensor"
FILES = sorted(path.stem for path in (FOLDER / "cases").glob("*.json"))

#: So many are executed together.
BATCH = 100


def applied(case: dict[str, Any], chunk_size: int) -> list[Any]:
    """The lazy results of a case."""
    inputs = [_call.constant(values(each), chunk_size=chunk_size) for each in case["inputs"]]
    return _call.apply_many(case["operator"], inputs, **case.get("parameters", {}))


def compare(case: dict[str, Any], results: list[Any]) -> None:
    which = f"{case['operator']} {case.get('parameters', {})} of {case['inputs']}"
    for result, expected in zip(results, case["expect"], strict=True):
        got, wanted = result.fetch(), values(expected)
        assert got.dtype == wanted.dtype, which
        tolerance = case.get("tolerance", 0)
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=which)


def check_file(name: str, chunk_size: int) -> None:
    """Runs all cases of a file in the default session."""
    cases = json.loads((FOLDER / "cases" / f"{name}.json").read_text())
    for case in cases:
        if "error" in case:
            with pytest.raises((ValueError, IndexError, TypeError)) as caught:
                applied(case, chunk_size)
            assert case["error"] in str(caught.value), case
    good = [case for case in cases if "error" not in case]
    for start in range(0, len(good), BATCH):
        batch = good[start : start + BATCH]
        results = [applied(case, chunk_size) for case in batch]
        muster.execute(*(tensor for each in results for tensor in each))
        for case, each in zip(batch, results, strict=True):
            compare(case, each)
