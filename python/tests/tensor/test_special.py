"""mt.special, mt.stats and mt.spatial against SciPy."""

import sys

import numpy as np
import pytest
import scipy.special
import scipy.stats
from scipy.spatial import distance

import muster.tensor as mt
from muster.tensor._call import constant

RANDOM = np.random.default_rng(1)
X = RANDOM.uniform(0.1, 3, (6, 5))
Y = RANDOM.uniform(0.1, 0.9, (6, 5))

#: Arguments where those that fit most functions do not.
ARGUMENTS = {
    "polygamma": (2, X),
    "multigammaln": (X + 5, 3),
    "ellip_harm": (5.0, 8.0, 1, 1, X),
    "ellip_harm_2": (5.0, 8.0, 2, 1, X + 10),
    "ellip_normal": (5.0, 8.0, 3, 2),
    "yn": (2, X),
    "kn": (2, X),
    "voigt_profile": (X, 0.5, 0.3),
    "hyp2f1": (0.5, 1.5, 2.0, Y),
    "hyp1f1": (0.5, 1.5, X),
    "hyperu": (0.5, 1.5, X),
    "betainc": (X, 2.0, Y),
    "betaincinv": (X, 2.0, Y),
    "elliprd": (X, Y, 1.0),
    "elliprf": (X, Y, 1.0),
    "elliprg": (X, Y, 1.0),
    "elliprj": (X, Y, 1.0, 2.0),
}


def arguments_of(name):
    if name in ARGUMENTS:
        return ARGUMENTS[name]
    count = getattr(scipy.special, name).nin
    return (Y,) if count == 1 else (X, Y)


@pytest.mark.parametrize("name", mt.special.__all__)
def test_each_function_gives_what_scipy_gives(name):
    arguments = arguments_of(name)
    tensors = [
        constant(each, chunk_size=(4, 3)) if isinstance(each, np.ndarray) else each
        for each in arguments
    ]
    got = getattr(mt.special, name)(*tensors)
    wanted = getattr(scipy.special, name)(*arguments)
    got, wanted = (got, wanted) if isinstance(wanted, tuple) else ((got,), (wanted,))
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one.to_numpy(), other, rtol=1e-12)


@pytest.mark.parametrize(
    "name", ["erf", "erfc", "gamma", "gammaln", "entr", "rel_entr", "kl_div", "xlogy"]
)
@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float16, np.float32, np.float64])
def test_native_functions_at_the_edges(name, dtype):
    edges = np.array([0, 1, 2, 3, 5, 20], dtype)
    if dtype == np.float64:
        edges = np.append(edges, [-0.0, np.inf, np.nan, -0.5, -2.5, 1e-300, 171.0])
    function = getattr(scipy.special, name)
    arguments = (edges,) if function.nin == 1 else (edges[:, None], edges)
    with np.errstate(all="ignore"):
        wanted = function(*arguments)
    got = getattr(mt.special, name)(*arguments)
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(
        got.to_numpy(), wanted, rtol=1e-6 if wanted.dtype == np.float32 else 1e-13
    )


def test_complex_numbers():
    z = X + 1j * Y
    np.testing.assert_allclose(mt.special.erf(z).to_numpy(), scipy.special.erf(z))
    np.testing.assert_allclose(mt.special.gamma(z).to_numpy(), scipy.special.gamma(z))


def test_a_missing_scipy_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(ImportError, match="needs the package scipy"):
        mt.special.airy(constant(X))
    assert mt.special.erf(constant(X)).to_numpy().shape == X.shape


def test_dtypes_that_scipy_does_not_take_are_refused():
    with pytest.raises(TypeError):
        mt.special.erfinv(constant(X + 1j))


A = RANDOM.normal(0, 1, (20, 3))
B = RANDOM.normal(0.3, 2, (20, 3))
STATS = {
    "chisquare": [((X * 100).round(),), ((X * 10).round(), None, 1, 1)],
    "power_divergence": [((X * 100).round(), None, 0, 0, "log-likelihood")],
    "entropy": [(X,), (X, Y), (X, Y, 2.0, 1)],
    "ttest_1samp": [(A, 0.1), (A, 0.1, None), (A, 0.1, 1)],
    "ttest_ind": [(A, B), (A[:, 0], B[:7, 0])],
    "ttest_rel": [(A, B), (A, B, None)],
    "ttest_ind_from_stats": [(1.0, 2.0, 10, 1.5, 2.5, 12), (X, 2.0, 10, Y, 1.0, 12)],
    "ks_1samp": [(A[:, 0], scipy.stats.norm.cdf)],
    "ks_2samp": [(A[:, 0], B[:13, 1])],
    "rankdata": [(A,), ((A * 2).round(), "min")],
}


@pytest.mark.parametrize(("name", "arguments"), [(n, a) for n, all in STATS.items() for a in all])
def test_statistics(name, arguments):
    tensors = [
        constant(each, chunk_size=4) if isinstance(each, np.ndarray) else each for each in arguments
    ]
    got = getattr(mt.stats, name)(*tensors)
    wanted = getattr(scipy.stats, name)(*arguments)
    if name in ("entropy", "rankdata"):
        got, wanted = (got,), (wanted,)
    for one, other in zip(got, wanted):
        assert one.shape == np.shape(other)
        np.testing.assert_allclose(one.to_numpy(), other)


def test_statistics_have_names_and_refuse_axes():
    result = mt.stats.ttest_1samp(A, 0.0)
    assert result.pvalue.shape == (3,)
    assert result.statistic is result[0]
    with pytest.raises(ValueError, match="no axis 2"):
        mt.stats.ttest_1samp(A, 0.0, axis=2)


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "cosine", "seuclidean"])
def test_distances(metric):
    a, b = constant(A, chunk_size=(7, 2)), constant(B, chunk_size=6)
    wanted = distance.cdist(A, B, metric)
    np.testing.assert_allclose(mt.spatial.distance.cdist(a, b, metric).to_numpy(), wanted)
    vector = mt.spatial.distance.pdist(a, metric)
    np.testing.assert_allclose(vector.to_numpy(), distance.pdist(A, metric))
    square = mt.spatial.distance.squareform(vector)
    np.testing.assert_allclose(square.to_numpy(), distance.squareform(distance.pdist(A, metric)))
    back = mt.spatial.distance.squareform(square)
    np.testing.assert_allclose(back.to_numpy(), distance.pdist(A, metric))


def test_distances_of_what_are_no_points():
    with pytest.raises(ValueError, match="3 and 2 coordinates"):
        mt.spatial.distance.cdist(A, B[:, :2])
    with pytest.raises(ValueError, match="takes a matrix"):
        mt.spatial.distance.pdist(A[0])
