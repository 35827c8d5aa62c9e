"""How good predicted probabilities are: accuracy, F1, confusion, calibration. Numbers in, numbers out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

N_BINS = 15
"""Equal-width bins of confidence in the calibration error, as in Guo et al. 2017."""


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Turn logits into probabilities in float64, (n_rows, n_classes)."""
    powers = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    probabilities: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return probabilities


def scores(
    probabilities: NDArray[np.float64], codes: NDArray[np.int64] | None, *, confidence: float = 0.95
) -> dict[str, Any]:
    """Measure predictions against class numbers: the fields of a classification that need labels."""
    names = ("accuracy", "accuracy_low", "accuracy_high", "macro_f1", "confusion", "precision", "recall", "f1")
    calibrated = ("calibration_error", "bin_rows", "bin_accuracy", "bin_confidence")
    if codes is None:
        return dict.fromkeys((*names, *calibrated))
    from scipy.stats import binomtest

    n_classes = probabilities.shape[1]
    predicted = probabilities.argmax(axis=1)
    confusion = np.bincount(codes * n_classes + predicted, minlength=n_classes**2).reshape(n_classes, n_classes)
    right, true, said = np.diagonal(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    interval = binomtest(int(right.sum()), len(codes)).proportion_ci(confidence, method="wilson")
    f1 = _share(2 * right, true + said)
    values = (
        float(right.sum() / len(codes)),
        float(interval.low),
        float(interval.high),
        float(np.nanmean(f1)),
        confusion,
        _share(right, said),
        _share(right, true),
        f1,
    )
    calibration = calibration_bins(probabilities.max(axis=1), predicted == codes)
    return dict(zip((*names, *calibrated), (*values, *calibration), strict=True))


def calibration_bins(
    confidence: NDArray[np.float64], right: NDArray[np.bool_]
) -> tuple[float, NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Give the expected calibration error, and rows, accuracy and mean confidence of 15 equal-width bins."""
    bins = np.clip(np.ceil(confidence * N_BINS).astype(np.int64) - 1, 0, N_BINS - 1)
    rows = np.bincount(bins, minlength=N_BINS)
    accuracy = _share(np.bincount(bins, weights=right, minlength=N_BINS), rows)
    mean = _share(np.bincount(bins, weights=confidence, minlength=N_BINS), rows)
    return float(np.nansum(rows * np.abs(accuracy - mean)) / len(confidence)), rows, accuracy, mean


def _share(part: NDArray[Any], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    share = np.full(len(whole), np.nan)
    np.divide(part, whole, out=share, where=whole > 0)
    return share
