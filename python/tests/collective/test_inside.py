"""What a program does from inside a call: in signal handlers, and in reduction functions."""

import pytest
import ranks

planes = pytest.mark.parametrize("plane", ["shared", "network"])


@planes
def test_a_signal_handler_closes_the_group_while_a_call_waits(run_ranks, name, plane):
    told = run_ranks(ranks.closed_by_a_signal, 2, plane=plane)
    assert told[0] == f"ProxyClosedError: group '{name}' is closed"
    assert told[1] == f"RankLostError: rank 0 left group '{name}'"


@planes
@pytest.mark.parametrize("own", [True, False])
def test_a_function_lets_go_of_handles(run_ranks, name, plane, own):
    told = run_ranks(ranks.dropped_by_a_function, 2, own, plane=plane)
    assert all(text.startswith("CallCancelledError: ") for text in told.values()), told


@planes
def test_a_call_in_a_function_is_refused(run_ranks, name, plane):
    told = run_ranks(ranks.called_in_a_function, 2, plane=plane)
    assert told[0].startswith(f"RuntimeError: [barrier] on group '{name}' from inside a reduction")
    assert told[1].startswith("ReductionFailedError: the reduction function of rank 0")


@planes
def test_a_function_lets_go_of_its_group(run_ranks, name, plane):
    told = run_ranks(ranks.let_go_by_a_function, 2, plane=plane)
    assert told[0] == "let go"
    assert told[1] == f"RankLostError: rank 0 left group '{name}.own'"
