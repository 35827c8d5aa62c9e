"""Measures of a cloud of vectors: directions, spectrum, neighbours. Each gives a value, most with an interval."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.cloud import Cloud, Floats, drawn_rows
from cls_probe.analyses.interval import Spread, delta_interval, jackknife_interval

N_ROGUE = 3
"""Dimensions named as dominating the cosine."""
N_TOP = 10
"""Principal components that `pca_top10_share` adds up."""
N_NEIGHBOURS = 10
"""Neighbours that hubness counts."""
PAIR_ROWS = 10_000
"""Most rows of which all pairs are visited; more are sampled."""
_BLOCK = 1024
_REPEATED = 1e-6
"""Rows closer than this share of the mean norm are one point, apart by rounding."""


class Estimate(NamedTuple):
    """A value and the ends of its interval; NaN where there is none."""

    value: float
    low: float = np.nan
    high: float = np.nan


def mean_cosine(cloud: Cloud, confidence: float) -> Estimate:
    """Mean cosine over distinct pairs, (s.s - n) / (n(n-1)) with s the sum of unit rows; jackknife interval."""
    n = cloud.n_rows
    total = cloud.unit_sum
    pairs = total @ total - n  # sum of cosines over ordered pairs
    estimate = float(pairs / (n * (n - 1)))
    if n < 3:
        return Estimate(estimate)
    without = Spread()
    for units in cloud.units():
        of_row = units @ total - 1  # (rows,)
        without.add((pairs - 2 * of_row) / ((n - 1) * (n - 2)))
    return Estimate(estimate, *jackknife_interval(estimate, without, confidence=confidence, low=-1, high=1))


def rogue_dimensions(cloud: Cloud) -> tuple[NDArray[np.int64], Floats]:
    """Dimensions that contribute most to the mean cosine, and their contributions as shares of it, (N_ROGUE,) each.

    The contribution of a dimension is the mean over distinct pairs of the product of its coordinates in the unit
    rows; they add up to the mean cosine (Timkey & van Schijndel 2021). NaN, and dimension -1, beyond the width;
    NaN where the mean cosine is 0.
    """
    n, sums = cloud.n_rows, cloud.unit_sum
    squares = np.zeros(cloud.width)
    for units in cloud.units():
        squares += (units * units).sum(axis=0)
    contributions = (sums * sums - squares) / (n * (n - 1))
    top = np.argsort(-np.abs(contributions), kind="stable")[:N_ROGUE]
    dimensions, shares = np.full(N_ROGUE, -1), np.full(N_ROGUE, np.nan)
    dimensions[: len(top)] = top
    if total := contributions.sum():
        shares[: len(top)] = contributions[top] / total
    return dimensions, shares


def mev(cloud: Cloud, confidence: float) -> Estimate:
    """Maximum explainable variance (Ethayarajh 2019): largest over all squared singular values, uncentred."""
    gram = cloud.scatter / cloud.n_rows + np.outer(cloud.mean, cloud.mean)
    return _of_spectrum(cloud, gram, np.zeros(cloud.width), {"mev": _top_share(1)}, confidence)["mev"]


def spectral(cloud: Cloud, measures: Sequence[str], confidence: float) -> dict[str, Estimate]:
    """Give some of SPECTRAL: functions of the eigenvalues of the covariance, about the mean."""
    rank = min(cloud.n_rows - 1, cloud.width)
    functions = {measure: SPECTRAL[measure](rank, cloud.width) for measure in measures}
    return _of_spectrum(cloud, cloud.scatter / (cloud.n_rows - 1), cloud.mean, functions, confidence)


def spectral_range(measure: str, n_rows: int, width: int) -> tuple[float, float]:
    """Give the least and largest possible value of a measure of SPECTRAL."""
    if measure in ("effective_rank", "participation_ratio"):
        return 1, max(min(n_rows - 1, width), 1)
    return 0, 1


def uniformity(cloud: Cloud, confidence: float, seed: int) -> Estimate:
    """Uniformity (Wang & Isola 2020): log of the mean over distinct pairs of exp(-2 |u - v|^2), u and v unit rows.

    Every pair is visited, O(n^2); of more than PAIR_ROWS rows so many are drawn. Jackknife interval.
    """
    units = _drawn_units(cloud, seed)
    n = len(units)
    of_row = np.concatenate([np.exp(4 * (cosines - 1)).sum(axis=1) for _, cosines in _cosine_blocks(units)]) - 1
    total = of_row.sum()
    estimate = float(np.log(total / (n * (n - 1))))
    if n < 3:
        return Estimate(estimate)
    without = np.log((total - 2 * of_row) / ((n - 1) * (n - 2)))
    return Estimate(estimate, *jackknife_interval(estimate, without, confidence=confidence, low=-8, high=0))


def hubness(cloud: Cloud, seed: int) -> float:
    """Skewness of how often a row is among the N_NEIGHBOURS nearest of the others, by cosine (Radovanovic 2010).

    NaN with no more than N_NEIGHBOURS + 1 rows, or when every row is chosen equally often.
    """
    from scipy.stats import skew

    units = _drawn_units(cloud, seed)
    if len(units) < N_NEIGHBOURS + 2:
        return np.nan
    counts = np.zeros(len(units))
    for start, cosines in _cosine_blocks(units):
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -np.inf  # a row is no neighbour of its own
        nearest = np.argpartition(-cosines, N_NEIGHBOURS, axis=1)[:, :N_NEIGHBOURS]
        counts += np.bincount(nearest.ravel(), minlength=len(units))
    return float(skew(counts)) if np.ptp(counts) else np.nan


def intrinsic_dimension(cloud: Cloud, seed: int) -> float:
    """TwoNN intrinsic dimension (Facco et al. 2017) by scikit-dimension, on distinct points.

    Repeated points, closer than 1e-6 of the mean norm, count once. NaN with fewer than 20 distinct points.
    """
    import skdim

    points = _distinct(_drawn(cloud, seed))
    if len(points) < 20:
        return np.nan
    return float(skdim.id.TwoNN().fit(points).dimension_)


Spectral = Callable[[Floats], tuple[float, Floats]]
"""Eigenvalues, descending -> a value and its derivatives by each of them."""


def _top_share(k: int) -> Spectral:
    """Share of the k largest eigenvalues in the sum of all."""

    def share(values: Floats) -> tuple[float, Floats]:
        total = values.sum()
        value = float(values[:k].sum() / total)
        return value, ((np.arange(len(values)) < k) - value) / total

    return share


def _participation_ratio(values: Floats) -> tuple[float, Floats]:
    total, squares = values.sum(), (values**2).sum()
    value = float(total**2 / squares)
    return value, 2 * value * (1 / total - values / squares)


def _isoscore(width: int) -> Spectral:
    def isoscore(values: Floats) -> tuple[float, Floats]:
        if width < 2:
            return np.nan, np.full(len(values), np.nan)
        ratio, slopes = _participation_ratio(values)
        return (ratio - 1) / (width - 1), slopes / (width - 1)

    return isoscore


def _entropy(values: Floats) -> tuple[float, Floats]:
    """Entropy of the singular values of the centred vectors as shares of their sum, in nats."""
    positive = values > 0
    singular = np.sqrt(values[positive])
    total = singular.sum()
    shares = singular / total
    value = float(-(shares * np.log(shares)).sum())
    slopes = np.zeros(len(values))
    slopes[positive] = -(np.log(shares) + value) / total / (2 * singular)
    return value, slopes


def _effective_rank(values: Floats) -> tuple[float, Floats]:
    entropy, slopes = _entropy(values)
    return float(np.exp(entropy)), np.exp(entropy) * slopes


def _spectral_entropy(rank: int) -> Spectral:
    def normalised(values: Floats) -> tuple[float, Floats]:
        if rank < 2:
            return np.nan, np.full(len(values), np.nan)
        entropy, slopes = _entropy(values)
        return entropy / float(np.log(rank)), slopes / np.log(rank)

    return normalised


SPECTRAL: dict[str, Callable[[int, int], Spectral]] = {
    "pca_top_share": lambda rank, width: _top_share(1),
    "pca_top10_share": lambda rank, width: _top_share(N_TOP),
    "isoscore": lambda rank, width: _isoscore(width),
    "participation_ratio": lambda rank, width: _participation_ratio,
    "effective_rank": lambda rank, width: _effective_rank,
    "spectral_entropy": lambda rank, width: _spectral_entropy(rank),
}
"""Name of a measure -> its function, made for the largest possible rank and the width."""


def _of_spectrum(
    cloud: Cloud, matrix: Floats, centre: Floats, functions: Mapping[str, Spectral], confidence: float
) -> dict[str, Estimate]:
    """Values of functions of the eigenvalues of a moment matrix, with their delta-method intervals.

    The eigenvalue of direction v is the mean of (v.(x - centre))^2, so that row x moves a value by
    sum_k slope_k (v_k.(x - centre))^2, to first order.
    """
    values, directions = np.linalg.eigh(matrix)
    values, directions = values[::-1].copy(), directions[:, ::-1]
    values[values < values[0] * len(values) * np.finfo(np.float64).eps] = 0  # directions without variance
    found = {name: function(values) for name, function in functions.items()}
    slopes = np.stack([slope for _, slope in found.values()], axis=1)  # (width, measures)
    influences = {name: Spread() for name in found}
    for batch in cloud.batches():
        terms = ((batch - centre) @ directions) ** 2 @ slopes  # (rows, measures)
        for influence, term in zip(influences.values(), terms.T, strict=True):
            influence.add(term)
    estimates = {}
    for name, (value, _) in found.items():
        low, high = spectral_range(name, cloud.n_rows, cloud.width)
        interval = delta_interval(value, influences[name], confidence=confidence, low=low, high=high)
        estimates[name] = Estimate(value, *interval)
    return estimates


def _drawn(cloud: Cloud, seed: int) -> Floats:
    """All vectors, or PAIR_ROWS of them drawn without replacement."""
    return cloud.rows(drawn_rows(cloud.n_rows, PAIR_ROWS, seed))


def _drawn_units(cloud: Cloud, seed: int) -> Floats:
    vectors = _drawn(cloud, seed)
    units: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return units


def _cosine_blocks(units: Floats) -> Iterator[tuple[int, Floats]]:
    """First row of a block and its cosines with all rows, (block, n_rows)."""
    for start in range(0, len(units), _BLOCK):
        yield start, units[start : start + _BLOCK] @ units.T


def _distinct(points: Floats) -> Floats:
    """Drop every point that lies on one before it, down to rounding."""
    from sklearn.neighbors import NearestNeighbors

    radius = _REPEATED * np.linalg.norm(points, axis=1).mean()
    near = NearestNeighbors(radius=radius, algorithm="brute").fit(points).radius_neighbors(return_distance=False)
    first: NDArray[np.bool_] = np.array([others.min(initial=row) == row for row, others in enumerate(near)])
    distinct: Floats = points[first]
    return distinct
