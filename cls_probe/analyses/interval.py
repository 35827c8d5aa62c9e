"""Intervals and tests that several analyses share."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cls_probe.errors import InputError

Floats = NDArray[np.float64]


def jackknife_interval(
    estimate: float,
    leave_one_out: Floats,
    *,
    confidence: float,
    low: float,
    high: float,
    strata: NDArray[np.int64] | None = None,
) -> tuple[float, float]:
    """Student interval of a statistic from its leave-one-out values, cut to its range [low, high].

    The variance is (n-1)/n times the sum of squared deviations (Efron & Stein 1981; for U-statistics Arvesen
    1969), with n - 1 degrees of freedom; n counts rows, or groups of rows where a group at a time was left out.
    With `strata`, the class number of every value, class sizes count as fixed: the variances of the classes add up
    (Arvesen 1969, several samples), with the degrees of freedom of Satterthwaite (1946); the only row of a class
    deviates from the mean of all. (NaN, NaN) when a leave-one-out value is undefined.
    """
    from scipy.stats import t

    n = len(leave_one_out)
    if n < 3 or not np.isfinite(leave_one_out).all():
        return np.nan, np.nan
    _, codes, sizes = np.unique(np.zeros(n) if strata is None else strata, return_inverse=True, return_counts=True)
    means = np.where(sizes > 1, np.bincount(codes, leave_one_out) / sizes, leave_one_out.mean())
    squares = np.bincount(codes, (leave_one_out - means[codes]) ** 2)
    variances = squares * np.where(sizes > 1, (sizes - 1) / sizes, (n - 1) / n)
    if variances.sum() == 0:
        return estimate, estimate
    freedom = variances.sum() ** 2 / (variances**2 / np.maximum(sizes - 1, 1)).sum()
    half = float(t.ppf((1 + confidence) / 2, freedom) * np.sqrt(variances.sum()))
    return max(estimate - half, float(low)), min(estimate + half, float(high))


def delta_interval(
    estimate: float, row_terms: Floats, *, confidence: float, low: float, high: float
) -> tuple[float, float]:
    """Student interval of a smooth statistic from its influence values, one a row, cut to its range [low, high].

    The variance is that of the influence values over n, the delta method or infinitesimal jackknife (Efron 1982);
    a constant may be added to them all. (NaN, NaN) with fewer than three rows or undefined values.
    """
    n = len(row_terms)
    if n < 3 or not np.isfinite(row_terms).all():
        return np.nan, np.nan
    mean, std = np.array(estimate), row_terms.std(ddof=1)
    ends = mean_interval(mean, std, n_rows=n, confidence=confidence, low=low, high=high)
    return float(ends[0]), float(ends[1])


def binomial_interval(
    right: int, n_rows: int, *, confidence: float, method: Literal["wilson", "exact"]
) -> tuple[float, float]:
    """Interval of a share, `right` of `n_rows` independent rows (Wilson 1927; exact: Clopper & Pearson 1934)."""
    from scipy.stats import binomtest

    interval = binomtest(right, n_rows).proportion_ci(confidence, method=method)
    return float(interval.low), float(interval.high)


def mean_interval(
    means: Floats, stds: Floats, *, n_rows: int, confidence: float, low: float, high: float
) -> tuple[Floats, Floats]:
    """Student intervals of means over rows from the standard deviations of the rows (n - 1), cut to [low, high].

    Arrays of one shape in, two of that shape out; NaN with fewer than three rows.
    """
    from scipy.stats import t

    if n_rows < 3:
        return np.full(means.shape, np.nan), np.full(means.shape, np.nan)
    half = t.ppf((1 + confidence) / 2, n_rows - 1) * stds / np.sqrt(n_rows)
    return np.maximum(means - half, low), np.minimum(means + half, high)


def holm(p_values: Floats) -> Floats:
    """Adjust p-values for their number, so that the chance of any false rejection stays below the level (Holm 1979).

    NaN stands for no test: it is not counted and stays NaN.
    """
    adjusted = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    steps = p_values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted


def check_confidence(confidence: float) -> None:
    """Refuse a confidence outside (0, 1)."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence is {confidence}; expected a share between 0 and 1, such as 0.95")
