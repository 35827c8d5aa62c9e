"""Projection: the vectors of a layer on two axes, to look at, with a measure of how far to believe it."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.cloud import ROUNDING, SAME, Cloud, drawn_rows
from cls_probe.analyses.projection.faithfulness import (
    METRICS,
    as_space,
    distances,
    own_class_share,
    trustworthiness,
)
from cls_probe.analyses.projection.layout import load_umap, umap_layouts
from cls_probe.analyses.projection.result import ProjectResult
from cls_probe.errors import InputError, check_seed
from cls_probe.store import VectorStore

Floats = NDArray[np.float64]
Picture = dict[str, Any]

METHODS = {"pca": ("pca",), "umap": ("umap",), "both": ("pca", "umap")}
"""Choice -> methods."""


def project(
    store: VectorStore,
    *,
    layers: Sequence[int] | None = None,
    pooling: str = "cls",
    transform: str = "none",
    method: Literal["pca", "umap", "both"] = "pca",
    metric: Literal["cosine", "euclidean"] = "cosine",
    n_neighbors: int = 15,
    min_dist: float = 0.1,
    pca_dims: int | None = None,
    align: bool = False,
    max_points: int = 5000,
    seed: int = 0,
) -> ProjectResult:
    """Project the vectors of every layer on two axes, by principal components or by UMAP.

    Every picture comes with its trustworthiness and, with labels, with the share of neighbours of the same class in
    the picture and in the full space, which is that of the transformed vectors in all their dimensions.

    Parameters
    ----------
    store
        Vectors, (n_rows, hidden_size) per layer.
    layers
        States to project; all by default.
    pooling
        Which vectors of the store.
    transform
        Correction of the vectors, fitted on all rows of a layer: a name of
        :data:`cls_probe.analyses.transform.TRANSFORMS`.
    method
        pca (scikit-learn, exact solver, fitted on all rows), umap (umap-learn), or both.
    metric
        Distance that UMAP keeps and that the measures take for the truth: cosine or euclidean.
    n_neighbors
        Neighbours that UMAP looks at, the row itself among them, and that the measures count, without it. With fewer
        rows UMAP takes all of the others, and the measures fewer than half of the rows; the notes say so.
    min_dist
        How close UMAP may put points, from 0 to 1.
    pca_dims
        Take so many principal components of the vectors first, for UMAP alone.
    align
        Lay the layers out together, so that a row keeps its place from layer to layer, for UMAP alone.
    max_points
        Rows in the picture; of more so many are drawn without replacement. All pairs of them are visited.
    seed
        Draws rows and starts UMAP.

    Returns
    -------
    ProjectResult
        Coordinates, (n_pictures, n_points, 2); undefined where all vectors are the same, with fewer than three rows,
        and for UMAP with a zero vector under cosine or fewer than three different vectors.

    Raises
    ------
    InputError
        Options out of range, a transform that does not exist, a layer or pooling that is not stored.
    MissingDependencyError
        umap without the package umap-learn, found before any work.

    """
    layers = store.select_layers(layers, pooling=pooling)
    options: dict[str, Any] = {"n_neighbors": n_neighbors, "min_dist": min_dist, "metric": metric, "seed": seed}
    _check(method, pca_dims, min(store.hidden_size, store.n_rows, max_points), max_points, align=align, **options)
    rows = drawn_rows(store.n_rows, max_points, seed)
    methods = METHODS[method]
    versions = {"scikit-learn": version("scikit-learn"), **(load_umap() if "umap" in methods else {})}
    clouds = [Cloud(store, layer, pooling=pooling, transform=transform) for layer in layers]
    pictures: list[Picture] = []
    if "pca" in methods:
        pictures += [_pca(cloud, rows) for cloud in clouds]
    if "umap" in methods:
        pictures += _umap(clouds, rows, pca_dims, align=align, **options)
    k = min(n_neighbors, max((len(rows) - 1) // 2, 1))
    codes = None if store.labels is None else store.codes[rows]
    for i, cloud in enumerate(clouds):
        _measure(cloud, rows, pictures[i :: len(clouds)], metric, k, codes)
    return ProjectResult(
        params={
            **{"layers": layers, "pooling": pooling, "transform": transform, "method": method, **options},
            **{"pca_dims": pca_dims, "align": align, "max_points": max_points, "versions": versions},
        },
        source=store.source,
        methods=tuple(name for name in methods for _ in layers),
        layers=layers * len(methods),
        rows=rows,
        label_names=store.label_names,
        labels=None if store.labels is None else tuple(store.labels[row] for row in rows),
        k=k,
        undefined=tuple(picture.pop("undefined") for picture in pictures),
        **{name: np.array([picture[name] for picture in pictures]) for name in pictures[0]},
    )


def _check(
    method: str,
    pca_dims: int | None,
    most: int,
    max_points: int,
    *,
    align: bool,
    n_neighbors: int,
    min_dist: float,
    metric: str,
    seed: int,
) -> None:
    """Refuse options that cannot work, before anything costly."""
    if max_points < 3:
        raise InputError(f"max_points is {max_points}; expected at least 3")
    if method not in METHODS:
        raise InputError(f"method is {method!r:.60}; expected one of {', '.join(METHODS)}")
    if metric not in METRICS:
        raise InputError(f"metric is {metric!r:.60}; expected one of {', '.join(METRICS)}")
    if n_neighbors < 2:
        raise InputError(f"n_neighbors is {n_neighbors}; expected at least 2")
    if not 0 <= min_dist <= 1:
        raise InputError(f"min_dist is {min_dist}; expected 0 to 1")
    check_seed(seed)
    if pca_dims is not None and not 2 <= pca_dims <= most:
        raise InputError(
            f"pca_dims is {pca_dims}; expected 2 to {most}, the fewer of rows in the picture and dimensions"
        )
    if "umap" not in METHODS[method] and (align or pca_dims is not None):
        raise InputError("align and pca_dims are for UMAP; choose method umap or both")


def _pca(cloud: Cloud, rows: NDArray[np.int64]) -> Picture:
    from sklearn.decomposition import PCA

    reason = "fewer than three rows" if cloud.n_rows < 3 else SAME if cloud.is_constant else ""
    if not reason and cloud.width < 2:
        reason = "fewer than two dimensions"
    if reason:
        return _picture(len(rows), reason)
    vectors = cloud.array()
    pca = PCA(2, svd_solver="covariance_eigh" if cloud.n_rows > 10 * cloud.width else "full")
    scores = pca.fit_transform(vectors)[rows]
    return _picture(len(rows), "", scores, pca.explained_variance_ratio_)


def _umap(
    clouds: Sequence[Cloud], rows: NDArray[np.int64], pca_dims: int | None, *, align: bool, **options: Any
) -> list[Picture]:
    """Pictures of all layers, laid out one by one or together."""
    pictures: dict[int, Picture] = {}
    spaces: dict[int, Floats] = {}
    for cloud in clouds:
        reason, space = _space(cloud, rows, pca_dims, options["metric"])
        if reason:
            pictures[cloud.layer] = _picture(len(rows), reason)
        elif align:
            spaces[cloud.layer] = space
        else:
            pictures[cloud.layer] = _picture(len(rows), "", *umap_layouts([space], **options))
    if spaces:
        laid = umap_layouts(list(spaces.values()), **options)
        pictures |= {layer: _picture(len(rows), "", points) for layer, points in zip(spaces, laid, strict=True)}
    return [pictures[cloud.layer] for cloud in clouds]


def _space(cloud: Cloud, rows: NDArray[np.int64], pca_dims: int | None, metric: str) -> tuple[str, Floats]:
    """Why UMAP cannot lay out a layer, or "" and the points whose neighbours it shall keep, (n_points, width)."""
    from sklearn.decomposition import PCA

    none = np.empty((0, 0))
    if cloud.n_rows < 3 or cloud.is_constant:
        return "fewer than three rows" if cloud.n_rows < 3 else SAME, none
    if metric == "cosine" and cloud.degenerate:
        return cloud.degenerate, none
    space = cloud.rows(rows)
    if pca_dims is not None and pca_dims < space.shape[1]:
        sizes = ROUNDING * np.linalg.norm(space, axis=1)
        space = PCA(pca_dims, svd_solver="full").fit_transform(space)
        zero = np.flatnonzero(np.linalg.norm(space, axis=1) <= sizes)
        if metric == "cosine" and zero.size:
            return f"row {rows[zero[0]]} is a zero vector after the first {pca_dims} principal components", none
    space = as_space(space, metric)
    return ("fewer than three different vectors" if len(np.unique(space, axis=0)) < 3 else ""), space


def _measure(
    cloud: Cloud, rows: NDArray[np.int64], pictures: Sequence[Picture], metric: str, k: int, codes: Any
) -> None:
    """Compare the neighbours in the pictures of a layer with those in the full space."""
    pictures = [picture for picture in pictures if not picture["undefined"]]
    if not pictures:
        return
    if metric == "cosine" and cloud.degenerate:
        for picture in pictures:
            picture["undefined"] = f"trustworthiness: {cloud.degenerate}"
        return
    between = distances(as_space(cloud.rows(rows), metric), metric)
    for picture in pictures:
        picture["trustworthiness"] = trustworthiness(between, picture["coordinates"], k)
        if codes is not None:
            picture["own_class_full"] = own_class_share(between, codes, k)
            picture["own_class"] = own_class_share(distances(picture["coordinates"], "euclidean"), codes, k)


def _picture(n_points: int, reason: str, coordinates: Floats | None = None, ratio: Any = (np.nan, np.nan)) -> Picture:
    """One picture before it is measured; without coordinates it is undefined."""
    return {
        "undefined": reason,
        "coordinates": np.full((n_points, 2), np.nan) if coordinates is None else coordinates,
        "explained_variance_ratio": ratio,
        "trustworthiness": np.nan,
        "own_class": np.nan,
        "own_class_full": np.nan,
    }
