"""Functions as nodes of the graph."""

from __future__ import annotations

import itertools
import pickle
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from muster import _core
from muster._inside import inside_function
from muster.remote._isolated import call_isolated, dumps
from muster.session import Session, execute, fetch
from muster.tensor._call import constant, origin
from muster.tensor._tensor import Tensor

_numbers = itertools.count()

# The first byte of what stands for an object in the graph: its number in this process follows, or
# itself, pickled, where it was made in a process of a cluster.
_HELD = 0
_PICKLED = 1


class _Held(np.ndarray[Any, Any]):
    """Bytes for the graph that keep an object of Python alive as long as the graph keeps them."""

    object: Any


# By number, as long as the engine holds them.
_held: weakref.WeakValueDictionary[int, _Held] = weakref.WeakValueDictionary()


def _hold(value: Any) -> _Held:
    number = next(_numbers)
    held = np.frombuffer(bytes([_HELD]) + number.to_bytes(8, "little"), np.uint8).view(_Held)
    held.object = value
    _held[number] = held
    return held


def _pack(value: Any, name: str) -> NDArray[Any]:
    try:
        pickled = dumps(value)
    except Exception as error:
        raise TypeError(f"[spawn] the result of '{name}' cannot be pickled: {error}") from error
    packed = np.empty(1 + len(pickled), np.uint8)
    packed[0] = _PICKLED
    packed[1:] = np.frombuffer(pickled, np.uint8)
    return packed


def _object_of(array: NDArray[Any]) -> Any:
    if array[0] == _PICKLED:
        return pickle.loads(np.ascontiguousarray(array[1:]).data)
    held = _held.get(int.from_bytes(array[1:].tobytes(), "little"))
    if held is None:
        raise ValueError("[spawn] the object was made in another process, which a session had")
    return held.object


class RemoteObject:
    """What a function will give: any object. Made by `spawn`."""

    __slots__ = ("_handle",)

    def __init__(self, handle: _core.TensorHandle) -> None:
        self._handle = handle

    def execute(
        self, session: Session | None = None, wait: bool = True, timeout: float | None = None
    ) -> Any:
        """Runs the function, and what its arguments need; gives itself, or an `ExecutionInfo`."""
        return execute(self, session=session, wait=wait, timeout=timeout)

    def fetch(self, session: Session | None = None) -> Any:
        """The object, once it was executed."""
        return fetch(self, session=session)

    def _from_fetched(self, array: NDArray[Any]) -> Any:
        return _object_of(array)

    def __repr__(self) -> str:
        state = "executed" if self._handle.is_executed else "not executed"
        return f"RemoteObject <{state}>"


class ExecutableTuple(tuple[Any, ...]):
    """Tensors and remote objects that are executed and fetched together."""

    __slots__ = ()

    def execute(
        self, session: Session | None = None, wait: bool = True, timeout: float | None = None
    ) -> Any:
        """Runs them together; what they share runs once."""
        result = execute(*self, session=session, wait=wait, timeout=timeout)
        return self if wait else result

    def fetch(self, session: Session | None = None) -> list[Any]:
        """Their values, in order."""
        return [fetch(each, session=session) for each in self]


class _Slot:
    """Stands for an input of the function until its value is known."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with everything in its lists, tuples and dictionaries changed."""
    if type(value) in (list, set):
        return type(value)(_mapped(each, change) for each in value)
    if isinstance(value, tuple):
        parts: Iterable[Any] = [_mapped(each, change) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if type(value) is dict:
        return {key: _mapped(each, change) for key, each in value.items()}
    return change(value)


class _Call:
    """A call that waits for its inputs. Objects stay in this process; a copy of the call that was
    sent to another one gives results that can be sent back."""

    def __init__(
        self,
        func: Callable[..., Any],
        call: tuple[tuple[Any, ...], dict[str, Any]],
        remote: list[bool],
        n_output: int | None,
        as_arrays: bool,
        isolated: bool,
        sent: bool = False,
    ) -> None:
        self._parts = (func, call, remote, n_output, as_arrays, isolated)
        self._sent = sent
        self.__name__ = getattr(func, "__name__", type(func).__name__)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Call, (*self._parts, True)

    def __call__(self, arrays: Sequence[NDArray[Any]]) -> Any:
        func, call, remote, n_output, as_arrays, isolated = self._parts

        def value_of(value: Any) -> Any:
            if not isinstance(value, _Slot):
                return value
            array = arrays[value.number]
            if remote[value.number]:
                return _object_of(array)
            return array if as_arrays or isolated else constant(array)

        arguments, options = _mapped(call, value_of)
        if isolated and not self._sent:
            result = call_isolated(func, arguments, options)
        else:
            with inside_function():
                result = func(*arguments, **options)
        if n_output is None:
            return self._for_graph(result)
        results = list(result)
        if len(results) != n_output:
            raise ValueError(f"{self.__name__} gave {len(results)} results, not {n_output}")
        return [self._for_graph(each) for each in results]

    def _for_graph(self, result: Any) -> NDArray[Any]:
        return _pack(result, self.__name__) if self._sent else _hold(result)


@overload
def spawn(
    func: Callable[..., Any],
    args: Any = ...,
    kwargs: Mapping[str, Any] | None = ...,
    n_output: None = ...,
    resolve_tileable_input: bool = ...,
    isolated: bool = ...,
) -> RemoteObject: ...


@overload
def spawn(
    func: Callable[..., Any],
    args: Any = ...,
    kwargs: Mapping[str, Any] | None = ...,
    *,
    n_output: int,
    resolve_tileable_input: bool = ...,
    isolated: bool = ...,
) -> ExecutableTuple: ...


def spawn(
    func: Callable[..., Any],
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    n_output: int | None = None,
    resolve_tileable_input: bool = False,
    isolated: bool = False,
) -> RemoteObject | ExecutableTuple:
    """A call of `func` that runs when it is executed, on a thread of the session.

    Tensors and remote objects among the arguments, also within lists, tuples and dictionaries, are
    computed first. The function gets the objects, and tensors as tensors, or as NumPy arrays with
    `resolve_tileable_input`. With `n_output` it gives that many results. `isolated` functions run
    in processes of their own, side by side whatever they do, and get arrays; arguments and results
    are pickled then, as they are for every function on a cluster.
    """
    if not callable(func):
        raise TypeError(f"[spawn] func is a {type(func).__name__}, not a function")
    if n_output is not None and n_output < 1:
        raise ValueError(f"[spawn] n_output is {n_output}, but must be at least 1")
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    inputs: list[Tensor | RemoteObject] = []

    def to_slot(value: Any) -> Any:
        if not isinstance(value, (Tensor, RemoteObject)):
            return value
        inputs.append(value)
        return _Slot(len(inputs) - 1)

    call = _mapped((args, dict(kwargs or {})), to_slot)
    remote = [isinstance(each, RemoteObject) for each in inputs]

    run = _Call(func, call, remote, n_output, resolve_tileable_input, isolated)
    outputs = n_output or 1
    handles = _core.tensor_apply(
        "call_function",
        [each._handle for each in inputs],
        {
            "function": run,
            "dtypes": [np.dtype(np.uint8)] * outputs,
            "shapes": [(-1,)] * outputs,  # of a length that the function decides
        },
        origin(),
    )
    if n_output is None:
        return RemoteObject(handles[0])
    return ExecutableTuple(RemoteObject(handle) for handle in handles)
