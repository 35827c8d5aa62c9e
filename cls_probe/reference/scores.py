"""How good predicted probabilities are: accuracy, F1, confusion, calibration. Numbers in, numbers out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.calibration import calibration_bins
from cls_probe.analyses.interval import binomial_interval
from cls_probe.result import ratio


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
    n_classes = probabilities.shape[1]
    predicted = probabilities.argmax(axis=1)
    confusion = np.bincount(codes * n_classes + predicted, minlength=n_classes**2).reshape(n_classes, n_classes)
    right, true, said = np.diagonal(confusion), confusion.sum(axis=1), confusion.sum(axis=0)
    low, high = binomial_interval(int(right.sum()), len(codes), confidence=confidence, method="wilson")
    f1 = ratio(2 * right, true + said)
    values = (
        float(right.sum() / len(codes)),
        low,
        high,
        float(np.nanmean(f1)),
        confusion,
        ratio(right, said),
        ratio(right, true),
        f1,
    )
    calibration = calibration_bins(probabilities.max(axis=1), predicted == codes)
    return dict(zip((*names, *calibrated), (*values, *calibration), strict=True))
