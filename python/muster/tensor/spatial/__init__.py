"""Distances, with the names of scipy.spatial."""

from __future__ import annotations

from muster.tensor.spatial import distance

__all__ = ["distance"]
