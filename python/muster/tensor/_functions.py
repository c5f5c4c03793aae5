"""User functions on chunks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster._inside import inside_function
from muster.tensor._call import apply, apply_many
from muster.tensor._tensor import Tensor

__all__ = ["map_chunk"]

#: What the engine calls: arrays in, arrays out.
ChunkFunction = Callable[..., Any]


def map_chunk(
    func: Callable[..., Any],
    *args: Any,
    dtype: Any = None,
    elementwise: bool | None = None,
    with_chunk_index: bool = False,
    kwargs: Mapping[str, Any] | None = None,
) -> Tensor:
    """Calls `func(*args, **kwargs)` for each chunk, with the chunk in place of each tensor.

    Tensors broadcast together; everything else is handed on as it is. Chunks are NumPy arrays that
    must not be written to. With `elementwise` the result has the shape of the tensors; without, its
    chunks may have any size, but as many axes. What is not said of `dtype` and `elementwise` is
    found out by a call with small arrays of ones. With `with_chunk_index`, `func` gets the place of
    the chunk in the grid as `chunk_index`.
    """
    places = [place for place, each in enumerate(args) if isinstance(each, Tensor)]
    if not places:
        raise TypeError("[map_chunk] none of the arguments is a tensor")
    tensors = [args[place] for place in places]
    # The function may be sent elsewhere, where tensors mean nothing.
    others = [None if isinstance(each, Tensor) else each for each in args]
    options = dict(kwargs or {})

    def call(chunks: Sequence[NDArray[Any]], chunk_index: Any = None) -> NDArray[Any]:
        arguments = list(others)
        for place, chunk in zip(places, chunks):
            arguments[place] = chunk
        if with_chunk_index:
            options["chunk_index"] = chunk_index
        with inside_function():
            return np.asarray(func(*arguments, **options))

    call.__name__ = getattr(func, "__name__", "function")
    if dtype is None:
        given = [np.ones((2,) * each.ndim, each.dtype) for each in tensors]
        try:
            sample = call(given, (0,) * max(each.ndim for each in tensors))
        except Exception as error:
            raise TypeError(
                f"[map_chunk] '{call.__name__}' fails for arrays of ones, so its dtype must be "
                f"given: {error}"
            ) from error
        dtype = sample.dtype
        if elementwise is None:
            elementwise = sample.shape == np.broadcast_shapes(*(each.shape for each in given))
    return apply(
        "map_chunk",
        tensors,
        function=_giving(call, [np.dtype(dtype)]),
        dtypes=[np.dtype(dtype)],
        elementwise=bool(elementwise),
        with_chunk_index=with_chunk_index,
    )


def _giving(call: ChunkFunction, dtypes: Sequence[np.dtype[Any]]) -> ChunkFunction:
    """The function with its results cast to what was announced."""

    def cast(*arguments: Any) -> Any:
        result = call(*arguments)
        if len(dtypes) == 1:
            return np.asarray(result).astype(dtypes[0], copy=False)
        return [np.asarray(each).astype(kind, copy=False) for each, kind in zip(result, dtypes)]

    cast.__name__ = getattr(call, "__name__", "function")
    return cast


def map_items(
    func: ChunkFunction, tensors: Sequence[Tensor], dtypes: Sequence[np.dtype[Any]]
) -> list[Tensor]:
    """`func(*chunks)` on chunks that broadcast together; its results have their shape."""

    def call(chunks: Sequence[NDArray[Any]]) -> Any:
        shape = np.broadcast_shapes(*(chunk.shape for chunk in chunks))
        results = func(*chunks)
        if len(dtypes) == 1:
            return np.broadcast_to(results, shape)
        return [np.broadcast_to(each, shape) for each in results]

    call.__name__ = getattr(func, "__name__", "function")
    return apply_many(
        "map_chunk",
        tensors,
        function=_giving(call, dtypes),
        dtypes=list(dtypes),
        elementwise=True,
    )


def call_whole(
    func: ChunkFunction,
    tensors: Sequence[Tensor],
    dtypes: Sequence[Any],
    shapes: Sequence[Sequence[int]],
) -> list[Tensor]:
    """`func(*arrays)` on whole tensors, once; -1 stands for extents that it decides."""
    kinds = [np.dtype(each) for each in dtypes]
    call = _giving(lambda arrays: func(*arrays), kinds)
    call.__name__ = getattr(func, "__name__", "function")
    return apply_many(
        "call_function",
        tensors,
        function=call,
        dtypes=kinds,
        # A list of lists of whole numbers, even if it has one part.
        shapes=[tuple(int(extent) for extent in shape) for shape in shapes],
    )


def map_pairs(func: ChunkFunction, a: Tensor, b: Tensor, dtype: Any) -> Tensor:
    """`func(rows_of_a, rows_of_b)` on every pair of chunks of rows."""
    call = _giving(lambda arrays: func(*arrays), [np.dtype(dtype)])
    call.__name__ = getattr(func, "__name__", "function")
    return apply("map_pairs", [a, b], function=call, dtypes=[np.dtype(dtype)])
