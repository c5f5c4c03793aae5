"""Usage: python tests/tensor/generate.py [--check]

Writes cases/*.json from what NumPy gives. With --check, only says whether they are so; where a
case has a tolerance, results may differ by that: NumPy computes them in the way that is quickest on
the processor at hand.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

CASES = Path(__file__).with_name("cases")
SHAPES: list[tuple[int, ...]] = [(), (0,), (5,), (3, 4), (2, 0, 3), (2, 3, 4)]
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
NUMBERS = ["bool", *INTEGERS, *FLOATS, *COMPLEX]

Case = dict[str, Any]


def number(value: Any) -> Any:
    """One item as JSON has it."""
    if isinstance(value, complex):
        return [number(value.real), number(value.imag)]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


def array(values: np.ndarray) -> dict[str, Any]:
    items = [number(item) for item in values.ravel().tolist()]
    return {"dtype": values.dtype.name, "shape": list(values.shape), "items": items}


def values(array: dict[str, Any]) -> np.ndarray:
    """What `array` was made from."""
    dtype = np.dtype(array["dtype"])
    items = array["items"]
    if dtype.kind == "c":
        items = [complex(float(real), float(imag)) for real, imag in items]
    elif dtype.kind == "f":
        items = [float(item) for item in items]
    return np.array(items, dtype=dtype).reshape(array["shape"])


def sample(dtype: str, shape: tuple[int, ...], salt: int = 0) -> np.ndarray:
    """Items that try what is special about the type: limits, NaN, infinities, signed zeros."""
    dice = np.random.default_rng([len(shape), *shape, sum(map(ord, dtype)), salt])
    kind = np.dtype(dtype).kind
    size = int(np.prod(shape))
    if kind == "b":
        values = dice.integers(0, 2, size).astype(bool)
    elif kind in "iu":
        limits = np.iinfo(dtype)
        values = dice.integers(limits.min, limits.max, size, dtype=dtype, endpoint=True)
        values[: size // 2] = dice.integers(0, 5, size // 2)
    else:
        values = dice.normal(size=size).round(3)
        special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0])
        if size > 4:
            values[1::3] = np.resize(special, len(values[1::3]))
        values = values.astype(dtype)
        if kind == "c":
            values = (values + 1j * dice.normal(size=size).round(3)).astype(dtype)
    return values.reshape(shape)


def case(operator: str, inputs: Iterable[np.ndarray], expect: Any, **more: Any) -> Case:
    results = expect if isinstance(expect, (list, tuple)) else [expect]
    return {
        "operator": operator,
        "inputs": [array(each) for each in inputs],
        "expect": [array(np.asarray(each)) for each in results],
        **more,
    }


def elementwise(
    names: Iterable[str],
    dtypes: Iterable[str],
    inputs: int,
    tolerance: float = 0,
    clean: Callable[[np.ndarray], np.ndarray] = lambda values: values,
) -> Iterator[Case]:
    """Each function of NumPy that has a loop for the dtype, on every shape."""
    for name, dtype, shape in itertools.product(names, dtypes, SHAPES):
        values = [clean(sample(dtype, shape, salt)) for salt in range(inputs)]
        try:
            expect = getattr(np, name)(*values)
        except TypeError:
            continue
        rounding = tolerance or (1e-6 if np.dtype(dtype).kind == "c" else 0)
        more: Case = {"tolerance": rounding} if rounding else {}
        yield case(name, values, expect, **more)


def promotion() -> Iterator[Case]:
    """Every pair of dtypes, and shapes that broadcast."""
    for left, right in itertools.product(NUMBERS, NUMBERS):
        a, b = sample(left, (3, 1)), sample(right, (2,), salt=1)
        yield case("add", [a, b], np.add(a, b))


def reductions() -> Iterator[Case]:
    axes: list[Any] = [None, 0, -1, (0, 1)]
    for name, dtype, shape, axis in itertools.product(
        ["sum", "prod", "min", "max", "any", "all"], NUMBERS, SHAPES, axes
    ):
        values = sample(dtype, shape)
        if values.dtype.kind in "fc":
            values = np.nan_to_num(values, posinf=2.0, neginf=-2.0)
        try:
            expect = getattr(np, name)(values, axis=axis)
        except (ValueError, np.exceptions.AxisError):
            continue
        parameters = {} if axis is None else {"axis": axis if isinstance(axis, int) else list(axis)}
        inexact = values.dtype.kind in "fc" and name in ("sum", "prod")
        tolerance = {"tolerance": 4e-3 if dtype == "float16" else 1e-5} if inexact else {}
        yield case(name, [values], expect, parameters=parameters, **tolerance)


def products() -> Iterator[Case]:
    """Products of matrices, equal ones too, and singular values."""
    for dtype, (rows, summed) in itertools.product(NUMBERS, [(1, 1), (5, 3), (3, 7)]):
        inexact = np.dtype(dtype).kind in "fc"
        tolerance = {"tolerance": 4e-3 if dtype == "float16" else 1e-5} if inexact else {}
        left, right = (
            np.nan_to_num(sample(dtype, (rows, summed), salt), posinf=2.0, neginf=-2.0)
            for salt in (0, 1)
        )
        yield case("inner", [left, right], np.inner(left, right), **tolerance)
        yield case("inner", [left, left], np.inner(left, left), **tolerance)
        yield case("matmul", [left, right.T], np.matmul(left, right.T), **tolerance)
        if inexact and dtype != "float16":
            expect = np.linalg.svd(left, compute_uv=False)
            yield case("svdvals", [left], expect, tolerance=1e-5)


def errors() -> Iterator[Case]:
    """What must be refused, and how."""
    three, four = array(sample("float64", (3,))), array(sample("float64", (4,)))
    text = "[add] shapes do not broadcast together: (3,) and (4,)"
    yield {"operator": "add", "inputs": [three, four], "error": text}
    text = "[sum] axis 2 is out of bounds for an array of 1 dimension"
    yield {"operator": "sum", "inputs": [three], "parameters": {"axis": 2}, "error": text}
    text = "[sum] axis 0 is given twice"
    yield {"operator": "sum", "inputs": [three], "parameters": {"axis": [0, 0]}, "error": text}
    yield {"operator": "summ", "inputs": [three], "error": "did you mean 'sum'?"}


ARITHMETIC = ["add", "subtract", "multiply", "maximum", "minimum"]
COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
FILES: dict[str, Callable[[], Iterator[Case]]] = {
    "arithmetic": lambda: elementwise(ARITHMETIC, NUMBERS, 2),
    "comparison": lambda: elementwise(COMPARISONS, NUMBERS, 2),
    "errors": errors,
    "integer_division": lambda: elementwise(["floor_divide", "remainder"], INTEGERS, 2),
    "logic": lambda: elementwise(["logical_and", "logical_or", "logical_xor"], NUMBERS, 2),
    "products": products,
    "promotion": promotion,
    "reductions": reductions,
    "transcendental": lambda: elementwise(
        ["sqrt", "exp", "log", "sin", "cos", "tanh"], ["float32", "float64"], 1, tolerance=1e-6
    ),
}


def text_of(cases: Iterator[Case]) -> str:
    return "[\n" + ",\n".join(json.dumps(each) for each in cases) + "\n]\n"


def agree(old: list[Case], new: list[Case]) -> bool:
    return len(old) == len(new) and all(map(agrees, old, new))


def agrees(old: Case, new: Case) -> bool:
    tolerance = new.get("tolerance", 0)
    if not tolerance or {**old, "expect": None} != {**new, "expect": None}:
        return old == new
    return len(old["expect"]) == len(new["expect"]) and all(
        a.dtype == b.dtype
        and a.shape == b.shape
        and np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
        for a, b in zip(map(values, old["expect"]), map(values, new["expect"]), strict=True)
    )


def main() -> int:
    stale = []
    with np.errstate(all="ignore"):
        for name, cases in FILES.items():
            path = CASES / f"{name}.json"
            text = text_of(cases())
            if "--check" in sys.argv:
                same = path.exists() and agree(json.loads(path.read_text()), json.loads(text))
                stale += [] if same else [path.name]
            else:
                path.write_text(text)
    if stale:
        print(f"not as generate.py would write them: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
