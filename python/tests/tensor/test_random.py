"""Random tensors: the distributions against SciPy's, and that chunks make no difference."""

import inspect
import os

import numpy as np
import pytest
from scipy import stats

import muster.tensor as mt
from muster.tensor._call import constant

SEED = int(os.environ.get("MUSTER_TEST_SEED", "1"))
N = 20_000
# Every run has another seed: what is right may fail once in a million cases.
UNLIKELY = 1e-6
# Of these the moments of a sample tell little: the fourth is infinite, or does not exist.
HEAVY_TAILS = ("standard_cauchy", "f", "noncentral_f", "standard_t", "pareto")

CONTINUOUS = {
    "uniform": ((-2.0, 3.0), stats.uniform(-2, 5)),
    "random_sample": ((), stats.uniform()),
    "normal": ((1.0, 2.0), stats.norm(1, 2)),
    "standard_normal": ((), stats.norm()),
    "lognormal": ((0.3, 0.5), stats.lognorm(0.5, scale=np.exp(0.3))),
    "exponential": ((3.0,), stats.expon(scale=3)),
    "standard_exponential": ((), stats.expon()),
    "rayleigh": ((2.0,), stats.rayleigh(scale=2)),
    "weibull": ((1.7,), stats.weibull_min(1.7)),
    "pareto": ((3.0,), stats.lomax(3)),
    "power": ((2.5,), stats.powerlaw(2.5)),
    "gumbel": ((1.0, 2.0), stats.gumbel_r(1, 2)),
    "laplace": ((1.0, 2.0), stats.laplace(1, 2)),
    "logistic": ((1.0, 2.0), stats.logistic(1, 2)),
    "triangular": ((-1.0, 0.5, 4.0), stats.triang(0.3, loc=-1, scale=5)),
    "standard_cauchy": ((), stats.cauchy()),
    "gamma": ((2.5, 2.0), stats.gamma(2.5, scale=2)),
    "standard_gamma": ((0.4,), stats.gamma(0.4)),
    "beta": ((2.0, 3.0), stats.beta(2, 3)),
    "chisquare": ((5.0,), stats.chi2(5)),
    "noncentral_chisquare": ((3.0, 2.0), stats.ncx2(3, 2)),
    "f": ((5.0, 7.0), stats.f(5, 7)),
    "noncentral_f": ((5.0, 7.0, 2.0), stats.ncf(5, 7, 2)),
    "standard_t": ((4.0,), stats.t(4)),
    "vonmises": ((0.5, 3.0), stats.vonmises(3, loc=0.5)),
    "wald": ((2.0, 3.0), stats.invgauss(2 / 3, scale=3)),
}

DISCRETE = {
    "poisson": ((4.0,), stats.poisson(4)),
    "binomial": ((15, 0.3), stats.binom(15, 0.3)),
    "negative_binomial": ((5.0, 0.4), stats.nbinom(5, 0.4)),
    "geometric": ((0.25,), stats.geom(0.25)),
    "hypergeometric": ((30, 50, 8), stats.hypergeom(80, 30, 8)),
    "logseries": ((0.6,), stats.logser(0.6)),
    "zipf": ((3.0,), stats.zipf(3)),
    "randint": ((-3, 9), stats.randint(-3, 9)),
    "random_integers": ((2, 6), stats.randint(2, 7)),
}

# Other branches of the same samplers.
BRANCHES = [
    ("beta", (0.3, 0.6), stats.beta(0.3, 0.6)),
    ("noncentral_chisquare", (0.7, 2.0), stats.ncx2(0.7, 2)),
    ("vonmises", (0.0, 1e-9), stats.uniform(-np.pi, 2 * np.pi)),
]
DISCRETE_BRANCHES = [
    ("poisson", (50.0,), stats.poisson(50)),
    ("binomial", (200, 0.4), stats.binom(200, 0.4)),
    ("binomial", (200, 0.8), stats.binom(200, 0.8)),
    ("hypergeometric", (60, 40, 30), stats.hypergeom(100, 60, 30)),
    ("hypergeometric", (60, 40, 80), stats.hypergeom(100, 60, 80)),
    ("hypergeometric", (40, 60, 95), stats.hypergeom(100, 40, 95)),
]


