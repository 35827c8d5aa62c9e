"""Intervals and tests that several analyses share."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cls_probe.errors import InputError

Floats = NDArray[np.float64]


class Spread:
    """Numbers, means and sums of squared deviations of values by class, batch by batch (Chan et al. 1983)."""

    def __init__(self, n_classes: int = 1) -> None:
        """Begin with no value of any class."""
        self.sizes = np.zeros(n_classes, dtype=np.int64)
        """(n_classes,)"""
        self.means = np.zeros(n_classes)
        """(n_classes,); 0 for a class without values."""
        self.squares = np.zeros(n_classes)
        """(n_classes,) sums of squared deviations from the mean of the class."""
        self.finite = True
        """Whether all values are; what is not is left out of the rest."""

    def add(self, values: Floats, codes: NDArray[np.int64] | None = None) -> None:
        """Take in values (rows,) of the classes (rows,); of one class where there are none."""
        if not np.isfinite(values).all():
            self.finite = False
            return
        codes = np.zeros(len(values), dtype=np.int64) if codes is None else codes
        sizes = np.bincount(codes, minlength=len(self.sizes))
        means = np.bincount(codes, values, minlength=len(sizes)) / np.maximum(sizes, 1)
        squares = np.bincount(codes, (values - means[codes]) ** 2, minlength=len(sizes))
        share, apart = sizes / np.maximum(self.sizes + sizes, 1), means - self.means
        self.squares += squares + apart**2 * self.sizes * share
        self.means += apart * share
        self.sizes += sizes

    @property
    def std(self) -> float:
        """Standard deviation (n - 1) of values of one class; NaN of fewer than two, or where one is not finite."""
        n = int(self.sizes.sum())
        return float(np.sqrt(self.squares.sum() / (n - 1))) if n > 1 and self.finite else np.nan


def jackknife_interval(
    estimate: float, leave_one_out: Floats | Spread, *, confidence: float, low: float, high: float
) -> tuple[float, float]:
    """Student interval of a statistic from its leave-one-out values, cut to its range [low, high].

    The variance is (n-1)/n times the sum of squared deviations (Efron & Stein 1981; for U-statistics Arvesen
    1969), with n - 1 degrees of freedom; n counts rows, or groups of rows where a group at a time was left out.
    With several classes in a Spread, class sizes count as fixed: the variances of the classes add up (Arvesen 1969,
    several samples), with the degrees of freedom of Satterthwaite (1946); the only row of a class deviates from the
    mean of all. (NaN, NaN) when a leave-one-out value is undefined.
    """
    from scipy.stats import t

    spread = leave_one_out if isinstance(leave_one_out, Spread) else _spread(leave_one_out)
    present = spread.sizes > 0
    sizes, means = spread.sizes[present], spread.means[present]
    n = sizes.sum()
    if n < 3 or not spread.finite:
        return np.nan, np.nan
    alone = (means - (sizes @ means) / n) ** 2
    variances = np.where(sizes > 1, spread.squares[present] * (sizes - 1) / sizes, alone * (n - 1) / n)
    if variances.sum() == 0:
        return estimate, estimate
    freedom = variances.sum() ** 2 / (variances**2 / np.maximum(sizes - 1, 1)).sum()
    half = float(t.ppf((1 + confidence) / 2, freedom) * np.sqrt(variances.sum()))
    return max(estimate - half, float(low)), min(estimate + half, float(high))


def _spread(values: Floats) -> Spread:
    spread = Spread()
    spread.add(values)
    return spread


def delta_interval(
    estimate: float, influence: Spread, *, confidence: float, low: float, high: float
) -> tuple[float, float]:
    """Student interval of a smooth statistic from its influence values, one a row, cut to its range [low, high].

    The variance is that of the influence values over n, the delta method or infinitesimal jackknife (Efron 1982);
    a constant may be added to them all. (NaN, NaN) with fewer than three rows or undefined values.
    """
    n = int(influence.sizes.sum())
    if n < 3 or not influence.finite:
        return np.nan, np.nan
    mean, std = np.array(estimate), np.array(influence.std)
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
