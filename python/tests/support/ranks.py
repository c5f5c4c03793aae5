"""What the processes of a group run, for the tests of muster.collective."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from muster.collective import Group, RankLostError

PATIENCE = 30.0  # seconds; a test that waits so long has failed
LEASE = 15.0  # whoever is starved of processor time is not lost


def run(function, rank, size, name, queue, plane, arguments):
    """The main function of a process: joins, calls, and reports."""
    try:
        options = {"rank": rank, "plane": plane, "join_timeout": PATIENCE, "lease": LEASE}
        with Group.join(name, size, **options) as group:
            queue.put((rank, function(group, *arguments)))
    except Exception:
        queue.put((rank, traceback.format_exc()))
        raise


def every_operation(group):
    """Each collective once; returns what came out."""
    rank, size = group.rank, group.size
    mine = np.arange(6, dtype=np.float32) + rank
    results = {
        "allreduce": group.allreduce(mine),
        "mean": group.allreduce(mine, op="mean"),
        "max": group.allreduce(mine, op="max"),
        "broadcast": group.broadcast(np.full(3, rank, np.int64), root=size - 1),
        "scatter": group.scatter(
            np.arange(2 * size) if rank == 0 else None, np.empty(2, np.int64), root=0
        ),
        "gather": group.gather(mine, root=0),
        "reduce": group.reduce(mine, op="prod", root=size - 1),
        "allgather": group.allgather(mine),
        "reduce_scatter": group.reduce_scatter(np.arange(2 * size, dtype=np.int16)),
        "all_to_all": group.all_to_all(np.arange(size) + 100 * rank),
    }
    group.barrier()
    return results


def different_counts(group):
    """The forms in which blocks differ: rank r has r + 1 items."""
    rank, size = group.rank, group.size
    counts = [r + 1 for r in range(size)]
    mine = np.full(counts[rank], rank, np.int32)
    whole = np.arange(sum(counts), dtype=np.int32)
    return {
        "allgather": group.allgather(mine, counts=counts),
        "gather": group.gather(mine, counts=counts),
        "scatter": group.scatter(
            whole if rank == 0 else None, np.empty(counts[rank], np.int32), counts=counts
        ),
        "reduce_scatter": group.reduce_scatter(whole, counts=counts),
        # r items of value 10 r + s to each rank s, which nobody told s about
        "all_to_all": group.all_to_all(
            np.repeat(np.arange(size) + 10 * rank, rank), counts=[rank] * size
        ),
    }


def past_deadlines(group):
    """Waits whose time was over before they began."""
    peer = 1 - group.rank
    receive = group.irecv(np.empty(1), peer, tag=1)
    errors = [
        error_of(lambda: group.recv(np.empty(1), peer, timeout=-0.5)),
        error_of(lambda: receive.wait(-1)),
        error_of(lambda: receive.wait(float("-inf"))),
    ]
    receive.cancel()
    with group.split(0) as part:
        if group.rank == 0:
            errors.append(error_of(part.barrier, timeout=-1))
        group.barrier()  # nobody leaves before
    return errors


def overlapping_arrays(group):
    """Arrays that share memory, on all ranks but 0: the words of the refusal, by operation."""
    rank, size = group.rank, group.size

    def of(operation, data, out, **options):
        items = np.arange(40.0)
        call = getattr(group, operation)
        return error_of(lambda: call(items[slice(*data)], items[slice(*out)], **options))

    return {
        "allreduce": of("allreduce", (0, 5), (2, 7)),
        "down": of("allreduce", (2, 7), (0, 5)),
        "reduce": of("reduce", (0, 5), (4, 9), root=rank),
        "gather": of("gather", (0, 2), (1, 1 + 2 * size), root=rank),
        "scatter": of("scatter", (0, 2 * size), (1, 3), root=rank),
        "allgather": of("allgather", (0, 2), (1, 1 + 2 * size)),
        "reduce_scatter": of("reduce_scatter", (0, 2 * size), (1, 3)),
        "all_to_all": of("all_to_all", (0, size), (1, 1 + size)),
        "place of rank 0": of("allgather", (0, 2), (0, 2 * size)) if rank else "not wrong",
    }


def blocks_in_place(group):
    """Blocks that lie at their place, given as that part of the array or as the whole."""
    rank, size = group.rank, group.size
    place = slice(2 * rank, 2 * rank + 2)
    results = []
    for part in (place, slice(None)):
        gathered, everywhere = np.full((2, 2 * size), float(rank))
        group.gather(gathered[part] if rank == 1 else gathered[:2], gathered, root=1)
        group.allgather(everywhere[part], everywhere)
        shared_out = np.repeat(np.arange(size) * 1.0, 2)
        mine = shared_out[part] if rank == 1 else np.empty(2)
        group.scatter(shared_out, mine, root=1)
        results.append((gathered.tolist(), everywhere.tolist(), mine.tolist()))
    return results


def wrong_results(group):
    """What a function may not return; the error of a group of its own for each."""
    functions = [
        (np.ones(2), lambda a, b: None),
        (np.array([1, 2]), lambda a, b: (a + b) / 4),
        (np.array([1.0, 2]), lambda a, b: (a + b) * 1j),
        (np.array([1, 2]), lambda a, b: ["3", "4"]),
        (np.array([1, 2], np.uint8), lambda a, b: np.array([-1, -2])),
    ]
    errors = []
    for data, function in functions:
        part = group.split(0)
        errors.append(error_of(part.allreduce, data, op=function))
        part.agree(0)
    return errors


def other_reductions(group):
    """A function against a name, and against one that is not commutative, small and large."""
    rank = group.rank
    errors = []
    for items in (1, 100_000):
        for op in ("sum", lambda a, b: a + b):
            part = group.split(0)
            mine = np.ones(items)
            function = op if rank == 0 else lambda a, b: a + b
            ordered = {"op": function, "commutative": rank == 0}
            errors.append(error_of(part.allreduce, mine, **ordered))
            part.agree(0)
    return errors


def in_the_background(group):
    """Two calls at a time with different tags, and messages between two ranks."""
    a = np.full(100_000, group.rank + 1.0)
    b = np.arange(4) + group.rank
    first = group.iallreduce(a, out=a, tag=1)
    second = group.iallreduce(b, tag=2, op="max")
    results = [second.wait(PATIENCE).tolist(), float(first.wait(PATIENCE)[-1]), first.test()]
    peer = 1 - group.rank
    received = group.irecv(np.empty(2), peer, tag=7)
    group.send(np.array([group.rank, 5.0]), peer, tag=7)
    return [*results, received.wait(PATIENCE).tolist()]


def threads_at_once(group, rounds):
    """Threads that use one group, each with a tag of its own, and others with a group each. How
    many rounds of each gave what they should."""
    parts = [group.split(0) for _ in range(2)]
    users = [(group, tag) for tag in range(4)] + [(part, 0) for part in parts]

    def use(number):
        of, tag = users[number]
        return sum(_round(of, tag, number, step) for step in range(rounds))

    with ThreadPoolExecutor(len(users)) as pool:
        return list(pool.map(use, range(len(users))))


def _round(group, tag, thread, step):
    """Some calls whose items depend on all of these; whether they gave what they should."""
    rank, size = group.rank, group.size
    count = (3, 1000, 50_000)[step % 3] + thread
    mine = np.arange(count) * (rank + 1) + 1000 * thread + step
    all_ranks = [mine + np.arange(count) * (other - rank) for other in range(size)]
    options = {"tag": tag, "timeout": PATIENCE}
    results = [
        (group.allreduce(mine, **options), sum(all_ranks)),
        (group.allgather(mine, **options), np.stack(all_ranks)),
        (group.broadcast(mine.copy(), root=1, **options), all_ranks[1]),
    ]
    return all(np.array_equal(got, wanted) for got, wanted in results)


def read_only_broadcasts(group):
    """What rank 1 is told when its memory is read-only, and what comes when it is not. That of
    rank 0, the root, may be."""
    data = np.full(3, float(group.rank))
    data.flags.writeable = False
    if group.rank == 0:
        return [], group.broadcast(data, timeout=PATIENCE).tolist()
    errors = [error_of(group.broadcast, data), error_of(group.ibroadcast, data)]
    return errors, group.broadcast(data.copy(), timeout=PATIENCE).tolist()


def user_functions(group):
    """Reductions in Python: one that may be reordered, and one that may not."""
    rank = group.rank
    furthest = group.allreduce(
        np.array([rank - 1.5, 0.5]), op=lambda a, b: np.where(np.abs(a) > np.abs(b), a, b)
    )
    digits = group.allreduce(
        np.array([rank + 1]), op=lambda a, b: a * 10 ** np.ceil(np.log10(b + 1)).astype(int) + b,
        commutative=False,
    )  # fmt: skip
    return furthest.tolist(), digits.tolist()


def failing_function(group, items):
    """The function of rank 1 raises; returns what each rank was told. Ranks that did not need rank
    1 any more learn it from their next call."""

    def add(a, b):
        return a + b if group.rank != 1 else 1 / 0

    try:
        for _ in range(2):
            group.allreduce(np.ones(items), op=add, timeout=PATIENCE)
        return "nothing"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def error_of(call, *arguments, **options):
    """What a call raises."""
    try:
        call(*arguments, **options)
        return "nothing"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def closed_by_a_signal(group):
    """A signal handler of rank 0 closes the group while a call waits."""
    if group.rank == 1:
        return error_of(lambda: group.recv(np.empty(1), 0, timeout=PATIENCE))
    signal.signal(signal.SIGALRM, lambda *_: group.close())
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    return error_of(lambda: group.allreduce(np.ones(3), timeout=PATIENCE))


def patient_calls(group, seconds):
    """Each kind of call with a long timeout; rank 1 comes later."""
    if group.rank == 1:
        time.sleep(0.1)
    group.barrier(timeout=seconds)
    group.ibarrier(timeout=seconds).wait(seconds)
    group.agree(1, timeout=seconds)
    with group.split(0, timeout=seconds) as part:
        part.barrier(timeout=seconds)
    options = {"rank": group.rank, "join_timeout": seconds, "lease": seconds}
    with Group.join(f"{group.name}.patient", group.size, **options) as patient:
        return float(patient.allreduce(np.ones(1), timeout=seconds)[0])


def dropped_by_a_function(group, own):
    """The reduction function of rank 0 lets go of the handle of its own call, or of the next."""
    handles = []

    def add(a, b):
        del handles[0 if own else 1 :]
        gc.collect()
        return a + b

    def take_part():
        group.allreduce(np.ones(100_000), op=add, timeout=PATIENCE)
        group.barrier(timeout=PATIENCE)

    if group.rank == 0:
        handles.append(group.iallreduce(np.ones(100_000), op=add))
        handles.append(group.ibarrier())
        group.send(np.ones(1), 1, timeout=PATIENCE)
        told = error_of(lambda: group.recv(np.empty(1), 1, timeout=PATIENCE))
    else:
        group.recv(np.empty(1), 0, timeout=PATIENCE)
        told = error_of(take_part)
    group.agree(1, timeout=PATIENCE)  # nobody leaves before all were told
    return told


def called_in_a_function(group):
    """The reduction function of rank 0 calls the group."""

    def add(a, b):
        if group.rank == 0:
            group.barrier(timeout=PATIENCE)
        return a + b

    def call():
        group.allreduce(np.ones(3), op=add, timeout=PATIENCE)
        group.barrier(timeout=PATIENCE)

    told = error_of(call)
    group.agree(1, timeout=PATIENCE)  # nobody leaves before all were told
    return told


def let_go_by_a_function(group):
    """The reduction function of rank 0, called in the background, lets go of its group."""
    options = {"rank": group.rank, "plane": group.plane, "join_timeout": PATIENCE, "lease": LEASE}
    own = [Group.join(f"{group.name}.own", group.size, **options)]
    gone = threading.Event()

    def add(a, b):
        if group.rank == 0:
            own.clear()
            gc.collect()
            gone.set()
        return a + b

    def take_part():
        own[0].allreduce(np.ones(3), op=add, timeout=PATIENCE)
        own[0].barrier(timeout=PATIENCE)

    if group.rank == 0:
        handles = [own[0].iallreduce(np.ones(3), op=add)]
        group.send(np.ones(1), 1, timeout=PATIENCE)
        told = "let go" if gone.wait(PATIENCE) else "not called"
        error_of(lambda: handles[0].wait(PATIENCE))  # it may go well
        handles.clear()
    else:
        group.recv(np.empty(1), 0, timeout=PATIENCE)
        told = error_of(take_part)
    group.barrier(timeout=PATIENCE)
    return told


def another_count(group):
    """Rank 1 calls with another count; returns what each rank was told."""
    items = 5 if group.rank == 1 else 4
    return error_of(lambda: group.allreduce(np.zeros(items, np.float32), timeout=PATIENCE))


def other_shapes(group):
    """Rank 1 calls with another shape, and as many items; what each rank was told, by call."""
    data = np.zeros((3, 2) if group.rank == 1 else (2, 3))
    calls = {
        "allreduce": lambda g: g.allreduce(data),
        "started": lambda g: g.iallreduce(data).wait(PATIENCE),
        "large": lambda g: g.allreduce(np.zeros((*data.shape, 50_000))),
        "allgather": lambda g: g.allgather(data),
        "in place": lambda g: g.allgather(None, np.zeros((2, *data.shape))),
        "all_to_all": lambda g: g.all_to_all(data),
        "reduce_scatter": lambda g: g.reduce_scatter(data),
        "reduce": lambda g: g.reduce(data),
        "broadcast": lambda g: g.broadcast(data),
        "gather": lambda g: g.gather(data),
    }
    told = {}
    for name, call in calls.items():
        told[name] = error_of(_and_barrier, call, group)
        group = group.shrink(timeout=PATIENCE).group
    return told


def _and_barrier(call, group):
    call(group)
    group.barrier(timeout=PATIENCE)


def fitting_shapes(group):
    """What two ranks get whose arrays differ, while their blocks do not."""
    gives = group.rank == 0
    block = np.full((2, 3), float(group.rank))
    flat = np.zeros(6)
    results = []

    def keep(result):
        results.append(None if result is None else result.ravel().tolist())

    for shape in [(2, 2, 3), (4, 3)]:
        out = np.repeat([0.0, 1.0], 6).reshape(shape)
        keep(group.allgather(block if gives else None, out))
        keep(group.gather(block if gives else out, out, root=1))
    keep(group.scatter(out if gives else None, flat if gives else block))
    keep(group.allreduce(block, flat if gives else block))
    keep(group.allreduce(block.ravel() if gives else np.zeros(6)))
    return results


def single_rows(group):
    """What two ranks get of blocks of one row; rank 0 works in place."""
    whole = np.repeat(np.arange(2.0), 5).reshape(2, 5)
    row = np.full((1, 5), float(group.rank))
    in_place = group.rank == 0
    gathered = group.gather(whole if in_place else row, whole if in_place else None)
    results = [None if gathered is None else gathered.ravel().tolist()]
    for own in (row, row.ravel(), whole[group.rank : group.rank + 1]):
        out = whole.copy()
        given = out if in_place else own
        results.append(group.allgather(given, out).ravel().tolist())
    empty = np.zeros((2, 0, 5))
    group.allgather(empty if in_place else np.zeros((0, 5)), empty)
    return results


def lose_a_rank(group, victim):
    """Adds up until a rank dies, then goes on with those that are left."""
    sums = []
    total = np.zeros(1000)
    for step in range(1000):
        if group.rank == victim and step == 20:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            total = group.allreduce(np.ones(1000))
        except RankLostError as error:
            began = time.monotonic()
            shrunk = group.shrink(timeout=PATIENCE)
            group = shrunk.group
            survivors = float(group.allreduce(np.ones(1))[0])
            return {
                "error": str(error),
                "lost": shrunk.lost,
                "size": group.size,
                "sum": survivors,
                "before": float(total[0]),
                "seconds": time.monotonic() - began,
            }
        sums.append(total[0])
    return "nobody died"
