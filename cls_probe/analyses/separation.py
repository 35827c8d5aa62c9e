"""How well labelled classes stand apart in one layer: sums, centroids, silhouette, Fisher ratio, permutations."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.cloud import Cloud, Floats

PERMUTATION_ROWS = 10_000
"""Rows that a permutation test takes at most; of more rows it draws so many."""
_BLOCK = 32
"""Permutations that are computed at a time."""
_DENSE_CLASSES = 16
"""Up to so many classes a dense product is faster than a sparse one."""
_ROUNDING = 1e-12
"""Cosine distances, and squared distances as a share of the squared norms, that float32 vectors leave to rounding."""
Codes = NDArray[np.int64]


def labelled(cloud: Cloud, batches: Iterator[Floats]) -> Iterator[tuple[Floats, Codes]]:
    """Give the class numbers beside the vectors, batch by batch."""
    start = 0
    for batch in batches:
        yield batch, cloud.store.codes[start : start + len(batch)]
        start += len(batch)


def class_sums(cloud: Cloud, batches: Iterator[Floats], n_classes: int) -> Floats:
    """(n_classes, width) sum of the vectors of every class."""
    sums = np.zeros((n_classes, cloud.width))
    for batch, codes in labelled(cloud, batches):
        sums += np.eye(n_classes)[codes].T @ batch
    return sums


def silhouettes(products: Floats, codes: Codes, sizes: Codes) -> Floats:
    """Silhouette of every row with cosine distance, (rows,), in [-1, 1] (Rousseeuw 1987).

    (b - a) / max(a, b), a the mean distance to the other rows of the row's class, b the smallest mean distance to
    another class; 0 for the only row of a class. Exact without any pair: `products`, (rows, n_classes), are the
    products u_i.s_k with the class sums, and the mean distance to class k is 1 - u_i.s_k / n_k.
    """
    row = np.arange(len(codes))
    present = np.maximum(sizes, 1)
    distance = np.where(sizes > 0, 1 - products / present, np.inf)
    own = 1 - (products[row, codes] - 1) / np.maximum(sizes[codes] - 1, 1)
    distance[row, codes] = np.inf
    other = _without_rounding(distance.min(axis=1))
    own = _without_rounding(own)
    larger = np.maximum(own, other)
    out = np.zeros(len(codes))
    np.divide(other - own, larger, out=out, where=(larger > 0) & (sizes[codes] > 1))
    return out


def nearest_centroid_right(products: Floats, sums: Floats, codes: Codes, sizes: Codes) -> NDArray[np.bool_]:
    """Whether the centroid nearest to a row by cosine is that of its class, the row left out of it, (rows,).

    The cosine with class k is u_i.s_k / |s_k|, with the own class u_i.(s_k - u_i) / |s_k - u_i|. A tie counts as
    wrong, and so does the only row of a class; a centroid of length 0 has cosine 0 with every row.
    """
    row = np.arange(len(codes))
    squares = (sums * sums).sum(axis=1)  # (n_classes,)
    own = products[row, codes]
    own_cosine = _over_root(own - 1, squares[codes] - 2 * own + 1)
    cosine = _over_root(products, np.broadcast_to(squares, products.shape))
    cosine[:, sizes == 0] = -np.inf
    cosine[row, codes] = -np.inf
    right: NDArray[np.bool_] = (sizes[codes] > 1) & (own_cosine > cosine.max(axis=1) + _ROUNDING)
    return right


def fisher_ratio(cloud: Cloud, sizes: Codes) -> float:
    """Trace of the between-class over trace of the within-class scatter, in [0, inf) (Fukunaga 1990, section 10.2).

    sum_k n_k |m_k - m|^2 / sum_i |x_i - m_k(i)|^2, m the mean of all vectors and m_k that of class k. NaN where
    no class scatters. O(n d).
    """
    within, norms = 0.0, 0.0
    sums = class_sums(cloud, cloud.batches(), len(sizes))
    means = sums / np.maximum(sizes, 1)[:, None]
    for batch, codes in labelled(cloud, cloud.batches()):
        away = batch - means[codes]
        within += float((away * away).sum())
        norms += float((batch * batch).sum())
    away = means - sums.sum(axis=0) / cloud.n_rows
    between = float(sizes @ (away * away).sum(axis=1))
    return between / within if within > _ROUNDING * norms else np.nan


def permutation_p(cloud: Cloud, n_classes: int, *, permutations: int, seed: int) -> float:
    """Chance of a gap as large as that of the labels when the labels are dealt out at random, in (0, 1].

    p = (1 + permutations with a gap at least as large) / (1 + permutations) (Phipson & Smyth 2010). A permutation
    keeps class sizes and the sum of all rows, so its gap rises with sum_k s_k.s_k alone: that is what is compared,
    one product of class indicators with unit rows for a block of permutations, O(permutations n_classes n d), or
    without the factor n_classes where there are many. For 10,000 rows of 384 dimensions 1,000 permutations take about
    1 s with 4 classes, 5 to 10 s with 50, on one core. Of more than PERMUTATION_ROWS rows it draws so many.
    """
    rng = np.random.default_rng(seed)
    keep = np.arange(cloud.n_rows)
    if cloud.n_rows > PERMUTATION_ROWS:
        keep = np.sort(rng.choice(cloud.n_rows, PERMUTATION_ROWS, replace=False))
    vectors, codes = cloud.rows(keep), cloud.store.codes[keep]
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    observed = float(_squared_sums(units, codes[None], n_classes)[0])
    as_large = 0
    for start in range(0, permutations, _BLOCK):
        block = np.tile(codes, (min(_BLOCK, permutations - start), 1))
        permuted = _squared_sums(units, rng.permuted(block, axis=1), n_classes)
        as_large += int((permuted >= observed * (1 - _ROUNDING)).sum())  # the same partition is no smaller
    return (1 + as_large) / (1 + permutations)


def _squared_sums(units: Floats, labellings: Codes, n_classes: int) -> Floats:
    """sum_k s_k.s_k for every labelling, (labellings, rows) -> (labellings,)."""
    from scipy.sparse import csr_array

    n_labellings, n_rows = labellings.shape
    which = labellings + n_classes * np.arange(n_labellings)[:, None]
    ones, rows = np.ones(which.size), np.tile(np.arange(n_rows), n_labellings)
    hot = csr_array((ones, (which.ravel(), rows)), shape=(n_labellings * n_classes, n_rows))
    sums = np.asarray((hot.toarray() if n_classes <= _DENSE_CLASSES else hot) @ units)
    squared: Floats = (sums * sums).reshape(n_labellings, -1).sum(axis=1)
    return squared


def _without_rounding(distance: Floats) -> Floats:
    return np.where(np.abs(distance) < _ROUNDING, 0.0, distance)


def _over_root(above: Floats, squares: Floats) -> Floats:
    """Divide by the root of squares; 0 where the square is 0 but for rounding."""
    out = np.zeros(above.shape)
    np.divide(above, np.sqrt(np.maximum(squares, 0)), out=out, where=squares > _ROUNDING)
    return out
