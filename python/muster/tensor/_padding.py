"""pad: tensors with a margin."""

from __future__ import annotations

from typing import Any

import numpy as np

from muster.tensor._call import apply, as_tensor
from muster.tensor._creation import _cast, linspace
from muster.tensor._tensor import Tensor

_BY_POSITION = ("edge", "reflect", "symmetric", "wrap")
_BY_STATISTIC = {"maximum": "max", "minimum": "min", "mean": "mean", "median": "median"}


def pad(array: Any, pad_width: Any, mode: str = "constant", **how: Any) -> Tensor:
    """A tensor with a margin along each axis, filled as `mode` says. Modes as functions are not
    supported."""
    x = as_tensor(array)
    widths = _pairs(pad_width, x.ndim, "pad_width").astype(int)
    if widths.size and widths.min() < 0:
        raise ValueError(f"[pad] the widths must not be negative: {widths.tolist()}")
    allowed = {
        "constant": {"constant_values"},
        "linear_ramp": {"end_values"},
        "empty": set(),
        **dict.fromkeys(("reflect", "symmetric"), {"reflect_type"}),
        **dict.fromkeys(("edge", "wrap"), set[str]()),
        **dict.fromkeys(_BY_STATISTIC, {"stat_length"}),
    }
    if mode not in allowed:
        raise ValueError(f"[pad] there is no mode {mode!r}; there are {', '.join(sorted(allowed))}")
    if unknown := set(how) - allowed[mode]:
        raise ValueError(f"[pad] mode {mode!r} does not take {', '.join(sorted(unknown))}")
    for axis, (before, after) in enumerate(widths.tolist()):
        if before or after:
            x = _pad_axis(x, axis, before, after, mode, how)
    return x


def _pairs(value: Any, ndim: int, name: str) -> np.ndarray[Any, Any]:
    if isinstance(value, dict):
        pairs = np.zeros((ndim, 2), dtype=int)
        for axis, width in value.items():
            pairs[axis] = width
        return pairs
    try:
        return np.broadcast_to(np.asarray(value), (ndim, 2))
    except ValueError:
        raise ValueError(f"[pad] {name} {value!r} does not fit {ndim} axes") from None


def _part(x: Tensor, axis: int, chosen: Any) -> Tensor:
    return x[(slice(None),) * axis + (chosen,)]


def _margin(x: Tensor, axis: int, extent: int) -> list[int]:
    shape = list(x.shape)
    shape[axis] = extent
    return shape


def _pad_axis(
    x: Tensor, axis: int, before: int, after: int, mode: str, how: dict[str, Any]
) -> Tensor:
    extent = x.shape[axis]
    if extent == 0 and mode not in ("constant", "empty"):
        raise ValueError(f"[pad] axis {axis} has no items to fill a margin in mode {mode!r} with")
    if mode in _BY_POSITION:
        margins = _by_position(x, axis, before, after, mode, how.get("reflect_type", "even"))
    elif mode == "linear_ramp":
        ends = _pairs(how.get("end_values", 0), x.ndim, "end_values")[axis]
        margins = _ramps(x, axis, before, after, ends)
    elif mode in _BY_STATISTIC:
        margins = _statistics(x, axis, before, after, mode, how.get("stat_length"))
    else:
        values = _pairs(how.get("constant_values", 0), x.ndim, "constant_values")[axis]
        margins = [
            apply("full", [], shape=_margin(x, axis, width), value=value.astype(x.dtype)[()])
            for width, value in zip((before, after), map(np.asarray, values), strict=True)
        ]
    parts = [margins[0], x, margins[1]]
    return apply("concatenate", [each for each in parts if each.shape[axis]], axis=axis)


def _by_position(
    x: Tensor, axis: int, before: int, after: int, mode: str, reflect_type: str
) -> list[Tensor]:
    extent = x.shape[axis]
    if reflect_type == "odd" and mode in ("reflect", "symmetric"):
        # The mirror image is turned about the edge: NumPy says which items make it.
        return _odd(x, axis, before, after, mode)
    numbers = np.pad(np.arange(extent), (before, after), mode=mode)  # type: ignore[call-overload]
    return [_part(x, axis, numbers[:before]), _part(x, axis, numbers[before + extent :])]


def _odd(x: Tensor, axis: int, before: int, after: int, mode: str) -> list[Tensor]:
    extent = x.shape[axis]
    longest = max(extent - 1, 1) if mode == "reflect" else extent
    if max(before, after) > longest:
        raise ValueError(
            f"[pad] an odd margin is at most {longest} wide here, not {max(before, after)}"
        )
    numbers = np.pad(np.arange(extent), (before, after), mode=mode)  # type: ignore[call-overload]
    margins = []
    for chosen, edge in (
        (numbers[:before], slice(0, 1)),
        (numbers[before + extent :], slice(extent - 1, extent)),
    ):
        twice = apply("multiply", [_part(x, axis, edge), as_tensor(np.array(2, x.dtype))])
        margins.append(apply("subtract", [twice, _part(x, axis, chosen)]))
    return margins


def _ramps(x: Tensor, axis: int, before: int, after: int, ends: Any) -> list[Tensor]:
    extent = x.shape[axis]
    margins = []
    for width, edge, end, backwards in (
        (before, slice(0, 1), ends[0], False),
        (after, slice(extent - 1, extent), ends[1], True),
    ):
        shape = _margin(x, axis, width)
        if width == 0:
            margins.append(apply("full", [], shape=shape, value=x.dtype.type(0)))
            continue
        stop = apply("squeeze", [_part(x, axis, edge)], axis=axis)
        ramp = linspace(
            np.full(stop.shape, end), stop, width, endpoint=False, dtype=x.dtype, axis=axis
        )
        margins.append(_part(ramp, axis, slice(None, None, -1)) if backwards else ramp)
    return margins


def _statistics(
    x: Tensor, axis: int, before: int, after: int, mode: str, stat_length: Any
) -> list[Tensor]:
    extent = x.shape[axis]
    lengths = [extent, extent]
    if stat_length is not None:
        asked = _pairs(stat_length, x.ndim, "stat_length")[axis]
        lengths = [min(int(each), extent) for each in asked]
        if min(lengths) < 1:
            raise ValueError(f"[pad] stat_length must be positive: {stat_length!r}")
    margins = []
    for width, chosen in (
        (before, slice(0, lengths[0])),
        (after, slice(extent - lengths[1], extent)),
    ):
        value = apply(_BY_STATISTIC[mode], [_part(x, axis, chosen)], axis=axis, keepdims=True)
        if x.dtype.kind in "iu" and value.dtype.kind == "f":
            value = apply("rint", [value])
        value = _cast(value, x.dtype)
        margins.append(apply("broadcast_to", [value], shape=_margin(x, axis, width)))
    return margins
