"""A group of processes that compute together."""

from __future__ import annotations

import atexit
import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, SupportsIndex, Union

import numpy as np

from muster._core import NativeGroup
from muster.collective import _arguments, _arrays
from muster.collective._arguments import explain
from muster.collective._handle import Handle
from muster.communication import _options
from muster.communication._logging import follow_level
from muster.communication.exceptions import ProxyClosedError

if TYPE_CHECKING:
    from muster.communication.proxy import Proxy

Array = Any
"""A NumPy array, or anything with the buffer protocol or DLPack."""
Op = Union[str, Callable[[Any, Any], Any]]

_open_groups: weakref.WeakSet[Group] = weakref.WeakSet()


class FinishedCalls(NamedTuple):
    """The calls with one tag that every rank that is left had finished."""

    calls: int
    last: str
    """The last of them: "allreduce of 1000 float32 by sum", for example."""


class Shrunk(NamedTuple):
    """What ``Group.shrink`` returns."""

    group: Group
    """The ranks that are left, in the same order."""
    lost: list[int]
    """Ranks of the old group that are not in the new one."""
    finished: int
    """How many calls with tag 0 every rank that is left had finished on the old group. ``split``
    is one, an allgather of 2 int32; ``all_to_all`` with ``counts`` but without ``receive_counts``
    is two. Calls that other threads finish while the group shrinks may not be counted."""
    last: str
    """The last of these, "allreduce of 1000 float32 by sum" for example; empty when there was
    none."""
    by_tag: dict[int, FinishedCalls]
    """The same for each tag with which all of them had finished any. Sends and receives do not
    count."""


