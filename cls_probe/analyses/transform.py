"""Corrections of vectors before they are measured: affine maps fitted on the vectors themselves."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cls_probe.errors import InputError

Floats = NDArray[np.float64]

TRANSFORMS = {
    "none": "the vectors as they are",
    "center": "minus their mean",
    "standardize": "minus their mean, each dimension divided by its standard deviation; a constant one becomes 0",
    "all-but-the-top": "minus their mean and its k top principal directions, k = hidden_size // 100 but at least 1, "
    "or as in all-but-the-top:3 (Mu & Viswanath 2018)",
    "whiten": "rotated and scaled so that their covariance is the identity; directions without variance are dropped "
    "(Su et al. 2021)",
}
"""Name of every transform -> its definition."""


@dataclass(frozen=True, kw_only=True)
class AffineMap:
    """Vectors minus ``shift``, then times ``factor``: element-wise if it has one axis, a matrix if it has two."""

    shift: Floats
    """(hidden_size,)"""
    factor: Floats
    """(hidden_size,) or (hidden_size, n_kept)"""

    def __call__(self, vectors: Floats) -> Floats:
        """Map vectors, (rows, hidden_size) -> (rows, hidden_size or n_kept)."""
        centred = vectors - self.shift
        return centred @ self.factor if self.factor.ndim == 2 else centred * self.factor


def check_transform(transform: str, hidden_size: int) -> tuple[str, int]:
    """Give the name of a transform and its k (0 where it has none); InputError when it is none of TRANSFORMS."""
    match = re.fullmatch(r"(all-but-the-top):(\d{1,6})", transform)
    name, k = (match[1], int(match[2])) if match else (transform, max(1, hidden_size // 100))
    if name not in TRANSFORMS:
        raise InputError(f"transform is {transform!r:.60}; expected one of {', '.join(TRANSFORMS)}")
    if name == "all-but-the-top" and not 1 <= k < hidden_size:
        raise InputError(f"transform is {transform!r}; expected to remove 1 to {hidden_size - 1} directions")
    return name, k if name == "all-but-the-top" else 0


def fit(transform: str, batches: Callable[[], Iterable[Floats]]) -> AffineMap | None:
    """Fit a transform on vectors that come batch by batch, (rows, hidden_size); None when it leaves them alone."""
    if transform == "none":
        return None
    mean, variance, n_rows = _moments(batches)
    name, k = check_transform(transform, len(mean))
    if name == "center":
        return AffineMap(shift=mean, factor=np.ones(len(mean)))
    if name == "standardize":
        eps = np.finfo(np.float64).eps
        constant = variance <= n_rows * eps * variance + (n_rows * eps * mean) ** 2  # as scikit-learn's scaler has it
        return AffineMap(shift=mean, factor=1 / np.where(constant, 1, np.sqrt(variance)))
    scatter = np.zeros((len(mean), len(mean)))
    for batch in batches():
        centred = batch - mean
        scatter += centred.T @ centred
    values, directions = np.linalg.eigh(scatter)  # ascending
    if name == "all-but-the-top":
        top = directions[:, -k:]
        return AffineMap(shift=mean, factor=np.eye(len(mean)) - top @ top.T)
    kept = values > values[-1] * len(values) * np.finfo(np.float64).eps
    scale = np.sqrt(values[kept] / max(n_rows - 1, 1))
    return AffineMap(shift=mean, factor=directions[:, kept] / scale)


def _moments(batches: Callable[[], Iterable[Floats]]) -> tuple[Floats, Floats, int]:
    """Mean and variance (divided by n) of every dimension, and n."""
    total, n_rows = np.zeros(1), 0
    for batch in batches():
        total, n_rows = total + batch.sum(axis=0), n_rows + len(batch)
    mean = total / n_rows
    squares = np.zeros(len(mean))
    for batch in batches():
        squares += ((batch - mean) ** 2).sum(axis=0)
    return mean, squares / n_rows, n_rows
