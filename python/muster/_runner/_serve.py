"""Runs the functions that the worker asks for, one at a time."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from muster._runner._frames import ALIGNMENT, receive, send
from muster._runner._setup import Files

#: Of what both sides say; the worker refuses another one.
PROTOCOL = 1
#: Bytes of a message or a traceback that the worker gets.
MOST_TEXT = 12 << 10

#: What the engine has an error for; others are RuntimeError there.
_KINDS = {
    "ValueError",
    "TypeError",
    "IndexError",
    "ZeroDivisionError",
    "LinAlgError",
    "MemoryError",
    "OverflowError",
    "TimeoutError",
}


def serve(files: Files) -> None:
    """Answers requests until the worker closes the socket."""
    process = os.getpid()
    functions: dict[int, Callable[..., Any]] = {}
    send(files.socket, {"hello": PROTOCOL, "python": sys.version.split()[0]}, 0, lambda room: None)
    while (request := receive(files.socket)) is not None:
        try:
            arrays: Any = _run(*request, functions, files)
            if os.getpid() == process:
                _reply(files, request[0], arrays)
        except BaseException as error:
            if os.getpid() == process:
                send(files.socket, {"ok": False} | _described(error), 0, lambda room: None)
        if os.getpid() != process:  # The function forked, and this is not us.
            os._exit(0)
        request = arrays = None  # Results must not stay until the next request comes.


def _run(head: dict[str, Any], rest: Any, functions: dict[int, Any], files: Files) -> list[Any]:
    from muster._inside import inside_function

    if head["forget"]:
        functions.clear()
    if head["pickled"]:
        functions[head["function"]] = _unpickled(rest[: head["pickled"]])
    function = functions[head["function"]]
    inputs = [_view(each, rest, files) for each in head["inputs"]]
    index = head["index"]
    with inside_function():
        result = function(inputs) if index is None else function(inputs, tuple(index))
    return _results(result, head["outputs"], head["name"])


def _unpickled(pickled: Any) -> Callable[..., Any]:
    try:
        function: Callable[..., Any] = pickle.loads(pickled)
    except ModuleNotFoundError as error:
        error.msg = (
            f"{error.msg}; the function needs it, and the worker's Python ({sys.executable}) does "
            "not have it. Install it there; for a module of your own, "
            "cloudpickle.register_pickle_by_value(module) sends it along"
        )
        raise
    return function


def _view(each: dict[str, Any], rest: Any, files: Files) -> Any:
    """An input where it lies; nobody may write to it."""
    import numpy as np

    source = rest if each["inline"] else files.arena
    array = np.ndarray(
        each["shape"], np.dtype(each["dtype"]), source, each["at"], tuple(each["strides"])
    )
    array.flags.writeable = False
    return array


def _results(result: Any, count: int, name: str) -> list[Any]:
    import numpy as np

    if count == 1 and not isinstance(result, (list, tuple)):
        result = [result]
    if len(result) != count:
        raise ValueError(f"'{name}' gave {len(result)} results instead of {count}")
    arrays = [np.asarray(each) for each in result]
    for array in arrays:
        if array.dtype.kind not in "biufcmM" or not array.dtype.isnative:
            raise TypeError(f"tensors have no items of dtype '{array.dtype.str}'")
    return arrays


def _reply(files: Files, request: dict[str, Any], arrays: Sequence[Any]) -> None:
    import numpy as np

    outputs, end = [], 0
    for array in arrays:
        start = end + -end % ALIGNMENT
        outputs.append({"dtype": array.dtype.name, "shape": array.shape, "at": start})
        end = start + array.nbytes
    if end > request["most"]:
        raise MemoryError(
            f"'{request['name']}' gave {end} bytes, more than the {request['most']} that the "
            "worker takes; make the chunks smaller"
        )

    def fill(room: Any) -> None:
        for output, array in zip(outputs, arrays):
            if array.nbytes:
                np.ndarray(array.shape, array.dtype, room, output["at"])[...] = array

    send(files.socket, {"ok": True, "outputs": outputs}, end, fill)


def _described(error: BaseException) -> dict[str, str]:
    """The exception as text: the worker never gets an object."""
    names = [kind.__name__ for kind in type(error).__mro__]
    kind = next((name for name in names if name in _KINDS), "RuntimeError")
    try:
        message = str(error)
    except Exception:
        message = "(its text could not be made)"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if os.path.dirname(frame.filename) != _FOLDER]
    trace = "".join(traceback.format_list(own or frames))
    return {
        "kind": kind,
        "type": type(error).__name__,
        "message": message[:MOST_TEXT],
        "traceback": trace[-MOST_TEXT:],
    }


_FOLDER = os.path.dirname(__file__)