class _TakesCounts:
    """A name that others have for an operation with ``counts``. A ``__getattr__`` would make every
    call slower."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, group: Any, owner: type) -> NoReturn:
        plain = self._name.removesuffix("v")
        raise AttributeError(f"a Group has no '{self._name}'; call {plain}(counts=...)")


class Group:
    """Processes that compute together, numbered 0 to ``size`` - 1.

    Make one with :meth:`join`, :meth:`from_environment` or :meth:`from_proxy`. All ranks call the
    same operations in the same order; calls from several threads at a time need different tags.
    Ranks that call something else get ``CallMismatchError``, which says who differs.

    **Arrays.** ``data`` is what a rank gives and ``out`` where its result goes: NumPy arrays, or
    anything with the buffer protocol or DLPack in the memory of the processor. They are used where
    they lie, so they must be contiguous (C order). Without ``out`` a new array is returned; ``out``
    may be ``data`` itself, and then the call works in place; for scatter, gather and allgather,
    the rank's block then lies at its place among all, and may also be given as that part. Arrays
    that overlap in another way raise ``ValueError``. Every operation returns ``out``.
    Between ranks, and between ``data`` and ``out`` where both hold as many items, the dtype and the
    shape must agree. One dimension stands for the items in C order: ``out`` may have one where
    ``data`` has several, or the other way round, and ranks whose shapes differ pass ``ravel()``.

    **Reductions.** ``op`` is "sum", "prod", "min", "max", "mean", "and", "or", "xor", or a function
    of two one-dimensional arrays that returns their combination, item by item, in a dtype that
    NumPy casts to theirs as "same_kind" (else ``TypeError``); with ``commutative=False`` it gets
    them in the order of ranks.

    **Blocks.** Where each rank gives or gets a block, ``counts`` says how many items each one's has
    when they differ, the same list on all ranks; the blocks then lie one after the other.

    **Failure.** When a rank is lost, every call that is under way raises ``RankLostError``, and so
    does every later one, until :meth:`shrink` makes a group of those that are left.

    **Time.** ``timeout`` is in seconds from the start of the call; a negative one is over at once.
    When it passes, the call raises ``OperationTimeoutError`` and is given up, which ends the group
    for all ranks; a call that was started, also when nobody waits for it. A receive is given up
    without harm.

    Thread-safe. The operations whose names begin with ``i`` start a call and return a
    :class:`Handle`. Waiting releases the GIL. Inherited through ``fork``, every call raises
    ``ForkedError``.
    """

    def __init__(self, native: NativeGroup) -> None:
        self._native = native
        self._closed = False
        _open_groups.add(self)

    # ---- Making one

    @classmethod
    def join(
        cls,
        name: str,
        size: int,
        *,
        rank: int | None = None,
        member: str = "",
        discovery: str = "",
        driver: str = "auto",
        driver_options: Mapping[str, Any] | None = None,
        secret: str = "",
        insecure: bool = False,
        join_timeout: float = 100,
        lease: float = 3,
        plane: str = "auto",
        minority_may_shrink: bool = False,
    ) -> Group:
        """Returns when all ranks are there.

        Arguments:
            name: The ranks meet under this name.
            size: How many there are.
            rank: None gives out the ranks that nobody asked for in the order of ``member``.
            member: This process's name in the group; made up when empty.
            discovery: Where the ranks find each other, such as "redis://host:6379" or
                "file:/shared/folder"; a folder on this host when empty.
            driver: The transport between hosts, and on one host with ``plane="network"``.
            driver_options: Options of the transport, such as ``{"zmq.protocol": "ipc"}``.
            secret: What ranks on other hosts must know too; ``MUSTER_SECRET`` when empty.
            insecure: Allows other hosts without a secret.
            join_timeout: Seconds to wait for the others.
            lease: Seconds of silence after which a rank counts as lost; at least 0.05.
            plane: "auto" uses shared memory when all ranks are on one host, "shared" requires it,
                "network" sends messages even then.
            minority_may_shrink: Whether ``shrink`` may go on with half of the ranks or fewer when
                the others are silent and not known to be dead.
        """
        _arguments.members(name, size, rank)
        follow_level()
        options = _arguments.join_options(
            member=member,
            discovery=discovery,
            driver=driver,
            driver_options=driver_options,
            secret=secret,
            insecure=insecure,
            join_timeout=join_timeout,
            lease=lease,
            plane=plane,
            minority_may_shrink=minority_may_shrink,
        )
        return cls(NativeGroup.join(name, size, rank, options))

    @classmethod
    def from_environment(
        cls,
        *,
        member: str = "",
        discovery: str = "",
        driver: str = "auto",
        driver_options: Mapping[str, Any] | None = None,
        secret: str = "",
        insecure: bool = False,
        join_timeout: float = 100,
        lease: float = 3,
        plane: str = "auto",
        minority_may_shrink: bool = False,
    ) -> Group:
        """What a launcher such as ``muster run`` set: MUSTER_RANK, MUSTER_SIZE and MUSTER_GROUP.
        Without them, a group of one.

        The arguments are those of :meth:`join`; MUSTER_DISCOVERY comes before ``discovery``.
        """
        follow_level()
        options = _arguments.join_options(
            member=member,
            discovery=discovery,
            driver=driver,
            driver_options=driver_options,
            secret=secret,
            insecure=insecure,
            join_timeout=join_timeout,
            lease=lease,
            plane=plane,
            minority_may_shrink=minority_may_shrink,
        )
        return cls(NativeGroup.from_environment(options))

    @classmethod
    def from_proxy(
        cls,
        proxy: Proxy,
        name: str = "collective",
        *,
        types: Sequence[str] = (),
        size: int = 0,
        rank: int | None = None,
        join_timeout: float = 100,
        plane: str = "auto",
    ) -> Group:
        """A group of a proxy and its peers, which all call this. The proxy may be closed before.

        Arguments:
            proxy: A :class:`muster.communication.Proxy`.
            name: Several groups among the same peers have different names.
            types: Only peers of these types are ranks, and the proxy itself; all when empty.
            size: How many ranks there will be. When 0, those that come until each has the peers
                that its proxy waits for: a learner that waits for two actors, and actors that wait
                for a learner, are three. Needed where more may come, or a proxy waits for nobody.
            rank: None gives out ranks in the order of names.
            join_timeout: Seconds to wait for the others.
            plane: As in :meth:`join`.
        """
        native = NativeGroup.from_proxy(
            proxy._native,
            name,
            list(types),
            size,
            rank,
            _options.seconds("join_timeout", join_timeout),
            plane,
        )
        return cls(native)

    # ---- What it is

    @property
    def rank(self) -> int:
        """This process's number."""
        return self._native.rank

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self._native.size

    @property
    def name(self) -> str:
        """The name under which the ranks met."""
        return self._native.name

    @property
    def epoch(self) -> int:
        """1 after joining, one more after each :meth:`shrink` and :meth:`grow`."""
        return self._native.epoch

    @property
    def members(self) -> list[str]:
        """The names of the ranks."""
        return self._native.members

    @property
    def lost(self) -> list[int]:
        """Ranks that are known to be lost."""
        return self._native.lost

    @property
    def plane(self) -> str:
        """ "shared" or "network"; "network" in a group of one, which needs neither."""
        return self._native.plane

    # ---- The collectives

    def barrier(self, *, tag: int = 0, timeout: float | None = None) -> None:
        """Returns when all ranks have called it."""
        self._run(_call("barrier"), tag, timeout)

    def broadcast(
        self, data: Array, root: int = 0, *, tag: int = 0, timeout: float | None = None
    ) -> Array:
        """Puts the root's items into every rank's ``data``."""
        return self._run(_call("broadcast", None, data, root=root), tag, timeout)

    def scatter(
        self,
        data: Array | None,
        out: Array | None = None,
        root: int = 0,
        *,
        counts: Sequence[int] | None = None,
        tag: int = 0,
        timeout: float | None = None,
    ) -> Array:
        """One block of the root's ``data`` to each rank. ``data`` counts at the root only; the
        others need ``out``, of the size of their block."""
        return self._run(self._scatter(data, out, root, counts), tag, timeout)

    def gather(
        self,
        data: Array,
        out: Array | None = None,
        root: int = 0,
        *,
        counts: Sequence[int] | None = None,
        tag: int = 0,
        timeout: float | None = None,
    ) -> Array | None:
        """All ranks' ``data`` to the root, which gets an array with one row per rank; None
        elsewhere."""
        return self._run(self._gather(data, out, root, counts), tag, timeout)

    def reduce(
        self,
        data: Array,
        out: Array | None = None,
        op: Op = "sum",
        root: int = 0,
        *,
        commutative: bool = True,
        tag: int = 0,
        timeout: float | None = None,
    ) -> Array | None:
        """All ranks' items, combined, to the root; None elsewhere."""
        return self._run(self._reduce(data, out, op, root, commutative), tag, timeout)

    def allreduce(
        self,
        data: Array,
        out: Array | None = None,
        op: Op = "sum",
        *,
        commutative: bool = True,
        tag: int = 0,
        timeout: float | None = None,
    ) -> Array:
        """All ranks' items, combined, to all."""
        return self._run(self._allreduce(data, out, op, commutative), tag, timeout)

    def allgather(
        self,
        data: Array | None,
        out: Array | None = None,
        *,
        counts: Sequence[int] | None = None,
        tag: int = 0,
        timeout: float | None = None,
    ) -> Array:
        """All ranks' ``data`` to all: an array with one row per rank. With ``data=None`` the rank's
        block already lies at its place in ``out``."""
        return self._run(self._allgather(data, out, counts), tag, timeout)

    def reduce_scatter(
        self,
        data: Array,
        out: Array | None = None,
        op: Op = "sum",
        *,
        counts: Sequence[int] | None = None,
        commutative: bool = True,
        tag: int = 0,
        timeout: float | None = None,
    ) -> Array:
        """All ranks' items, combined, one block to each."""
        call = self._reduce_scatter(data, out, op, counts, commutative)
        return self._run(call, tag, timeout)

    def all_to_all(
        self,
        data: Array,
        out: Array | None = None,
        *,
        counts: Sequence[int] | None = None,
        receive_counts: Sequence[int] | None = None,
        tag: int = 0,
        timeout: float | None = None,
    ) -> Array:
        """One block of each rank's ``data`` to each rank. ``counts`` are the items that this rank
        sends to each, ``receive_counts`` those that it gets; without the latter the ranks tell each
        other."""
        call = self._all_to_all(data, out, counts, receive_counts, tag, timeout)
        return self._run(call, tag, timeout)

    scatterv = _TakesCounts()
    gatherv = _TakesCounts()
    allgatherv = _TakesCounts()
    all_to_allv = _TakesCounts()

    # ---- The same, started

    def ibarrier(self, *, tag: int = 0, timeout: float | None = None) -> Handle[None]:
        """Starts :meth:`barrier`."""
        return self._start(_call("barrier"), tag, timeout)

    def ibroadcast(
        self, data: Array, root: int = 0, *, tag: int = 0, timeout: float | None = None
    ) -> Handle[Any]:
        """Starts :meth:`broadcast`."""
        return self._start(_call("broadcast", None, data, root=root), tag, timeout)

    def iscatter(
        self,
        data: Array | None,
        out: Array | None = None,
        root: int = 0,
        *,
        counts: Sequence[int] | None = None,
        tag: int = 0,
        timeout: float | None = None,
    ) -> Handle[Any]:
        """Starts :meth:`scatter`."""
        return self._start(self._scatter(data, out, root, counts), tag, timeout)

    def igather(
        self,
        data: Array,
        out: Array | None = None,
        root: int = 0,
        *,
        counts: Sequence[int] | None = None,
        tag: int = 0,
        timeout: float | None = None,
    ) -> Handle[Any]:
        """Starts :meth:`gather`."""
        return self._start(self._gather(data, out, root, counts), tag, timeout)

    def ireduce(
        self,
        data: Array,
        out: Array | None = None,
        op: Op = "sum",
        root: int = 0,
        *,
        commutative: bool = True,
        tag: int = 0,
        timeout: float | None = None,
    ) -> Handle[Any]:
        """Starts :meth:`reduce`."""
        return self._start(self._reduce(data, out, op, root, commutative), tag, timeout)

    def iallreduce(
        self,
        data: Array,
        out: Array | None = None,
        op: Op = "sum",
        *,
        commutative: bool = True,
        tag: int = 0,
        timeout: float | None = None,
    ) -> Handle[Any]:
        """Starts :meth:`allreduce`."""
        return self._start(self._allreduce(data, out, op, commutative), tag, timeout)

    def iallgather(
        self,
        data: Array | None,
        out: Array | None = None,
        *,
        counts: Sequence[int] | None = None,
        tag: int = 0,
        timeout: float | None = None,
    ) -> Handle[Any]:
        """Starts :meth:`allgather`."""
        return self._start(self._allgather(data, out, counts), tag, timeout)

    def ireduce_scatter(
        self,
        data: Array,
        out: Array | None = None,
        op: Op = "sum",
        *,
        counts: Sequence[int] | None = None,
        commutative: bool = True,
        tag: int = 0,
        timeout: float | None = None,
    ) -> Handle[Any]:
        """Starts :meth:`reduce_scatter`."""
        call = self._reduce_scatter(data, out, op, counts, commutative)
        return self._start(call, tag, timeout)

    def iall_to_all(
        self,
        data: Array,
        out: Array | None = None,
        *,
        counts: Sequence[int] | None = None,
        receive_counts: Sequence[int] | None = None,
        tag: int = 0,
        timeout: float | None = None,
    ) -> Handle[Any]:
        """Starts :meth:`all_to_all`. Without ``receive_counts`` the counts are exchanged first,
        which waits."""
        call = self._all_to_all(data, out, counts, receive_counts, tag, timeout)
        return self._start(call, tag, timeout)

    # ---- Between two ranks

    def send(self, data: Array, to: int, *, tag: int = 0, timeout: float | None = None) -> None:
        """To one rank, which calls :meth:`recv` with room for as many items. Sends and receives
        match by tag and order, apart from the collectives."""
        try:
            self._native.send(data, to, tag, timeout)
        except TypeError as error:
            raise explain("send", error, data=data, to=to, tag=tag, timeout=timeout) from None

    def recv(self, out: Array, source: int, *, tag: int = 0, timeout: float | None = None) -> Array:
        """What ``source`` sends with this tag."""
        try:
            self._native.recv(out, source, tag, timeout)
        except TypeError as error:
            raise explain("recv", error, out=out, source=source, tag=tag, timeout=timeout) from None
        return out

    def isend(
        self, data: Array, to: int, *, tag: int = 0, timeout: float | None = None
    ) -> Handle[None]:
        """Starts :meth:`send`."""
        try:
            return Handle(self._native.isend(data, to, tag, timeout), None)
        except TypeError as error:
            raise explain("isend", error, data=data, to=to, tag=tag, timeout=timeout) from None

    def irecv(
        self, out: Array, source: int, *, tag: int = 0, timeout: float | None = None
    ) -> Handle[Any]:
        """Starts :meth:`recv`."""
        try:
            return Handle(self._native.irecv(out, source, tag, timeout), out)
        except TypeError as error:
            raise explain(
                "irecv", error, out=out, source=source, tag=tag, timeout=timeout
            ) from None

    # ---- Members

    def split(
        self, color: int, key: int = 0, *, tag: int = 0, timeout: float | None = None
    ) -> Group:
        """A group for each color, of the ranks that gave it, ordered by key and then by rank. A
        negative color gives a group of this rank alone."""
        try:
            return Group(self._native.split(color, key, tag, timeout))
        except TypeError as error:
            raise explain("split", error, color=color, key=key, tag=tag, timeout=timeout) from None

    def agree(self, bits: int, *, timeout: float | None = None) -> tuple[int, list[int]]:
        """The bits that all ranks which are still there gave, and those ranks: the same answer on
        each of them, whoever is lost meanwhile. Works on a group whose calls fail."""
        try:
            return self._native.agree(bits, timeout)
        except TypeError as error:
            raise explain("agree", error, bits=bits, timeout=timeout) from None

    def shrink(self, *, timeout: float | None = None) -> Shrunk:
        """A group of the ranks that are left, which all call this. This one is of no use
        afterwards."""
        try:
            native, lost, finished, last, by_tag = self._native.shrink(timeout)
        except TypeError as error:
            raise explain("shrink", error, timeout=timeout) from None
        tags = {tag: FinishedCalls(*calls) for tag, calls in by_tag.items()}
        return Shrunk(Group(native), list(lost), finished, last, tags)

    def grow(self, newcomers: int, *, timeout: float | None = None) -> Group:
        """A group of these ranks and as many new ones, which call :meth:`join` with the new size
        and the same name, and get the last ranks. This one is of no use afterwards."""
        try:
            return Group(self._native.grow(newcomers, timeout))
        except TypeError as error:
            raise explain("grow", error, newcomers=newcomers, timeout=timeout) from None

    def empty(
        self, shape: SupportsIndex | Sequence[SupportsIndex], dtype: Any = float
    ) -> np.ndarray[Any, Any]:
        """A zeroed array in memory that the ranks of this host read without a copy when it is the
        ``data`` of a call. It outlives the group."""
        extents = _arguments.shape(shape)
        item = np.dtype(dtype)
        if item.hasobject:
            raise TypeError(f"[empty] dtype is {item}; other processes cannot read objects")
        if any(extent < 0 for extent in extents):
            raise ValueError(f"[empty] shape is {shape!r}; extents are counted from 0")
        bytes_ = math.prod(extents) * item.itemsize
        if bytes_ >= 2**63:
            raise ValueError(f"[empty] shape is {shape!r}; no memory holds {bytes_} bytes")
        memory = self._native.allocate(max(bytes_, 1))
        return np.ndarray(extents, item, buffer=memory)  # type: ignore[arg-type]

    def close(self) -> None:
        """Leaves: waits, for a few seconds at most, until what this rank said has reached the
        others, and lets go of threads, memory and connections, but for what groups made from this
        one and arrays from :meth:`empty` still need. Calls in other threads end with
        ``ProxyClosedError``. In a reduction function it waits for nothing, and lets go soon after.
        Idempotent."""
        self._closed = True
        self._native.close()

    def __enter__(self) -> Group:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Group {self.name!r} rank {self.rank} of {self.size}, {self.plane}>"

    # ---- Calls as the library takes them

    def _run(self, call: dict[str, Any], tag: int, timeout: float | None) -> Any:
        self._check_open()
        try:
            self._native.run(**call, tag=tag, timeout=timeout)
        except TypeError as error:
            raise explain(
                call["operation"], error, root=call["root"], tag=tag, timeout=timeout
            ) from None
        return call["out"]

    def _check_open(self) -> None:
        if self._closed:
            raise ProxyClosedError(f"group {self.name!r} is closed")

    def _start(self, call: dict[str, Any], tag: int, timeout: float | None) -> Handle[Any]:
        self._check_open()
        try:
            return Handle(self._native.start(**call, tag=tag, timeout=timeout), call["out"])
        except TypeError as error:
            raise explain(
                call["operation"], error, root=call["root"], tag=tag, timeout=timeout
            ) from None

    def _scatter(
        self, data: Array | None, out: Array | None, root: int, counts: Sequence[int] | None
    ) -> dict[str, Any]:
        counts = _arguments.counts("scatter", "counts", counts, self.size)
        if self.rank != root:
            data = None
            if out is None:
                raise TypeError(f"[scatter] rank {self.rank} is not the root and needs out")
        elif out is None and data is not None:
            own = None if counts is None else counts[self.rank]
            out = _arrays.one(data, self.size, own, "[scatter] data")
        return _call("scatter", data, out, root=root, counts=counts)

    def _gather(
        self, data: Array, out: Array | None, root: int, counts: Sequence[int] | None
    ) -> dict[str, Any]:
        counts = _arguments.counts("gather", "counts", counts, self.size)
        if self.rank != root:
            out = None
        elif out is None:
            out = _arrays.many(data, self.size, counts, "[gather] data")
        return _call("gather", data, out, root=root, counts=counts)

    def _reduce(
        self, data: Array, out: Array | None, op: Op, root: int, commutative: bool
    ) -> dict[str, Any]:
        if self.rank != root:
            out = None
        elif out is None:
            out = _arrays.empty_like(data, _arrays.shape_of(data, "[reduce] data"), "[reduce] data")
        return _call("reduce", data, out, op, commutative, root)

    def _allreduce(
        self, data: Array, out: Array | None, op: Op, commutative: bool
    ) -> dict[str, Any]:
        if out is None:
            what = "[allreduce] data"
            out = _arrays.empty_like(data, _arrays.shape_of(data, what), what)
        return _call("allreduce", data, out, op, commutative)

    def _allgather(
        self, data: Array | None, out: Array | None, counts: Sequence[int] | None
    ) -> dict[str, Any]:
        counts = _arguments.counts("allgather", "counts", counts, self.size)
        if out is None:
            if data is None:
                raise TypeError("[allgather] needs data or out")
            out = _arrays.many(data, self.size, counts, "[allgather] data")
        return _call("allgather", data, out, counts=counts)

    def _reduce_scatter(
        self,
        data: Array,
        out: Array | None,
        op: Op,
        counts: Sequence[int] | None,
        commutative: bool,
    ) -> dict[str, Any]:
        counts = _arguments.counts("reduce_scatter", "counts", counts, self.size)
        if out is None:
            own = None if counts is None else counts[self.rank]
            out = _arrays.one(data, self.size, own, "[reduce_scatter] data")
        return _call("reduce_scatter", data, out, op, commutative, counts=counts)

    def _all_to_all(
        self,
        data: Array,
        out: Array | None,
        counts: Sequence[int] | None,
        receive_counts: Sequence[int] | None,
        tag: int,
        timeout: float | None,
    ) -> dict[str, Any]:
        what = "[all_to_all] data"
        counts = _arguments.counts("all_to_all", "counts", counts, self.size)
        receive_counts = _arguments.counts(
            "all_to_all", "receive_counts", receive_counts, self.size
        )
        if counts is not None and receive_counts is None:
            told = np.array(counts)
            receive_counts = self.all_to_all(told, tag=tag, timeout=timeout).tolist()
        if out is None and receive_counts is not None:
            out = _arrays.empty_like(data, (sum(receive_counts),), what)
        elif out is None:
            out = _arrays.empty_like(data, _arrays.shape_of(data, what), what)
        return _call("all_to_all", data, out, counts=counts, receive_counts=receive_counts)


def _call(
    operation: str,
    data: Array | None = None,
    out: Array | None = None,
    op: Op = "sum",
    commutative: bool = True,
    root: int = 0,
    counts: Sequence[int] | None = None,
    receive_counts: Sequence[int] | None = None,
) -> dict[str, Any]:
    return {
        "operation": operation,
        "data": data,
        "out": out,
        "op": op,
        "commutative": commutative,
        "root": root,
        "counts": counts,
        "receive_counts": receive_counts,
    }


@atexit.register
def _close_all() -> None:
    for group in list(_open_groups):
        group.close()
