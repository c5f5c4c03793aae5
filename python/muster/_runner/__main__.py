"""Serves the worker that started this process until it closes the socket."""

from __future__ import annotations

import argparse

from muster._runner._serve import serve
from muster._runner._setup import Files, prepare


def main() -> None:
    """Takes its descriptors from the arguments."""
    parser = argparse.ArgumentParser(prog="muster._runner", description=__doc__)
    parser.add_argument("--socket", type=int, required=True, help="descriptor of the socket")
    parser.add_argument("--arena", type=int, help="descriptor of the worker's chunks")
    parser.add_argument("--parent", type=int, required=True, help="process id of the worker")
    parser.add_argument("--memory", type=int, default=0, help="bytes that functions may take")
    arguments = parser.parse_args()
    prepare(arguments.parent, arguments.memory)
    serve(Files(arguments.socket, arguments.arena))


if __name__ == "__main__":
    main()
