"""Anisotropy: how narrow the cone is in which the vectors of a layer lie."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cls_probe.analyses.cloud import SAME, Cloud
from cls_probe.analyses.interval import check_confidence, jackknife_interval
from cls_probe.plotting import curve, layer_axis, panels, style
from cls_probe.result import LAYER, UNDEFINED, Column, Record, Result, best_defined, number_or_none, with_interval
from cls_probe.store import VectorStore

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True, eq=False)
class AnisotropyResult(Result):
    """Anisotropy of every layer asked for; NaN stands for undefined."""

    layers: tuple[int, ...]
    """Indices into hidden_states, 0 = embedding output."""
    mean_cosine: NDArray[np.float64]
    """(n_layers,) mean cosine over all pairs of distinct rows, in [-1, 1]."""
    mean_cosine_low: NDArray[np.float64]
    """(n_layers,) lower end of its interval."""
    mean_cosine_high: NDArray[np.float64]
    """(n_layers,) upper end of its interval."""
    norm_mean: NDArray[np.float64]
    """(n_layers,) mean Euclidean norm."""
    norm_std: NDArray[np.float64]
    """(n_layers,) standard deviation of the norms (n - 1)."""
    mev: NDArray[np.float64]
    """(n_layers,) maximum explainable variance, in [0, 1]: largest over all squared singular values, uncentred."""
    pca_top_share: NDArray[np.float64]
    """(n_layers,) share of the variance about the mean that the first principal component takes, in [0, 1]."""
    undefined: tuple[str, ...]
    """(n_layers,) why values are undefined, "" where none is."""

    title = "Anisotropy: mean cosine of distinct [CLS] pairs"
    meaning = (
        "mean cosine near 1: the vectors share one direction (a narrow cone), so that raw cosine says little; "
        "near 0: they spread. 1 - cosine tells layers apart where cosines crowd against 1. MEV: share of the first "
        "singular direction, uncentred; PC1: share of the first principal component about the mean."
    )
    star = "least anisotropic layer"
    documented = (
        LAYER,
        *with_interval(
            "mean_cosine", "mean cosine over distinct row pairs, in [-1, 1]", "mean cosine", ".4f", range=(-1, 1)
        ),
        Column(name="cosine_distance", meaning="1 - mean_cosine, in [0, 2]", heading="1 - cosine", format=".3g"),
        Column(name="norm_mean", meaning="mean Euclidean norm", heading="norm", format=".3f"),
        Column(name="norm_std", meaning="standard deviation of the norms (n - 1)", heading="norm sd", format=".3g"),
        Column(name="mev", meaning="largest over all squared singular values, uncentred", heading="MEV", format=".3f"),
        Column(name="pca_top_share", meaning="variance share of the first PC, centred", heading="PC1", format=".3f"),
        UNDEFINED,
    )

    def records(self) -> list[Record]:
        """One row a layer."""
        values = ("mean_cosine", "mean_cosine_low", "mean_cosine_high", "norm_mean", "norm_std", "mev", "pca_top_share")
        return [
            {
                "layer": layer,
                **{name: number_or_none(getattr(self, name)[i]) for name in values},
                "cosine_distance": number_or_none(1 - self.mean_cosine[i]),
                "undefined": self.undefined[i],
            }
            for i, layer in enumerate(self.layers)
        ]

    @property
    def best(self) -> int | None:
        """Position of the layer of smallest mean cosine."""
        return best_defined(-self.mean_cosine, self.undefined)

    def plot(self, ax: "Axes | None" = None) -> "Figure":
        """Draw mean cosine, its distance from 1 on a log axis, and the variance shares."""
        defined = np.array([not reason for reason in self.undefined])
        with style():
            figure, axes = panels(ax, 3)
            curve(
                axes[0], self.layers, self.mean_cosine, self.mean_cosine_low, self.mean_cosine_high, label="", number=0
            )
            layer_axis(axes[0], self.layers, "mean cosine of distinct pairs")
            if ax is not None:
                return figure
            distance = [
                np.where(defined, 1 - v, np.nan)
                for v in (self.mean_cosine, self.mean_cosine_high, self.mean_cosine_low)
            ]
            curve(axes[1], self.layers, *distance, label="", number=0)
            axes[1].set_yscale("log")
            layer_axis(axes[1], self.layers, "1 - mean cosine (log scale)")
            curve(axes[2], self.layers, self.mev, label="MEV (uncentred)", number=0)
            curve(axes[2], self.layers, self.pca_top_share, label="first PC (centred)", number=1)
            axes[2].set_ylim(-0.02, 1.02)
            layer_axis(axes[2], self.layers, "share of variance")
            axes[2].legend()
        return figure


def anisotropy(
    store: VectorStore,
    *,
    layers: Sequence[int] | None = None,
    pooling: str = "cls",
    transform: str = "none",
    confidence: float = 0.95,
) -> AnisotropyResult:
    """Measure how narrow the cone of vectors is, layer by layer.

    With unit rows u_i and their sum s, the mean cosine over distinct pairs is (s.s - n) / (n(n-1)), exact, O(n d)
    (Ethayarajh 2019, "How contextual are contextualized word representations?", takes a sample of pairs). Its
    interval is the jackknife of this U-statistic. MEV is Ethayarajh's maximum explainable variance.

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
    confidence
        Confidence of the interval.

    Returns
    -------
    AnisotropyResult
        One value per layer; where all vectors are the same, mean cosine and MEV are 1 and the rest is undefined.

    Raises
    ------
    InputError
        A transform that does not exist, a layer or pooling that is not stored.

    """
    check_confidence(confidence)
    layers = store.select_layers(layers)
    rows = [_one_layer(Cloud(store, layer, pooling=pooling, transform=transform), confidence) for layer in layers]
    names = ("mean_cosine", "mean_cosine_low", "mean_cosine_high", "norm_mean", "norm_std", "mev", "pca_top_share")
    values = {name: np.array([row[0][i] for row in rows]) for i, name in enumerate(names)}
    return AnisotropyResult(
        params={"layers": layers, "pooling": pooling, "transform": transform, "confidence": confidence},
        source=store.source,
        layers=layers,
        undefined=tuple(row[1] for row in rows),
        **values,
    )


def _one_layer(cloud: Cloud, confidence: float) -> tuple[tuple[float, ...], str]:
    """Values in the order of the fields, and the reason why some are undefined."""
    norms = np.concatenate([np.linalg.norm(batch, axis=1) for batch in cloud.batches()])
    spread = float(norms.std(ddof=1)) if len(norms) > 1 else np.nan
    nan = np.nan
    reason = cloud.degenerate
    if reason == SAME and cloud.transform == "none":
        return (1.0, nan, nan, float(norms.mean()), spread, 1.0, nan), reason
    if reason:
        return (nan, nan, nan, float(norms.mean()), spread, nan, nan), reason
    return (*_mean_cosine(cloud, confidence), float(norms.mean()), spread, *_shares(cloud)), ""


def _mean_cosine(cloud: Cloud, confidence: float) -> tuple[float, float, float]:
    n = cloud.n_rows
    total = np.zeros(cloud.width)
    for units in cloud.units():
        total += units.sum(axis=0)
    pairs = total @ total - n  # sum of cosines over ordered pairs
    estimate = float(pairs / (n * (n - 1)))
    if n < 3:
        return estimate, np.nan, np.nan
    of_row = np.concatenate([units @ total for units in cloud.units()]) - 1  # (n_rows,)
    without = (pairs - 2 * of_row) / ((n - 1) * (n - 2))
    return (estimate, *jackknife_interval(estimate, without, confidence=confidence, low=-1, high=1))


def _shares(cloud: Cloud) -> tuple[float, float]:
    """MEV (uncentred) and the share of the first principal component (centred)."""
    uncentred = cloud.scatter + cloud.n_rows * np.outer(cloud.mean, cloud.mean)
    return _top_share(uncentred), _top_share(cloud.scatter)


def _top_share(gram: NDArray[np.float64]) -> float:
    return float(min(np.linalg.eigvalsh(gram)[-1] / np.trace(gram), 1.0))
