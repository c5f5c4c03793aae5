"""Special functions, with the names of scipy.special; SciPy computes most of them on chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from muster.tensor._call import apply, as_tensor, operands
from muster.tensor._functions import map_items
from muster.tensor._scipy import needs_scipy, through_python
from muster.tensor._tensor import Tensor

__all__ = [
    "airy",
    "airye",
    "beta",
    "betainc",
    "betaincinv",
    "betaln",
    "dawsn",
    "digamma",
    "ellip_harm",
    "ellip_harm_2",
    "ellip_normal",
    "ellipe",
    "ellipeinc",
    "ellipk",
    "ellipkinc",
    "ellipkm1",
    "elliprc",
    "elliprd",
    "elliprf",
    "elliprg",
    "elliprj",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfi",
    "erfinv",
    "fresnel",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gammaln",
    "gammasgn",
    "hankel1",
    "hankel1e",
    "hankel2",
    "hankel2e",
    "hyp0f1",
    "hyp1f1",
    "hyp2f1",
    "hyperu",
    "itairy",
    "iv",
    "ive",
    "jv",
    "jve",
    "kl_div",
    "kn",
    "kv",
    "kve",
    "loggamma",
    "modfresnelm",
    "modfresnelp",
    "multigammaln",
    "poch",
    "polygamma",
    "psi",
    "rel_entr",
    "rgamma",
    "voigt_profile",
    "wofz",
    "xlogy",
    "yn",
    "yv",
    "yve",
]


def _native(name: str, in_double: bool = True) -> Callable[..., Tensor]:
    """A function that the engine has; complex numbers go through SciPy. Whole numbers and halves
    become doubles, as SciPy has it for those that know complex numbers too (`in_double`)."""
    by_scipy = _mapped(name)

    def function(*args: Any) -> Any:
        tensors = operands(*args)
        if any(each.dtype.kind == "c" for each in tensors):
            return by_scipy(*args)
        widened = in_double and any(each.dtype != np.float32 for each in tensors)
        return apply(f"special.{name}", tensors, dtype=np.dtype(np.float64) if widened else None)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"scipy.special.{name}, natively."
    return function


def _mapped(name: str, dtype: Any = None) -> Callable[..., Any]:
    """A function of SciPy on chunks; gives a tuple where SciPy does."""

    @through_python
    def function(*args: Any) -> Any:
        by_scipy = getattr(needs_scipy("special"), name)
        tensors = operands(*args)
        nout = getattr(by_scipy, "nout", 1)
        if dtype is not None:
            dtypes = [np.dtype(dtype)]
        else:
            # SciPy says what it gives for these dtypes, and refuses what it does not take.
            empty = by_scipy(*(np.empty(0, each.dtype) for each in tensors))
            dtypes = [each.dtype for each in (empty if nout > 1 else (empty,))]
        results = map_items(by_scipy, tensors, dtypes)
        return results[0] if nout == 1 else tuple(results)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"scipy.special.{name}."
    return function


@through_python
def multigammaln(a: Any, d: int) -> Tensor:
    """scipy.special.multigammaln."""
    by_scipy = needs_scipy("special").multigammaln
    return map_items(lambda items: by_scipy(items, d), [as_tensor(a)], [np.dtype(np.float64)])[0]


erf = _native("erf")
erfc = _native("erfc")
erfcx = _mapped("erfcx")
erfi = _mapped("erfi")
erfinv = _mapped("erfinv")
erfcinv = _mapped("erfcinv")
wofz = _mapped("wofz")
dawsn = _mapped("dawsn")
fresnel = _mapped("fresnel")
modfresnelp = _mapped("modfresnelp")
modfresnelm = _mapped("modfresnelm")
voigt_profile = _mapped("voigt_profile")
gamma = _native("gamma")
gammaln = _native("gammaln")
loggamma = _mapped("loggamma")
gammasgn = _mapped("gammasgn")
gammainc = _mapped("gammainc")
gammaincinv = _mapped("gammaincinv")
gammaincc = _mapped("gammaincc")
gammainccinv = _mapped("gammainccinv")
beta = _mapped("beta")
betaln = _mapped("betaln")
betainc = _mapped("betainc")
betaincinv = _mapped("betaincinv")
psi = _mapped("psi")
rgamma = _mapped("rgamma")
polygamma = _mapped("polygamma", np.float64)
digamma = _mapped("digamma")
poch = _mapped("poch")
entr = _native("entr", in_double=False)
rel_entr = _native("rel_entr", in_double=False)
kl_div = _native("kl_div", in_double=False)
xlogy = _native("xlogy")
jv = _mapped("jv")
jve = _mapped("jve")
yn = _mapped("yn")
yv = _mapped("yv")
yve = _mapped("yve")
kn = _mapped("kn")
kv = _mapped("kv")
kve = _mapped("kve")
iv = _mapped("iv")
ive = _mapped("ive")
hankel1 = _mapped("hankel1")
hankel1e = _mapped("hankel1e")
hankel2 = _mapped("hankel2")
hankel2e = _mapped("hankel2e")
hyp2f1 = _mapped("hyp2f1")
hyp1f1 = _mapped("hyp1f1")
hyperu = _mapped("hyperu")
hyp0f1 = _mapped("hyp0f1")
ellip_harm = _mapped("ellip_harm", np.float64)
ellip_harm_2 = _mapped("ellip_harm_2", np.float64)
ellip_normal = _mapped("ellip_normal", np.float64)
ellipk = _mapped("ellipk")
ellipkm1 = _mapped("ellipkm1")
ellipkinc = _mapped("ellipkinc")
ellipe = _mapped("ellipe")
ellipeinc = _mapped("ellipeinc")
elliprc = _mapped("elliprc")
elliprd = _mapped("elliprd")
elliprf = _mapped("elliprf")
elliprg = _mapped("elliprg")
elliprj = _mapped("elliprj")
airy = _mapped("airy")
airye = _mapped("airye")
itairy = _mapped("itairy")
