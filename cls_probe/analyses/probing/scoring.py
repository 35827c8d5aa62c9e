"""How good predictions are: accuracy and macro-F1 with intervals, and layers compared row by row."""

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.interval import binomial_interval, holm
from cls_probe.analyses.probing.classifier import Codes

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
RESAMPLES = 2000


def confusion_matrix(true: Codes, predicted: Codes, n_classes: int) -> Counts:
    """Rows by true class (first) and predicted class (second)."""
    return np.bincount(true * n_classes + predicted, minlength=n_classes**2).reshape(n_classes, n_classes)


def accuracy_interval(right: NDArray[np.bool_], confidence: float) -> tuple[float, float, float]:
    """Accuracy with the exact binomial interval (Clopper & Pearson 1934) of all tested rows together.

    benchmarks/coverage_probe.py measures it for 5-fold cross-validation: it holds the mean population accuracy of
    the five probes, and likewise the expected accuracy of a probe trained on 4/5 of the rows, in 94 to 97 of 100
    data sets (95 % asked for; n = 100, 400, 2,000, classes 1:1 and 9:1). It is
    too narrow with few rows where the probe nearly interpolates (50 dimensions: 91.2 and 90.7 at n = 100, 93.7 and 93.2
    at n = 400) or the classes lie close together (n = 100, accuracy 0.55: 92.4 and 90.9), because the folds share
    training rows.
    """
    ends = binomial_interval(int(right.sum()), len(right), confidence=confidence, method="exact")
    return float(right.mean()), *ends


def macro_f1(confusion: Counts) -> Floats:
    """Macro-F1 of confusion matrices (..., n_classes, n_classes), over the classes that are true or predicted.

    A class without a right prediction has F1 0, as in scikit-learn.
    """
    right = np.diagonal(confusion, axis1=-2, axis2=-1)
    both = confusion.sum(axis=-1) + confusion.sum(axis=-2)  # true + predicted rows
    f1 = np.divide(2 * right, both, out=np.zeros(right.shape), where=both > 0)
    mean: Floats = f1.sum(axis=-1) / (both > 0).sum(axis=-1)
    return mean


def macro_f1_interval(confusion: Counts, confidence: float, seed: int) -> tuple[float, float, float]:
    """Macro-F1 with its percentile bootstrap: resampling rows is a multinomial draw of the confusion cells."""
    n = int(confusion.sum())
    drawn = np.random.default_rng(seed).multinomial(n, confusion.ravel() / n, size=RESAMPLES)
    resampled = macro_f1(drawn.reshape(RESAMPLES, *confusion.shape))
    low, high = np.quantile(resampled, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(macro_f1(confusion)), float(low), float(high)


def compared_with(best: int | None, right: NDArray[np.bool_]) -> Floats:
    """Holm-adjusted p-values (n_layers,) of exact McNemar tests of every layer with the best; 1 for the best itself.

    `right` (n_layers, n_test) says which rows each layer predicts right. Under equal accuracy a row on which the two
    differ favours either with probability 1/2 (McNemar 1947). NaN when there is no best layer.
    """
    from scipy.stats import binomtest

    p_values = np.full(len(right), np.nan)
    if best is None:
        return p_values
    for i, layer in enumerate(right):
        wins, losses = int((layer & ~right[best]).sum()), int((~layer & right[best]).sum())
        p_values[i] = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    p_values[best] = np.nan  # no test
    adjusted = holm(p_values)
    adjusted[best] = 1.0
    return adjusted
