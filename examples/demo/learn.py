"""The learner as a component of a job: examples/jobs/pendulum.yml starts it and its actors."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from group import join
from learner import Learner
from train import ACTORS, PATIENT, PICTURE, conclude, stop_actors, train


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=45, help="to train for (default: 45)")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="where to save the curve")
    arguments = parser.parse_args()

    group, name = os.environ["JOB_ID"], os.environ["COMPONENT_NAME"]
    with join(group, "learner", {"actor": ACTORS}, name, **PATIENT) as proxy:
        try:
            history, notes = train(Learner(proxy), arguments.rounds)
        finally:
            stop_actors(proxy)
        rejoined = proxy.counters["rejoins"]
    title = f"Pendulum swing-up: a learner and {ACTORS} actors"
    return conclude(history, notes, rejoined, title, arguments.picture)


if __name__ == "__main__":
    sys.exit(main())
