"""Anisotropy: how narrow the cone is in which the vectors of a layer lie."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

import numpy as np

from cls_probe.analyses import geometry
from cls_probe.analyses.anisotropy_result import DEFAULT_METRICS, METRICS, RANKS, AnisotropyResult
from cls_probe.analyses.cloud import SAME, Cloud
from cls_probe.analyses.interval import Spread, check_confidence
from cls_probe.errors import InputError, MissingDependencyError, check_seed
from cls_probe.result import ends
from cls_probe.store import VectorStore


def anisotropy(
    store: VectorStore,
    *,
    layers: Sequence[int] | None = None,
    pooling: str = "cls",
    transform: str = "none",
    metrics: Sequence[str] = DEFAULT_METRICS,
    confidence: float = 0.95,
    seed: int = 0,
) -> AnisotropyResult:
    """Measure how narrow the cone of vectors is, layer by layer, in as many ways as asked for.

    Parameters
    ----------
    store
        Vectors, (n_rows, hidden_size) per layer.
    layers
        States to measure; all by default.
    pooling
        Which vectors of the store.
    transform
        Correction of the vectors, fitted on all rows of a layer: a name of
        :data:`cls_probe.analyses.transform.TRANSFORMS`.
    metrics
        Names of :data:`METRICS`, which holds their definitions; uniformity, intrinsic_dimension and hubness visit
        all pairs of rows, O(n^2), of at most 10,000 rows.
    confidence
        Confidence of the intervals.
    seed
        Draws the rows where there are more than 10,000, and the isotropic Gaussian.

    Returns
    -------
    AnisotropyResult
        One value per layer and metric; where all vectors are the same, mean cosine and MEV are 1 and the rest is
        undefined.

    Raises
    ------
    InputError
        A metric or transform that does not exist, a layer or pooling that is not stored.
    MissingDependencyError
        intrinsic_dimension without the package scikit-dimension.

    """
    check_confidence(confidence)
    check_seed(seed)
    metrics = _check_metrics(metrics)
    layers = store.select_layers(layers, pooling=pooling)
    clouds = (Cloud(store, layer, pooling=pooling, transform=transform) for layer in layers)
    rows = [_one_layer(cloud, metrics, confidence, seed) for cloud in clouds]
    names = [column.name for metric in metrics for column in METRICS[metric]]
    return AnisotropyResult(
        params={
            **{"layers": layers, "pooling": pooling, "transform": transform, "metrics": metrics},
            **{"confidence": confidence, "seed": seed},
        },
        source=store.source,
        layers=layers,
        metrics=metrics,
        values={name: np.array([values[name] for values, _ in rows], dtype=np.float64) for name in names},
        isotropic=_isotropic(store, metrics, seed),
        undefined=tuple(reason for _, reason in rows),
    )


def _check_metrics(metrics: Sequence[str]) -> tuple[str, ...]:
    for name in metrics:
        if name not in METRICS:
            raise InputError(f"metrics has {name!r:.60}; expected some of {', '.join(METRICS)}")
    if not metrics or isinstance(metrics, str):
        raise InputError(f"metrics is {metrics!r:.60}; expected a list of some of {', '.join(METRICS)}")
    if "intrinsic_dimension" in metrics and find_spec("skdim") is None:
        raise MissingDependencyError(
            "intrinsic_dimension needs the package scikit-dimension; install it with: "
            "pip install 'cls-probe[dimension]', or choose other metrics"
        )
    return tuple(dict.fromkeys(metrics))


def _one_layer(cloud: Cloud, metrics: Sequence[str], confidence: float, seed: int) -> tuple[dict[str, float], str]:
    """Values by column name, and the reason why some are undefined."""
    values = {column.name: np.nan for metric in metrics for column in METRICS[metric]}
    if "norm" in metrics:
        values |= _norms(cloud)
    reason = cloud.degenerate
    if reason == SAME and cloud.transform == "none":
        same = {"mean_cosine": 1.0, "cosine_distance": 0.0, "mev": 1.0}
        return values | {name: value for name, value in same.items() if name in values}, reason
    if reason:
        return values, reason
    if "mean_cosine" in metrics:
        estimate = geometry.mean_cosine(cloud, confidence)
        values |= {**_columns("mean_cosine", estimate), "cosine_distance": 1 - estimate.value}
    if "rogue_dimensions" in metrics:
        for rank, dimension, share in zip(RANKS, *geometry.rogue_dimensions(cloud), strict=True):
            values |= {f"rogue_dimension_{rank}": float(dimension), f"rogue_share_{rank}": float(share)}
    values |= _shaped(cloud, metrics, confidence, seed)
    return values, _missing(values)


def _shaped(cloud: Cloud, metrics: Sequence[str], confidence: float, seed: int) -> dict[str, float]:
    """Values of the metrics that even an isotropic cloud has by its shape alone, by column name."""
    values: dict[str, float] = {}
    if "mev" in metrics:
        values |= _columns("mev", geometry.mev(cloud, confidence))
    measures = [name for name in metrics if name in geometry.SPECTRAL]
    if measures:
        for name, estimate in geometry.spectral(cloud, measures, confidence).items():
            values |= _columns(name, estimate)
    if "uniformity" in metrics:
        values |= _columns("uniformity", geometry.uniformity(cloud, confidence, seed))
    if "hubness" in metrics:
        values["hubness"] = geometry.hubness(cloud, seed)
    if "intrinsic_dimension" in metrics:
        values["intrinsic_dimension"] = geometry.intrinsic_dimension(cloud, seed)
    return values


def _isotropic(store: VectorStore, metrics: Sequence[str], seed: int) -> dict[str, float]:
    shape = min(store.n_rows, geometry.PAIR_ROWS), store.hidden_size
    if shape[0] < 2:
        return {}
    cloud = Cloud(VectorStore.from_arrays(np.random.default_rng(seed).normal(size=shape)), 0)
    values = _shaped(cloud, metrics, 0.95, seed)
    return {name: values[name] for name in metrics if name in values}


def _norms(cloud: Cloud) -> dict[str, float]:
    norms = Spread()
    for batch in cloud.batches():
        norms.add(np.linalg.norm(batch, axis=1))
    return {"norm_mean": float(norms.means[0]), "norm_std": norms.std}


def _columns(name: str, estimate: geometry.Estimate) -> dict[str, float]:
    return dict(zip(ends(name), estimate, strict=True))


def _missing(values: Mapping[str, float]) -> str:
    """Say which metrics a cloud that is fit for cosines does not have."""
    reasons = {
        "isoscore": "fewer than two dimensions",
        "spectral_entropy": "fewer than two dimensions or three rows",
        "hubness": "fewer than 12 rows, or no row is nearer than others",
        "intrinsic_dimension": "fewer than 20 distinct points",
        "rogue_share_1": "the mean cosine is 0",
        "rogue_share_3": "fewer than three dimensions",
    }
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items() if np.isnan(values.get(name, 0)))
