"""What SciPy computes for us."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


def needs_scipy(module: str) -> Any:
    """A module of SciPy."""
    try:
        return importlib.import_module(f"scipy.{module}")
    except ImportError as error:
        raise ImportError(
            f"this function of muster.tensor needs the package scipy (scipy.{module})"
        ) from error


def through_python(function: _F) -> _F:
    """Marks a function whose work is done by NumPy or SciPy, for the reference."""
    function.through_python = True  # type: ignore[attr-defined]
    return function
