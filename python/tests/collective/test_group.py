"""Groups of real processes."""

import re

import group_members
import numpy as np
import pytest
import ranks

from muster.collective import Group

PLANES = ["shared", "network"]


@pytest.mark.parametrize("plane", PLANES)
@pytest.mark.parametrize("size", [2, 3])
def test_every_operation_gives_what_numpy_gives(run_ranks, size, plane):
    results = run_ranks(ranks.every_operation, size, plane=plane)
    inputs = np.stack([np.arange(6, dtype=np.float32) + rank for rank in range(size)])
    for rank in range(size):
        got = results[rank]
        assert isinstance(got, dict), got
        np.testing.assert_array_equal(got["allreduce"], inputs.sum(0))
        np.testing.assert_array_equal(got["mean"], inputs.mean(0))
        np.testing.assert_array_equal(got["max"], inputs.max(0))
        assert got["allreduce"].dtype == np.float32
        assert got["broadcast"].tolist() == [size - 1] * 3
        assert got["scatter"].tolist() == [2 * rank, 2 * rank + 1]
        np.testing.assert_array_equal(got["allgather"], inputs)
        assert got["reduce_scatter"].tolist() == [2 * rank * size, (2 * rank + 1) * size]
        assert got["all_to_all"].tolist() == [100 * other + rank for other in range(size)]
        assert (got["gather"] is None) == (rank != 0)
        assert (got["reduce"] is None) == (rank != size - 1)
    np.testing.assert_array_equal(results[0]["gather"], inputs)
    np.testing.assert_array_equal(results[size - 1]["reduce"], inputs.prod(0))