def draw(name, parameters, **options):
    return getattr(mt.random.RandomState(SEED), name)(*parameters, **options).to_numpy()


def cases(table, more):
    return [(name, *row) for name, row in table.items()] + more


@pytest.mark.parametrize(("name", "parameters", "law"), cases(CONTINUOUS, BRANCHES))
def test_continuous_distributions_follow_their_law(name, parameters, law):
    items = draw(name, parameters, size=N)
    assert items.dtype == np.float64
    # SciPy takes 4 s for the law of 20,000 angles.
    tested = items[:1000] if name == "vonmises" else items
    assert stats.kstest(tested, law.cdf).pvalue > UNLIKELY
    if name not in HEAVY_TAILS:
        error = law.std() / np.sqrt(N)
        assert abs(items.mean() - law.mean()) < 5 * error
        assert items.var() == pytest.approx(law.var(), rel=0.3)


@pytest.mark.parametrize(("name", "parameters", "law"), cases(DISCRETE, DISCRETE_BRANCHES))
def test_discrete_distributions_follow_their_law(name, parameters, law):
    items = draw(name, parameters, size=N)
    assert items.dtype == np.int64
    values = np.arange(int(items.min()), int(law.ppf(0.9999)) + 1)
    expected = law.pmf(values) * N
    often = expected >= 5
    counts = np.array([(items == value).sum() for value in values])
    observed = np.append(counts[often], N - counts[often].sum())
    wanted = np.append(expected[often], N - expected[often].sum())
    observed, wanted = (observed, wanted) if wanted[-1] > 5 else (observed[:-1], wanted[:-1])
    wanted = wanted * observed.sum() / wanted.sum()
    assert stats.chisquare(observed, wanted).pvalue > UNLIKELY


@pytest.mark.parametrize("name", sorted({**CONTINUOUS, **DISCRETE}))
def test_chunks_make_no_difference(name):
    parameters = {**CONTINUOUS, **DISCRETE}[name][0]
    whole = draw(name, parameters, size=(7, 5, 6))
    for chunk_size in (2, (7, 1, 6), (3, 5, 4), ((1, 6), (5,), (2, 2, 2))):
        np.testing.assert_array_equal(
            draw(name, parameters, size=(7, 5, 6), chunk_size=chunk_size), whole
        )


def test_rows_are_the_same_for_every_chunking():
    for name, parameters in (
        ("dirichlet", ([1.0, 2.0, 0.5],)),
        ("multinomial", (20, [0.2, 0.3, 0.5])),
        ("multivariate_normal", ([1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]])),
    ):
        whole = draw(name, parameters, size=(6, 5))
        np.testing.assert_array_equal(draw(name, parameters, size=(6, 5), chunk_size=(4, 2)), whole)
        assert draw(name, parameters).shape == (len(parameters[-1]),)


def test_a_seed_gives_the_same_numbers_again():
    mt.random.seed(SEED)
    first = mt.random.rand(3, 4), mt.random.rand(3, 4)
    mt.random.seed(SEED)
    second = mt.random.rand(3, 4), mt.random.rand(3, 4)
    for a, b in zip(first, second):
        np.testing.assert_array_equal(a.to_numpy(), b.to_numpy())
    assert not np.array_equal(first[0].to_numpy(), first[1].to_numpy())
    assert not np.array_equal(
        mt.random.RandomState(SEED + 1).rand(3, 4).to_numpy(), first[0].to_numpy()
    )


def test_without_a_size_there_is_one_number():
    number = mt.random.normal()
    assert number.shape == ()
    assert np.isfinite(number.to_numpy())
    assert mt.random.normal(size=()).shape == ()
    assert mt.random.normal(size=0).to_numpy().shape == (0,)
    assert mt.random.normal(size=(2, 0, 3), chunk_size=1).to_numpy().shape == (2, 0, 3)


