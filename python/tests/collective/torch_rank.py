"""A rank that computes with tensors of PyTorch: ``torch_rank.py RANK SIZE NAME``. Run by
test_torch.py, by an interpreter that has PyTorch; fails when something is not as it should be."""

import sys

import torch

from muster.collective import Group


def refusal(group, tensor):
    try:
        group.allreduce(tensor)
    except (TypeError, ValueError) as problem:
        return f"{type(problem).__name__}: {problem}"
    return "none"


def main(rank: int, size: int, name: str) -> None:
    with Group.join(name, size, rank=rank) as group:
        data = torch.full((4,), rank + 1.0, dtype=torch.bfloat16)
        result = group.allreduce(data)
        assert result.dtype == torch.bfloat16
        assert result.tolist() == [sum(range(1, size + 1))] * 4

        # Where it lies: a tensor that shares the memory sees the result.
        weights = torch.nn.Parameter(torch.full((2, 3), float(rank)))
        view = weights.detach()[1]
        assert group.broadcast(weights, root=1) is weights
        assert view.tolist() == [1.0] * 3

        gathered = group.allgather(torch.arange(3) + 10 * rank)
        assert gathered.tolist() == [[0, 1, 2], [10, 11, 12]]

    with Group.join(f"{name}.{rank}", 1) as alone:
        conjugate = torch.ones(2, dtype=torch.complex64).conj()
        assert "resolve_conj()" in refusal(alone, conjugate)
        assert "ValueError: [allreduce] data does not lie" in refusal(alone, torch.ones(4, 4).t())
        assert "TypeError: [allreduce] data" in refusal(alone, torch.ones(3, device="meta"))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
