"""``python -m muster.deploy.kubernetes.worker`` is ``muster worker``."""

from muster.deploy.kubernetes._program import become


def main() -> None:
    become("worker")


if __name__ == "__main__":
    main()