def test_parameters_broadcast():
    low = np.array([0.0, 10.0, 20.0])
    items = mt.random.uniform(constant(low, chunk_size=2), low + 1, size=(50, 3)).to_numpy()
    assert ((items >= low) & (items < low + 1)).all()
    columns = mt.random.normal(low[:, None], np.zeros(4))
    assert columns.shape == (3, 4)
    np.testing.assert_array_equal(columns.to_numpy(), np.broadcast_to(low[:, None], (3, 4)))
    counts = mt.random.binomial(np.array([1, 10, 100]), 1.0).to_numpy()
    np.testing.assert_array_equal(counts, [1, 10, 100])


def test_dtypes():
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.uint64, bool):
        low, high = (0, 2) if dtype is bool else (np.iinfo(dtype).min, np.iinfo(dtype).max + 1)
        items = mt.random.RandomState(SEED).randint(int(low), int(high), 1000, dtype=dtype)
        array = items.to_numpy()
        assert array.dtype == dtype
        assert len(np.unique(array)) > min(1000, int(high) - int(low)) // 4
    assert mt.random.rand(3, dtype=np.float32).to_numpy().dtype == np.float32
    items = draw("randint", (0, 2**63), size=1000)
    assert items.min() >= 0
    assert items.max() > 2**62


def test_rows_have_the_right_moments():
    shares = draw("dirichlet", ([1.0, 2.0, 5.0],), size=N)
    np.testing.assert_allclose(shares.sum(1), 1)
    np.testing.assert_allclose(shares.mean(0), np.array([1, 2, 5]) / 8, atol=0.01)
    counts = draw("multinomial", (20, [0.2, 0.3, 0.5]), size=N)
    assert (counts.sum(1) == 20).all()
    np.testing.assert_allclose(counts.mean(0), [4, 6, 10], atol=0.1)
    cov = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 0.5]])
    points = draw("multivariate_normal", ([1.0, 2.0, 3.0], cov), size=N)
    np.testing.assert_allclose(points.mean(0), [1, 2, 3], atol=0.05)
    np.testing.assert_allclose(np.cov(points.T), cov, atol=0.06)


def test_permutations_have_every_number_once():
    for count in (0, 1, 2, 1000, (1 << 20) + 17):
        order = mt.random.RandomState(SEED).permutation(count, chunk_size=300_001).to_numpy()
        assert len(order) == count
        assert (np.bincount(order, minlength=count) == 1).all()
    assert 0.4 < np.mean(order[1:] > order[:-1]) < 0.6
    orders = {tuple(mt.random.permutation(3).to_numpy()) for _ in range(200)}
    assert len(orders) == 6


def test_shuffle_works_in_place():
    array, items = np.arange(20), list("abcdef")
    mt.random.shuffle(array)
    mt.random.shuffle(items)
    assert sorted(array) == list(range(20))
    assert sorted(items) == list("abcdef")
    with pytest.raises(TypeError, match="shuffle"):
        mt.random.shuffle("text")


def test_choice_of_numbers():
    chosen = draw("choice", (5,), size=(100, 40))
    assert chosen.shape == (100, 40)
    assert set(chosen.ravel()) == set(range(5))
    p = np.array([0.1, 0.0, 0.6, 0.3])
    weighted = draw("choice", (4,), size=N, p=p)
    np.testing.assert_allclose(np.bincount(weighted, minlength=4) / N, p, atol=0.02)
    np.testing.assert_array_equal(draw("choice", (4,), size=N, p=p, chunk_size=777), weighted)
    distinct = draw("choice", (10,), size=10, replace=False)
    assert sorted(distinct) == list(range(10))
    distinct = draw("choice", (4,), size=3, replace=False, p=p)
    assert sorted(distinct) == [0, 2, 3]
    firsts = [int(mt.random.choice(4, 1, replace=False, p=p).to_numpy()[0]) for _ in range(300)]
    assert 0.45 < firsts.count(2) / 300 < 0.75
    assert mt.random.choice(7).shape == ()


