"""Sessions compute tensors: here in this process, on all its cores, or on a cluster."""

from __future__ import annotations

import atexit
import json
import threading
import weakref
from concurrent.futures import CancelledError, Future
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from muster import _core
from muster._inside import is_inside, own_session
from muster._options import options
from muster._progress import shown_progress

__all__ = [
    "ClusterSession",
    "ExecutionInfo",
    "Session",
    "execute",
    "fetch",
    "get_default_session",
    "new_session",
]


class ExecutionInfo:
    """An execution that goes on by itself; what `execute(..., wait=False)` gives."""

    def __init__(self, control: _core.RunControl, future: Future[Any]) -> None:
        self._control = control
        self._future = future

    def progress(self) -> float:
        """The share of the tasks known so far that is done, from 0 to 1."""
        if self._future.done():
            return 1.0
        return self._control.done / max(1, self._control.tasks)

    def done(self) -> bool:
        """Whether it is over, in one way or another."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> Any:
        """Waits for the end and gives what was executed. Raises what the execution raised,
        CancelledError when it was cancelled, and TimeoutError when it is not over in time."""
        try:
            return self._future.result(timeout)
        except RuntimeError as error:
            if self._control.cancelled:
                raise CancelledError("the execution was cancelled") from error
            raise

    def cancel(self) -> None:
        """Ends the execution soon; results that were there before stay."""
        self._control.cancel()


class Session:
    """Computes tensors in this process. Results stay with their tensors."""

    _engine: _core.EngineSession | _core.ClusterSession

    def __init__(self, n_cpu: int | None = None, mem_bytes: int | None = None) -> None:
        if n_cpu is not None and n_cpu < 1:
            raise ValueError(f"n_cpu is {n_cpu}, but a session needs at least one")
        if mem_bytes is not None and mem_bytes < 1:
            raise ValueError(f"mem_bytes is {mem_bytes}, but must be positive")
        self._engine = engine = _core.EngineSession(n_cpu or 0, mem_bytes or 0)
        self._n_cpu, self._mem_bytes = engine.threads, engine.memory_limit

    @property
    def n_cpu(self) -> int:
        """The threads that run kernels."""
        return self._n_cpu

    @property
    def mem_bytes(self) -> int:
        """The bytes that chunks may take at a time."""
        return self._mem_bytes

    def get_cluster_info(self) -> dict[str, Any]:
        """The workers of the session, with their threads and memory; here: this process."""
        worker = {"name": "local", "threads": self.n_cpu, "memory": self.mem_bytes}
        return {"workers": [worker]}

    def close(self) -> None:
        """It is the default session no longer. On a cluster, everything is given back."""
        global _default
        if _default is self:
            _default = None

    def as_default(self) -> Session:
        """Makes it the session that `execute` uses from now on."""
        global _default
        _default = self
        return self

    def execute(
        self,
        *tensors: Any,
        timeout: float | None = None,
        show_progress: bool | str | None = None,
    ) -> None:
        """Computes tensors together; what they share is computed once."""
        self._run(tensors, _core.RunControl(), timeout, show_progress)

    def submit(self, *tensors: Any, timeout: float | None = None) -> ExecutionInfo:
        """Begins to compute tensors together and comes back at once."""
        control, future = _core.RunControl(), Future[Any]()

        def run() -> None:
            try:
                self._run(tensors, control, timeout, False)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(tensors[0] if len(tensors) == 1 else tensors)
            finally:
                _running.pop(control, None)

        thread = threading.Thread(target=run, name="muster-execution", daemon=True)
        _running[control] = thread
        thread.start()
        return ExecutionInfo(control, future)

    def _run(
        self,
        tensors: tuple[Any, ...],
        control: _core.RunControl,
        timeout: float | None,
        show_progress: bool | str | None,
    ) -> None:
        if is_inside() and self is not own_session():
            raise RuntimeError(
                "a function that runs in a session cannot execute in another one, which may wait "
                "for it; use execute() without a session"
            )
        handles = [tensor._handle for tensor in tensors]
        wanted = options.show_progress if show_progress is None else show_progress
        with shown_progress(control, wanted):
            self._engine.execute(handles, options.for_engine(), control, timeout)

    def fetch(self, tensor: Any) -> Any:
        """The items of an executed tensor, or of a slice of one, as a NumPy array; the object of a
        remote object."""
        if tensor._handle.is_slice_of_executed:
            self.execute(tensor, show_progress=False)
        array: NDArray[Any] = np.asarray(self._engine.fetch(tensor._handle))
        convert = getattr(tensor, "_from_fetched", None)
        return array if convert is None else convert(array)

    def fetch_part(
        self, tensor: Any, start: tuple[int, ...], extents: tuple[int, ...]
    ) -> NDArray[Any]:
        """The items of an executed tensor from `start` on; reads only the chunks they are in."""
        return np.asarray(self._engine.fetch_part(tensor._handle, start, extents))

    def __enter__(self) -> Session:
        global _default
        self._before = _default
        return self.as_default()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        global _default
        _default = self._before


class ClusterSession(Session):
    """Computes tensors on a cluster. Results stay there until no tensor of this program refers to
    them, or the session is closed; what is fetched comes over, chunk by chunk."""

    def __init__(
        self,
        address: str,
        token: str | None = None,
        *,
        tls_ca: str | None = None,
        timeout: float = 60.0,
        session_timeout: float = 120.0,
        name: str | None = None,
    ) -> None:
        self._engine = engine = _core.ClusterSession(
            address,
            token=token or "",
            tls_ca=tls_ca or "",
            timeout=timeout,
            session_timeout=session_timeout,
            name=name or "",
        )
        # Also when the program ends; the cluster would otherwise wait for a sign of life.
        self._closing = weakref.finalize(self, engine.close)

    @property
    def address(self) -> str:
        """Where its web role is."""
        return self._cluster.url

    @property
    def n_cpu(self) -> int:
        """The threads of all workers that are there now."""
        return sum(worker["threads"] for worker in self._workers())

    @property
    def mem_bytes(self) -> int:
        """The memory of all workers that are there now."""
        return sum(worker["memory"] for worker in self._workers())

    def _workers(self) -> list[dict[str, Any]]:
        """Those that are there."""
        workers = self.get_cluster_info()["workers"]
        return [worker for worker in workers if worker["state"] not in ("away", "lost")]

    @property
    def _cluster(self) -> _core.ClusterSession:
        assert isinstance(self._engine, _core.ClusterSession)
        return self._engine

    def get_cluster_info(self) -> dict[str, Any]:
        """The state of the cluster: its workers with threads, memory and tasks; sessions; totals.
        What `GET /api/cluster` answers."""
        info: dict[str, Any] = json.loads(self._cluster.cluster_info())
        return info

    def close(self) -> None:
        """Gives back everything on the cluster."""
        super().close()
        self._closing()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        self.close()

    def __repr__(self) -> str:
        return f"<ClusterSession at {self.address}>"


_default: Session | None = None
#: Executions that go on by themselves.
_running: dict[_core.RunControl, threading.Thread] = {}


@atexit.register
def _end_executions() -> None:
    """The interpreter must not go away under them."""
    for control, thread in list(_running.items()):
        control.cancel()
        thread.join(10)


def get_default_session() -> Session:
    """The default session; one with all cores is made if there is none."""
    global _default
    if is_inside():
        session: Session = own_session()
        return session
    if _default is None:
        _default = Session()
    return _default


def new_session(
    address: str | None = None,
    *,
    token: str | None = None,
    n_cpu: int | None = None,
    mem_bytes: int | None = None,
    tls_ca: str | None = None,
    timeout: float = 60.0,
    session_timeout: float = 120.0,
    name: str | None = None,
) -> Session:
    """A session: on the cluster whose web role is at `address` ("http://host:port"), else in this
    process, with `n_cpu` threads and `mem_bytes` of memory.

    The `token` opens the cluster; without one, it is taken from MUSTER_TOKEN, from this user's web
    role on this host, or made from MUSTER_SECRET. `tls_ca` names a PEM file with those who may
    vouch for an https address. A call fails when the cluster stays away for `timeout` seconds; the
    cluster drops the session when this program is silent for `session_timeout` seconds.
    """
    if address is None:
        if token is not None:
            raise ValueError("a token is for sessions on a cluster, but there is no address")
        return Session(n_cpu=n_cpu, mem_bytes=mem_bytes)
    if n_cpu is not None or mem_bytes is not None:
        raise ValueError("n_cpu and mem_bytes are for sessions in this process, not on a cluster")
    return ClusterSession(
        address, token, tls_ca=tls_ca, timeout=timeout, session_timeout=session_timeout, name=name
    )


def execute(
    *tensors: Any,
    session: Session | None = None,
    wait: bool = True,
    timeout: float | None = None,
    show_progress: bool | str | None = None,
) -> Any:
    """Computes tensors together and gives them back; an `ExecutionInfo` with `wait=False`."""
    chosen = session or get_default_session()
    if not wait:
        return chosen.submit(*tensors, timeout=timeout)
    chosen.execute(*tensors, timeout=timeout, show_progress=show_progress)
    return tensors[0] if len(tensors) == 1 else tensors


def fetch(*tensors: Any, session: Session | None = None) -> Any:
    """The items of executed tensors as NumPy arrays, and the objects of remote objects."""
    chosen = session or get_default_session()
    values = tuple(chosen.fetch(tensor) for tensor in tensors)
    return values[0] if len(values) == 1 else values
