"""All calls of real processes, with every dtype and op, against NumPy."""

import re

import differing_ranks
import every_call
import group_members
import pytest

SIZES = [2, 3]
PLANES = ["shared", "network"]


@pytest.mark.timeout(150)  # some thousand calls, of more ranks than a small machine has cores
@pytest.mark.parametrize("size", SIZES)
def test_every_call_gives_what_numpy_gives_with_every_dtype_and_op(run_ranks, size):
    results = run_ranks(every_call.every_dtype_and_op, size, patience=120)
    for rank in range(size):
        assert isinstance(results[rank], tuple), results[rank]
        checks, problems = results[rank]
        assert problems == []
        assert checks > 3000


@pytest.mark.parametrize("plane", PLANES)
@pytest.mark.parametrize("size", SIZES)
def test_members_split_agree_grow_and_give_up(run_ranks, size, plane):
    results = run_ranks(group_members.members, size, plane=plane)
    for rank in range(size):
        got = results[rank]
        assert isinstance(got, dict), got
        assert got["split"] == (size - 1 - rank, size, 1)
        assert got["sum"] == [sum(range(size))]
        assert got["agree"] == (0b010, list(range(size)))
        assert got["grow"] == (rank, size, 2, [size])
        assert got["cancelled"] == "CallCancelledError"
        assert got["after"] == ([], [size])
        splits = (2, "allgather of 2 int32")
        assert got["finished"] == (*splits, {0: splits})
    assert results[0]["over"] is False


@pytest.mark.parametrize("plane", PLANES)
def test_the_rank_that_differs_is_named_whatever_differs(run_ranks, plane):
    results = run_ranks(differing_ranks.mismatches, 3, plane=plane)
    for rank in range(3):
        assert isinstance(results[rank], dict), results[rank]
        for what, (_, _, text) in differing_ranks.MISMATCHES.items():
            assert re.search(text, results[rank][what]), f"rank {rank}, {what}"
