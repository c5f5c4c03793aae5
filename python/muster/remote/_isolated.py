"""Functions in processes of their own."""

from __future__ import annotations

import functools
import multiprocessing
import os
import pickle
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

__all__ = ["call_isolated", "dumps"]

try:  # It takes functions that are written in the main program, and lambdas.
    from cloudpickle import dumps  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError:
    from pickle import dumps


@functools.lru_cache(maxsize=1)
def _pool() -> ProcessPoolExecutor:
    # A fork would copy the locks of threads that do not exist in the child.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(max_workers=os.cpu_count(), mp_context=context)


def _run(call: bytes) -> bytes:
    func, args, kwargs = pickle.loads(call)
    result: bytes = dumps(func(*args, **kwargs))
    return result


def call_isolated(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """Calls the function in another process of this user and waits for its result."""
    future = _pool().submit(_run, dumps((func, args, dict(kwargs))))
    try:
        return pickle.loads(future.result())
    except BrokenProcessPool as error:
        _pool.cache_clear()
        name = getattr(func, "__name__", "function")
        raise RuntimeError(f"the process that ran '{name}' ended before it was done") from error
