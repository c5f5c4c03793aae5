"""Every call of muster.collective with every dtype and op. The ranks of a group run it together;
each compares what it gets with what NumPy makes of everybody's input."""

from __future__ import annotations

import functools

import ml_dtypes
import numpy as np
from ranks import LEASE, PATIENCE

from muster.collective import Group

INTEGERS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]
FLOATS = ["f2", "f4", "f8", ml_dtypes.bfloat16]
COMPLEX = ["c8", "c16"]
NUMBERS_WITH_NAN = [np.dtype(each) for each in FLOATS]
DTYPES = [np.dtype(each) for each in (*INTEGERS, *FLOATS, *COMPLEX, "bool")]
OPS = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "mean": np.add,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
EVERYWHERE = {"min", "max", "and", "or", "xor"}


def ops_of(dtype):
    """The names that the dtype has."""
    if dtype.kind == "b":
        return EVERYWHERE
    if np.issubdtype(dtype, np.integer):
        return {"sum", "prod", *EVERYWHERE}
    if np.issubdtype(dtype, np.complexfloating):
        return {"sum", "prod", "mean"}
    return {"sum", "prod", "mean", "min", "max"}


def items(dtype, rank, count):
    """What a rank gives: any integers, and floats whose sums and products have no error."""
    random = np.random.default_rng((rank, count))
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, count, dtype, endpoint=True)
    if dtype.kind == "b":
        return random.integers(0, 2, count).astype(bool)
    values = random.integers(-3, 4, (2, count))
    if np.issubdtype(dtype, np.complexfloating):
        return (values[0] + 1j * values[1]).astype(dtype)
    return values[0].astype(dtype)


def combined(op, parts):
    """By NumPy. Halves are divided as floats, as everybody does."""
    with np.errstate(invalid="ignore"):
        total = functools.reduce(OPS[op], parts)
    if op != "mean":
        return total
    wide = np.dtype("f4") if total.dtype.itemsize == 2 else total.dtype
    return (total.astype(wide) / wide.type(len(parts))).astype(total.dtype)


