"""``python -m muster.deploy.kubernetes.scheduler`` is ``muster scheduler``."""

from muster.deploy.kubernetes._program import become


def main() -> None:
    become("scheduler")


if __name__ == "__main__":
    main()
