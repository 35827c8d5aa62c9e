"""UMAP: two axes on which near vectors stay near (McInnes, Healy & Melville 2018)."""

import locale
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.projection.faithfulness import distances
from cls_probe.errors import MissingDependencyError

Floats = NDArray[np.float64]

ALIGN_EPOCHS = 200
ALIGN_WINDOW = 3
ALIGN_STRENGTH = 0.01
"""Epochs, layers to either side, and weight of the pull towards them: what umap's AlignedUMAP has by default."""
_INIT_SIZE = 10.0
_INIT_NOISE = 1e-4


def load_umap() -> dict[str, str]:
    """Import umap-learn and give the versions that shape its picture; MissingDependencyError when that fails.

    The import sets the number format of the process (LC_NUMERIC); it is put back.
    """
    kept = locale.setlocale(locale.LC_NUMERIC)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on packages of umap's that nobody here needs
            import umap  # noqa: F401
    except Exception as error:  # numba and llvmlite that do not fit raise many kinds
        raise MissingDependencyError(
            f"UMAP needs the package umap-learn, which cannot be imported ({type(error).__name__}: {error!s:.100}); "
            "install it with: pip install --force-reinstall umap-learn, or choose --method pca"
        ) from error
    finally:
        locale.setlocale(locale.LC_NUMERIC, kept)
    return {name: version(name) for name in ("umap-learn", "pynndescent", "numba")}


def umap_layouts(
    spaces: Sequence[Floats], *, metric: str, n_neighbors: int, min_dist: float, seed: int
) -> list[Floats]:
    """Lay out the same rows in one or several spaces, each (n_points, width) -> (n_points, 2).

    Several spaces are laid out together, so that a row keeps its place from one to the next. Neighbours are exact, the
    start is the first two principal components (Kobak & Linderman 2021), and rows that are equal in all of the spaces
    share one place: umap's own start depends on more than the seed where rows repeat.
    """
    first, place = _distinct(spaces)
    k = min(n_neighbors, len(first) - 1)
    rng = np.random.default_rng(seed)
    known = [_nearest(space[first], metric, k) for space in spaces]
    starts = [_start(space[first], rng) for space in spaces]
    with _quiet_and_single():
        if len(spaces) == 1:
            laid = [_umap(spaces[0][first], *known[0], starts[0], min_dist, seed)]
        else:
            laid = _aligned(known, starts, min_dist, seed)
    return [np.asarray(coordinates, dtype=np.float64)[place] for coordinates in laid]


def _distinct(spaces: Sequence[Floats]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First row of each set of equal ones, in row order, and the place of every row among them."""
    numbers = [np.unique(space, axis=0, return_inverse=True)[1].reshape(-1) for space in spaces]
    _, first, inverse = np.unique(np.stack(numbers, axis=1), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.argsort(order)
    return first[order], rank[inverse.reshape(-1)]


def _nearest(space: Floats, metric: str, k: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Nearest rows of every row, itself the first, and their distances, both (n_points, k); equal ones by number."""
    between = distances(space, metric)
    np.fill_diagonal(between, -1)
    nearest = np.argsort(between, axis=1, kind="stable")[:, :k]
    np.fill_diagonal(between, 0)
    return nearest.astype(np.int32), np.take_along_axis(between, nearest, axis=1).astype(np.float32)


def _start(space: Floats, rng: np.random.Generator) -> NDArray[np.float32]:
    """Scores on the first two principal components, the largest made 10, with a little noise that parts equal ones."""
    from sklearn.decomposition import PCA

    scores = np.zeros((len(space), 2))
    n_axes = min(2, space.shape[1])
    scores[:, :n_axes] = PCA(n_axes, svd_solver="full").fit_transform(space)
    scores *= _INIT_SIZE / np.abs(scores).max()
    noisy = scores + rng.normal(scale=_INIT_NOISE, size=scores.shape)
    return np.ascontiguousarray(noisy, dtype=np.float32)


def _umap(space: Floats, nearest: Any, between: Any, start: Any, min_dist: float, seed: int) -> Any:
    import umap

    layout = umap.UMAP(
        n_neighbors=nearest.shape[1],
        min_dist=min_dist,
        metric="euclidean",  # of no effect: the neighbours are known
        precomputed_knn=(nearest, between),
        init=start,
        random_state=seed,
        n_jobs=1,
    )
    return layout.fit_transform(space.astype(np.float32))


def _aligned(known: Sequence[tuple[Any, Any]], starts: Sequence[Any], min_dist: float, seed: int) -> list[Any]:
    """Lay out all spaces at once with the optimiser of umap's AlignedUMAP, each row related to itself."""
    from numba.typed import List
    from scipy.linalg import orthogonal_procrustes
    from umap.aligned_umap import build_neighborhood_similarities
    from umap.layouts import optimize_layout_aligned_euclidean
    from umap.umap_ import find_ab_params, fuzzy_simplicial_set, make_epochs_per_sample

    n_points = len(starts[0])
    graphs = [
        fuzzy_simplicial_set(start, nearest.shape[1], None, "euclidean", knn_indices=nearest, knn_dists=between)[0]
        for (nearest, between), start in zip(known, starts, strict=True)
    ]
    edges = [graph.tocoo() for graph in graphs]
    relations = _same_row(len(graphs), n_points)
    similar = build_neighborhood_similarities(
        List(g.indptr for g in graphs), List(g.indices for g in graphs), relations
    )
    placed = [starts[0]]
    for start in starts[1:]:
        turned = start @ orthogonal_procrustes(start, placed[-1])[0]
        placed.append(np.ascontiguousarray(turned, dtype=np.float32))
    a, b = find_ab_params(1.0, min_dist)
    layouts = List(placed)
    numbers = np.random.default_rng(seed).integers(np.iinfo(np.int32).min + 2, np.iinfo(np.int32).max, 3)
    laid = optimize_layout_aligned_euclidean(
        layouts,
        layouts,
        List(edge.row for edge in edges),
        List(edge.col for edge in edges),
        ALIGN_EPOCHS,
        List(make_epochs_per_sample(edge.data, ALIGN_EPOCHS) for edge in edges),
        similar,
        relations,
        numbers.astype(np.int64),
        a=a,
        b=b,
        lambda_=ALIGN_STRENGTH,
        parallel=False,
        move_other=True,
    )
    return list(laid)


def _same_row(n_spaces: int, n_points: int) -> NDArray[np.int32]:
    """(n_spaces, 2 window + 1, n_points) the row that a row is in the spaces around, itself, or -1 past the ends."""
    relations = np.full((n_spaces, 2 * ALIGN_WINDOW + 1, n_points), -1, dtype=np.int32)
    for space in range(n_spaces):
        for offset in range(-ALIGN_WINDOW, ALIGN_WINDOW + 1):
            if 0 <= space + offset < n_spaces:
                relations[space, offset + ALIGN_WINDOW] = np.arange(n_points)
    return relations


@contextmanager
def _quiet_and_single() -> Iterator[None]:
    """One thread, which a seed needs to give the same picture, and no word about it.

    numba's own pool sets the number of OpenMP threads of the process, which torch has too; it is put back.
    """
    import numba
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="openmp"), warnings.catch_warnings():
        threads = numba.get_num_threads()
        numba.set_num_threads(1)
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            numba.set_num_threads(threads)