class EveryCall:
    """Carries out the calls of one group, and notes what was not right."""

    def __init__(self, group):
        self.group = group
        self.rank, self.size = group.rank, group.size
        self.what = ""
        self.checks = 0
        self.problems = []

    def check(self, right, text):
        self.checks += 1
        if not right:
            self.problems.append(f"rank {self.rank}, {self.group.plane}, {self.what}: {text}")

    def same(self, got, wanted):
        self.check(
            isinstance(got, np.ndarray)
            and got.dtype == wanted.dtype
            and got.shape == wanted.shape
            and np.array_equal(got, wanted, equal_nan=wanted.dtype in NUMBERS_WITH_NAN),
            f"{got!r} instead of {wanted!r}",
        )

    def ways(self, operation, note, most=2):
        """The call that waits, and the one that is started."""

        def started(*arguments, **options):
            return getattr(self.group, "i" + operation)(*arguments, **options).wait(PATIENCE)

        for call in (getattr(self.group, operation), started)[:most]:
            self.what = f"{'i' if call is started else ''}{operation} {note}"
            yield call

    def all_items(self, dtype, count):
        return [items(dtype, rank, count) for rank in range(self.size)]

    # ---- Reductions

    def reductions(self, dtype):
        for op in OPS:
            if op in ops_of(dtype):
                self.reduction(self.all_items(dtype, 2 * self.size), op)
            else:
                self.refused(dtype, op)
        self.functions(dtype)
        if dtype.kind != "b":
            self.reduction(self.all_items(dtype, 3000 * self.size), "sum")

    def reduction(self, parts, op):
        mine, wanted, dtype = parts[self.rank], combined(op, parts), parts[0].dtype
        most = 2 if op in ("sum", "or") else 1  # calls are started alike, whatever the op
        for call in self.ways("allreduce", f"{dtype} {op}", most):
            self.same(call(mine, op=op), wanted)
            out, data = np.zeros_like(mine), mine.copy()
            self.check(call(mine, out, op=op) is out, "does not return out")
            self.same(out, wanted)
            self.check(call(data, out=data, op=op) is data, "does not return data")
            self.same(data, wanted)
            self.same(call(mine.reshape(-1, 2), op=op), wanted.reshape(-1, 2))
            self.same(call(mine.reshape(-1, 2), out, op=op), wanted)
        root = self.size - 1
        for call in self.ways("reduce", f"{dtype} {op}", most):
            data = mine.copy()
            for got in (call(mine, op=op, root=root), call(data, data, op, root)):
                if self.rank == root:
                    self.same(got, wanted)
                else:
                    self.check(got is None, f"{got!r} instead of None")
        blocks = np.split(wanted, self.size)
        counts = [len(mine) - self.size + 1] + [1] * (self.size - 1)
        start = sum(counts[: self.rank])
        own = counts[self.rank]
        for call in self.ways("reduce_scatter", f"{dtype} {op}", most):
            data = mine.copy()
            self.same(call(mine, op=op), blocks[self.rank])
            self.same(call(data, data, op)[: len(blocks[0])], blocks[self.rank])
            self.same(call(mine, op=op, counts=counts), wanted[start : start + own])

    def refused(self, dtype, op):
        self.what = f"{dtype} {op}"
        try:
            self.group.allreduce(np.zeros(2, dtype), op=op)
        except (TypeError, ValueError) as error:
            self.check("not defined for" in str(error), str(error))
        else:
            self.check(False, "is not refused")

    def functions(self, dtype):
        parts = self.all_items(dtype, 5)
        mine = parts[self.rank]
        op = "or" if dtype.kind == "b" else "sum"
        for call in self.ways("allreduce", f"{dtype} by a function"):
            self.same(call(mine, op=lambda a, b: OPS[op](a, b)), combined(op, parts))
            # What comes last, for which the order of ranks has to be kept.
            self.same(call(mine, op=lambda a, b: b, commutative=False), parts[-1])

    def not_a_number(self, dtype):
        parts = self.all_items(dtype, 4)
        parts[1][2] = np.nan
        for op in ("min", "max"):
            for call in self.ways("allreduce", f"{dtype} {op} with nan"):
                self.same(call(parts[self.rank], op=op), combined(op, parts))

    # ---- What is only moved

    def moves(self, dtype):
        self.broadcast(dtype)
        self.scatter(dtype)
        self.gather(dtype)
        self.allgather(dtype)
        self.all_to_all(dtype)
        self.messages(dtype)

    def broadcast(self, dtype):
        root = self.size - 1
        for call in self.ways("broadcast", dtype):
            data = items(dtype, self.rank, 6).reshape(2, 3)
            self.check(call(data, root) is data, "does not return data")
            self.same(data, items(dtype, root, 6).reshape(2, 3))

    def scatter(self, dtype):
        whole = items(dtype, 0, 2 * self.size)
        wanted = np.split(whole, self.size)[self.rank]
        counts = list(range(self.size))
        start = sum(counts[: self.rank])
        own = counts[self.rank]
        for call in self.ways("scatter", dtype):
            out, few = np.zeros(2, dtype), np.zeros(own, dtype)
            if self.rank == 0:
                self.same(call(whole), wanted)
                self.same(call(whole, out), wanted)
                self.same(call(whole, whole), whole)  # in place: its block lies where it lay
                self.same(call(whole[: sum(counts)], few, counts=counts), whole[:0])
                continue
            for _ in range(3):
                out[:] = 0
                self.same(call(None, out), wanted)
            self.same(call(None, few, counts=counts), whole[start : start + own])

    def gather(self, dtype):
        parts = self.all_items(dtype, 3)
        mine = parts[self.rank]
        few = [part[:rank] for rank, part in enumerate(parts)]
        counts = list(range(self.size))
        root = self.size - 1
        for call in self.ways("gather", dtype):
            if self.rank != root:
                for _ in range(3):
                    self.check(call(mine, root=root) is None, "is not None")
                call(few[self.rank], root=root, counts=counts)
                continue
            out, place = np.zeros((self.size, 3), dtype), np.zeros((self.size, 3), dtype)
            place[root] = mine
            self.same(call(mine, root=root), np.stack(parts))
            self.same(call(mine, out, root), np.stack(parts))
            self.same(call(place, place, root), np.stack(parts))
            self.same(call(few[root], root=root, counts=counts), np.concatenate(few))

    def allgather(self, dtype):
        parts = self.all_items(dtype, 3)
        mine = parts[self.rank]
        few = [part[:rank] for rank, part in enumerate(parts)]
        for call in self.ways("allgather", dtype):
            place = np.zeros((self.size, 3), dtype)
            place[self.rank] = mine
            self.same(call(mine), np.stack(parts))
            self.same(call(mine, np.zeros(3 * self.size, dtype)), np.concatenate(parts))
            self.same(call(None, place), np.stack(parts))
            self.same(call(place, place), np.stack(parts))
            counts = list(range(self.size))
            self.same(call(few[self.rank], counts=counts), np.concatenate(few))

    def all_to_all(self, dtype):
        parts = self.all_items(dtype, 2 * self.size)
        mine = parts[self.rank]
        wanted = np.concatenate([np.split(part, self.size)[self.rank] for part in parts])
        for call in self.ways("all_to_all", dtype):
            data = mine.copy()
            self.same(call(mine), wanted)
            self.same(call(mine, np.zeros_like(mine)), wanted)
            self.check(call(data, out=data) is data, "does not return data")
            self.same(data, wanted)
            # Rank r sends r items to each, and tells how many or does not.
            counts, receive = [self.rank] * self.size, list(range(self.size))
            few = [part[self.rank * r : (self.rank + 1) * r] for r, part in enumerate(parts)]
            sent = mine[: self.rank * self.size]
            self.same(call(sent, counts=counts), np.concatenate(few))
            self.same(call(sent, counts=counts, receive_counts=receive), np.concatenate(few))

    def messages(self, dtype):
        self.what = f"messages {dtype}"
        after, before = (self.rank + 1) % self.size, (self.rank - 1) % self.size
        mine, wanted = items(dtype, self.rank, 4), items(dtype, before, 4)
        receive = self.group.irecv(np.zeros_like(mine), before, tag=9)
        self.group.isend(mine, after, tag=9).wait(PATIENCE)
        self.same(receive.wait(PATIENCE), wanted)
        self.group.send(mine, after, tag=9)
        self.same(self.group.recv(np.zeros_like(mine), before, tag=9), wanted)


def every_dtype_and_op(group):
    """All calls through shared memory, and by messages; (checks, problems)."""
    checks, problems = 0, []
    by_messages = Group.join(
        f"{group.name}.net", group.size, rank=group.rank, plane="network", lease=LEASE
    )
    for each in (group, by_messages):
        calls = EveryCall(each)
        for dtype in DTYPES:
            calls.reductions(dtype)
            calls.moves(dtype)
            if dtype in NUMBERS_WITH_NAN:
                calls.not_a_number(dtype)
        for call in calls.ways("barrier", ""):
            calls.check(call() is None, "returns something")
        checks += calls.checks
        problems += calls.problems
    by_messages.close()
    return checks, problems
