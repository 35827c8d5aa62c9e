"""How far a picture may be believed: what it keeps of the neighbours in the full space."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

METRICS = ("cosine", "euclidean")


def as_space(vectors: Floats, metric: str) -> Floats:
    """Scale vectors so that neither the cosine nor the squares of tiny or huge numbers lose anything."""
    scaled: Floats = vectors / (np.abs(vectors).max() or 1.0)
    return scaled / np.linalg.norm(scaled, axis=1, keepdims=True) if metric == "cosine" else scaled


def distances(points: Floats, metric: str) -> Floats:
    """Distances of all pairs, (n_points, n_points): 1 - cosine, or Euclidean."""
    from sklearn.metrics import pairwise_distances

    between: Floats = pairwise_distances(points, metric=metric)
    return between


def trustworthiness(between: Floats, coordinates: Floats, k: int) -> float:
    """How few of the k nearest in the picture come from afar (Venna & Kaski 2001), by scikit-learn; in [0, 1].

    1 - 2 / (n k (2n - 3k - 1)) times the sum, over rows and those of their k nearest in the picture that are not among
    the k nearest in the full space, of the rank there minus k. `between` holds the distances of the full space.
    """
    from sklearn.manifold import trustworthiness as of

    return float(of(between, coordinates, n_neighbors=k, metric="precomputed"))


def own_class_share(between: Floats, codes: NDArray[np.int64], k: int) -> float:
    """Share of the k nearest others of a row, mean over rows, that have the row's own class; in [0, 1]."""
    apart = between.copy()
    np.fill_diagonal(apart, np.inf)
    nearest = np.argpartition(apart, k - 1, axis=1)[:, :k]
    return float((codes[nearest] == codes[:, None]).mean())