@pytest.mark.parametrize("plane", PLANES)
def test_blocks_may_differ_in_size(run_ranks, plane):
    results = run_ranks(ranks.different_counts, 3, plane=plane)
    for rank in range(3):
        got = results[rank]
        assert isinstance(got, dict), got
        assert got["allgather"].tolist() == [0, 1, 1, 2, 2, 2]
        assert got["scatter"].tolist() == [[0], [1, 2], [3, 4, 5]][rank]
        assert got["reduce_scatter"].tolist() == [[0], [3, 6], [9, 12, 15]][rank]
        assert got["all_to_all"].tolist() == [10 + rank, 20 + rank, 20 + rank]
    assert results[0]["gather"].tolist() == [0, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("plane", PLANES)
def test_several_calls_and_messages_may_be_under_way(run_ranks, plane):
    results = run_ranks(ranks.in_the_background, 2, plane=plane)
    for rank in range(2):
        assert results[rank] == [[1, 2, 3, 4], 3.0, True, [1 - rank, 5.0]]


@pytest.mark.parametrize("plane", PLANES)
def test_threads_call_one_group_and_several_at_a_time(run_ranks, plane):
    for rounds in run_ranks(ranks.threads_at_once, 2, 20, plane=plane).values():
        assert rounds == [20] * 6, "right ones of each thread"


@pytest.mark.parametrize("plane", PLANES)
def test_a_broadcast_cannot_go_into_read_only_memory_but_come_from_there(run_ranks, plane):
    results = run_ranks(ranks.read_only_broadcasts, 2, plane=plane)
    assert results[0] == ([], [0.0] * 3)
    errors, after = results[1]
    told = "ValueError: [broadcast] data is read-only, and the result has to go there"
    assert errors == [told, told]
    assert after == [0.0] * 3


@pytest.mark.parametrize("plane", PLANES)
def test_functions_in_python_reduce(run_ranks, plane):
    results = run_ranks(ranks.user_functions, 3, plane=plane)
    for rank in range(3):
        furthest, digits = results[rank]
        assert furthest == [-1.5, 0.5]
        assert digits == [123]


@pytest.mark.parametrize("plane", PLANES)
@pytest.mark.parametrize("items", [3, 200_000])
def test_a_function_that_raises_on_one_rank_fails_the_calls_of_all(run_ranks, items, plane):
    results = run_ranks(ranks.failing_function, 3, items, plane=plane)
    assert results[1] == "ZeroDivisionError: division by zero"
    for rank in (0, 2):
        assert results[rank].startswith("ReductionFailedError: ")
        assert "reduction function of rank 1 of group" in results[rank]


@pytest.mark.parametrize("plane", PLANES)
def test_a_rank_that_calls_something_else_is_named(run_ranks, plane):
    results = run_ranks(ranks.another_count, 2, plane=plane)
    for rank in range(2):
        assert results[rank].startswith("CallMismatchError: ")
        assert "rank " in results[rank]
        assert "allreduce of 4 float32" in results[rank]
        assert "allreduce of 5 float32" in results[rank]


# In rooted calls not all wait for each other: those that do not notice are told by the next call.
SHAPES_DIFFER = "rank [01] calls .* in another shape than rank [01]; where only|before this barrier"


@pytest.mark.parametrize("plane", PLANES)
def test_a_rank_that_calls_with_another_shape_is_named(run_ranks, plane):
    results = run_ranks(ranks.other_shapes, 2, plane=plane)
    for rank in range(2):
        assert isinstance(results[rank], dict), results[rank]
        for call, told in results[rank].items():
            assert told.startswith("CallMismatchError: "), f"{call}: {told}"
            assert re.search(SHAPES_DIFFER, told), f"{call}: {told}"
        assert "allreduce of 6 float64 by sum in another shape" in results[rank]["allreduce"]
        assert "allreduce of 6 float64 by sum in another shape" in results[rank]["started"]


@pytest.mark.parametrize("plane", PLANES)
def test_arrays_may_differ_where_blocks_do_not(run_ranks, plane):
    gathered = [0] * 6 + [1] * 6
    for rank, results in run_ranks(ranks.fitting_shapes, 2, plane=plane).items():
        at_root = gathered if rank == 1 else None
        given = [rank] * 6
        assert results == [gathered, at_root, gathered, at_root, given, [1] * 6, [0] * 6]


@pytest.mark.parametrize("plane", PLANES)
def test_a_block_may_be_a_row_or_an_array_of_one_row(run_ranks, plane):
    gathered = [0] * 5 + [1] * 5
    for rank, results in run_ranks(ranks.single_rows, 2, plane=plane).items():
        assert results == [gathered if rank == 0 else None, gathered, gathered, gathered]


@pytest.mark.parametrize("plane", PLANES)
def test_survivors_go_on_after_a_rank_was_killed(run_ranks, plane):
    results = run_ranks(ranks.lose_a_rank, 3, 1, plane=plane, dies=[1])
    for rank in (0, 2):
        got = results[rank]
        assert isinstance(got, dict), got
        assert "rank 1" in got["error"]
        assert got["lost"] == [1]
        assert got["size"] == 2
        assert got["sum"] == 2
        assert got["before"] == 3


@pytest.mark.parametrize("plane", PLANES)
def test_a_group_that_was_closed_lets_go_of_what_it_had(run_ranks, plane):
    results = run_ranks(group_members.closed_and_not_let_go, 2, plane=plane)
    for rank in range(2):
        had, over, error = results[rank]
        assert had[1:] == had[:1] * 2, "threads, descriptors and maps before and after"
        assert over, "a call was over, and is no more"
        assert error == "ProxyClosedError"


@pytest.mark.parametrize("seconds", [1e30, float("inf")])
@pytest.mark.parametrize("plane", PLANES)
def test_a_timeout_may_be_for_ever(run_ranks, plane, seconds):
    assert run_ranks(ranks.patient_calls, 2, seconds, plane=plane) == {0: 2.0, 1: 2.0}


@pytest.mark.parametrize("plane", PLANES)
def test_a_deadline_that_has_passed_is_over(run_ranks, plane):
    for errors in run_ranks(ranks.past_deadlines, 2, plane=plane).values():
        assert all(error.startswith("OperationTimeoutError: ") for error in errors), errors


@pytest.mark.parametrize("plane", PLANES)
def test_arrays_that_overlap_are_refused(run_ranks, plane):
    both = "data and out overlap; they are the same memory, to work in place, or lie apart"
    for rank, errors in run_ranks(ranks.overlapping_arrays, 2, plane=plane).items():
        first = errors.pop("place of rank 0")
        assert rank == 0 or "[allgather] data lies where the block of rank 0 does" in first
        operations = {"down": "allreduce"}
        assert errors == {
            case: f"ValueError: [{operations.get(case, case)}] {both}" for case in errors
        }


@pytest.mark.parametrize("plane", PLANES)
def test_blocks_may_lie_at_their_place(run_ranks, plane):
    whole = [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]
    results = run_ranks(ranks.blocks_in_place, 3, plane=plane)
    for rank, (part, full) in results.items():
        for gathered, everywhere, _ in (part, full):
            assert everywhere == whole
            assert rank != 1 or gathered == whole
        assert part[2] == [rank, rank]
        assert full[2] == (whole if rank == 1 else [rank, rank])


@pytest.mark.parametrize("plane", PLANES)
def test_functions_return_what_goes_into_the_items(run_ranks, plane):
    texts = [
        "returned object for items of float64",
        "returned float64 for items of int64",
        "returned complex128 for items of float64",
        "returned <U1 for items of int64",
        "returned int64 for items of uint8",
    ]
    results = run_ranks(ranks.wrong_results, 2, plane=plane)
    for errors in zip(*results.values()):
        assert any(error.startswith("TypeError: the reduction function") for error in errors)
    for errors in results.values():
        assert all(text in error for text, error in zip(texts, errors)), errors


@pytest.mark.parametrize("plane", PLANES)
def test_reductions_that_differ_are_named(run_ranks, plane):
    ordered = "by a function in the order of ranks"
    for errors in run_ranks(ranks.other_reductions, 2, plane=plane).values():
        for error, other in zip(errors, ("by sum", "by a function") * 2):
            assert error.startswith("CallMismatchError: "), error
            assert "rank 1 calls allreduce" in error
            assert ordered in error
            assert error.replace(ordered, "").count(other) == 1, error


def test_without_a_launcher_there_is_a_group_of_one():
    with Group.from_environment() as group:
        assert (group.rank, group.size) == (0, 1)
        assert group.allreduce(np.arange(3)).tolist() == [0, 1, 2]


def test_a_group_is_made_from_a_proxy(name):
    from muster.communication import Proxy

    def component(mine, other, results):
        with Proxy(name, mine, {other: 1}) as proxy, Group.from_proxy(proxy) as group:
            results[mine] = group.allreduce(np.ones(2)).tolist()

    import threading

    results = {}
    threads = [
        threading.Thread(target=component, args=(*pair, results))
        for pair in (("learner", "actor"), ("actor", "learner"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(ranks.PATIENCE)
    assert results == {"learner": [2, 2], "actor": [2, 2]}


def test_closing_twice_is_fine_and_calling_afterwards_is_not(alone):
    alone.close()
    alone.close()
    with pytest.raises(RuntimeError):
        alone.barrier()
