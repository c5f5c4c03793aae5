"""Lazy chunked arrays with NumPy's names: `import muster.tensor as mt`."""

from __future__ import annotations

from muster.session import execute, fetch
from muster.tensor import (
    _creation,
    _functions,
    _indexing,
    _joining,
    _products,
    _reductions,
    _shape,
    _sorting,
    _statistics,
    _ufuncs,
    fft,
    linalg,
    random,
    spatial,
    special,
    stats,
)
from muster.tensor._creation import *  # noqa: F403
from muster.tensor._explain import explain, visualize
from muster.tensor._functions import *  # noqa: F403
from muster.tensor._indexing import *  # noqa: F403
from muster.tensor._joining import *  # noqa: F403
from muster.tensor._products import *  # noqa: F403
from muster.tensor._reductions import *  # noqa: F403
from muster.tensor._shape import *  # noqa: F403
from muster.tensor._sorting import *  # noqa: F403
from muster.tensor._statistics import *  # noqa: F403
from muster.tensor._tensor import Tensor
from muster.tensor._ufuncs import *  # noqa: F403

__all__ = [
    "Tensor",
    "execute",
    "explain",
    "fetch",
    "fft",
    "linalg",
    "random",
    "spatial",
    "special",
    "stats",
    "visualize",
    *_creation.__all__,
    *_ufuncs.__all__,
    *_reductions.__all__,
    *_shape.__all__,
    *_joining.__all__,
    *_indexing.__all__,
    *_sorting.__all__,
    *_statistics.__all__,
    *_products.__all__,
    *_functions.__all__,
]
