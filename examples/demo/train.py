"""A learner and four actors, each a process of its own, learn to swing up a pendulum.

The learner goes on as soon as 60 % of the actors have answered; what stragglers send later is cut
off. On the way one actor is killed, and the others go on; later it is started again under its name
and is taken back. Fails if the pendulum does not stand in the end.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path

import curve
from crew import Crew
from group import join
from learner import Learner, Round

from muster.communication import Proxy, SessionType

ACTORS = 4
REQUIRED = -300.0  # a pendulum that never moves gets about -1200, one that is swung up well -190
VICTIM = "actor_2"
PICTURE = Path("build/demo/learning_curve.png")
# An actor may come back under its name; without any actor, sending fails after ten seconds.
PATIENT = {"enable_rejoin": True, "timeout_for_minimal_peer_number": 10}


class Progress:
    """A table that grows by a row every few rounds, and a last row that is always up to date."""

    EVERY = 5

    def __init__(self) -> None:
        self._live = sys.stdout.isatty()
        print("round    return      best   rollouts   late   actors   messages/s")

    def show(self, round: Round, best: float) -> None:
        row = (
            f"{round.number:5} {round.value:9.1f} {best:9.1f} {round.used:10} {round.late:6}"
            f" {round.actors:8} {round.messages:12.0f}"
        )
        if round.number == 1 or round.number % self.EVERY == 0:
            print("\r" + row if self._live else row, flush=True)
        elif self._live:
            print("\r" + row, end="", flush=True)

    def note(self, text: str) -> None:
        print(("\r\033[K" if self._live else "") + f"      {text}", flush=True)


def train(learner: Learner, rounds: int, crew: Crew | None = None) -> tuple[list[Round], list]:
    """Plays the rounds; an accident happens to the crew in between, if there is one."""
    progress, history, notes = Progress(), [], []
    best = float("-inf")
    for round in learner.rounds(rounds):
        history.append(round)
        best = max(best, round.returns.max())
        progress.show(round, best)
        if crew and round.number == rounds // 5:
            crew.kill(VICTIM)
            notes.append((round.number, f"{VICTIM} killed"))
            progress.note(f"kill -9 {VICTIM}: the others go on")
        if crew and round.number == 2 * rounds // 5:
            crew.start(VICTIM)
            notes.append((round.number, f"{VICTIM} restarted"))
            progress.note(f"{VICTIM} is started again, and joins when it is ready")
    if sys.stdout.isatty():
        print()
    return history, notes


def stop_actors(proxy: Proxy) -> None:
    if proxy.get_peers("actor"):
        proxy.ibroadcast("actor", "stop", SessionType.NOTIFICATION)


def conclude(history: list[Round], notes: list, rejoined: int, title: str, picture: Path) -> int:
    """Saves the curve and says how it went; returns the exit status."""
    cut_off = sum(round.late for round in history)
    print(f"\n{len(history)} rounds, {cut_off} late rollouts cut off, {rejoined} rejoined.")
    curve.save(history, REQUIRED, notes, picture, title)
    print(f"The learning curve is in {picture}")
    value = history[-1].value
    if value < REQUIRED:
        print(f"FAILED: the return is {value:.1f}, and at least {REQUIRED:.0f} is required.")
        return 1
    print(f"The pendulum stands: the return is {value:.1f}, required is {REQUIRED:.0f}.")
    return 0


def run(arguments: argparse.Namespace) -> int:
    group = f"demo-{os.getpid()}"
    began = time.monotonic()
    print(f"A learner and {ACTORS} actors swing up a pendulum (seed {arguments.seed}).")
    with (
        Crew(group, ACTORS, arguments.seed) as crew,
        join(group, "learner", {"actor": ACTORS}, "learner", **PATIENT) as proxy,
    ):
        print(f"All have joined after {time.monotonic() - began:.1f} s.\n", flush=True)
        try:
            victims = None if arguments.calm else crew
            history, notes = train(Learner(proxy), arguments.rounds, victims)
        finally:
            stop_actors(proxy)
        rejoined = proxy.counters["rejoins"]
    title = f"Pendulum swing-up: a learner and {ACTORS} actors, seed {arguments.seed}"
    return conclude(history, notes, rejoined, title, arguments.picture)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of the actors (default: 1)")
    parser.add_argument("--rounds", type=int, default=45, help="to train for (default: 45)")
    parser.add_argument("--calm", action="store_true", help="kill nobody")
    parser.add_argument(
        "--picture",
        type=Path,
        default=PICTURE,
        help=f"where to save the learning curve (default: {PICTURE})",
    )
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does
    try:
        return run(arguments)
    except KeyboardInterrupt:
        print("\nInterrupted; all actors have stopped.")
        return 130


if __name__ == "__main__":
    sys.exit(main())
