"""Random numbers, with the names of numpy.random.

Every call draws from a stream of its own, and every element has its own place in it: the same seed
gives the same numbers for any `chunk_size` and any number of threads. They are not NumPy's numbers.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from typing import Any, Union, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from muster.tensor._call import apply, constant, operands
from muster.tensor._tensor import Tensor

__all__ = [
    "RandomState",
    "beta",
    "binomial",
    "bytes",
    "chisquare",
    "choice",
    "dirichlet",
    "exponential",
    "f",
    "gamma",
    "geometric",
    "gumbel",
    "hypergeometric",
    "laplace",
    "logistic",
    "lognormal",
    "logseries",
    "multinomial",
    "multivariate_normal",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "power",
    "rand",
    "randint",
    "randn",
    "random",
    "random_integers",
    "random_sample",
    "ranf",
    "rayleigh",
    "sample",
    "seed",
    "shuffle",
    "standard_cauchy",
    "standard_exponential",
    "standard_gamma",
    "standard_normal",
    "standard_t",
    "triangular",
    "uniform",
    "vonmises",
    "wald",
    "weibull",
    "zipf",
]

Size = Union[int, Sequence[int], None]
Parameter = Union[ArrayLike, Tensor]
_bytes = bytes


def _shape(size: Size) -> tuple[int, ...] | None:
    if size is None:
        return None
    if isinstance(size, (Sequence, np.ndarray)):
        return tuple(operator.index(each) for each in size)
    return (operator.index(size),)


def _parameter(value: Parameter) -> Tensor:
    return value if isinstance(value, Tensor) else constant(np.asarray(value))


def _vector(name: str, value: Parameter) -> NDArray[np.float64]:
    vector = np.asarray(value, dtype=np.float64)
    if vector.ndim != 1:
        raise ValueError(f"{name} must be a vector, not an array of shape {vector.shape}")
    return vector


class RandomState:
    """A source of random tensors. `seed`: a number, numbers, or None for one nobody can guess."""

    def __init__(self, seed: int | Sequence[int] | NDArray[Any] | None = None) -> None:
        self.seed(seed)

    def seed(self, seed: int | Sequence[int] | NDArray[Any] | None = None) -> None:
        """Starts again from `seed`."""
        sequence = np.random.SeedSequence(cast(Any, seed))
        self._entropy = sequence.entropy
        self._calls = itertools.count()

    def _key(self) -> int:
        """The key of the next call's stream, as a signed number."""
        sequence = np.random.SeedSequence(self._entropy, spawn_key=(next(self._calls),))
        return int(sequence.generate_state(1, np.uint64).view(np.int64)[0])

    def _draw(
        self, name: str, parameters: Sequence[Parameter], size: Size, chunk_size: Any, dtype: Any
    ) -> Tensor:
        return apply(
            f"random.{name}",
            [_parameter(each) for each in parameters],
            size=_shape(size),
            key=self._key(),
            chunk_size=chunk_size,
            dtype=None if dtype is None else np.dtype(dtype),
        )

    # Evenly distributed numbers.

    def uniform(
        self,
        low: Parameter = 0.0,
        high: Parameter = 1.0,
        size: Size = None,
        chunk_size: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """Numbers from low up to, but not including, high."""
        return self._draw("uniform", (low, high), size, chunk_size, dtype)

    def random_sample(self, size: Size = None, chunk_size: Any = None, dtype: Any = None) -> Tensor:
        """Numbers from 0 up to, but not including, 1."""
        return self._draw("uniform", (0.0, 1.0), size, chunk_size, dtype)

    random = ranf = sample = random_sample

    def rand(self, *shape: int, chunk_size: Any = None, dtype: Any = None) -> Tensor:
        """Numbers from 0 to 1 in the given shape."""
        return self.random_sample(shape, chunk_size, dtype)

    def randint(
        self,
        low: Parameter,
        high: Parameter | None = None,
        size: Size = None,
        dtype: Any = int,
        chunk_size: Any = None,
    ) -> Tensor:
        """Whole numbers from low up to, but not including, high; from 0 up to low without high."""
        if high is None:
            low, high = 0, low
        kind = np.dtype(dtype)
        if kind.kind not in "iub":
            raise TypeError(f"[randint] dtype {kind} is not one of whole numbers")
        low, last = _bounds(low, high, kind)
        name = "unsigned_integers" if kind == np.uint64 else "integers"
        return self._draw(name, (low, last), size, chunk_size, kind)

    def random_integers(
        self, low: int, high: int | None = None, size: Size = None, chunk_size: Any = None
    ) -> Tensor:
        """Whole numbers from low to high, both included; from 1 to low without high."""
        if high is None:
            low, high = 1, low
        return self.randint(low, high + 1, size, chunk_size=chunk_size)

    def bytes(self, length: int) -> _bytes:
        """Random bytes, at once."""
        return self.randint(0, 256, length, dtype=np.uint8).to_numpy().tobytes()

    # Normal and related distributions.

    def normal(
        self,
        loc: Parameter = 0.0,
        scale: Parameter = 1.0,
        size: Size = None,
        chunk_size: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """The normal distribution with mean loc and deviation scale."""
        return self._draw("normal", (loc, scale), size, chunk_size, dtype)

    def standard_normal(
        self, size: Size = None, chunk_size: Any = None, dtype: Any = None
    ) -> Tensor:
        """The normal distribution with mean 0 and deviation 1."""
        return self._draw("normal", (0.0, 1.0), size, chunk_size, dtype)

    def randn(self, *shape: int, chunk_size: Any = None, dtype: Any = None) -> Tensor:
        """The standard normal distribution in the given shape."""
        return self.standard_normal(shape, chunk_size, dtype)

    def lognormal(
        self,
        mean: Parameter = 0.0,
        sigma: Parameter = 1.0,
        size: Size = None,
        chunk_size: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """What has a normal logarithm."""
        return self._draw("lognormal", (mean, sigma), size, chunk_size, dtype)

    def standard_cauchy(
        self, size: Size = None, chunk_size: Any = None, dtype: Any = None
    ) -> Tensor:
        """Cauchy's distribution around 0."""
        return self._draw("standard_cauchy", (), size, chunk_size, dtype)

    def standard_t(
        self, df: Parameter, size: Size = None, chunk_size: Any = None, dtype: Any = None
    ) -> Tensor:
        """Student's t distribution."""
        return self._draw("standard_t", (df,), size, chunk_size, dtype)

    def wald(
        self,
        mean: Parameter,
        scale: Parameter,
        size: Size = None,
        chunk_size: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """The inverse Gaussian distribution."""
        return self._draw("wald", (mean, scale), size, chunk_size, dtype)

    def rayleigh(
        self, scale: Parameter = 1.0, size: Size = None, chunk_size: Any = None, dtype: Any = None
    ) -> Tensor:
        """Rayleigh's distribution."""
        return self._draw("rayleigh", (scale,), size, chunk_size, dtype)

    # Exponential and related distributions.

    def exponential(
        self, scale: Parameter = 1.0, size: Size = None, chunk_size: Any = None, dtype: Any = None
    ) -> Tensor:
        """The exponential distribution with mean scale."""
        return self._draw("exponential", (scale,), size, chunk_size, dtype)

    def standard_exponential(
        self, size: Size = None, chunk_size: Any = None, dtype: Any = None
    ) -> Tensor:
        """The exponential distribution with mean 1."""
        return self._draw("exponential", (1.0,), size, chunk_size, dtype)

    def gamma(
        self,
        shape: Parameter,
        scale: Parameter = 1.0,
        size: Size = None,
        chunk_size: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """The gamma distribution."""
        return self._draw("gamma", (shape, scale), size, chunk_size, dtype)

    def standard_gamma(
        self, shape: Parameter, size: Size = None, chunk_size: Any = None, dtype: Any = None
    ) -> Tensor:
        """The gamma distribution with scale 1."""
        return self._draw("gamma", (shape, 1.0), size, chunk_size, dtype)

    def beta(
        self,
        a: Parameter,
        b: Parameter,
        size: Size = None,
        chunk_size: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """The beta distribution."""
        return self._draw("beta", (a, b), size, chunk_size, dtype)

    def chisquare(
        self, df: Parameter, size: Size = None, chunk_size: Any = None, dtype: Any = None
    ) -> Tensor:
        """The chi-square distribution with df degrees of freedom."""
        return self._draw("chisquare", (df,), size, chunk_size, dtype)

    def noncentral_chisquare(
        self,
        df: Parameter,
        nonc: Parameter,
        size: Size = None,
        chunk_size: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """The chi-square distribution of normals whose squared means sum up to nonc."""
        return self._draw("noncentral_chisquare", (df, nonc), size, chunk_size, dtype)

    def f(
        self,
        dfnum: Parameter,
        dfden: Parameter,
        size: Size = None,
        chunk_size: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """Fisher's F distribution."""
        return self._draw("f", (dfnum, dfden), size, chunk_size, dtype)

    def noncentral_f(
        self,
        dfnum: Parameter,
        dfden: Parameter,
        nonc: Parameter,
        size: Size = None,
        chunk_size: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """The F distribution with a noncentral numerator."""
        return self._draw("noncentral_f", (dfnum, dfden, nonc), size, chunk_size, dtype)

    def weibull(
        self, a: Parameter, size: Size = None, chunk_size: Any = None, dtype: Any = None
    ) -> Tensor:
        """Weibull's distribution with scale 1."""
        return self._draw("weibull", (a,), size, chunk_size, dtype)

    def pareto(
        self, a: Parameter, size: Size = None, chunk_size: Any = None, dtype: Any = None
    ) -> Tensor:
        """The Pareto II distribution, which begins at 0."""
        return self._draw("pareto", (a,), size, chunk_size, dtype)

    def power(
        self, a: Parameter, size: Size = None, chunk_size: Any = None, dtype: Any = None
    ) -> Tensor:
        """0 to 1 with density a x^(a - 1)."""
        return self._draw("power", (a,), size, chunk_size, dtype)

    # Distributions with a place and a width.

    def gumbel(
        self,
        loc: Parameter = 0.0,
        scale: Parameter = 1.0,
        size: Size = None,
        chunk_size: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """Gumbel's distribution of maxima."""
        return self._draw("gumbel", (loc, scale), size, chunk_size, dtype)

    def laplace(
        self,
        loc: Parameter = 0.0,
        scale: Parameter = 1.0,
        size: Size = None,
        chunk_size: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """Laplace's distribution: exponential on both sides of loc."""
        return self._draw("laplace", (loc, scale), size, chunk_size, dtype)

    def logistic(
        self,
        loc: Parameter = 0.0,
        scale: Parameter = 1.0,
        size: Size = None,
        chunk_size: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """The logistic distribution."""
        return self._draw("logistic", (loc, scale), size, chunk_size, dtype)

    def triangular(
        self,
        left: Parameter,
        mode: Parameter,
        right: Parameter,
        size: Size = None,
        chunk_size: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """From left to right, most often near mode."""
        return self._draw("triangular", (left, mode, right), size, chunk_size, dtype)

    def vonmises(
        self,
        mu: Parameter,
        kappa: Parameter,
        size: Size = None,
        chunk_size: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """Angles from -pi to pi around mu."""
        return self._draw("vonmises", (mu, kappa), size, chunk_size, dtype)

    # Distributions of whole numbers.

    def binomial(
        self,
        n: Parameter,
        p: Parameter,
        size: Size = None,
        chunk_size: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """Successes in n trials that succeed with probability p."""
        return self._draw("binomial", (n, p), size, chunk_size, dtype)

    def negative_binomial(
        self,
        n: Parameter,
        p: Parameter,
        size: Size = None,
        chunk_size: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """Failures before the n-th success."""
        return self._draw("negative_binomial", (n, p), size, chunk_size, dtype)

    def geometric(
        self, p: Parameter, size: Size = None, chunk_size: Any = None, dtype: Any = None
    ) -> Tensor:
        """Trials up to the first success."""
        return self._draw("geometric", (p,), size, chunk_size, dtype)

    def hypergeometric(
        self,
        ngood: Parameter,
        nbad: Parameter,
        nsample: Parameter,
        size: Size = None,
        chunk_size: Any = None,
        dtype: Any = None,
    ) -> Tensor:
        """Good ones among nsample that are drawn without replacement."""
        return self._draw("hypergeometric", (ngood, nbad, nsample), size, chunk_size, dtype)

    def logseries(
        self, p: Parameter, size: Size = None, chunk_size: Any = None, dtype: Any = None
    ) -> Tensor:
        """The logarithmic series distribution."""
        return self._draw("logseries", (p,), size, chunk_size, dtype)

    def poisson(
        self, lam: Parameter = 1.0, size: Size = None, chunk_size: Any = None, dtype: Any = None
    ) -> Tensor:
        """Events in a time in which lam are expected."""
        return self._draw("poisson", (lam,), size, chunk_size, dtype)

    def zipf(
        self, a: Parameter, size: Size = None, chunk_size: Any = None, dtype: Any = None
    ) -> Tensor:
        """Zipf's distribution: k comes with weight k^-a."""
        return self._draw("zipf", (a,), size, chunk_size, dtype)

    # Distributions of vectors; their parameters are small and are looked at at once.

    def _rows(
        self, name: str, parameters: Sequence[ArrayLike], size: Size, chunk_size: Any
    ) -> Tensor:
        inputs = [constant(np.asarray(each, dtype=np.float64)) for each in parameters]
        return apply(
            f"random.{name}",
            inputs,
            size=_shape(size) or (),
            key=self._key(),
            chunk_size=chunk_size,
        )

    def dirichlet(self, alpha: Parameter, size: Size = None, chunk_size: Any = None) -> Tensor:
        """Shares of 1; `chunk_size` counts the axes of `size` only."""
        vector = _vector("alpha", alpha)
        if not np.all(vector > 0):
            raise ValueError(f"[dirichlet] alpha must be above 0: {vector}")
        return self._rows("dirichlet", (vector,), size, chunk_size)

    def multinomial(
        self, n: int, pvals: Parameter, size: Size = None, chunk_size: Any = None
    ) -> Tensor:
        """How often each outcome came in n trials; `chunk_size` counts the axes of `size` only."""
        probabilities = _vector("pvals", pvals)
        if operator.index(n) < 0:
            raise ValueError(f"[multinomial] n is {n}, but must be at least 0")
        if not np.all((probabilities >= 0) & (probabilities <= 1)):
            raise ValueError(f"[multinomial] pvals must be from 0 to 1: {probabilities}")
        if probabilities[:-1].sum() > 1 + 1e-12:
            raise ValueError(f"[multinomial] the sum of pvals[:-1] is {probabilities[:-1].sum()}")
        return self._rows("multinomial", (np.float64(n), probabilities), size, chunk_size)

    def multivariate_normal(
        self,
        mean: Parameter,
        cov: Parameter,
        size: Size = None,
        check_valid: str = "warn",
        tol: float = 1e-8,
        chunk_size: Any = None,
    ) -> Tensor:
        """Normal vectors; `chunk_size` counts the axes of `size` only."""
        means, covariance = _vector("mean", mean), np.asarray(cov, dtype=np.float64)
        if covariance.shape != (len(means), len(means)):
            raise ValueError(
                f"[multivariate_normal] mean has {len(means)} numbers, but cov has the shape "
                f"{covariance.shape}"
            )
        _, scales, axes = np.linalg.svd(covariance)
        if check_valid != "ignore" and not np.allclose(
            (axes.T * scales) @ axes, covariance, rtol=tol, atol=tol
        ):
            message = "[multivariate_normal] cov is not symmetric and positive semidefinite"
            if check_valid == "raise":
                raise ValueError(message)
            import warnings

            warnings.warn(message, RuntimeWarning, stacklevel=2)
        transform = np.sqrt(scales)[:, None] * axes
        return self._rows("multivariate_normal", (means, transform), size, chunk_size)

    # Choices and orders.

    def permutation(self, x: Any, chunk_size: Any = None) -> Tensor:
        """The numbers below x in random order, or the rows of an array."""
        if isinstance(x, (int, np.integer)):
            return apply("random.permutation", [], n=int(x), key=self._key(), chunk_size=chunk_size)
        from muster.tensor._call import as_tensor

        tensor = as_tensor(x)
        if not tensor.ndim:
            raise IndexError("[permutation] x must be a whole number or have an axis")
        return _take(tensor, self.permutation(tensor.shape[0], chunk_size))

    def shuffle(self, x: Any) -> None:
        """Puts the rows of x in random order, in place."""
        if isinstance(x, Tensor):
            x._handle = self.permutation(x)._handle
        elif isinstance(x, (np.ndarray, list)):
            order = self.permutation(len(x)).to_numpy()
            x[:] = x[order] if isinstance(x, np.ndarray) else [x[place] for place in order]
        else:
            raise TypeError(f"[shuffle] takes a tensor, an array or a list, not {type(x).__name__}")

    def choice(
        self,
        a: Any,
        size: Size = None,
        replace: bool = True,
        p: Parameter | None = None,
        chunk_size: Any = None,
    ) -> Tensor:
        """Some of the items of a vector, or of the numbers below a."""
        items = None if isinstance(a, (int, np.integer)) else _items(a)
        count = int(a) if items is None else items.shape[0]
        shape = _shape(size) or ()
        wanted = int(np.prod(shape, dtype=object))
        if count <= 0 and wanted:
            raise ValueError(f"[choice] there is nothing to choose from: a has {count} items")
        if p is not None:
            places = self._weighted(count, shape, replace, _vector("p", p), chunk_size)
        elif replace:
            places = self.randint(0, max(count, 1), shape, chunk_size=chunk_size)
        else:
            if wanted > count:
                raise ValueError(f"[choice] cannot take {wanted} of {count} without replacement")
            places = apply("random.permutation", [], n=count, count=wanted, key=self._key())
            places = _reshaped(places, shape)
        return places if items is None else _take(items, places)

    def _weighted(
        self,
        count: int,
        shape: tuple[int, ...],
        replace: bool,
        p: NDArray[np.float64],
        chunk_size: Any,
    ) -> Tensor:
        if len(p) != count:
            raise ValueError(f"[choice] a has {count} items, but p has {len(p)}")
        if not np.all(p >= 0):
            raise ValueError("[choice] probabilities are not all at least 0")
        if abs(p.sum() - 1) > np.sqrt(np.finfo(np.float64).eps):
            raise ValueError(f"[choice] the probabilities sum up to {p.sum()}, not 1")
        if replace:
            return apply(
                "random.categorical",
                [constant(np.cumsum(p))],
                size=shape,
                key=self._key(),
                chunk_size=chunk_size,
            )
        wanted = int(np.prod(shape, dtype=object))
        if wanted > np.count_nonzero(p):
            raise ValueError(f"[choice] fewer than {wanted} probabilities are not zero")
        places = apply("random.categorical_distinct", [constant(p)], count=wanted, key=self._key())
        return _reshaped(places, shape)


def _bounds(low: Parameter, high: Parameter, kind: np.dtype[Any]) -> tuple[Parameter, Parameter]:
    """The first and the last number, refused where the dtype cannot hold them."""
    dtype = np.uint64 if kind == np.uint64 else np.int64
    if kind.kind == "b":
        least, most = 0, 1
    else:
        least, most = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    bounds: list[Parameter] = []
    for name, value in (("low", low), ("high", high)):
        if isinstance(value, Tensor):
            bounds.append(value if name == "low" else apply("subtract", operands(value, 1)))
            continue
        whole = np.asarray(np.vectorize(int, otypes=[object])(value), dtype=object)
        whole = whole if name == "low" else np.asarray(whole - 1, dtype=object)
        if whole.size and (whole.min() < least - (name == "high") or whole.max() > most):
            raise ValueError(f"[randint] {name} is out of bounds for {kind}")
        bounds.append(whole)
    first, last = bounds
    if (
        not isinstance(first, Tensor)
        and not isinstance(last, Tensor)
        and np.any(np.asarray(first) > np.asarray(last))
    ):
        raise ValueError("[randint] low >= high")
    return tuple(  # type: ignore[return-value]
        each if isinstance(each, Tensor) else np.asarray(each).astype(dtype) for each in bounds
    )


def _items(a: Any) -> Tensor:
    from muster.tensor._call import as_tensor

    items = as_tensor(a)
    if items.ndim != 1:
        raise ValueError(f"[choice] a must be a vector or a whole number, not of {items.ndim} axes")
    return items


def _reshaped(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    return tensor if tensor.shape == shape else apply("reshape", [tensor], shape=shape)


def _take(tensor: Tensor, places: Tensor) -> Tensor:
    from muster.tensor._indexing import take

    return take(tensor, places, axis=0)


_default = RandomState()

seed = _default.seed
beta = _default.beta
binomial = _default.binomial
bytes = _default.bytes
chisquare = _default.chisquare
choice = _default.choice
dirichlet = _default.dirichlet
exponential = _default.exponential
f = _default.f
gamma = _default.gamma
geometric = _default.geometric
gumbel = _default.gumbel
hypergeometric = _default.hypergeometric
laplace = _default.laplace
logistic = _default.logistic
lognormal = _default.lognormal
logseries = _default.logseries
multinomial = _default.multinomial
multivariate_normal = _default.multivariate_normal
negative_binomial = _default.negative_binomial
noncentral_chisquare = _default.noncentral_chisquare
noncentral_f = _default.noncentral_f
normal = _default.normal
pareto = _default.pareto
permutation = _default.permutation
poisson = _default.poisson
power = _default.power
rand = _default.rand
randint = _default.randint
randn = _default.randn
random = _default.random_sample
random_integers = _default.random_integers
random_sample = _default.random_sample
ranf = _default.random_sample
rayleigh = _default.rayleigh
sample = _default.random_sample
shuffle = _default.shuffle
standard_cauchy = _default.standard_cauchy
standard_exponential = _default.standard_exponential
standard_gamma = _default.standard_gamma
standard_normal = _default.standard_normal
standard_t = _default.standard_t
triangular = _default.triangular
uniform = _default.uniform
vonmises = _default.vonmises
wald = _default.wald
weibull = _default.weibull
zipf = _default.zipf
