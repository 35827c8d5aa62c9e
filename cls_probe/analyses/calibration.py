"""Calibration: how far the confidence of predictions is from how often they are right."""

import numpy as np
from numpy.typing import NDArray

from cls_probe.result import ratio

N_BINS = 15
"""Equal-width bins of confidence in the calibration error, as in Guo et al. 2017."""


def calibration_bins(
    confidence: NDArray[np.float64], right: NDArray[np.bool_]
) -> tuple[float, NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Give the expected calibration error, and rows, accuracy and mean confidence of 15 equal-width bins."""
    bins = np.clip(np.ceil(confidence * N_BINS).astype(np.int64) - 1, 0, N_BINS - 1)
    rows = np.bincount(bins, minlength=N_BINS)
    accuracy = ratio(np.bincount(bins, weights=right, minlength=N_BINS), rows)
    mean = ratio(np.bincount(bins, weights=confidence, minlength=N_BINS), rows)
    return float(np.nansum(rows * np.abs(accuracy - mean)) / len(confidence)), rows, accuracy, mean
