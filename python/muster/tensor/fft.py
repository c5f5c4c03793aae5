"""Discrete Fourier transforms, with the names of numpy.fft.

The axes that are transformed are put into one chunk each; NumPy transforms the chunks, several at
a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from muster.tensor._call import apply, as_tensor
from muster.tensor._tensor import Tensor

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along an axis."""
    return _along_axis("fft", a, n, axis, norm)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`."""
    return _along_axis("ifft", a, n, axis, norm)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform of real items along an axis."""
    return _along_axis("rfft", a, n, axis, norm)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`."""
    return _along_axis("irfft", a, n, axis, norm)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform of a signal with Hermitian symmetry."""
    return _along_axis("hfft", a, n, axis, norm)


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`."""
    return _along_axis("ihfft", a, n, axis, norm)


Numbers = Sequence[int] | None


def fftn(a: Any, s: Numbers = None, axes: Numbers = None, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along axes, all if none are named."""
    return _along_axes("fftn", a, s, axes, norm)


def ifftn(a: Any, s: Numbers = None, axes: Numbers = None, norm: str | None = None) -> Tensor:
    """The inverse of `fftn`."""
    return _along_axes("ifftn", a, s, axes, norm)


def rfftn(a: Any, s: Numbers = None, axes: Numbers = None, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform of real items along axes."""
    return _along_axes("rfftn", a, s, axes, norm)


def irfftn(a: Any, s: Numbers = None, axes: Numbers = None, norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`."""
    return _along_axes("irfftn", a, s, axes, norm)


def fft2(a: Any, s: Numbers = None, axes: Numbers = (-2, -1), norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along two axes."""
    return _along_axes("fft2", a, s, axes, norm)


def ifft2(a: Any, s: Numbers = None, axes: Numbers = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `fft2`."""
    return _along_axes("ifft2", a, s, axes, norm)


def rfft2(a: Any, s: Numbers = None, axes: Numbers = (-2, -1), norm: str | None = None) -> Tensor:
    """The discrete Fourier transform of real items along two axes."""
    return _along_axes("rfft2", a, s, axes, norm)


def irfft2(a: Any, s: Numbers = None, axes: Numbers = (-2, -1), norm: str | None = None) -> Tensor:
    """The inverse of `rfft2`."""
    return _along_axes("irfft2", a, s, axes, norm)


def fftfreq(n: int, d: float = 1.0, chunk_size: Any = None) -> Tensor:
    """The frequencies of the results of `fft`: n points, d apart."""
    from muster.tensor._creation import arange
    from muster.tensor._ufuncs import where

    _check_points(n)
    number = arange(n, dtype=np.int64, chunk_size=chunk_size)
    numbers: Tensor = where(number < (n + 1) // 2, number, number - n)
    return numbers * (1.0 / (n * d))


def rfftfreq(n: int, d: float = 1.0, chunk_size: Any = None) -> Tensor:
    """The frequencies of the results of `rfft`: n points, d apart."""
    from muster.tensor._creation import arange

    _check_points(n)
    return arange(n // 2 + 1, dtype=np.int64, chunk_size=chunk_size) * (1.0 / (n * d))


def fftshift(x: Any, axes: int | Numbers = None) -> Tensor:
    """The frequency zero moved to the middle."""
    return _shifted(x, axes, lambda extent: extent // 2)


def ifftshift(x: Any, axes: int | Numbers = None) -> Tensor:
    """The inverse of `fftshift`."""
    return _shifted(x, axes, lambda extent: -(extent // 2))


def _shifted(x: Any, axes: int | Numbers, by: Callable[[int], int]) -> Tensor:
    import muster.tensor as mt

    x = as_tensor(x)
    if axes is None:
        axes = tuple(range(x.ndim))
    elif isinstance(axes, (int, np.integer)):
        axes = (int(axes),)
    return mt.roll(x, tuple(by(x.shape[axis]) for axis in axes), axis=tuple(axes))


def _check_points(n: int) -> None:
    if not isinstance(n, (int, np.integer)):
        raise ValueError(f"n should be an integer, not {n!r}")


def _along_axis(name: str, a: Any, n: int | None, axis: int, norm: str | None) -> Tensor:
    a = as_tensor(a)
    function = getattr(np.fft, name)
    if not a.ndim:
        raise ValueError(f"[{name}] a tensor without axes has no transform")
    return _transformed(name, a, lambda chunk: function(chunk, n, axis, norm), [axis])


def _along_axes(name: str, a: Any, s: Numbers, axes: Numbers, norm: str | None) -> Tensor:
    a = as_tensor(a)
    function = getattr(np.fft, name)
    if axes is None:
        axes = tuple(range(a.ndim)) if s is None else tuple(range(-len(s), 0))
    if s is not None and len(s) != len(axes):
        raise ValueError(f"[{name}] shape and axes have different lengths: {len(s)}, {len(axes)}")
    named = tuple(axes)
    return _transformed(name, a, lambda chunk: function(chunk, s, named, norm), list(named))


def _transformed(name: str, a: Tensor, transform: Callable[[Any], Any], axes: list[int]) -> Tensor:
    """What a chunk becomes, NumPy itself says on a chunk with one item along the other axes."""
    whole = {axis % a.ndim for axis in axes if -a.ndim <= axis < a.ndim}
    if len(whole) < len(set(axes)):
        raise IndexError(f"[{name}] there are no axes {axes} in a tensor of {a.ndim}")
    sample = transform(
        np.zeros([n if axis in whole else 1 for axis, n in enumerate(a.shape)], a.dtype)
    )
    places = sorted(whole)
    if not places:
        return a.astype(sample.dtype)

    def run(inputs: list[Any]) -> Any:
        return transform(inputs[0])

    return apply(
        f"fft.{name}",
        [a],
        function=run,
        axes=places,
        sizes=[sample.shape[axis] for axis in places],
        dtype=sample.dtype,
    )
