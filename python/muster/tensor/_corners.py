"""How a tensor is shown: like NumPy shows an array, reading only what is seen."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from muster.tensor._tensor import Tensor


def text_of(tensor: Tensor, prefix: str) -> str:
    """`prefix` is "array(" for repr and empty for str."""
    if not tensor._handle.is_executed:
        shape = "(" + ", ".join("?" if n != n else str(n) for n in tensor.shape)
        shape += ",)" if tensor.ndim == 1 else ")"
        return f"Tensor <op={tensor._handle.operator}, shape={shape}, dtype={tensor.dtype}>"
    printing = np.get_printoptions()
    is_summary = tensor.size > printing["threshold"]
    if not is_summary:
        array = tensor.fetch()
        return repr(array) if prefix else str(array)
    corners = _corners(tensor, printing["edgeitems"])
    text = np.array2string(
        corners, threshold=0, separator=", " if prefix else " ", prefix=prefix, suffix=")"
    )
    return _with_extras(tensor, prefix + text, len(prefix)) if prefix else text


def _with_extras(tensor: Tensor, text: str, indent: int) -> str:
    """The end of a repr: on a line of its own where NumPy does so."""
    extras = f"shape={tensor.shape}"
    if tensor.dtype not in (np.int64, np.float64, np.complex128, np.bool_):
        name = tensor.dtype.name
        extras += f", dtype={name if name.isidentifier() else repr(name)}"
    last_line = len(text) + 1 - (text.rfind("\n") + 1)
    fits = last_line + len(extras) + 2 <= np.get_printoptions()["linewidth"]
    return f"{text},{' ' if fits else chr(10) + ' ' * indent}{extras})"


def _corners(tensor: Tensor, edge: int) -> NDArray[Any]:
    """The items at both ends of each axis, with one place between them for those left out."""
    from muster.session import get_default_session

    session = get_default_session()
    extents = tuple(min(extent, 2 * edge + 1) for extent in tensor.shape)
    corners = np.zeros(extents, tensor.dtype)
    # For each axis: (from where in the tensor, to where in the result, how many).
    pieces = [
        [(0, 0, extent)] if extent <= 2 * edge else [(0, 0, edge), (extent - edge, edge + 1, edge)]
        for extent in tensor.shape
    ]
    for piece in itertools.product(*pieces):
        start = tuple(part[0] for part in piece)
        count = tuple(part[2] for part in piece)
        place = tuple(slice(part[1], part[1] + part[2]) for part in piece)
        corners[place] = session.fetch_part(tensor, start, count)
    return corners
