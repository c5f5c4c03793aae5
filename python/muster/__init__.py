"""Distributed programs from components that pass messages."""

from muster._core import version as __version__

__all__ = ["__version__"]
