"""Class gap: how much closer rows of one class lie to each other than to rows of other classes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.class_gap_result import NUMBERS, ClassGapResult
from cls_probe.analyses.cloud import SAME, Cloud, Floats
from cls_probe.analyses.interval import Spread, binomial_interval, check_confidence, jackknife_interval
from cls_probe.analyses.separation import (
    class_sums,
    fisher_ratio,
    labelled,
    nearest_centroid_right,
    permutation_p,
    silhouettes,
)
from cls_probe.errors import InputError
from cls_probe.result import ends, ratio
from cls_probe.store import VectorStore

__all__ = ["ClassGapResult", "class_gap"]


def class_gap(
    store: VectorStore,
    *,
    layers: Sequence[int] | None = None,
    pooling: str = "cls",
    transform: str = "none",
    confidence: float = 0.95,
    permutations: int = 1000,
    seed: int = 0,
) -> ClassGapResult:
    """Compare the cosine of rows of one class with that of rows of different classes, layer by layer.

    With unit rows u_i, their sum s, class sums s_k and sizes n_k: within = sum_k(s_k.s_k - n_k) / sum_k n_k(n_k-1),
    between = (s.s - sum_k s_k.s_k) / (n^2 - sum_k n_k^2), exact, O(n d). Intervals are jackknives of these ratios,
    class sizes taken as given; where classes of equal size do not differ at all, that of the gap is too wide (it holds
    0 in 98 to 99 of 100 cases instead of 95), and p is the test. Silhouette and nearest centroid come from the
    products u_i.s_k, exact too, O(n K d).

    Parameters
    ----------
    store
        Vectors, (n_rows, hidden_size) per layer, with labels.
    layers
        States to measure; all by default.
    pooling
        Which vectors of the store.
    transform
        Correction of the vectors, fitted on all rows of a layer: a name of
        :data:`cls_probe.analyses.transform.TRANSFORMS`.
    confidence
        Confidence of the intervals.
    permutations
        Permutations of the labels that test the gap; 0 leaves the test out.
    seed
        Draws the permutations, the same ones for every layer.

    Returns
    -------
    ClassGapResult
        Values per layer and the class-by-class matrix; where all vectors are the same, every cosine is 1 and gap 0.

    Raises
    ------
    InputError
        No labels, an option outside its range, a transform that does not exist, or a layer or pooling that is not
        stored.

    """
    check_confidence(confidence)
    for name, number in (("permutations", permutations), ("seed", seed)):
        if number < 0:
            raise InputError(f"{name} is {number}; expected 0 or more")
    layers = store.select_layers(layers, pooling=pooling)
    sizes = np.bincount(store.codes, minlength=len(store.label_names))
    values = []
    for layer in layers:
        cloud = Cloud(store, layer, pooling=pooling, transform=transform)
        values.append(_one_layer(cloud, sizes, confidence))
        if permutations and not values[-1]["undefined"]:
            values[-1]["p_value"] = permutation_p(cloud, len(sizes), permutations=permutations, seed=seed)
    arrays: dict[str, Any] = {
        name: np.array([one[name] for one in values]) for name in (*NUMBERS, "class_cosine", "gap_by_class")
    }
    return ClassGapResult(
        params={
            "layers": layers,
            "pooling": pooling,
            "transform": transform,
            "confidence": confidence,
            "permutations": permutations,
            "seed": seed,
        },
        source=store.source,
        layers=layers,
        label_names=store.label_names,
        class_sizes=sizes,
        undefined=tuple(one["undefined"] for one in values),
        **arrays | ({} if permutations else {"p_value": None}),
    )


def _one_layer(cloud: Cloud, sizes: NDArray[np.int64], confidence: float) -> dict[str, Any]:
    """Values by field name, without the p-value, and the reason why all are undefined."""
    n_classes = len(sizes)
    reason = _too_few(sizes) or cloud.degenerate
    values: dict[str, Any] = {
        **dict.fromkeys(NUMBERS, np.nan),
        "class_cosine": np.full((n_classes, n_classes), np.nan),
        "gap_by_class": np.full(n_classes, np.nan),
        "undefined": reason,
    }
    if reason == SAME and cloud.transform == "none":
        pairs = np.outer(sizes, sizes) - np.diag(sizes)  # ordered pairs of distinct rows
        same = ("within_cosine", "between_cosine", "class_within_cosine", "class_between_cosine")
        values |= dict.fromkeys(same, 1.0) | {"gap": 0.0, "class_gap": 0.0}
        values |= {"class_cosine": np.where(pairs > 0, 1.0, np.nan), "gap_by_class": np.where(sizes > 1, 0.0, np.nan)}
    if reason:
        return values
    sums = class_sums(cloud, cloud.units(), n_classes)
    values |= _by_class(sums, sizes) | _from_rows(cloud, sums, sizes, confidence)
    return values | {"fisher_ratio": fisher_ratio(cloud, sizes)}


def _too_few(sizes: NDArray[np.int64]) -> str:
    if (sizes > 0).sum() < 2:
        return "only one class"
    return "no class has two rows" if sizes.max() < 2 else ""


def _by_class(sums: Floats, sizes: NDArray[np.int64]) -> dict[str, Any]:
    """Give the class-by-class matrix of mean cosines, NaN where there is no pair, and what follows from it."""
    totals, pairs = sums @ sums.T - np.diag(sizes), np.outer(sizes, sizes) - np.diag(sizes)
    matrix = ratio(totals, pairs)
    others = totals.sum(axis=1) - np.diag(totals), sizes * (sizes.sum() - sizes)
    present = matrix[np.ix_(sizes > 0, sizes > 0)]
    diagonal = np.eye(len(present), dtype=bool)
    within, between = float(present[diagonal].mean()), float(present[~diagonal].mean())
    return {
        "class_within_cosine": within,
        "class_between_cosine": between,
        "class_gap": within - between,
        "class_cosine": matrix,
        "gap_by_class": np.diag(matrix) - ratio(*others),
    }


def _from_rows(cloud: Cloud, sums: Floats, sizes: NDArray[np.int64], confidence: float) -> dict[str, float]:
    """Within, between, gap, silhouette and nearest centroid, from the products of rows and class sums."""
    pairs = _Pairs(sums, sizes)
    silhouette, right = 0.0, 0
    for units, codes in labelled(cloud, cloud.units()):
        products = units @ sums.T  # (rows, n_classes)
        pairs.add(products, codes)
        silhouette += float(silhouettes(products, codes, sizes).sum())
        right += int(nearest_centroid_right(products, sums, codes, sizes).sum())
    interval = binomial_interval(right, cloud.n_rows, confidence=confidence, method="wilson")
    return {
        **pairs.intervals(confidence),
        "silhouette": silhouette / cloud.n_rows,
        **dict(zip(ends("centroid_accuracy"), (right / cloud.n_rows, *interval), strict=True)),
    }


class _Pairs:
    """Mean cosines over pairs, every pair counted alike, and what they are without each row."""

    def __init__(self, sums: Floats, sizes: NDArray[np.int64]) -> None:
        """Take the sums of the unit rows of every class, (n_classes, width), and the class sizes."""
        self.n, self.sizes = int(sizes.sum()), sizes
        own, total = float((sums * sums).sum()), sums.sum(axis=0)
        self.within, self.between = own - self.n, float(total @ total) - own
        self.within_pairs = float((sizes * (sizes - 1)).sum())
        self.between_pairs = float(self.n**2 - (sizes**2).sum())
        self.without = {name: Spread(len(sizes)) for name in ("within_cosine", "between_cosine", "gap")}

    def add(self, products: Floats, codes: NDArray[np.int64]) -> None:
        """Leave out row after row, given the products with the class sums, (rows, n_classes)."""
        own, total, size = products[np.arange(len(codes)), codes], products.sum(axis=1), self.sizes[codes]
        within = ratio(self.within - 2 * own + 2, self.within_pairs - 2 * (size - 1))
        between = ratio(self.between - 2 * total + 2 * own, self.between_pairs - 2 * (self.n - size))
        for name, values in zip(self.without, (within, between, within - between), strict=True):
            self.without[name].add(values, codes)

    def intervals(self, confidence: float) -> dict[str, float]:
        """Within, between and gap with their intervals."""
        within, between = self.within / self.within_pairs, self.between / self.between_pairs
        values: dict[str, float] = {}
        for name, estimate, bound in zip(self.without, (within, between, within - between), (1, 1, 2), strict=True):
            interval = jackknife_interval(estimate, self.without[name], confidence=confidence, low=-bound, high=bound)
            values |= dict(zip(ends(name), (estimate, *interval), strict=True))
        return values
