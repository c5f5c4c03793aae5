"""Prints the reference of muster.tensor: `python -m muster.tensor._reference`.

The names are those that users of the array libraries before us know; what stands beside them is
found out, not written.
"""

from __future__ import annotations

from typing import Any

import muster.tensor as mt
from muster import _core

CHAPTERS = {
    "Creation": (
        "mt",
        "tensor array asarray ascontiguousarray asfortranarray scalar empty empty_like ones "
        "ones_like zeros zeros_like full full_like arange diag diagflat eye identity linspace "
        "meshgrid indices tril triu",
    ),
    "Shape, sorting, sets, searching, splitting": (
        "mt",
        "result_type ndim copyto transpose where broadcast_to broadcast_arrays expand_dims "
        "rollaxis swapaxes moveaxis ravel atleast_1d atleast_2d atleast_3d argwhere array_split "
        "split hsplit vsplit dsplit roll squeeze diff ediff1d flip flipud fliplr repeat tile isin "
        "searchsorted unique sort argsort partition argpartition topk argtopk copy trapz shape "
        "insert delete in1d setdiff1d",
    ),
    "Arithmetic, functions of items, logic": (
        "mt",
        "add subtract multiply divide true_divide floor_divide mod power float_power fmod sqrt "
        "around round_ round logaddexp logaddexp2 negative positive absolute fabs abs rint sign "
        "degrees radians conj conjugate exp exp2 log log2 log10 expm1 log1p square cbrt reciprocal "
        "equal not_equal less less_equal greater greater_equal sin cos tan arcsin arccos arctan "
        "arctan2 hypot sinh cosh tanh arcsinh arccosh arctanh deg2rad rad2deg bitwise_and "
        "bitwise_or bitwise_xor invert bitwise_not left_shift right_shift logical_and logical_or "
        "logical_xor logical_not maximum minimum floor ceil trunc remainder fmax fmin isfinite "
        "isinf isnan signbit copysign nextafter spacing clip isclose ldexp frexp modf angle isreal "
        "iscomplex real imag fix i0 sinc nan_to_num tree_add tree_multiply",
    ),
    "Statistics": (
        "mt",
        "average bincount cov corrcoef digitize ptp histogram_bin_edges histogram median quantile "
        "percentile",
    ),
    "Reductions": (
        "mt",
        "sum nansum prod product nanprod max amax nanmax min amin nanmin all any mean nanmean "
        "argmax nanargmax argmin nanargmin cumsum cumprod var std nanvar nanstd nancumsum "
        "nancumprod count_nonzero allclose array_equal",
    ),
    "Joining": (
        "mt",
        "concatenate stack hstack vstack dstack column_stack union1d block append",
    ),
    "Indexing": (
        "mt",
        "take compress extract choose unravel_index nonzero flatnonzero fill_diagonal mgrid ogrid "
        "ndindex r_ c_",
    ),
    "Products and others": (
        "mt",
        "tensordot dot inner innerproduct vdot matmul reshape rechunk einsum map_chunk",
    ),
    "Linear algebra": (
        "mt.linalg",
        "cholesky dot inner innerproduct inv lu matmul norm qr solve solve_triangular svd "
        "randomized_svd tensordot vdot",
    ),
    "Random numbers": (
        "mt.random",
        "rand randn randint random_integers random_sample ranf random sample choice bytes beta "
        "binomial chisquare dirichlet exponential f gamma geometric gumbel hypergeometric laplace "
        "logistic lognormal logseries multinomial multivariate_normal negative_binomial "
        "noncentral_chisquare noncentral_f normal pareto poisson power rayleigh standard_cauchy "
        "standard_exponential standard_gamma standard_normal standard_t triangular uniform "
        "vonmises wald weibull zipf permutation shuffle seed RandomState",
    ),
    "Fourier transforms": (
        "mt.fft",
        "fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft fftfreq "
        "rfftfreq fftshift ifftshift",
    ),
    "Special functions": (
        "mt.special",
        "erf erfc erfcx erfi erfinv erfcinv wofz dawsn fresnel modfresnelp modfresnelm "
        "voigt_profile gamma gammaln loggamma gammasgn gammainc gammaincinv gammaincc gammainccinv "
        "beta betaln betainc betaincinv psi rgamma polygamma multigammaln digamma poch entr "
        "rel_entr kl_div xlogy jv jve yn yv yve kn kv kve iv ive hankel1 hankel1e hankel2 hankel2e "
        "hyp2f1 hyp1f1 hyperu hyp0f1 ellip_harm ellip_harm_2 ellip_normal ellipk ellipkm1 "
        "ellipkinc ellipe ellipeinc elliprc elliprd elliprf elliprg elliprj airy airye itairy",
    ),
    "Tests": (
        "mt.stats",
        "chisquare entropy ks_1samp ks_2samp power_divergence rankdata ttest_1samp ttest_ind "
        "ttest_ind_from_stats ttest_rel",
    ),
    "Distances": ("mt.spatial.distance", "pdist cdist squareform"),
}


def _found(module: str, name: str) -> Any:
    found: Any = mt
    for part in [*module.split(".")[1:], name]:
        found = getattr(found, part, None)
    return found


def _state(module: str, name: str, through_python: set[str]) -> str:
    found = _found(module, name)
    if found is None:
        return "missing"
    # Operators of a submodule have its name before theirs: "fft.rfft".
    operator = ".".join([*module.split(".")[1:], name])
    if getattr(found, "through_python", False) or operator in through_python:
        return "through Python"
    return "native"


def _summary(found: Any) -> str:
    """The first sentence of the docstring."""
    text = (getattr(found, "__doc__", None) or "").strip().split("\n\n")[0]
    return " ".join(text.split()).partition(". ")[0].rstrip(".").replace("|", "\\|")


def page() -> str:
    """The page as Markdown."""
    through_python = {str(row["name"]) for row in _core.tensor_operators() if not row["native"]} - {
        "map_chunk"
    }
    counts = {"native": 0, "through Python": 0, "missing": 0}
    chapters = []
    for title, (module, names) in CHAPTERS.items():
        lines = [f"## {title}\n", "| name | runs | what it gives |", "| --- | --- | --- |"]
        for name in names.split():
            state = _state(module, name, through_python)
            counts[state] += 1
            lines.append(f"| `{module}.{name}` | {state} | {_summary(_found(module, name))} |")
        chapters.append("\n".join(lines) + "\n")
    head = f"""# muster.tensor

`import muster.tensor as mt`. Names and parameters are NumPy's and SciPy's; creation and random numbers also take `chunk_size`.
Of {sum(counts.values())} names, {counts["native"]} run natively, {counts["through Python"]} call NumPy or SciPy on chunks, and
{counts["missing"]} are missing. The guide is [Tensors](../guide/tensor.md). Made by `tools/generated_docs.py --fix`.
"""  # noqa: E501
    return head + "\n" + "\n".join(chapters)


if __name__ == "__main__":
    print(page(), end="")
