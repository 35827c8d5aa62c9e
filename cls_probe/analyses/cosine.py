"""What the analyses of cosines share: unit rows, degenerate clouds, the jackknife interval."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cls_probe.errors import InputError
from cls_probe.store import VectorStore

Floats = NDArray[np.float64]

SAME = "all vectors are the same"
_SAME_TOLERANCE = 8 * float(np.finfo(np.float32).eps)


def float_batches(store: VectorStore, layer: int, pooling: str) -> Iterator[Floats]:
    """Give the vectors of a layer batch by batch in float64, (rows, hidden_size)."""
    for batch in store.batches(layer, pooling=pooling):
        yield batch.astype(np.float64)


def unit_batches(store: VectorStore, layer: int, pooling: str) -> Iterator[Floats]:
    """Give the vectors of a layer batch by batch in float64, each divided by its norm."""
    for batch in float_batches(store, layer, pooling):
        yield batch / np.linalg.norm(batch, axis=1, keepdims=True)


def all_same(store: VectorStore, layer: int, pooling: str) -> bool:
    """Say whether all vectors of a layer are the same.

    They are when no coordinate moves by more than 8 float32 epsilons of the largest one, which is how far a
    constant can spread by rounding.
    """
    first = store.layer(layer, pooling=pooling)[0].astype(np.float64)
    tolerance = _SAME_TOLERANCE * np.abs(first).max()
    return all((np.abs(batch - first) <= tolerance).all() for batch in float_batches(store, layer, pooling))


def degenerate(store: VectorStore, layer: int, pooling: str) -> str:
    """Say why the cosines of a layer tell nothing: one row only, a zero vector, all the same; "" when they do."""
    if store.n_rows == 1:
        return "only one row"
    start = 0
    for batch in store.batches(layer, pooling=pooling):
        zero = np.flatnonzero(~batch.any(axis=1))
        if zero.size:
            return f"row {start + int(zero[0])} is a zero vector"
        start += len(batch)
    return SAME if all_same(store, layer, pooling) else ""


def jackknife_interval(
    estimate: float, leave_one_out: Floats, *, confidence: float, low: float, high: float
) -> tuple[float, float]:
    """Student interval of a U-statistic from its n leave-one-out values, cut to its range [low, high].

    The variance is (n-1)/n times the sum of squared deviations (Efron & Stein 1981; for U-statistics Arvesen
    1969); (NaN, NaN) when a leave-one-out value is undefined.
    """
    from scipy.stats import t

    n = len(leave_one_out)
    if n < 3 or not np.isfinite(leave_one_out).all():
        return np.nan, np.nan
    error = np.sqrt((n - 1) / n * ((leave_one_out - leave_one_out.mean()) ** 2).sum())
    half = float(t.ppf((1 + confidence) / 2, n - 1) * error)
    return max(estimate - half, float(low)), min(estimate + half, float(high))


def check_confidence(confidence: float) -> None:
    """Refuse a confidence outside (0, 1)."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; expected a share between 0 and 1, such as 0.95")