def test_bytes_are_bytes():
    assert isinstance(mt.random.bytes(10), bytes)
    assert len(mt.random.bytes(10)) == 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.normal(0, -1), "scale is -1, but must be at least 0"),
        (lambda r: r.normal(0, [1, -1]), "scale is -1, but must be at least 0"),
        (lambda r: r.exponential(-1.0), "scale"),
        (lambda r: r.binomial(-1, 0.5), "n is -1"),
        (lambda r: r.binomial(5, 1.5), "p is 1.5, but must be from 0 to 1"),
        (lambda r: r.poisson(-1), "lam"),
        (lambda r: r.poisson(float("nan")), "lam is nan"),
        (lambda r: r.zipf(1.0), "a is 1, but must be above 1"),
        (lambda r: r.triangular(3, 2, 5), "left, mode and right"),
        (lambda r: r.hypergeometric(3, 4, 8), "ngood . nbad is below nsample"),
        (lambda r: r.randint(5, 5), "low >= high"),
        (lambda r: r.randint(0, 300, dtype=np.int8), "high is out of bounds for int8"),
        (lambda r: r.uniform(0, float("inf")), "not a finite number"),
        (lambda r: r.normal(size=-1), "negative"),
        (lambda r: r.normal([1, 2, 3], size=(2, 2)), "broadcast"),
        (lambda r: r.choice(3, 4, replace=False), "4 of 3"),
        (lambda r: r.choice(0, 4), "nothing to choose from"),
        (lambda r: r.choice(3, p=[0.5, 0.5]), "p has 2"),
        (lambda r: r.choice(2, p=[0.5, 0.6]), "sum up to"),
        (lambda r: r.dirichlet([1.0, 0.0]), "above 0"),
        (lambda r: r.multinomial(5, [0.8, 0.8, 0.1]), "sum of pvals"),
        (lambda r: r.multivariate_normal([0, 0], np.ones((3, 3))), "cov has the shape"),
        (lambda r: r.normal(size=3, chunk_size=0), "chunk_size"),
    ],
)
def test_wrong_parameters_are_refused_where_they_are_written(call, message):
    with pytest.raises(ValueError, match=message):
        call(mt.random.RandomState(SEED))


def test_wrong_parameters_in_a_tensor_are_refused_when_they_are_known():
    scale = mt.random.uniform(-2, -1, size=5)
    with pytest.raises(ValueError, match="scale is -1"):
        mt.random.normal(0, scale).execute()


def test_every_name_has_numpys_parameters():
    for name in mt.random.__all__:
        ours, theirs = getattr(mt.random, name), getattr(np.random.RandomState, name, None)
        assert callable(ours)
        if theirs is None or name in ("rand", "randn", "RandomState"):
            continue
        given = theirs.__doc__.strip().split("\n")[0]
        for parameter in inspect.signature(ours).parameters:
            if parameter not in ("chunk_size", "dtype"):
                assert parameter in given, (name, parameter)


def test_items_and_rows_of_tensors_are_chosen():
    items = np.arange(40.0).reshape(20, 2)
    tensor = constant(items, chunk_size=3)
    order = mt.random.permutation(tensor).to_numpy()
    np.testing.assert_array_equal(np.sort(order, axis=0), items)
    np.testing.assert_array_equal(order[:, 1] - order[:, 0], 1)
    mt.random.shuffle(tensor)
    np.testing.assert_array_equal(np.sort(tensor.to_numpy(), axis=0), items)
    letters = constant(np.array([10, 20, 30]))
    chosen = mt.random.choice(letters, (5, 6)).to_numpy()
    assert chosen.shape == (5, 6)
    assert set(chosen.ravel()) <= {10, 20, 30}
    distinct = mt.random.choice(letters, (3, 1), replace=False).to_numpy()
    assert sorted(distinct.ravel()) == [10, 20, 30]
    low = constant(np.array([0, 100]))
    bounds = mt.random.randint(low, constant(np.array([5, 105])), size=(50, 2)).to_numpy()
    assert ((bounds >= [0, 100]) & (bounds < [5, 105])).all()
