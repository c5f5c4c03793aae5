"""What is wrong with the arguments of a call, in words."""

from __future__ import annotations

import numbers
from typing import Any


def explain(operation: str, error: TypeError, **given: Any) -> TypeError:
    """The error that names the argument of a wrong type; the same error if there is none.

    ``timeout`` is a number or None, all others are whole numbers.
    """
    for name, value in given.items():
        if name == "timeout":
            right = value is None or isinstance(value, numbers.Real)
            form = "a number of seconds or None"
        else:
            right = isinstance(value, numbers.Integral)
            form = "a whole number"
        if not right:
            return TypeError(f"[{operation}] {name} is {form}, not {value!r}")
    return error
