"""Functions that run when somebody asks for their results: `import muster.remote as mr`."""

from __future__ import annotations

from muster.remote._spawn import ExecutableTuple, RemoteObject, spawn

__all__ = ["ExecutableTuple", "RemoteObject", "spawn"]
