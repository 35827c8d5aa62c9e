"""Probes trained on growing portions of the rows: online codelength and learning curve."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.probing.classifier import Classifier, Codes, Fold

Floats = NDArray[np.float64]

PORTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)
"""Where the portions of the online code end, as shares of the rows (Voita & Titov 2020)."""
CURVE = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""Training rows of the learning curve, as shares of a fold's; its last point is all of them."""


def portion_ends(n_rows: int) -> Codes:
    """Rows at which the portions end: the shares rounded, at least 1, each once."""
    return np.unique([max(1, round(share * n_rows)) for share in PORTIONS])


def codelength(classifier: Classifier, features: Floats, codes: Codes, n_classes: int, seed: int) -> float:
    """Bits of the labels in the online code, rows shuffled by the seed (Voita & Titov 2020).

    The first portion of n_1 rows costs n_1 log2 K, each next one the bits of its labels under the probe trained on
    the n rows before it. With p the probe's probability the label costs -log2 of (n p + 1) / (n + K), so that a
    class unseen so far can be sent: one more row, spread evenly over the K classes.
    """
    order = np.random.default_rng(seed).permutation(len(codes))
    ends = portion_ends(len(codes))
    bits = ends[0] * np.log2(n_classes)
    for n, stop in pairwise(ends.tolist()):
        train, portion = order[:n], order[n:stop]
        share = classifier.predict(features[train], codes[train], features[portion]).probabilities
        p = share[np.arange(len(portion)), codes[portion]]
        bits -= np.log2((n * p + 1) / (n + n_classes)).sum()
    return float(bits)


def compression(bits: float, n_rows: int, n_classes: int) -> float:
    """How many times shorter the code is than the uniform one: N log2 K / L."""
    return float(n_rows * np.log2(n_classes) / bits)


def curve_folds(folds: Sequence[Fold], share: float, seed: int) -> list[Fold]:
    """Cut the training rows of every fold to a share of them, the first after a shuffle; the test rows stay."""
    rng = np.random.default_rng(seed)
    return [(rng.permutation(train)[: max(1, round(share * len(train)))], test) for train, test in folds]
