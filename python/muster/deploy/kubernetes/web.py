"""``python -m muster.deploy.kubernetes.web`` is ``muster web``."""

from muster.deploy.kubernetes._program import become


def main() -> None:
    become("web")


if __name__ == "__main__":
    main()
